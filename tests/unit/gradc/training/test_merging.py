"""Adapters of a run, merged into the weights of the source."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser
import pytest

import gradc
from dialects.support.diagnostics import UsageError

RNG = np.random.default_rng(0)
W, V = (RNG.normal(size=shape).astype(np.float32) for shape in ((4, 6), (5, 6)))
MODEL = """<ir_version: 9, opset_import: ["": 18]> g (float[N, 4] x) => (float[N, 5] y) {
  h = MatMul (x, w)
  t = Tanh (h)
  y = Gemm <transB = 1> (t, v)
}"""


def source() -> onnx.ModelProto:
    model = onnx.parser.parse_model(MODEL)
    for name, array in (("w", W), ("v", V)):
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return model


def step(**options: object) -> gradc.TrainStep:
    given = {"loss": "cross-entropy", "optimizer": gradc.optim.SGD(), "check": False, **options}
    return gradc.train_step(source(), **given)  # type: ignore[arg-type]


def test_the_merged_source_computes_what_the_run_does(tmp_path: Path):
    onnx.save(source(), tmp_path / "model.onnx")
    one = step(lora=["w", "v"], rank=2, alpha=4.0)
    one.save(tmp_path / "run")
    trainer = gradc.Trainer(tmp_path / "run", threads=1)
    x, label = RNG.normal(size=(8, 4)).astype(np.float32), RNG.integers(0, 5, 8)
    for _ in range(3):
        trainer.step({"x": x, "label": label}, lr=0.5)
    trainer.save()
    trained = gradc.TrainStep.load(tmp_path / "run")
    trained.merge(trained.initial, tmp_path / "model.onnx", tmp_path / "merged.onnx")
    merged = onnx.load(tmp_path / "merged.onnx")
    assert [node.op_type for node in merged.graph.node] == ["MatMul", "Tanh", "Gemm"]
    found = gradc.compile(merged).run({"x": x})["y"]
    np.testing.assert_allclose(found, trainer.evaluate({"x": x, "label": label})["y"], rtol=1e-5, atol=1e-6)
    assert not np.allclose(found, gradc.compile(source()).run({"x": x})["y"], atol=1e-3)


def test_a_run_without_adapters_has_nothing_to_merge(tmp_path: Path):
    one = step()
    with pytest.raises(UsageError, match="adapters of the run: given none, expected a step with lora"):
        one.merge(one.initial, tmp_path / "model.onnx", tmp_path / "merged.onnx")


def test_another_source_or_state_is_refused(tmp_path: Path):
    one, path = step(lora="w", rank=2), tmp_path / "other.onnx"
    onnx.save(onnx.parser.parse_model(MODEL.replace("(x, w)", "(x, x)").replace(", v)", ", t)")), path)
    with pytest.raises(UsageError, match=r"the state: given no w.lora_a and w.lora_b, expected the values"):
        one.merge({}, path, tmp_path / "merged.onnx")
    with pytest.raises(UsageError, match=r"source of the run .*: given no weight w, expected the model of"):
        one.merge(one.initial, path, tmp_path / "merged.onnx")
