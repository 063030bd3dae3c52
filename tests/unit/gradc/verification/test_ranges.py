"""`gradc verify` compares the models for inputs of other ranges than it draws, within roundings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from support.cli import run_gradc
from support.onnx_models import model_of

import gradc
from gradc.compiler.compiled import Compiled
from gradc.inspection.input_ranges import RANGES, range_runs
from gradc.inspection.verify_models import Pair

MEAN = "a = Constant<value_ints = [-1]>() m = ReduceMean(x, a) c = Sub(x, m)"
EPSILON = "e = Constant<value = float {1e-5}>() w = Add(v, e) r = Sqrt(w) n = Div(c, r) y = Mul(n, s)"
ONE, HALF = "o = Constant<value = float {1}>()", "h = Constant<value = float {0.5}>()"
LAYER = "y = LayerNormalization(x, s)"
TWO_PASS = f"{MEAN} q = Mul(c, c) v = ReduceMean(q, a) {EPSILON}"
ONE_PASS = f"{MEAN} q = Mul(x, x) k = ReduceMean(q, a) mm = Mul(m, m) v = Sub(k, mm) {EPSILON}"
NO_MAX = "e = Exp(x) a = Constant<value_ints = [-1]>() t = ReduceSum(e, a) y = Div(e, t)"
MAX = (
    "a = Constant<value_ints = [-1]>() k = ReduceMax(x, a) i = Sub(x, k) "
    "e = Exp(i) t = ReduceSum(e, a) y = Div(e, t)"
)
ROOT = "r = Constant<value = float {1.4142135}>() p = Div(x, r) f = Erf(p)"
L2 = "q = Mul(x, x) a = Constant<value_ints = [-1]>() t = ReduceSum(q, a) r = Sqrt(t) y = Div(x, r)"
WITH_EPSILON = L2.replace("r = Sqrt(t)", "d = Constant<value = float {1e-20}>() u = Add(t, d) r = Sqrt(u)")
X, Y = "float[4,16] x, float[16] s", "float[4,16] y"


def compiled_of(given: str, other: str, path: Path, outputs: str = Y) -> Compiled:
    """Write the model `given` to a file, and compile the model `other`."""
    onnx.save(model_of(f"g ({X}) => ({outputs}) {{ {given} }}"), path)
    return gradc.compile(model_of(f"g ({X}) => ({outputs}) {{ {other} }}"))


def rows(
    given: str, other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outputs: str = Y
) -> list[Any]:
    compiled = compiled_of(given, other, tmp_path / "m.onnx", outputs)
    monkeypatch.setattr("gradc.cli.compiling.compile_module", lambda *_: compiled)
    return json.loads(run_gradc("verify", tmp_path / "m.onnx", "--json").out)


WRONG = {
    "one-pass variance": (LAYER, ONE_PASS, "inputs + 1000"),
    "Softmax without the maximum": ("y = Softmax(x)", NO_MAX, "inputs + 1000"),
    "a norm with an epsilon": (L2, WITH_EPSILON, "inputs * 1e-15"),
    "a limit": (
        "y = Identity(x)",
        "l = Constant<value = float {-1e12}>() k = Constant<value = float {1e12}>() y = Clip(x, l, k)",
        "inputs * 1e15",
    ),
    "a power of negative numbers": (
        "y = Pow(x, s)",
        "l = Log(x) k = Mul(s, l) y = Exp(k)",
        "whole numbers",
    ),
    "rounded down at whole numbers": ("y = Floor(x)", f"{ONE} c = Ceil(x) y = Sub(c, o)", "whole numbers"),
    "a limit that is not included": (
        f"{ONE} c = LessOrEqual(x, o) y = Where(c, x, s)",
        f"{ONE} c = Less(x, o) y = Where(c, x, s)",
        "whole numbers",
    ),
    "the root of zero": ("k = Abs(x) y = Sqrt(k)", "k = Abs(x) r = Sqrt(k) y = Div(k, r)", "zeros"),
    "the sign of zero": ("y = Sign(x)", "k = Abs(x) y = Div(x, k)", "half of them zero"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_for_other_ranges(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    given, other, label = WRONG[name]
    usual, *found = rows(given, other, tmp_path, monkeypatch)
    assert usual["ok"]
    assert label in [row["exercises"] for row in found if not row["ok"]]
    assert label in run_gradc("verify", tmp_path / "m.onnx").out


RIGHT = {
    "LayerNormalization": (LAYER, TWO_PASS),
    "one pass in both": (
        ONE_PASS,
        ONE_PASS.replace("mm = Mul(m, m)", "g = Neg(m) z = Mul(m, g) mm = Neg(z)"),
    ),
    "Softmax": ("y = Softmax(x)", MAX),
    "Gelu": (
        f"{ROOT} {ONE} {HALF} g = Add(f, o) i = Mul(x, g) y = Mul(i, h)",
        f"{ROOT} {HALF} i = Mul(x, h) g = Mul(i, f) y = Add(i, g)",
    ),
    "a sum that cancels": (f"{ONE} k = Add(x, o) y = Sub(k, o)", "y = Identity(x)"),
    "exp and log": (
        f"e = Exp(x) {ONE} g = Add(e, o) y = Log(g)",
        f"e = Exp(x) {ONE} y0 = Neg(o) g = Sub(e, y0) y = Log(g)",
    ),
    "sums in another order": ("k = Add(x, s) y = Sub(k, x)", "k = Sub(x, x) y = Add(k, s)"),
    "Sin": ("y = Sin(x)", f"{HALF} i = Mul(x, h) k = Sin(i) c = Cos(i) d = Mul(k, c) y = Add(d, d)"),
    "Floor": (
        f"{HALF} i = Mul(x, h) y = Floor(i)",
        "t = Constant<value = float {2}>() i = Div(x, t) y = Floor(i)",
    ),
    "Sign": ("y = Sign(x)", f"{HALF} i = Mul(x, h) y = Sign(i)"),
    "products": ("i = Mul(x, s) y = Mul(i, x)", "i = Mul(x, x) y = Mul(i, s)"),
    "steps of whole numbers": (
        "t = Constant<value = float {3}>() i = Div(x, t) y = Floor(i)",
        "t = Constant<value = float {3}>() k = Neg(x) i = Div(k, t) c = Ceil(i) y = Neg(c)",
    ),
    "a quotient of zeros": ("y = Div(x, x)", "k = Identity(x) y = Div(k, x)"),
    "a norm": (L2, "y = LpNormalization<axis = -1, p = 2>(x)"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_for_other_ranges(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Two ways to write the same function differ by roundings only."""
    found = rows(*RIGHT[name], tmp_path, monkeypatch)
    assert [row["ok"] for row in found] == [True]


def test_integers_of_close_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Roundings decide which of two close numbers is larger."""
    outputs = "int64[4,1] y"
    body = "k = Sin(x) y = ArgMax<axis = 1>(k)"
    given = f"t = Constant<value = float {{1e-4}}>() i = Mul(x, t) {body}"
    other = f"t = Constant<value = float {{1e4}}>() i = Div(x, t) {body}"
    found = rows(
        given.replace("Sin(x)", "Sin(i)"), other.replace("Sin(x)", "Sin(i)"), tmp_path, monkeypatch, outputs
    )
    assert [row["ok"] for row in found] == [True]


def test_given_inputs_keep_their_range(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    compiled = compiled_of(LAYER, ONE_PASS, tmp_path / "m.onnx")
    monkeypatch.setattr("gradc.cli.compiling.compile_module", lambda *_: compiled)
    arrays = {"x": np.eye(4, 16, dtype=np.float32), "s": np.ones(16, np.float32)}
    np.savez(tmp_path / "in.npz", **arrays)
    result = run_gradc("verify", tmp_path / "m.onnx", "--inputs", tmp_path / "in.npz", "--json")
    assert [row["exercises"] for row in json.loads(result.out)] == [""]


LOOP = """g (float x, int64 n) => (float y) { k = Constant<value = bool {1}>()
    l = Constant<value = float {9}>()
    y = Loop(n, k, x)<body = b (int64 i, bool k0, float a) => (bool k1, float a1) {
        a1 = Add(a, x) k1 = Less(a1, l) }> }"""
NONE = {
    "no floats": "g (int64[3] x) => (int64[3] y) { y = Neg(x) }",
    "steps": LOOP,
    "sizes": """g (float[1] x, float[2] z) => (float[N] y) {
        n = Cast<to = 7>(x) k = Abs(n) y = Tile(z, k) }""",
    "halves": "g (float[3] x) => (float[3] y) { h = Cast<to = 10>(x) y = Cast<to = 1>(h) }",
}


@pytest.mark.parametrize("name", NONE)
def test_models_that_are_not_run_at_other_ranges(name: str, tmp_path: Path):
    onnx.save(model_of(NONE[name]), tmp_path / "m.onnx")
    pair = Pair(gradc.compile(tmp_path / "m.onnx"), tmp_path / "m.onnx")
    fed = {info.name: np.ones([2] * len(info.dims), np.float32) for info in pair.original.inputs}
    assert not [*range_runs(pair.compiled.source, pair.original.run, fed)]


@pytest.mark.parametrize("shape", [(), (3,)])
def test_ranges(shape: tuple[int, ...], tmp_path: Path):
    dims = f"[{shape[0]}]" if shape else ""
    onnx.save(model_of(f"g (float{dims} x) => (float{dims} y) {{ y = Exp(x) }}"), tmp_path / "m.onnx")
    pair = Pair(gradc.compile(tmp_path / "m.onnx"), tmp_path / "m.onnx")
    found = [*range_runs(pair.compiled.source, pair.original.run, {"x": np.full(shape, -2, np.float32)})]
    assert [run.label for run in found] == [*RANGES]
    for run in found:
        assert isinstance(run.inputs["x"], np.ndarray)
        assert run.inputs["x"].dtype == np.float32
        assert run.inputs["x"].shape == shape
    by_label = {run.label: run for run in found}
    assert by_label["inputs * 1e-15"].bound("y", 0.0) < 1e-6
    assert not by_label["inputs + 1000"].finite("y").any()
    np.testing.assert_array_equal(by_label["whole numbers"].inputs["x"], np.full(shape, -6))
    np.testing.assert_array_equal(by_label["zeros"].inputs["x"], np.zeros(shape))
    half = by_label["half of them zero"].inputs["x"]
    assert (half == 0).sum() == half.size // 2
