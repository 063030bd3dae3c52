"""`generate_artifacts`: each argument of onnxruntime's function, and those without a meaning."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from support.trainable_models import batch_for, perceptron

import gradc
from dialects.support.diagnostics import UsageError
from gradc.training import LossType, OptimType, generate_artifacts

FAST = {"check": False}


def losses_of(run: Path, count: int = 3) -> list[float]:
    trainer = gradc.Trainer(run, threads=1)
    return [trainer.step(batch_for((4,), 8), lr=1e-2) for _ in range(count)]


def test_is_the_step_of_its_arguments(tmp_path: Path):
    generate_artifacts(
        perceptron(),
        requires_grad=["fc1.weight", "fc2.weight"],
        frozen_params=["fc1.bias", "fc2.bias"],
        loss=LossType.CrossEntropyLoss,
        optimizer=OptimType.AdamW,
        artifact_directory=tmp_path / "a",
        additional_output_names=["logits"],
        **FAST,
    )
    gradc.train_step(
        perceptron(),
        loss=gradc.losses.CrossEntropy(),
        optimizer=gradc.optim.AdamW(eps=1e-6, weight_decay=0.0),
        trainable=["fc1.weight", "fc2.weight"],
        keep_outputs=["logits"],
        **FAST,
    ).save(tmp_path / "b")
    assert (tmp_path / "a" / "step.onnx").read_bytes() == (tmp_path / "b" / "step.onnx").read_bytes()
    assert losses_of(tmp_path / "a") == losses_of(tmp_path / "b")
    assert gradc.TrainStep.load(tmp_path / "a").facts["outputs"] == ["loss", "logits"]


def test_all_weights_by_default_into_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    onnx.save(perceptron(), "m.onnx")
    step = generate_artifacts("m.onnx", loss=LossType.CrossEntropyLoss, optimizer=OptimType.SGD, **FAST)
    assert set(step.parameters) == {"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"}
    assert (tmp_path / "train.json").exists()


def test_overwrites_as_the_original_does(tmp_path: Path):
    for optimizer in (OptimType.AdamW, OptimType.SGD):
        generate_artifacts(
            perceptron(),
            loss=LossType.CrossEntropyLoss,
            optimizer=optimizer,
            artifact_directory=tmp_path / "run",
            **FAST,
        )
    assert not gradc.TrainStep.load(tmp_path / "run").facts["states"]


@pytest.mark.parametrize("member", LossType)
def test_every_loss(member: LossType, tmp_path: Path):
    generate_artifacts(
        perceptron(), loss=member, optimizer=OptimType.SGD, artifact_directory=tmp_path / "run", **FAST
    )
    batch = batch_for((4,), 8)
    rng = np.random.default_rng(0)
    if member is not LossType.CrossEntropyLoss:
        batch["label"] = rng.uniform(size=(8, 3)).astype(np.float32)
    trainer = gradc.Trainer(tmp_path / "run", threads=1)
    y = trainer.evaluate(batch)["logits"].astype(float)
    t = batch["label"]
    want = {
        LossType.MSELoss: lambda: ((y - t) ** 2).mean(),
        LossType.L1Loss: lambda: np.abs(y - t).mean(),
        LossType.BCEWithLogitsLoss: lambda: (np.logaddexp(0, y) - t * y).mean(),
        LossType.CrossEntropyLoss: lambda: (np.log(np.exp(y).sum(1)) - y[np.arange(8), t]).mean(),
    }[member]()
    assert trainer.step(batch, lr=1e-2) == pytest.approx(want, rel=1e-5)


def test_members_of_another_enumeration_count_by_name(tmp_path: Path):
    """Those of an installed onnxruntime-training."""
    other = enum.Enum("OptimType", {"SGD": 7})
    step = generate_artifacts(
        perceptron(), loss=LossType.CrossEntropyLoss, optimizer=other.SGD, artifact_directory=tmp_path, **FAST
    )
    assert not step.facts["states"]


def test_the_output_is_the_loss_by_default(tmp_path: Path):
    model = perceptron()
    model.graph.node.append(onnx.helper.make_node("ReduceMean", ["logits"], ["mean"], keepdims=0))
    del model.graph.output[:]
    model.graph.output.append(onnx.helper.make_tensor_value_info("mean", onnx.TensorProto.FLOAT, []))
    step = generate_artifacts(model, optimizer=OptimType.SGD, artifact_directory=tmp_path, **FAST)
    assert step.facts["labels"] == []


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"prefix": "a_"}, "prefix has no meaning for a run of gradc: given 'a_'; the files of a run"),
        ({"ort_format": True}, "ort_format has no meaning for a run of gradc: given True"),
        ({"custom_op_library": "x.so"}, "custom_op_library has no meaning"),
        ({"nominal_checkpoint": True}, "nominal_checkpoint has no meaning"),
        (
            {"requires_grad": ["a", "b"], "frozen_params": ["b"]},
            "requires_grad and frozen_params both have b",
        ),
        ({"optimizer": None}, "optimizer: expected an OptimType or an optimizer of gradc.optim"),
        ({"optimizer": enum.Enum("O", "Adam").Adam}, "optimizer: given Adam, expected one of AdamW, SGD"),
        ({"frozen": ["a"]}, "generate_artifacts has no argument frozen; use frozen_params"),
    ],
)
def test_arguments_without_a_meaning(given: dict[str, Any], text: str, tmp_path: Path):
    known = {"loss": LossType.CrossEntropyLoss, "optimizer": OptimType.SGD}
    with pytest.raises(UsageError) as raised:
        generate_artifacts(perceptron(), artifact_directory=tmp_path, **{**known, **given})
    assert text in str(raised.value)
    assert not list(tmp_path.iterdir())
