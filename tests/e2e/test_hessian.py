"""`gradc.hessian` against differences of gradients in float64, and against torch.func.hessian."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import gradc
from gradc.derivatives import hessian as hessians
from passes.vectorize import jacobian_pass
from tests.support.cli import run_gradc
from tests.support.onnx_models import model_of, run

NETWORK = """m (double[N,3] x, double[3,2] w) => (double s, double[N,2] y) <int64[2] axes = {0, 1}> {
    h = MatMul(x, w)
    y = Tanh(h)
    s = ReduceSum<keepdims = 0>(y, axes)
}"""
STATIC = NETWORK.replace("N,", "2,")
LAYERS = """m (double[N,3] x, double[3,4] v, double[4,2] w) => (double[N,2] y) {
    h = Gemm(x, v)
    t = Sigmoid(h)
    y = Gemm(t, w)
}"""
SCALARS = """m (double a, double[2] x) => (double[2] y, double z) {
    p = Mul(a, x)
    s = Sin(p)
    y = Mul(s, a)
    e = Exp(a)
    q = Mul(e, x)
    z = ReduceSum<keepdims = 0>(q)
}"""
LOOP = """m (double[3] x, int64 steps) => (double y) {
    go = Constant<value: tensor = bool {1}>()
    z = Loop(steps, go, x)<body = step (int64 i, bool on, double[3] h) => (bool keep, double[3] next) {
        keep = Identity(on)
        p = Mul(h, x)
        next = Sin(p)
    }>
    y = ReduceSum<keepdims = 0>(z)
}"""
CONV = """m (float[1,2,4,4] x, float[3,2,3,3] w) => (float[1,3] y) {
    c = Conv(x, w)
    t = Softplus(c)
    p = GlobalAveragePool(t)
    l = Flatten(p)
    y = Softmax(l)
}"""
ONE = "m (double[1,4] x) => (double[1,1] y) { p = Mul(x, x) e = Sin(p) y = ReduceProd<keepdims = 1>(e) }"

RNG = np.random.default_rng(5)


def draw(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape)


def by_differences(
    model: onnx.ModelProto, of: str, a: str, b: str, fed: Mapping[str, Any], step: float = 1e-6
) -> np.ndarray:
    """The block of the Hessian from central differences of the Jacobian."""
    first = gradc.jacobian(model, of=of, wrt=b, check=False)
    columns = []
    for index in np.ndindex(fed[a].shape):
        move = np.zeros_like(fed[a])
        move[index] = step
        up, down = (first.run({**fed, a: fed[a] + sign * move})[f"jacobian_{of}_{b}"] for sign in (1, -1))
        columns.append((up - down) / (2 * step))
    rank = len(columns[0].shape) - fed[b].ndim
    whole = np.moveaxis(np.array(columns), 0, rank)
    return whole.reshape((*columns[0].shape[:rank], *fed[a].shape, *fed[b].shape))


CASES = {
    "scalar": (STATIC, ["s"], ["x", "w"], {"x": draw(2, 3), "w": draw(3, 2)}),
    "several": (STATIC, ["y", "s"], ["x", "w"], {"x": draw(2, 3), "w": draw(3, 2)}),
    "dynamic": (NETWORK, ["y"], ["x", "w"], {"x": draw(2, 3), "w": draw(3, 2)}),
    "dynamic-scalar": (NETWORK, ["s"], ["x"], {"x": draw(3, 3), "w": draw(3, 2)}),
    "dynamic-layers": (LAYERS, ["y"], ["x"], {"x": draw(2, 3), "v": draw(3, 4), "w": draw(4, 2)}),
    "scalars": (SCALARS, ["y", "z"], ["a", "x"], {"a": np.array(0.7), "x": draw(2)}),
    "loop": (LOOP, ["y"], ["x"], {"x": draw(3), "steps": np.array(3)}),
    "one": (ONE, ["y"], ["x"], {"x": draw(1, 4)}),
}


@pytest.mark.parametrize("name", CASES)
def test_against_differences(name: str):
    text, of, wrt, fed = CASES[name]
    model = model_of(text)
    found = gradc.hessian(model, of=of, wrt=wrt, check=True)
    assert str(found.proof).startswith("proved: "), str(found.proof)
    assert [one.name for one in found.inputs] == list(fed)
    got = found.run(fed)
    assert list(got) == [f"hessian_{one}_{a}_{b}" for one in of for a in wrt for b in wrt]
    for one in found.derivatives:
        want = by_differences(model, *one.of, *one.wrt, fed)
        assert got[one.result].shape == want.shape
        np.testing.assert_allclose(got[one.result], want, rtol=1e-6, atol=1e-8)


def test_a_convolution():
    torch = pytest.importorskip("torch")
    x, w = np.float32(draw(1, 2, 4, 4)), np.float32(draw(3, 2, 3, 3))

    def network(x: Any) -> Any:
        mean = torch.nn.functional.softplus(torch.conv2d(x, torch.tensor(w))).mean((2, 3))
        return torch.softmax(mean, 1)

    want = torch.func.hessian(network)(torch.tensor(x)).numpy()
    found = gradc.hessian(model_of(CONV), wrt="x")
    assert found.proof is not None
    assert found.proof.status == "proved"
    np.testing.assert_allclose(found.run({"x": x, "w": w})["hessian_y_x_x"], want, rtol=1e-4, atol=1e-5)


def test_products_are_those_of_hvp():
    model, x, w = model_of(STATIC), draw(2, 3), draw(3, 2)
    v = {"x": draw(2, 3), "w": draw(3, 2)}
    products = gradc.hvp(model, of="s").run({"x": x, "w": w, **{f"tangent_{n}": a for n, a in v.items()}})
    blocks = gradc.hessian(model, of="s", keep_outputs="all").run({"x": x, "w": w})
    np.testing.assert_allclose(blocks["y"], run(model, {"x": x, "w": w})[1])
    for a in "xw":
        got = sum(np.tensordot(blocks[f"hessian_s_{a}_{b}"], v[b], 2) for b in "xw")
        np.testing.assert_allclose(got, products[f"hvp_{a}"], rtol=1e-9)


def test_weights_and_inner_values():
    text = STATIC.replace("double[3,2] w)", "double[2,2] b)").replace(
        "axes = {0, 1}>", "axes = {0, 1}, double[3,2] w = {1, -1, 0.5, 0.25, 0, 1}>"
    )
    text = text.replace("y = Tanh(h)", "k = Add(h, b) y = Tanh(k)")
    x, b = draw(2, 3), draw(2, 2)
    found = gradc.hessian(model_of(text), of="s", wrt=["w", "h"])
    got = found.run({"x": x, "b": b})
    h = x @ [[1, -1], [0.5, 0.25], [0, 1]] + b
    second = -2 * np.tanh(h) * (1 - np.tanh(h) ** 2)
    np.testing.assert_allclose(got["hessian_s_h_h"].reshape(4, 4), np.diag(second.ravel()), atol=1e-12)
    want = np.einsum("nj,ni,nk,jl->ijkl", second, x, x, np.eye(2))
    np.testing.assert_allclose(got["hessian_s_w_w"], want, atol=1e-12)


def test_a_linear_function():
    found = gradc.hessian(model_of("m (float[3] x) => (float y) { y = ReduceSum<keepdims = 0>(x) }"))
    np.testing.assert_array_equal(found.run({"x": np.float32([1, 2, 3])})["hessian_y_x_x"], np.zeros((3, 3)))


def test_wrong_blocks_are_found(monkeypatch: pytest.MonkeyPatch):
    right = jacobian_pass._identity_rows

    def wrong(e: Any, *given: Any) -> Any:
        return right(e, *given) * 1.01

    monkeypatch.setattr(jacobian_pass, "_identity_rows", wrong)
    with pytest.raises(gradc.CheckError):
        gradc.hessian(model_of(STATIC), of="s")
    with pytest.raises(gradc.CheckError):
        gradc.hessian(model_of(STATIC), of="y")


def test_the_command(tmp_path: Path):
    onnx.save(model_of(NETWORK.replace("double", "float")), source := tmp_path / "network.onnx")
    out = tmp_path / "hessian.onnx"
    told = run_gradc("hessian", source, "--of", "s", "--wrt", "w", "-o", out, "--json")
    assert told.code == 0, told.err
    found = json.loads(told.out)
    assert found["derivatives"] == [
        {"result": "hessian_s_w_w", "kind": "hessian", "of": ["s"], "wrt": ["w", "w"]}
    ]
    assert found["check"]["status"] == "proved"
    x, w = np.float32(draw(4, 3)), np.float32(draw(3, 2))
    (got,) = run(onnx.load(out), {"x": x, "w": w})
    second = -2 * np.tanh(x @ w) * (1 - np.tanh(x @ w) ** 2)
    want = np.einsum("nj,ni,nk,jl->ijkl", second, x, x, np.eye(2))
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", CASES)
def test_diagonals_and_traces(name: str):
    text, of, wrt, fed = CASES[name]
    whole = gradc.hessian(model_of(text), of=of, wrt=wrt, check=False).run(fed)
    found = gradc.hessian(model_of(text), of=of, wrt=wrt, diagonal=True, trace=True, check=True)
    assert str(found.proof).startswith("proved: "), str(found.proof)
    got = found.run(fed)
    kinds = [f"hessian_diagonal_{one}_{a}" for one in of for a in wrt]
    assert set(got) == {*kinds, *(f"laplacian_{one}" for one in of)}
    for one in of:
        total: Any = 0
        for a in wrt:
            block = whole[f"hessian_{one}_{a}_{a}"]
            outer = block.shape[: block.ndim - 2 * fed[a].ndim]
            matrix = block.reshape((*outer, fed[a].size, fed[a].size))
            want = np.diagonal(matrix, axis1=-2, axis2=-1)
            np.testing.assert_allclose(
                got[f"hessian_diagonal_{one}_{a}"], want.reshape((*outer, *fed[a].shape))
            )
            total = total + want.sum(-1)
        np.testing.assert_allclose(got[f"laplacian_{one}"], total)


def test_wrong_diagonals_are_found(monkeypatch: pytest.MonkeyPatch):
    right = hessians.quadratic_form
    monkeypatch.setattr(hessians, "quadratic_form", lambda *given: right(*given) * 1.01)
    for what in ("diagonal", "trace"):
        with pytest.raises(gradc.CheckError, match="from the Hessian"):
            gradc.hessian(model_of(STATIC), of="s", **{what: True})


def test_the_command_for_traces(tmp_path: Path):
    onnx.save(model_of(STATIC), source := tmp_path / "network.onnx")
    out = tmp_path / "laplacian.onnx"
    assert run_gradc("hessian", source, "--of", "s", "--wrt", "x", "--trace", "-o", out).code == 0
    assert onnx.load(out) == gradc.hessian(str(source), of="s", wrt="x", trace=True).proto
    assert [one.name for one in onnx.load(out).graph.output] == ["laplacian_s"]
