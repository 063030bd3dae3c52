"""Masks as steps are exact: at their bound and at the numbers beside it, however far away."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

import gradc
from dialects.onnx import ops as onnx_ops
from dialects.support.entry import set_names, update_function_type
from dialects.support.shapes import tensor_type
from passes.emit.expressions import Operators
from passes.fast_forms import FastFormsPass

BOUNDS = [0.0, 3.0, 6.0, -3.0, 1.0, -1.0, 2.0, -0.5, 1 / 3, -1e-20, 1e20, np.pi, 0.99999994]


def mask(bound: float, above: bool) -> ModuleOp:
    block, e = Block(arg_types=[tensor_type(f32, ("N",))]), Operators()
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
    FastFormsPass().apply(Context(), module)
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
    FastFormsPass().apply(Context(), module)
    assert ("onnx.Gather" not in [op.name for op in module.walk()]) == one_shape


def sum_of(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: int) -> ModuleOp:
    block, e = Block(arg_types=[tensor_type(f32, shape)]), Operators()
    result = e(block.args[0]).summed(axes, keepdims)
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
