"""--target cuda: only nodes with a CUDA kernel, the right numbers; on a GPU where there is one."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from support.documents import document, op, tensor
from support.examples import examples
from support.generate import problems, seeded
from support.pipeline import Expected, apply, lowered
from support.problems import Problem
from support.tiers import some

import gradc
from dialects.evaluate import evaluate
from dialects.support.diagnostics import UnsupportedError
from dialects.support.dtypes import by_name
from dialects.support.entry import entry_function, input_names
from gradc.importers.mlir.parser import import_mlir
from gradc.model.exporter import export
from gradc.runtime.session import Session
from passes import pipelines
from passes.targets.target import Target

KERNELS = json.loads((files("passes.kernel_tables") / "cuda.json").read_text())["kernels"]
WORDS = {"float": "f32", "float16": "f16", "bfloat16": "bf16", "double": "f64", "int64": "s64"}
WORDS |= {"int32": "s32", "bool": "boolean", "uint8": "u8"}


@examples(80)
@given(problems(most_ops=2))
def test_numbers_in_numpy(problem: Problem):
    Expected(problem).check_module(lowered(problem, Target("cuda")), "cuda")


@pytest.mark.sweep(parts=1)
@pytest.mark.parametrize("opset", [13, 16, 18, 19, 20, 21, 22, 23, 24])
def test_every_node_has_a_kernel(opset: int):
    """Read off the exported model with onnx's own schemas, not with the code under test."""
    refused, seeds = 0, some(range(40), 16)
    for seed in seeds:
        problem = seeded([3, seed], most_ops=2)
        target = Target("cuda", opset)
        try:
            module = lowered(problem, target)
        except UnsupportedError:
            refused += 1
            continue
        _check_model(export(module, opset=opset, metadata={}), opset)
    assert refused == 0 or opset > 23
    assert refused < len(seeds) or opset > 23


def _check_model(model: onnx.ModelProto, opset: int) -> None:
    inferred = onnx.shape_inference.infer_shapes(model)
    types = {t.name: t.data_type for t in model.graph.initializer}
    for info in (*inferred.graph.value_info, *inferred.graph.input, *inferred.graph.output):
        types[info.name] = info.type.tensor_type.elem_type
    for node in model.graph.node:
        # the exporter's copy of an input to an output: it computes nothing
        if node.op_type == "Identity" and node.input[0] in {i.name for i in model.graph.input}:
            continue
        assert _has_kernel(node, types, opset), f"{node.op_type} at opset {opset}"


def _has_kernel(node: onnx.NodeProto, types: dict[str, int], opset: int) -> bool:
    schema = onnx.defs.get_schema(node.op_type, max_inclusive_version=opset)
    bound = {}
    for formals, names in ((schema.inputs, node.input), (schema.outputs, node.output)):
        for i, name in enumerate(names):
            if name:
                formal = formals[min(i, len(formals) - 1)]
                bound[formal.type_str] = onnx.TensorProto.DataType.Name(types[name]).lower()
    since = schema.since_version
    for first, last, constraints in KERNELS.get(node.op_type, []):
        in_range = since == first if last is None else first <= since <= last
        admitted = all(
            WORDS[word] in constraints[variable].split()
            for variable, word in bound.items()
            if variable in constraints
        )
        if in_range and admitted:
            return True
    return False


@pytest.mark.sweep
def test_no_asymmetric_transposed_convolution():
    """cuDNN takes one pad per axis; other pads fall back to the CPU, silently."""
    seen, seeds = 0, some(range(150), 4)
    for seed in seeds:
        problem = seeded([4, seed], kinds=("convolution",), dynamics=("static", "batch"))
        model = export(lowered(problem, Target("cuda")), opset=18, metadata={})
        for node in model.graph.node:
            if node.op_type != "ConvTranspose":
                continue
            pads = next(list(a.ints) for a in node.attribute if a.name == "pads")
            half = len(pads) // 2
            assert pads[:half] == pads[half:]
            seen += 1
    assert seen > len(seeds) / 8


SUM_AND_SCALE = """
func.func @main(%dy: tensor<1x4x3xf16>) -> tensor<1x1x3xf16> {
  %v = onnx.Constant dense<1.0> : tensor<4x1x1xf16>
  %w = onnx.Constant dense<0.125> : tensor<1x1x1xf16>
  %s = grad.conv_backward_data %dy, %v {UNIT} : (tensor<1x4x3xf16>, tensor<4x1x1xf16>) -> tensor<1x1x3xf16>
  %dx = grad.conv_backward_data %s, %w {UNIT} : (tensor<1x1x3xf16>, tensor<1x1x1xf16>) -> tensor<1x1x3xf16>
  func.return %dx : tensor<1x1x3xf16>
}
""".replace(
    "UNIT",
    "strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, "
    'residue = [0], layout = "NCX"',
)


@pytest.mark.parametrize("target", ["cpu", "cuda", "portable"])
def test_between_f16_gradients_nothing_overflows(target: str):
    """4 x 60000 is beyond f16, an eighth of it is not; docs/numbers.md promises the latter."""
    module = apply(import_mlir(SUM_AND_SCALE, "sum.mlir"), pipelines.lower(Target(target)))
    (got,) = evaluate(module, [np.full((1, 4, 3), 60000, np.float16)])
    np.testing.assert_array_equal(got, np.full((1, 1, 3), 30000, np.float16))


@pytest.mark.parametrize("dtype", ["f8_e5m2", "f8_e4m3"])
def test_floats_of_eight_bits_have_kernels(dtype: str):
    """onnxruntime lists Cast from and to them on CUDA from opset 19 on."""
    step = op(0, "Dequantize", {"scales": [0.3]}, [tensor(0, [4], dtype)], [tensor(1, [4])])
    back = op(1, "Quantize", {"scales": [0.3]}, [tensor(1, [4])], [tensor(2, [4], dtype)])
    compiled = gradc.compile(document(step, back), target="cuda")
    kinds = [node.op_type for node in compiled.model.graph.node]
    assert kinds == ["Cast", "Mul", "Mul", "Abs", "GreaterOrEqual", "Add", "Where", "QuantizeLinear"]


@pytest.mark.parametrize("dtype", ["s4", "u4"])
def test_integers_of_four_bits_are_widened_by_their_dequantisation(dtype: str):
    """onnxruntime has no Cast from them on CUDA at any opset, and DequantizeLinear at 21 and 22."""
    inputs = [tensor(0, [2, 4], dtype), tensor(1, [1]), tensor(2, [1], dtype)]
    graph = document(op(0, "DynamicDequantize", {"qtype": "per_tensor"}, inputs, [tensor(3, [2, 4])]))
    compiled = gradc.compile(graph, target="cuda")
    assert "Cast" not in [node.op_type for node in compiled.model.graph.node]
    x = np.arange(8).reshape(2, 4) - (8 if dtype == "s4" else 0)
    numbers = by_name(dtype)
    assert numbers is not None
    x, scale, zero = x.astype(numbers.numpy), np.array([0.5], np.float32), np.ones(1, numbers.numpy)
    got = compiled.run({"t0": x, "t1": scale, "t2": zero}, ep="cpu")
    np.testing.assert_array_equal(got["t3"], (x.astype(np.float32) - 1) / 2)
    with pytest.raises(UnsupportedError, match="opset=22 does without"):
        gradc.compile(graph, target="cuda", opset=23)


def _has_cuda() -> bool:
    try:
        import onnxruntime
    except ImportError:
        return False
    return "CUDAExecutionProvider" in onnxruntime.get_available_providers()


@pytest.mark.sweep
@pytest.mark.skipif(not _has_cuda(), reason="onnxruntime has no CUDAExecutionProvider")
@pytest.mark.parametrize("seed", range(60))
def test_on_the_gpu(seed: int):
    problem = seeded([5, seed], most_ops=2)
    expected, module = Expected(problem), lowered(problem, Target("cuda"))
    session = Session(export(module, opset=18, metadata={}), ep="cuda")
    names = input_names(entry_function(module))
    for run in range(problem.runs):
        got = session.run(dict(zip(names, problem.feeds(run), strict=True)))
        expected.check(run, list(got.values()), "onnxruntime on CUDA")
    where = session.placement()
    elsewhere = {name for name, ep in where.items() if "CUDA" not in ep}
    shape_math = {"Shape", "Gather", "Concat", "Add", "Sub", "Mul", "Div", "Max", "Min", "Cast", "Squeeze"}
    heavy = ("Conv", "MatMul", "Pad", "Slice", "Transpose")
    assert not [n for n in elsewhere if n.startswith(heavy) and n not in shape_math]


def alone(kind: str) -> gradc.Graph:
    g = gradc.Graph()
    x, dy = g.input("x", "f32", [1, 1, 4, 4]), g.input("dy", "f32", [1, 1, 3, 3])
    window = {"strides": [1, 1], "kernel": [2, 2], "pads_begin": [0, 0], "pads_end": [0, 0]}
    made = {
        "Elu": lambda: g.elu(x, alpha=1.0),
        "Round": lambda: g.round(x),
        "SoftPlus": lambda: g.soft_plus(x),
        "MaxPoolBackward": lambda: g.max_pool_backward(x, dy, **window, data_format="NCX"),
        "Quantize": lambda: g.quantize(x, scales=[0.1], zps=[3], qtype="per_tensor", result_dtype="u8"),
    }
    g.output(made[kind](), "y")
    return g


@pytest.mark.sweep
@pytest.mark.parametrize("opset", [21, 22, 23])
@pytest.mark.parametrize("kind", ["Elu", "Round", "SoftPlus", "MaxPoolBackward", "Quantize"])
def test_kinds_whose_own_kernels_end(kind: str, opset: int):
    """Their ONNX op has no kernel from opset 22 or 23 on: others stand for it."""
    compiled = gradc.compile(alone(kind), target="cuda", opset=opset)
    _check_model(compiled.model, opset)
    rng = np.random.default_rng(7)
    arrays = {"x": rng.standard_normal((1, 1, 4, 4)), "dy": rng.standard_normal((1, 1, 3, 3))}
    feeds = {i.name: arrays[i.name].astype(np.float32) * 3 for i in compiled.inputs}
    want = compiled.reference(feeds)["y"].astype(np.float32)
    np.testing.assert_allclose(
        compiled.run(feeds, ep="cpu")["y"].astype(np.float32), want, rtol=1e-5, atol=1e-6
    )


def test_what_no_strategy_writes_names_the_opset_that_has_one():
    with pytest.raises(UnsupportedError, match=r"no strategy applies.*; opset=23 has one\n"):
        gradc.compile(alone("MaxPoolBackward"), target="cuda", opset=24)


@pytest.mark.parametrize(("kind", "attributes"), [("Flatten", {}), ("MaxPool", {"kernel_shape": [2, 2]})])
def test_a_form_that_needs_a_rank_that_is_not_known(kind: str, attributes: dict[str, Any]):
    """It ended with `not a ranked tensor`, at no place."""
    ports = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in "xy"]
    node = onnx.helper.make_node(kind, ["x"], ["y"], name="pool", **attributes)
    graph = onnx.helper.make_graph([node], "g", ports[:1], ports[1:])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 22)], ir_version=10)
    with pytest.raises(UnsupportedError, match=rf"{kind} has no kernel .*opset=\d+ has one"):
        gradc.compile(model, target="cuda", opset=22)
