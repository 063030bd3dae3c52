"""The cases that onnx ships for the ops of its standard domain: types, numbers and text of each."""

from __future__ import annotations

from io import StringIO

import ml_dtypes
import numpy as np
import pytest
from support.onnx_node_cases import Case, cases, expected, module_of, op_of, operands_of, value
from xdsl.parser import Parser
from xdsl.printer import Printer

import dialects
from dialects.onnx import ops
from dialects.onnx.base import OnnxOp
from dialects.onnx.interpreter import evaluate
from dialects.onnx.numpy import KERNELS
from dialects.onnx.opset_range import opset_range
from dialects.onnx.opsets import OLDEST
from dialects.support import shapes
from dialects.support.diagnostics import UnsupportedError
from dialects.support.dtypes import of_mlir

_ROUNDED = "onnxruntime, as we, aligns the corners of the size that is rounded down"

OTHERWISE: dict[str, str] = {
    "test_resize_downsample_scales_cubic_align_corners": _ROUNDED,
    "test_resize_downsample_scales_linear_align_corners": _ROUNDED,
}
"""Cases whose numbers are others than ours -> why."""


def check_types(op: OnnxOp, case: Case) -> None:
    for i, array in expected(case):
        type_ = op.results[i].type
        element = shapes.element_type_of(op.results[i])
        dtype = of_mlir(element)
        assert dtype is not None
        if array.dtype.kind != "U":
            assert dtype.numpy == array.dtype, (case.name, i, dtype)
        if shapes.has_rank(type_):
            assert shapes.compatible(shapes.shape_of(type_), array.shape), (case.name, i, type_, array.shape)


@pytest.mark.sweep
@pytest.mark.parametrize("name", ops.op_names())
def test_types(name: str) -> None:
    """What is inferred holds for the results, with operands known and not."""
    for case in cases()[name]:
        (node,) = case.model.graph.node
        for constant in (False, True):
            op = op_of(node, [value(array, constant) for array in operands_of(case)])
            op.verify()
            check_types(op, case)
            (opset,) = (entry.version for entry in case.model.opset_import if not entry.domain)
            assert max(opset, OLDEST) >= opset_range(op)[0] or node.op_type in ("Cast", "CastLike"), case.name


ROUNDED_IN_STEPS = ("Attention",)
"""Whose expected numbers of bf16 are rounded at each step, ours once."""


def exactly(array: np.ndarray) -> np.ndarray:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


@pytest.mark.sweep
@pytest.mark.parametrize("name", sorted(KERNELS))
def test_numbers(name: str) -> None:
    for case in cases()[name]:
        (node,) = case.model.graph.node
        arrays = operands_of(case)
        op = op_of(node, [value(array, True) for array in arrays])
        try:
            found = evaluate(op, tuple(a for a in arrays if a is not None))
        except UnsupportedError:
            continue
        if case.name in OTHERWISE:
            continue
        for i, array in expected(case):
            assert found[i].shape == array.shape, case.name
            if array.dtype.kind in "UO":
                assert found[i].tolist() == array.tolist(), case.name
                continue
            ours, theirs = map(exactly, (found[i], array))
            in_steps = array.dtype == ml_dtypes.bfloat16 and name in ROUNDED_IN_STEPS
            rtol = 2**-6 if in_steps else case.rtol
            np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=case.atol + 1e-6, err_msg=case.name)


@pytest.mark.sweep
@pytest.mark.parametrize("name", ops.op_names())
def test_text(name: str) -> None:
    """The first cases of each op read back as they were printed, in both forms."""
    for case in cases()[name][:3]:
        module = module_of(case)
        for generic in (False, True):
            stream = StringIO()
            Printer(stream, print_generic_format=generic).print_op(module)
            again = Parser(dialects.context(), stream.getvalue()).parse_module()
            again.verify()
            assert again.is_structurally_equivalent(module), stream.getvalue()
