"""`gradc verify` goes through all branches of a model, or says through which it did not go."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser
from support.cli import run_gradc

import gradc
from gradc.inspection.unexercised import Branches, branches_of

HEAD = '<ir_version: 9, opset_import: ["" : 18, "me" : 1]>'
IF = """If(c)<then_branch = t () => (float[2,3] p) {{ {then} }},
          else_branch = e () => (float[2,3] q) {{ q = Neg(x) }}>"""
LARGE = "l = Constant<value = float {{{}}}>() m = ReduceMax<keepdims = 0>(x) c = Greater(m, l)"
INNER = """If(d)<then_branch = tt () => (float[2,3] pp) { pp = Exp(x) },
             else_branch = ee () => (float[2,3] qq) { qq = Abs(x) }>"""
LOOP = """y = Loop(n, k, x)<body = b (int64 i, bool k0, float[2,3] a) => (bool k1, float[2,3] a1) {{
    k1 = Identity(k0) {body} }}>"""

INPUT, INPUTS = "float[2,3] x, bool c", "float[2,3] x, bool b, bool c, bool d"
N, K = "n = Constant<value = int64 {2}>()", "k = Constant<value = bool {1}>()"

IN_LOOP = LOOP.format(body="a1 = " + IF.format(then="p = Exp(a)"))
MASK = "h = Greater(x, l) z = Neg(x) y = Where(h, x, z)"

VISITED = {
    "an input": (INPUT, f"y = {IF.format(then='p = Exp(x)')}", 2),
    "computed": ("float[2,3] x", f"{LARGE.format(50.0)} y = {IF.format(then='p = Exp(x)')}", 2),
    "nested": (INPUTS, f"y = {IF.format(then=f'p = {INNER}')}", 4),
    "in a Loop": (INPUT, f"{N} {K} {IN_LOOP}", 3),
    "in a function": (INPUT, "y = me.f(x, c)", 2),
    "trips": ("float[2,3] x, int64 n", f"{K} {LOOP.format(body='a1 = Exp(a)')}", 1),
    "a mask": ("float[2,3] x", f"{LARGE.format(50.0)} {MASK}", 2),
}
FUNCTION = (
    f"""<domain: "me", opset_import: ["" : 18]> f (x, c) => (y) {{ y = {IF.format(then="p = Exp(x)")} }}"""
)


def saved(inputs: str, body: str, path: Path) -> onnx.ModelProto:
    model = parser.parse_model(
        f"{HEAD} g ({inputs}) => (float[2,3] y) {{ {body} }} {FUNCTION if 'me.f' in body else ''}"
    )
    onnx.save(model, path)
    return model


@pytest.mark.parametrize("name", VISITED)
def test_all_are_visited(name: str, tmp_path: Path):
    inputs, body, count = VISITED[name]
    saved(inputs, body, tmp_path / "m.onnx")
    branches = branches_of(tmp_path / "m.onnx", None, None)
    assert branches is not None
    assert len(branches.labels) == count
    result = run_gradc("verify", tmp_path / "m.onnx", "--json")
    assert result.code == 0
    rows = json.loads(result.out)
    assert not any(row["unexercised"] for row in rows)
    assert not result.err


@pytest.mark.parametrize("kind", ["Exp", "Neg"])
@pytest.mark.parametrize("name", [name for name in VISITED if name != "trips"])
def test_a_branch_that_is_wrong(name: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Whichever of them it is: the file has another op there than the model that was compiled."""
    inputs, body, _ = VISITED[name]
    if f"{kind}(" not in body + (FUNCTION if "me.f" in body else ""):
        pytest.skip("a mask has one op")
    path = tmp_path / "m.onnx"
    model = saved(inputs, body, path)
    compiled = gradc.compile(model)
    onnx.save(parser.parse_model(onnx.printer.to_text(model).replace(f"= {kind} (", "= Cos (")), path)
    monkeypatch.setattr("gradc.cli.compiling.compile_module", lambda *_: compiled)
    assert run_gradc("verify", path).code == 1


NEVER = {
    'else_branch of If "y"': "s = Mul(x, x) r = ReduceSum<keepdims = 0>(s) "
    "l = Constant<value = float {-1.0}>() c = Greater(r, l) y = " + IF.format(then="p = Exp(x)"),
    'a condition that holds in Where "y"': "q = Mul(x, x) l = Constant<value = float {-1.0}>() "
    "c = Less(q, l) y = Where(c, x, q)",
    'body of Loop "y"': f"{K} z = Sub(x, x) s = ReduceSum<keepdims = 0>(z) n = Cast<to = 7>(s) "
    + LOOP.format(body="a1 = Exp(a)"),
}


@pytest.mark.parametrize("label", NEVER)
def test_what_nothing_goes_through(label: str, tmp_path: Path):
    saved("float[2,3] x", NEVER[label], tmp_path / "m.onnx")
    result = run_gradc("verify", tmp_path / "m.onnx", "--json")
    assert result.code == 0
    assert f"not exercised: {label}" in result.err
    assert all(row["unexercised"] == [label] for row in json.loads(result.out))


def test_given_inputs_are_not_replaced(tmp_path: Path):
    saved(INPUT, f"y = {IF.format(then='p = Exp(x)')}", tmp_path / "m.onnx")
    np.savez(tmp_path / "in.npz", x=np.ones((2, 3), np.float32), c=np.array(True))
    result = run_gradc("verify", tmp_path / "m.onnx", "--inputs", tmp_path / "in.npz", "--json")
    (row,) = json.loads(result.out)
    assert row["unexercised"] == ['else_branch of If "y"']
    assert isinstance(branches_of(tmp_path / "m.onnx", None, None), Branches)


def test_no_branches(tmp_path: Path):
    saved("float[2,3] x", "y = Exp(x)", tmp_path / "m.onnx")
    assert branches_of(tmp_path / "m.onnx", None, None) is None
