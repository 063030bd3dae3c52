"""Gradients of Einsum: matrix products where there are any, also of empty batches."""

from __future__ import annotations

import numpy as np
import onnx.parser
import onnx.shape_inference
import pytest

import gradc

SIZES = {"b": 2, "t": 5, "d": 4, "m": 3, "h": 2, "k": 3}
RNG = np.random.default_rng(0)


def _model(equation: str, dynamic: str) -> onnx.ModelProto:
    terms, result = equation.split("->")
    shapes = [
        ",".join(x if x in dynamic else str(SIZES[x]) for x in term) for term in (*terms.split(","), result)
    ]
    names = [f"x{i}" for i in range(len(shapes) - 1)]
    inputs = ", ".join(f"float[{shape}] {name}" for shape, name in zip(shapes[:-1], names, strict=True))
    return onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 17]> g ({inputs}) => (float[{shapes[-1]}] y) '
        f'{{ y = Einsum <equation = "{equation}"> ({", ".join(names)}) }}'
    )


@pytest.mark.sweep
@pytest.mark.parametrize("batch", [2, 1, 0])
@pytest.mark.parametrize(
    "equation",
    [
        "btm,btd->bmd",
        "btm,bmd->btd",
        "btm,bm->bt",
        "btm,bmd,bt->btd",
        "btd,dhk->bhtk",
        "bthk,hkd->btd",
        "btd,btd->b",
        "bd,bd->b",
        "bm,bd->bmd",
        "mbd,dtb->tmb",
        "btd,dm,mk->btk",
    ],
)
@pytest.mark.parametrize("dynamic", ["bt", ""], ids=["run time", "static"])
def test_einsum(equation: str, dynamic: str, batch: int):
    if not dynamic and batch != SIZES["b"]:
        pytest.skip("a size of its own")
    compiled = gradc.vjp(_model(equation, dynamic), check=False)
    assert "Einsum" not in {node.op_type for node in compiled.model.graph.node}
    sizes = {**SIZES, "b": batch}
    terms, result = equation.split("->")
    terms = terms.split(",")
    arrays = [RNG.standard_normal([sizes[x] for x in term]).astype(np.float32) for term in terms]
    cotangent = RNG.standard_normal([sizes[x] for x in result]).astype(np.float32)
    given = {f"x{i}": array for i, array in enumerate(arrays)}
    found = compiled.run({**given, "cotangent_y": cotangent})
    for i, term in enumerate(terms):
        others = [k for k in range(len(terms)) if k != i]
        text = f"{','.join([result, *(terms[k] for k in others)])}->{term}"
        wanted = np.einsum(text, cotangent, *(arrays[k] for k in others))
        np.testing.assert_allclose(found[f"grad_x{i}"], wanted, rtol=1e-4, atol=1e-5)


def test_of_several_factors_the_smallest_products_come_first():
    """That of the cotangent and the first factor alone would have four axes."""
    compiled = gradc.vjp(_model("btm,bmd,bt->btd", ""), wrt="x1", check=False)
    graph = onnx.shape_inference.infer_shapes(compiled.model).graph
    assert graph.value_info
    assert all(len(value.type.tensor_type.shape.dim) <= 3 for value in graph.value_info)


def test_sizes_that_may_be_1_are_repeated():
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[n,3,p] x, float[m,q,4] w) => (float[a,b,c] y) {
        y = Einsum <equation = "bij,bjk->bik"> (x, w) }""")
    compiled = gradc.vjp(model, wrt=["x", "w"], check=False)
    x = RNG.standard_normal((2, 3, 5)).astype(np.float32)
    w = RNG.standard_normal((1, 5, 4)).astype(np.float32)
    cotangent = RNG.standard_normal((2, 3, 4)).astype(np.float32)
    found = compiled.run({"x": x, "w": w, "cotangent_y": cotangent})
    np.testing.assert_allclose(found["grad_x"], cotangent @ w.transpose(0, 2, 1), rtol=1e-4, atol=1e-5)
    wanted = (x.transpose(0, 2, 1) @ cotangent).sum(0, keepdims=True)
    np.testing.assert_allclose(found["grad_w"], wanted, rtol=1e-4, atol=1e-5)
