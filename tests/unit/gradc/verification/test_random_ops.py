"""`gradc verify` of models that draw random numbers: what depends on them is not compared, the rest is."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from onnx import parser
from support.cli import run_gradc

HEAD = '<ir_version: 9, opset_import: ["" : 18, "me" : 1]>'
DROPOUT = "r = Constant<value = float {0.5}>() t = Constant<value = bool {1}>() y = Dropout"
LOOP = """y = Loop(n, c, x)<body = b (int64 i, bool c0, float[2,3] a) => (bool c1, float[2,3] a1) {
    c1 = Identity(c0) r = RandomUniformLike(a) a1 = Add(a, r) }>"""
SCAN = """y, all = Scan<num_scan_inputs = 1, body = b (float[3] s, float[3] e) => (float[3] t, float[3] k) {
    r = RandomNormalLike(e) t = Add(s, r) k = Neg(e) }>(v, x)"""
MODELS = {
    "Dropout": f"{DROPOUT}(x, r, t)",
    "Bernoulli": "p = Sigmoid(x) y = Bernoulli(p)",
    "RandomNormal": "r = RandomNormal<shape = [2, 3]>() y = Add(x, r)",
    "RandomNormalLike": "y = RandomNormalLike(x)",
    "RandomUniform": "r = RandomUniform<shape = [2, 3]>() y = Add(x, r)",
    "RandomUniformLike": "y = me.f(x)",
    "Multinomial": "m = Multinomial<sample_size = 5>(x) f = Cast<to = 1>(m) y = NonZero(f)",
    "in an If": """y = If(c)<then_branch = t () => (float[2,3] p) { p = RandomNormalLike(x) },
        else_branch = e () => (float[2,3] q) { q = Exp(x) }>""",
    "in a Loop": f"n = Constant<value = int64 {{3}}>() {LOOP}",
    "in a Scan": f"v = Constant<value = float[3] {{1.0, 2.0, 3.0}}>() {SCAN}",
}


def verified(body: str, tmp_path: Path, *args: str) -> tuple[int, list[dict], str]:
    function = '<domain: "me", opset_import: ["" : 18]> f (a) => (b) { b = RandomUniformLike(a) }'
    kind = "int64[R,S]" if "NonZero" in body else "float[A,B]"
    outputs = f"{kind} y, float[2,3] z"
    text = f"{HEAD} g (float[2,3] x, bool c) => ({outputs}) {{ {body} z = Exp(x) }} {function}"
    path = tmp_path / "m.onnx"
    onnx.save(parser.parse_model(text), path)
    result = run_gradc("verify", path, "--json", *args)
    return result.code, json.loads(result.out), run_gradc("verify", path).out


@pytest.mark.parametrize("name", MODELS)
def test_unseeded(name: str, tmp_path: Path):
    code, rows, text = verified(MODELS[name], tmp_path, "--within")
    kind = name if not name.startswith("in ") else "Random"
    assert code == 0
    assert all(row["random"][0].startswith(kind) for row in rows if row["name"] == "y")
    assert all(row["worst"] == 0 and not row["random"] for row in rows if row["name"] == "z")
    assert f"not comparable: {kind}" in text


@pytest.mark.parametrize(
    "body", ["p = Sigmoid(x) y = Bernoulli<seed = 2.0>(p)", f"{DROPOUT}<seed = 3>(x, r, t)"]
)
def test_seeded(body: str, tmp_path: Path):
    """Two generators of one seed agree where the nodes are the same."""
    code, rows, _ = verified(body, tmp_path)
    assert code == 0
    assert all(row["worst"] == 0 and not row["random"] for row in rows)


def test_what_does_not_train(tmp_path: Path):
    code, rows, _ = verified("y = Dropout(x)", tmp_path)
    assert code == 0
    assert not any(row["random"] for row in rows)


def test_what_is_wrong_beside_random_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The first value that differs is the one that is wrong, not the one that is drawn."""
    import gradc

    text = f"{HEAD} g (float[2,3] x) => (float[2,3] y, float[2,3] z) {{ {DROPOUT}(x, r, t) z = Exp(x) }}"
    model = parser.parse_model(text)
    compiled = gradc.compile(model)
    model.graph.node[-1].op_type = "Abs"
    onnx.save(model, tmp_path / "m.onnx")
    monkeypatch.setattr("gradc.cli.compiling.compile_module", lambda *_: compiled)
    result = run_gradc("verify", tmp_path / "m.onnx", "--json")
    assert result.code == 1
    (found,) = (row for row in json.loads(result.out) if row["op"] is not None)
    assert found["name"] == "z"


def test_no_elements(tmp_path: Path):
    path = tmp_path / "m.onnx"
    body = "z = Constant<value = int64[1] {0}>() e = Slice(x, z, z) y = Exp(e)"
    onnx.save(parser.parse_model(f"{HEAD} g (float[2,3] x) => (float[A,B] y) {{ {body} }}"), path)
    (row,) = json.loads(run_gradc("verify", path, "--json").out)
    assert row["empty"]
    assert "ok, but it has no elements" in run_gradc("verify", path).out
