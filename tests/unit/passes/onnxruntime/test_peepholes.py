"""Masks as steps are exact: at a bound and at the numbers beside it, however far away. And other forms."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

import gradc
from dialects.onnx import ops as onnx_ops
from dialects.support.entry import set_names, update_function_type
from dialects.support.shapes import tensor_type
from passes.builder.step_as_hard_sigmoid import line_behind, step_of_square
from passes.builder.values import Builder
from passes.onnxruntime_peepholes import OnnxruntimePeepholesPass

BOUNDS = [0.0, 3.0, 6.0, -3.0, 1.0, -1.0, 2.0, -0.5, 1 / 3, -1e-20, 1e20, np.pi, 0.99999994]


def mask(bound: float, above: bool) -> ModuleOp:
    block, e = Block(arg_types=[tensor_type(f32, ("N",))]), Builder()
    x = e(block.args[0])
    result = (x > bound if above else x < bound).cast(f32)
    block.add_ops([*e.emit.ops, ReturnOp(result.value)])
    function = FuncOp("main", ([], []), Region(block))
    set_names(function, ["x"], ["y"])
    update_function_type(function)
    return ModuleOp([function])


def points(bound: float) -> np.ndarray:
    near = [np.float32(bound)]
    for side in (np.inf, -np.inf):
        at = np.float32(bound)
        for _ in range(4):
            at = np.nextafter(at, np.float32(side), dtype=np.float32)
            near.append(at)
    tiny = np.finfo(np.float32).tiny
    far = [0.0, -0.0, 1.0, -1.0, tiny, -tiny, 1e-20, -1e-20, 3e38, -3e38, np.inf, -np.inf, 5.9, -7.5]
    found = np.array([*near, *far], np.float32)
    return found[(found == 0) | (np.abs(found) >= tiny)]


@pytest.mark.parametrize("above", [True, False], ids=["above", "below"])
@pytest.mark.parametrize("bound", BOUNDS)
def test_a_step_is_the_mask(bound: float, above: bool):
    compiled = gradc.compile(mask(bound, above), target="cpu")
    assert [node.op_type for node in compiled.model.graph.node] == ["HardSigmoid"]
    x = points(bound)
    wanted = x > np.float32(bound) if above else x < np.float32(bound)
    np.testing.assert_array_equal(compiled.run({"x": x})["y"], wanted.astype(np.float32))


@pytest.mark.parametrize("bound", [0.0, 1.0])
def test_a_written_step_has_a_derivative_of_0(bound: float):
    """A large cotangent times the slope overflows: it is masked before."""
    steps = gradc.compile(mask(bound, True), target="cpu").model
    cotangent = np.full(5, 1e3, np.float32)
    x = np.array([-2.0, 0.0, 1.0, 1.5, 3.0], np.float32)
    found = gradc.vjp(steps, wrt="x", check=False).run({"x": x, "cotangent_y": cotangent})
    np.testing.assert_array_equal(found["grad_x"], np.zeros(5))


def test_strict_numbers_have_masks():
    compiled = gradc.compile(mask(0.0, True), strict_ieee=True)
    kinds = [node.op_type for node in compiled.model.graph.node if node.op_type != "Constant"]
    assert kinds == ["Greater", "Cast"]
    assert isinstance(compiled.model, onnx.ModelProto)


def test_a_bound_beyond_all_slopes_stays():
    module = mask(1e38, True)
    OnnxruntimePeepholesPass().apply(Context(), module)
    assert [op.name for op in module.walk()].count("onnx.HardSigmoid") == 0


@pytest.mark.parametrize(("taken", "one_shape"), [([1, 2], True), ([2, 3], False), ([3], False)])
def test_entries_that_no_shape_has_stay_a_gather(taken: list[int], one_shape: bool):
    block = Block(arg_types=[tensor_type(f32, ("N", "C", "W"))])
    places = onnx_ops.ConstantOp(np.array(taken))
    sizes = onnx_ops.ShapeOp(block.args[0])
    gathered = onnx_ops.GatherOp(sizes, places)
    block.add_ops([places, sizes, gathered, ReturnOp(gathered.output)])
    function = FuncOp("main", ([], []), Region(block))
    update_function_type(function)
    module = ModuleOp([function])
    OnnxruntimePeepholesPass().apply(Context(), module)
    assert ("onnx.Gather" not in [op.name for op in module.walk()]) == one_shape


def sum_of(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: int) -> ModuleOp:
    block, e = Block(arg_types=[tensor_type(f32, shape)]), Builder()
    result = e(block.args[0]).sum_axes(axes, keepdims)
    block.add_ops([*e.emit.ops, ReturnOp(result.value)])
    function = FuncOp("main", ([], []), Region(block))
    set_names(function, ["x"], ["y"])
    update_function_type(function)
    return ModuleOp([function])


SUMS = [
    ((64, 96), (0,), 0, True),
    ((64, 96), (0,), 1, True),
    ((4, 32, 8, 8), (0, 1), 1, True),
    ((1, 32, 16, 16), (1,), 0, True),
    ((1, 1, 64, 1, 96), (0, 2), 1, True),
    ((64, 1, 96), (0,), 0, True),
    ((2, 64, 96), (1,), 0, False),
    ((64, 96), (1,), 0, False),
    ((64, 96), (0, 1), 0, False),
    ((16, 16), (0,), 0, False),
    ((5000, 4), (0,), 0, False),
    ((0, 96), (0,), 0, False),
]


@pytest.mark.parametrize(("shape", "axes", "keepdims", "is_product"), SUMS)
def test_rows_are_added_up_by_a_product(
    shape: tuple[int, ...], axes: tuple[int, ...], keepdims: int, is_product: bool
):
    x = np.random.default_rng(0).integers(-8, 8, shape).astype(np.float32)
    wanted = x.sum(axes, keepdims=bool(keepdims))
    for target, expected in (("cpu", is_product), ("cuda", False), ("portable", False)):
        compiled = gradc.compile(sum_of(shape, axes, keepdims), target=target)
        assert ("MatMul" in {node.op_type for node in compiled.model.graph.node}) == expected
        np.testing.assert_array_equal(compiled.run({"x": x}, ep="cpu")["y"], wanted)


def test_a_sum_of_a_models_own_stays():
    graph = gradc.Graph()
    graph.output(graph.reduce_sum(graph.input("x", "f32", (64, 96)), axes=[0]), "y")
    assert "MatMul" not in {node.op_type for node in gradc.compile(graph).model.graph.node}


def between_products(op: str, opset: int, **attributes: str) -> onnx.ModelProto:
    """x -> op(x w) w"""
    size = [6, 8]
    weights = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node(op, ["a"], ["b"], **attributes),
        helper.make_node("MatMul", ["b", "w"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, size)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, size)],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


@pytest.mark.parametrize(
    ("op", "attributes", "gate"),
    [
        ("Gelu", {}, "Erf"),
        ("Gelu", {"approximate": "tanh"}, "Sigmoid"),
        ("Mish", {}, "Div"),
    ],
    ids=str,
)
def test_what_the_derivative_computes_is_not_computed_twice(op: str, attributes: dict[str, str], gate: str):
    model = between_products(op, 22, **attributes)
    assert op in [node.op_type for node in gradc.compile(model).model.graph.node]
    both = gradc.value_and_grad(model, wrt="x", cotangents=True)
    kinds = [node.op_type for node in both.model.graph.node]
    assert op not in kinds
    assert kinds.count(gate) == 1
    rng = np.random.default_rng(1)
    given = {name: rng.standard_normal((6, 8)).astype(np.float32) for name in ("x", "cotangent_y")}
    strict = gradc.value_and_grad(model, wrt="x", cotangents=True, strict_ieee=True).run(given)
    for name, found in both.run(given).items():
        np.testing.assert_allclose(found, strict[name], atol=2e-5)


def test_a_factor_of_an_exponential_is_in_its_argument():
    graph = gradc.vjp(between_products("Erf", 18), wrt="x", check=False).model.graph
    before = [node for node in graph.node if node.op_type == "Exp"]
    assert [node.op_type for node in graph.node if node.output[0] == before[0].input[0]] == ["Sub"]


def test_a_factor_in_an_argument_keeps_the_precision():
    x = np.concatenate([np.linspace(-9, 9, 2001), np.linspace(-1e-3, 1e-3, 101)]).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("Erf", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, list(x.shape))],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, list(x.shape))],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    found = gradc.vjp(model, wrt="x").run({"x": x, "cotangent_y": np.ones_like(x)})["grad_x"]
    exact = 2 / np.sqrt(np.pi) * np.exp(-(x.astype(np.float64) ** 2))
    rounding = np.finfo(np.float32).eps * np.maximum(2, x.astype(np.float64) ** 2)
    np.testing.assert_array_less(np.abs(found - exact), rounding * exact + 1e-37)


@pytest.mark.parametrize("bound", [3.0, 1.0, 2.0, 0.5, 4.0, 6.0, 1 / 3, 1e-9, 1e9, np.pi, 0.99999994])
def test_a_step_of_a_square_is_that_of_the_magnitude(bound: float):
    line = line_behind(float(np.float32(bound)))
    assert line is not None
    squared = step_of_square((-line[0], -line[1]))
    assert squared is not None
    x = points(bound)
    with np.errstate(over="ignore"):
        found = np.clip(np.float32(squared[0]) * (x * x) + np.float32(squared[1]), 0, 1)
    np.testing.assert_array_equal(found, np.abs(x) < np.float32(bound))


def test_a_slope_that_is_no_step_is_not_squared():
    assert step_of_square((-0.75, 1.5)) is None
    assert step_of_square((-1.0, 1e38)) is None


def test_hard_swish_in_f64_has_the_numbers_of_f64():
    """The attributes of its HardSigmoid are of f32."""
    graph = helper.make_graph(
        [helper.make_node("HardSwish", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.DOUBLE, ["N"])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.DOUBLE, ["N"])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    x = np.array([-4.0, -3.0, -1.3, 0.0, 0.7, 3.0, 5.0])
    both = gradc.value_and_grad(model, wrt="x", cotangents=True).run({"x": x, "cotangent_y": np.ones(7)})
    inside = (np.abs(x) < 3) * x / 6
    np.testing.assert_allclose(both["y"], x * np.clip(x / 6 + 0.5, 0, 1), rtol=1e-15)
    np.testing.assert_allclose(both["grad_x"], np.clip(x / 6 + 0.5, 0, 1) + inside, atol=1e-15)


def test_the_gradient_of_elu_has_the_smaller_of_y_and_0():
    graph = helper.make_graph(
        [helper.make_node("Elu", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["N"])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["N"])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    written = gradc.vjp(model, wrt="x").model.graph.node
    assert [node.op_type for node in written] == ["Elu", "Min", "Add", "Mul"]


def softplus(shape: tuple[int | str, ...], dtype: int = onnx.TensorProto.FLOAT) -> onnx.ModelProto:
    graph = helper.make_graph(
        [helper.make_node("Softplus", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", dtype, shape)],
        [helper.make_tensor_value_info("y", dtype, shape)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


@pytest.mark.parametrize("shape", [(1001,), ("N",)])
def test_softplus_of_many_has_the_relative_error_of_the_kernel(shape: tuple[int | str, ...]):
    compiled = gradc.compile(softplus(shape))
    assert "Softplus" not in [node.op_type for node in compiled.model.graph.node]
    x = np.linspace(-85, 95, 1001).astype(np.float32)
    wanted = np.logaddexp(0, x.astype(np.float64))
    np.testing.assert_allclose(compiled.run({"x": x})["y"], wanted, rtol=5e-7)


def test_softplus_at_the_ends():
    x = np.tile(np.array([np.inf, -np.inf, np.nan, 0, -0.0, 3e38, -3e38, 1e-40], np.float32), 100)
    with np.errstate(invalid="ignore"):
        wanted = np.logaddexp(0, x.astype(np.float64)).astype(np.float32)
    for strict in (False, True):
        compiled = gradc.compile(softplus(x.shape), strict_ieee=strict)
        assert (len(compiled.model.graph.node) == 1) == strict
        np.testing.assert_allclose(compiled.run({"x": x})["y"], wanted, rtol=1e-6)


@pytest.mark.parametrize("target", ["cuda", "openvino", "portable", "tract"])
def test_softplus_stays_for_other_targets(target: str):
    kinds = [node.op_type for node in gradc.compile(softplus((1001,)), target=target).model.graph.node]
    assert kinds == ["Softplus"]


def test_softplus_of_few_stays():
    kinds = [node.op_type for node in gradc.compile(softplus((16, 31))).model.graph.node]
    assert kinds == ["Softplus"]


def test_softplus_in_f64_is_that_of_f64():
    x = np.array([-700.0, -40.0, -1.0, 0.0, 1.0, 40.0, 1000.0])
    found = gradc.compile(softplus((7,), onnx.TensorProto.DOUBLE)).run({"x": x})["y"]
    np.testing.assert_allclose(found, np.logaddexp(0, x), rtol=1e-14)
