"""A document that says the dtype of the result of a sum, difference, product or quotient."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from support.documents import document, op, tensor

import gradc
from dialects.support.diagnostics import GradcError
from dialects.support.dtypes import by_name

KINDS = {"Add": np.add, "Subtract": np.subtract, "Multiply": np.multiply, "Divide": np.divide}


def two(kind: str, first: str, second: str, declared: str) -> dict[str, Any]:
    inputs = [tensor(0, [2, 3], first), tensor(1, [3], second)]
    return document(op(0, kind, {}, inputs, [tensor(2, [2, 3], declared)]))


def numpy_dtype(name: str) -> Any:
    dtype = by_name(name)
    assert dtype is not None
    return dtype.numpy


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("half", ["bf16", "f16"])
def test_the_result_is_that_of_f32_rounded_to_what_is_declared(kind: str, half: str):
    for first, second, declared in product(("f32", half), repeat=3):
        compiled = gradc.compile(two(kind, first, second, declared), threads=1)
        values = np.array([[1.01, -2.03, 3.0], [0.3, 7.7, 1e-3]]), np.array([1.3, 0.7, -1.1])
        x, y = (v.astype(numpy_dtype(name)) for v, name in zip(values, (first, second), strict=True))
        want = KINDS[kind](x.astype(np.float32), y.astype(np.float32)).astype(numpy_dtype(declared))
        for got in (compiled.run({"t0": x, "t1": y}), compiled.reference({"t0": x, "t1": y})):
            assert got["t2"].dtype == want.dtype
            np.testing.assert_array_equal(got["t2"], want)


@pytest.mark.parametrize("dtypes", [*product(("f32", "bf16"), repeat=3)], ids=" ".join)
def test_cotangents_have_the_declared_dtype_and_gradients_that_of_the_inputs(dtypes: tuple[str, ...]):
    gradient = gradc.grad(two("Multiply", *dtypes), wrt=["t0", "t1"], cotangents=True)
    assert [str(each.dtype) for each in (*gradient.outputs, gradient.inputs[-1])] == [*dtypes]


def test_of_undeclared_results_f32_beside_a_half_type_gives_f32():
    graph = gradc.Graph()
    x, y = graph.input("x", "bf16", [2]), graph.input("y", "f32", [2])
    assert [str(value) for value in (graph.add(x, y), graph.add(x, x))] == [
        "GraphValue(f32 [2])",
        "GraphValue(bf16 [2])",
    ]


@pytest.mark.parametrize(
    ("dtypes", "expected"), [(("s32", "s32", "f32"), "s32"), (("bf16", "bf16", "s32"), "bf16")]
)
def test_integers_and_floats_do_not_become_each_other(dtypes: tuple[str, ...], expected: str):
    with pytest.raises(GradcError, match=f"dtype of dst: given {dtypes[2]}, expected {expected}"):
        gradc.compile(two("Add", *dtypes))
