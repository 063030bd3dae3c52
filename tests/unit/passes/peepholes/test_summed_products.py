"""Sums of products become products of matrices where these are faster, and keep the numbers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import gradc

Sizes = tuple[int, ...]


def sum_of_products(
    a: Sequence[object], b: Sequence[object], axes: Sizes, keepdims: int, dtype: int = 1
) -> onnx.ModelProto:
    """ReduceSum(a * b)"""
    graph = helper.make_graph(
        [
            helper.make_node("Mul", ["a", "b"], ["product"]),
            helper.make_node("ReduceSum", ["product", "axes"], ["y"], keepdims=keepdims),
        ],
        "g",
        [helper.make_tensor_value_info(name, dtype, shape) for name, shape in (("a", a), ("b", b))],
        [helper.make_tensor_value_info("y", dtype, None)],
        [numpy_helper.from_array(np.array(axes), "axes")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def kinds(compiled: gradc.Compiled) -> list[str]:
    return [node.op_type for node in compiled.model.graph.node if node.op_type != "Constant"]


def assert_right(compiled: gradc.Compiled, a: np.ndarray, b: np.ndarray, axes: Sizes, keepdims: int) -> None:
    (found,) = compiled.run({"a": a, "b": b}).values()
    wanted = (a.astype(np.float64) * b).sum(axes, keepdims=bool(keepdims))
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, atol=1e-3)


def draw(*shapes: Sizes) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [random.standard_normal(shape).astype(np.float32) for shape in shapes]


SIZES = [(20, 12, 24), (20, 12, 1), (20, 1, 24), (1, 12, 24), (20, 1, 1), (12, 24), (24,)]
AXES = [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2)]


@pytest.mark.parametrize("keepdims", [0, 1])
def test_all_ways_to_broadcast_are_right(keepdims: int):
    products = 0
    for a, b, axes in itertools.product(SIZES, SIZES, AXES):
        if len(np.broadcast_shapes(a, b)) == 3:
            compiled = gradc.compile(sum_of_products(a, b, axes, keepdims))
            assert_right(compiled, *draw(a, b), axes, keepdims)
            products += "MatMul" in kinds(compiled)
    assert products == 22


FASTER = [
    ((1024, 20), (1, 20), (1,), ["Reshape", "MatMul", "Reshape"]),
    ((1024, 64), (1024, 1), (0,), ["Reshape", "MatMul", "Reshape"]),
    ((64, 64, 1), (64, 64), (1,), ["Reshape", "MatMul"]),
    ((64, 1, 8), (16, 8), (2,), ["Reshape", "Transpose", "MatMul"]),
    ((1, 64, 1, 1), (1, 64, 14, 14), (1,), ["Reshape", "Reshape", "MatMul", "Reshape"]),
    ((4, 3, 128, 16), (4, 3, 1, 16), (3,), ["Reshape", "MatMul", "Reshape"]),
    ((4, 16, 128), (4, 16, 1), (1,), ["Reshape", "MatMul", "Reshape"]),
    ((1024, 9, 32), (1024, 9, 1), (1,), ["Reshape", "MatMul", "Reshape"]),
    ((256, 16, 8), (256, 1, 8), (2,), ["Reshape", "MatMul", "Reshape"]),
]
SLOWER = [
    ((1024, 64), (1024, 64), (1,)),
    ((1024, 3, 64), (1024, 1, 64), (2,)),
    ((1024, 9, 32), (1024, 1, 32), (2,)),
    ((1024, 3, 32), (1024, 3, 1), (1,)),
    ((4, 16), (1, 16), (1,)),
    ((64, 3, 3, 32), (64, 1, 3, 32), (2,)),
    ((16, 80, 1, 1), (16, 80, 4, 4), (0, 2, 3)),
    ((1024, 20), (1, 20), (0,)),
    ((1024, 20), (1, 1), (1,)),
    ((0, 20), (1, 20), (1,)),
    ((70_000, 2), (70_000, 1), (0,)),
]


@pytest.mark.parametrize(("a", "b", "axes", "ops"), FASTER)
def test_a_repeated_factor_gives_a_product_of_matrices(a: Sizes, b: Sizes, axes: Sizes, ops: list[str]):
    for left, right in ((a, b), (b, a)):
        compiled = gradc.compile(sum_of_products(left, right, axes, 0))
        assert sorted(kinds(compiled)) == sorted(ops)
        assert_right(compiled, *draw(left, right), axes, 0)


@pytest.mark.parametrize(("a", "b", "axes"), SLOWER)
def test_slower_and_impossible_products_stay(a: Sizes, b: Sizes, axes: Sizes):
    compiled = gradc.compile(sum_of_products(a, b, axes, 1))
    assert kinds(compiled) == ["Mul", "ReduceSum"]
    assert_right(compiled, *draw(a, b), axes, 1)


@pytest.mark.parametrize(
    ("a", "b", "axes", "becomes_product"),
    [
        (("N", 20), (1, 20), (1,), True),
        (("N", 16, 64), ("N", 16, 1), (1,), True),
        (("N", 64, 16), ("N", 1, 16), (2,), True),
        (("N", 20), ("M", 20), (1,), False),
        (("N", 20), ("N", 1), (0,), False),
        (("N", "M", 16), ("N", 1, 16), (2,), True),
    ],
)
@pytest.mark.parametrize("size", [0, 1, 7])
def test_dynamic_sizes(
    a: Sequence[object], b: Sequence[object], axes: Sizes, becomes_product: bool, size: int
):
    compiled = gradc.compile(sum_of_products(a, b, axes, 0))
    assert ("MatMul" in kinds(compiled)) == becomes_product
    shapes = [tuple(size if isinstance(dim, str) else int(str(dim)) for dim in shape) for shape in (a, b)]
    assert_right(compiled, *draw(*shapes), axes, 0)


def test_infinite_terms_are_those_of_the_product():
    """inf * 0 is NaN, and inf - inf."""
    a, b = np.ones((4, 512), np.float32), np.ones((1, 512), np.float32)
    a[0, 3], a[1, 3:5], a[2, 5], b[0, 5] = np.inf, [np.inf, -np.inf], np.inf, 0
    (found,) = gradc.compile(sum_of_products(a.shape, b.shape, (1,), 0)).run({"a": a, "b": b}).values()
    np.testing.assert_array_equal(found, [np.inf, np.nan, np.nan, 511])


def test_where_a_product_stays():
    """Other dtypes and targets, strict numbers, a product that is read elsewhere, unknown axes."""
    model = sum_of_products((1024, 20), (1, 20), (1,), 0)
    assert "MatMul" in kinds(gradc.compile(model))
    for target in ("cuda", "openvino", "portable", "tract"):
        assert "MatMul" not in kinds(gradc.compile(model, target=target))
    assert "MatMul" not in kinds(gradc.compile(model, strict_ieee=True))
    assert "MatMul" not in kinds(
        gradc.compile(sum_of_products((1024, 20), (1, 20), (1,), 0, onnx.TensorProto.DOUBLE))
    )
    model.graph.output.append(helper.make_tensor_value_info("product", 1, None))
    assert "MatMul" not in kinds(gradc.compile(model))
    del model.graph.output[1:], model.graph.initializer[:]
    model.graph.input.append(helper.make_tensor_value_info("axes", onnx.TensorProto.INT64, [1]))
    assert "MatMul" not in kinds(gradc.compile(model))


def test_the_weights_of_a_weighted_sum_have_a_product_as_gradient():
    """The sum over channels of a class activation map, and its derivative by the weights."""
    model = sum_of_products((1, 64, 1, 1), (1, 64, 28, 28), (1,), 0)
    a, b = draw((1, 64, 1, 1), (1, 64, 28, 28))
    gradient = gradc.vjp(model, wrt="a")
    assert "MatMul" in kinds(gradient)
    cotangent = draw((1, 28, 28))[0]
    found = gradient.run({"a": a, "b": b, "cotangent_y": cotangent})["grad_a"]
    np.testing.assert_allclose(found, (cotangent * b).sum((2, 3), keepdims=True), atol=1e-3)
