"""A model and what is compiled of it, side by side; and models of random bytes."""

from __future__ import annotations

import contextlib
import json
import random
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from support.cli import run_gradc
from support.onnx_models import model_of

import gradc
from dialects.support.diagnostics import GradcError
from gradc.compiler.compiled import Compiled
from gradc.inspection import verify_models
from gradc.inspection.before_after import BeforeAfter, of_compiled, of_file
from gradc.runtime.session import Session
from gradc.verification.samples import Guess, random_inputs

MODELS = {
    "numbers": "g (float[N,3] x, int64[2] n) => (float[N,3] y, int64[2] z) { y = Softmax(x)  z = Neg(n) }",
    "strings": "g (string[2] x) => (string[2] y) { y = Identity(x) }",
    "sequences": """g (seq(float[2,3]) x) => (seq(float[2,3]) y, int64 n) {
        y = Identity(x)
        n = SequenceLength(x)
    }""",
    "another domain": "g (float[2,3] x) => (float[2,3] y) { y = com.microsoft.Gelu(x) }",
    "half": "g (float16[2,3] x) => (float16[2,3] y) { t = Exp(x)  y = Sub(t, x) }",
}


@pytest.mark.parametrize("name", MODELS)
def test_verify(name: str, tmp_path: Path):
    path = tmp_path / "m.onnx"
    onnx.save(model_of(MODELS[name], opset=18, **{"com.microsoft": 1}), path)
    result = run_gradc("verify", str(path), "--json")
    assert result.code == 0, result.err
    rows = json.loads(result.out)
    assert rows
    assert all(row["ok"] for row in rows)
    assert name == "half" or all(row["worst"] == 0 for row in rows)


def test_another_result_is_told(tmp_path: Path):
    """Of a model that somebody has changed since."""
    path = tmp_path / "m.onnx"
    model = model_of("g (float[2] x) => (float[2] y) { y = Exp(x) }")
    compiled = gradc.compile(model)
    model.graph.node[0].op_type = "Abs"
    onnx.save(model, path)
    (row,) = verify_models.verify(compiled, path, {"x": np.ones(2, np.float32)})
    assert not row.ok
    assert row.verdict == "FAILED"


CHAIN = """g (float[N,3,8] x) => (float[N,4] y) {
    a = Exp(x)
    one = Identity(a)
    b = Neg(one)
    c = Relu(b)
    d = Abs(a)
    e = Add(c, d)
    axes = Constant<value_ints = [1, 2]>()
    s = ReduceSum<keepdims = 0>(e, axes)
    r = Sqrt(s)
    z = Constant<value_ints = [1]>()
    u = Unsqueeze(r, z)
    w = Constant<value = float[4] {1, 2, 3, 4}>()
    y = Mul(u, w)
}"""
FAULTS = {
    "Exp": ("Tanh", "a"),
    "Neg": ("Abs", "b"),
    "Abs": ("Neg", "d"),
    "Add": ("Sub", "e"),
    "Sqrt": ("Abs", "r"),
    "Mul": ("Add", "y"),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_the_node_that_differs_first_is_named(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What is compiled is the model; the file is changed behind the compiler's back."""
    model, (wrong, value) = model_of(CHAIN), FAULTS[kind]
    for index, node in enumerate(model.graph.node):
        node.name = f"node{index}"
    compiled = gradc.compile(model)
    (index,) = (index for index, node in enumerate(model.graph.node) if node.op_type == kind)
    model.graph.node[index].op_type = wrong
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    monkeypatch.setattr("gradc.cli.compiling.compile_module", lambda *_: compiled)
    result = run_gradc("verify", str(path), "--json")
    assert result.code == 1
    (found,) = (row for row in json.loads(result.out) if row["op"] is not None)
    assert found["name"] == value
    assert found["op"]["place"] == f'node {index}, {wrong} "node{index}"'
    before = {name for name in "abcdersu" if f" {name} =" in CHAIN.partition(f" {value} =")[0]}
    assert set(found["op"]["after"]) <= before
    text = run_gradc("verify", str(path)).out
    assert f'node {index}, {wrong} "node{index}"' in text.splitlines()[-1]
    assert f'"{value}"' in text.splitlines()[-1]


def test_nodes_between_two_values_that_survive(tmp_path: Path):
    """What was folded away has no value in the result: all that stands between is to blame."""
    model = model_of("""g (float[N,4] x) => (float[N,4] y) {
        a = Relu(x)
        two = Constant<value = float {2.0}>()
        t = Transpose<perm = [1, 0]>(a)
        back = Transpose<perm = [1, 0]>(t)
        y = Mul(back, two)
    }""")
    compiled = gradc.compile(model)
    model.graph.node[3].attribute[0].ints[:] = [0, 1]
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    fed = {"x": np.arange(16, dtype=np.float32).reshape(4, 4)}
    found = verify_models.Pair(compiled, path).first_difference(fed, beyond_bounds=True)
    assert found is not None
    assert found.difference is not None
    assert [step.kind for step in found.difference.steps] == ["Transpose", "Transpose", "Mul"]
    assert found.difference.after == ("a",)


def test_an_old_name_of_something_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What differs and is followed by what is the same is not to blame."""
    model = model_of("""g (float[N,4] x) => (float[N,4] y) {
        a = Relu(x)
        b = Neg(a)
        c = Abs(a)
        d = Neg(c)
        e = Exp(d)
        y = Mul(b, e)
    }""")
    compiled = gradc.compile(model)
    for node in compiled.parts.proto.graph.node:  # c and d change places
        for names in (node.input, node.output):
            names[:] = [{"c": "d", "d": "c"}.get(name, name) for name in names]
    model.graph.node[5].op_type = "Add"
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    fed = {"x": np.arange(16, dtype=np.float32).reshape(4, 4)}
    found = verify_models.Pair(compiled, path).first_difference(fed, beyond_bounds=True)
    assert found is not None
    assert found.name == "y"


def test_roundings_within(tmp_path: Path):
    """Two casts less: the outputs are within their bounds, and not the same."""
    model = model_of(MODELS["half"])
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    compiled = gradc.compile(model)
    fed = {"x": np.linspace(-3, 3, 6).reshape(2, 3).astype(np.float16)}
    pair = verify_models.Pair(compiled, path)
    assert all(row.ok for row in pair.rows(pair.expected(fed)))
    assert pair.first_difference(fed, beyond_bounds=True) is None
    found = pair.first_difference(fed, beyond_bounds=False)
    assert found is None or (found.ok and found.name == "y")


class TestSizes:
    TEXT = "g (float[N,M] x, float[K,M] z) => (float[N,K] y) { t = Transpose(z)  y = MatMul(x, t) }"
    ONLY_EVEN = """g (float[N,M] x) => (float[A,2] y) {
        s = Constant<value = int64[2] {-1, 2}>()
        y = Reshape(x, s)
    }"""

    def at(self, text: str, path: Path, *args: str) -> tuple[list[str], str]:
        onnx.save(model_of(text), path / "m.onnx")
        result = run_gradc("verify", str(path / "m.onnx"), "--json", *args)
        assert result.code == 0, result.err
        return [row["sizes"] for row in json.loads(result.out)], result.err

    def test_several_by_default(self, tmp_path: Path):
        found, _ = self.at(self.TEXT, tmp_path)
        assert {"N=1, M=1, K=1", "N=3, M=7, K=3"} <= set(found)
        assert len(found) == len(set(found)) == len(verify_models.SIZES)
        assert any(len(set(text.split(", "))) == 3 and "M=11" in text for text in found)

    def test_those_that_are_asked_for(self, tmp_path: Path):
        assert self.at(self.TEXT, tmp_path, "--size", "N=5", "--size", "M=4")[0] == ["N=5, M=4, K=2"]
        assert self.at(self.TEXT, tmp_path, "--shape", "x=5x6")[0] == ["N=5, M=6, K=2"]

    def test_those_that_the_model_itself_refuses(self, tmp_path: Path):
        found, err = self.at(self.ONLY_EVEN, tmp_path)
        assert "N=1, M=1" not in found
        assert "N=1, M=64" in found
        assert "skipped sizes at which the source model does not run" in err

    def test_a_name_that_no_dim_has(self, tmp_path: Path):
        onnx.save(model_of(self.TEXT), tmp_path / "m.onnx")
        result = run_gradc("verify", str(tmp_path / "m.onnx"), "--size", "L=3")
        assert result.code != 0
        assert "given L, expected a named dim of an input: N, M, K" in result.err


def test_one_model_is_in_memory_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    model = model_of(TestSizes.TEXT)
    onnx.save(model, tmp_path / "m.onnx")
    originals = list[weakref.ref[Session]]()
    pair = verify_models.Pair(gradc.compile(model), tmp_path / "m.onnx")
    run = Compiled.run

    def alone(self: Compiled, *args: Any) -> Any:
        assert [original() for original in originals] == [None]
        return run(self, *args)

    def draw(guess: Guess) -> Any:
        originals[:] = [weakref.ref(pair.original)]
        return random_inputs(pair.compiled.source, 0, guess=guess)

    monkeypatch.setattr(Compiled, "run", alone)
    rows = list(verify_models.verify_at_sizes(pair, draw, verify_models.SIZES))
    assert len(rows) == len(verify_models.SIZES)


def test_bytes_that_were_changed():
    """Whatever is wrong then is a GradcError, or the model is still one."""
    text = MODELS["numbers"]
    whole = model_of(text).SerializeToString()
    rng = random.Random(0)
    for _ in range(200):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 3)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            model = onnx.ModelProto.FromString(bytes(data))
        except Exception:
            continue
        with contextlib.suppress(GradcError):
            gradc.compile(model)


def test_what_compiling_changed(tmp_path: Path):
    """The same numbers for programs and, on a terminal, for people."""
    model = model_of(
        "f (float[3] x) => (float[3] y) { a = Identity (x) b = Identity (a) y = Neg (b) }", opset=15
    )
    path, out = tmp_path / "m.onnx", tmp_path / "out.onnx"
    onnx.save(model, path)
    found = json.loads(run_gradc("compile", path, "-o", out, "--json").out)["changes"]
    assert found["before"] == {"nodes": {"Identity": 2, "Neg": 1}, "bytes": path.stat().st_size, "opset": 15}
    assert found["after"] == {"nodes": {"Neg": 1}, "bytes": out.stat().st_size, "opset": 18}
    text = BeforeAfter(of_file(str(path)), of_compiled(gradc.compile(path))).as_text()
    lines = [line.split() for line in text.splitlines()]
    assert ["Identity", "2", "0"] in lines
    assert ["nodes", "3", "1"] in lines
    assert ["opset", "15", "18"] in lines
