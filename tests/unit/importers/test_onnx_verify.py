"""A model and what is compiled of it, side by side; and models of random bytes."""

from __future__ import annotations

import contextlib
import json
import random
from pathlib import Path

import numpy as np
import onnx
import pytest
from support.cli import run_gradc
from support.onnx_models import model_of

import gradc
from dialects.support.diagnostics import GradcError
from gradc.insight import verify_models
from gradc.insight.before_after import BeforeAfter, of_compiled, of_file

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
