"""Rows and columns of different lengths, which onnx's inference takes for sizes that do not go together."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from support.onnx_models import model_of

import gradc
from gradc.model.validity import InvalidModelError, check

X, Z = np.array([1, -2, 3], np.float32), np.array([0.5, 2, -1, 4], np.float32)
OUTER = """g (float[3] x, float[4] z) => (float[3, 4] y) <int64[1] one = {1}, int64[1] zero = {0}>
    { a = Unsqueeze(x, one) b = Unsqueeze(z, zero) y = OP(a, b) }"""


def is_decided(found: gradc.Compiled) -> bool:
    return not any("not decided" in str(remark) for remark in found.remarks)


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div", "Max"])
def test_of_two_vectors(op: str):
    model = model_of(OUTER.replace("OP", op))
    numpy_op = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Max": np.maximum}[
        op
    ]
    found = gradc.compile(model).run({"x": X, "z": Z})["y"]
    np.testing.assert_allclose(found, numpy_op.outer(X, Z), rtol=1e-6)
    assert is_decided(gradc.vjp(model, check=True))


@pytest.mark.sweep
@pytest.mark.parametrize("equation", ["ab,b->a", "a,ab->b", "b,ab->a", "a,b->ab", "ab,a->ab", "ab,a,b->"])
@pytest.mark.parametrize("opset", [13, 18, 23])
def test_einsum_with_vectors(equation: str, opset: int):
    """The gradient by a matrix is a product of vectors."""
    terms, result = equation.split("->")
    names = "xzw"[: len(terms.split(","))]
    sizes = {"a": "3", "b": "4"}
    inputs = ", ".join(
        f"float[{','.join(sizes[label] for label in term)}] {name}"
        for name, term in zip(names, terms.split(","), strict=True)
    )
    output = f"float[{','.join(sizes[label] for label in result)}] y" if result else "float y"
    text = f'g ({inputs}) => ({output}) {{ y = Einsum <equation = "{equation}"> ({", ".join(names)}) }}'
    model = model_of(text, opset)
    for wrt in (*names, list(names)):
        assert is_decided(gradc.vjp(model, wrt=wrt, check=True))


def test_shapes_that_do_not_go_together_are_still_found():
    model = model_of("g (float[3] x, float[4] z) => (float[N] y) { y = Mul(x, z) }")
    with pytest.raises(InvalidModelError, match="Incompatible dimensions"):
        check(model)


def test_a_wrong_size_beside_an_outer_product_is_still_found():
    model = model_of(OUTER.replace("OP", "Mul"))
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 5
    onnx.checker.check_model(model)
    with pytest.raises(InvalidModelError, match="5"):
        check(model)
