"""Every op of the standard domain as a model: text, all passes, export, and onnxruntime against numpy.

A new op joins by itself, with a case of onnx or a text in `onnx_small_models`.
"""

from __future__ import annotations

import textwrap
from functools import cache
from io import StringIO

import numpy as np
import onnx
import pytest
from onnxruntime import InferenceSession
from support.onnx_small_models import feeds, module
from support.pipeline import apply, passes_of
from xdsl.dialects.builtin import ModuleOp, TensorType, UnrankedTensorType
from xdsl.parser import Parser
from xdsl.printer import Printer

import dialects
from dialects.evaluate import evaluate
from dialects.onnx import ops
from dialects.onnx.base import OnnxOp
from dialects.onnx.interpreter import containers, control
from dialects.onnx.numpy import KERNELS
from dialects.onnx.opset_range import opset_range
from dialects.support import entry
from dialects.support.diagnostics import GradcError, UnsupportedError
from dialects.support.interfaces import set_type
from gradc.model import exporter
from gradc.runtime.session import newest_opset
from passes import pipelines
from passes.targets.target import Target

NAMES = ops.op_names()

MEANT = {*KERNELS, *control.MEANINGS, *containers.MEANINGS}
"""Ops of which we say what they compute."""


@cache
def opset(name: str) -> int:
    """The newest opset of the runtime, or a younger one that the op needs."""
    needed = [opset_range(op)[0] for op in module(name).walk() if isinstance(op, OnnxOp)]
    return max(newest_opset(), *needed)


def lowered(given: ModuleOp, name: str) -> ModuleOp | None:
    """The module after all passes; None if the target cannot run it, which the last pass says."""
    *passes, last = passes_of(pipelines.lower(Target("cpu", opset(name), threads=1)))
    for each in passes:
        each.apply(dialects.context(), given)
        given.verify()
    try:
        last.apply(dialects.context(), given)
    except UnsupportedError:
        return None
    return given


@pytest.mark.parametrize("name", NAMES)
def test_model(name: str) -> None:
    source = module(name)
    stream = StringIO()
    Printer(stream).print_op(source)
    again = Parser(dialects.context(), stream.getvalue()).parse_module()
    again.verify()
    assert again.is_structurally_equivalent(source)
    given = lowered(source.clone(), name)
    model = exporter.export(given or source, opset=opset(name), metadata={})
    if given is not None and opset(name) <= newest_opset():
        check_numbers(name, source, model)


def check_numbers(name: str, source: ModuleOp, model: onnx.ModelProto) -> None:
    """The runtime takes the model, and computes what the kernel does where there is one."""
    session = InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    arrays = feeds(name)
    if name not in MEANT or not all(map(is_numpys, arrays)):
        return
    given = dict(zip(entry.input_names(entry.entry_function(source)), arrays, strict=True))
    read = {value.name for value in session.get_inputs()}
    found = session.run(None, {key: value for key, value in given.items() if key in read})
    try:
        expected = evaluate(source, arrays)
    except UnsupportedError:  # a form that has no kernel
        return
    for ours, theirs in zip(expected, map(np.asarray, found), strict=True):
        assert ours.shape == theirs.shape
        if ours.dtype.kind in "OU":
            assert ours.tolist() == theirs.tolist()
        else:
            wide = (array.astype(np.complex128) for array in (ours, theirs))
            np.testing.assert_allclose(*wide, rtol=1e-3, atol=1e-3)


@pytest.mark.sweep
@pytest.mark.parametrize("name", NAMES)
def test_unknown_ranks_pass(name: str) -> None:
    """An op may be given tensors without a rank, and its results may be declared without one."""
    given = module(name)
    function = entry.entry_function(given)
    for value in (*function.args, *(result for op in function.walk() for result in op.results)):
        if isinstance(value.type, TensorType) and not is_constant(value.owner):
            set_type(value, UnrankedTensorType(value.type.element_type))
    entry.update_function_type(function)
    given.verify()
    lowered(given.clone(), name)
    exporter.export(given, opset=opset(name), metadata={})


GRADIENT = """
    func.func @f(%d: tensor<*xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<*xf32> {
      %a = onnx.Relu %d : (tensor<*xf32>) -> tensor<*xf32>
      %g = onednn.convolution_backward_data %a, %w {strides = [1, 1], pads_begin = [0, 0],
          pads_end = [0, 0], dilations = [1, 1], data_format = "NCX", weights_format = "OIX"}
        : (tensor<*xf32>, tensor<4x3x3x3xf32>) -> tensor<*xf32>
      func.return %g : tensor<*xf32>
    }
"""


def test_a_gradient_says_that_it_needs_a_rank() -> None:
    given = Parser(dialects.context(), textwrap.dedent(GRADIENT)).parse_module()
    with pytest.raises(GradcError, match=r"input diff_dst: given tensor<\*xf32>, expected a ranked tensor"):
        given.verify()


SEQUENCES = """
    func.func @f(%d: tensor<2x4x5x5xf32>, %w: tensor<4x3x3x3xf32>, %i: tensor<i64>)
        -> (tensor<*xf32>, tensor<2x3x7x7xf32>, tensor<?x3x7x7xf32>) {
      %g = onednn.convolution_backward_data %d, %w {strides = [1, 1], pads_begin = [0, 0],
          pads_end = [0, 0], dilations = [1, 1], data_format = "NCX", weights_format = "OIX"}
        : (tensor<2x4x5x5xf32>, tensor<4x3x3x3xf32>) -> tensor<2x3x7x7xf32>
      %r = onnx.Relu %g : (tensor<2x3x7x7xf32>) -> tensor<2x3x7x7xf32>
      %s = onnx.SequenceConstruct %g, %r
        : (tensor<2x3x7x7xf32>, tensor<2x3x7x7xf32>) -> !onnx.seq<tensor<2x3x7x7xf32>>
      %e = onnx.SequenceErase %s, %i
        : (!onnx.seq<tensor<2x3x7x7xf32>>, tensor<i64>) -> !onnx.seq<tensor<2x3x7x7xf32>>
      %a = onnx.SequenceAt %e, %i : (!onnx.seq<tensor<2x3x7x7xf32>>, tensor<i64>) -> tensor<2x3x7x7xf32>
      %n = onnx.SequenceEmpty {dtype = f32} : () -> !onnx.seq<tensor<*xf32>>
      %m = onnx.SequenceInsert %n, %r
        : (!onnx.seq<tensor<*xf32>>, tensor<2x3x7x7xf32>) -> !onnx.seq<tensor<*xf32>>
      %u = onnx.SequenceAt %m, %i : (!onnx.seq<tensor<*xf32>>, tensor<i64>) -> tensor<*xf32>
      %p = onnx.SplitToSequence %g {axis = 0} : (tensor<2x3x7x7xf32>) -> !onnx.seq<tensor<*xf32>>
      %q = onnx.Identity %p : (!onnx.seq<tensor<*xf32>>) -> !onnx.seq<tensor<*xf32>>
      %c = onnx.ConcatFromSequence %q {axis = 0} : (!onnx.seq<tensor<*xf32>>) -> tensor<?x3x7x7xf32>
      %o = onnx.Optional %r : (tensor<2x3x7x7xf32>) -> !onnx.opt<tensor<2x3x7x7xf32>>
      %x = onnx.OptionalGetElement %o : (!onnx.opt<tensor<2x3x7x7xf32>>) -> tensor<2x3x7x7xf32>
      %y = onnx.Add %a, %x : (tensor<2x3x7x7xf32>, tensor<2x3x7x7xf32>) -> tensor<2x3x7x7xf32>
      func.return %u, %y, %c : tensor<*xf32>, tensor<2x3x7x7xf32>, tensor<?x3x7x7xf32>
    }
"""


def test_sequences_and_optionals_beside_gradients() -> None:
    given = Parser(dialects.context(), textwrap.dedent(SEQUENCES)).parse_module()
    given.verify()
    model = exporter.export(
        apply(given.clone(), pipelines.lower(Target("cpu", 18, threads=1))), opset=18, metadata={}
    )
    session = InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(0)
    sizes = {"d": (2, 4, 5, 5), "w": (4, 3, 3, 3)}
    fed = {key: rng.standard_normal(size).astype(np.float32) for key, size in sizes.items()}
    fed["i"] = np.array(0)
    for ours, theirs in zip(evaluate(given, list(fed.values())), session.run(None, fed), strict=True):
        np.testing.assert_allclose(ours, np.asarray(theirs), rtol=1e-4, atol=1e-4)


def is_numpys(array: np.ndarray) -> bool:
    """Whether the dtype is one of numpy's own; the runtime takes the others in another way, or not at all."""
    return array.dtype.isbuiltin == 1


def is_constant(owner: object) -> bool:
    return isinstance(owner, ops.ConstantOp)
