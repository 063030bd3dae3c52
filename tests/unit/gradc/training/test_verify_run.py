"""gradc verify of a run: the runtime's steps against those in float64."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from support.cli import run_gradc
from support.trainable_models import convolutional, perceptron

import gradc
from gradc.losses import CrossEntropy
from gradc.optim import AdamW
from gradc.runtime.session import Session
from gradc.training.verify_run import verify_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "run"
    gradc.train_step(convolutional(), loss=CrossEntropy(), optimizer=AdamW(), check=False).save(path)
    return path


def test_a_run_with_statistics_and_dropout(folder: Path):
    found = verify_run(folder, threads=1)
    assert found.ok
    assert len(found.losses) == 5
    np.testing.assert_allclose(found.losses, found.expected, rtol=1e-4)
    assert 0 < found.error < 1e-3


def test_a_runtime_that_computes_something_else(folder: Path, monkeypatch: pytest.MonkeyPatch):
    right = Session.run

    def wrong(self: Session, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        found = right(self, feeds)
        return {**found, "new_fc.bias": feeds["fc.bias"]}

    monkeypatch.setattr(Session, "run", wrong)
    assert not verify_run(folder, threads=1).ok
    found = run_gradc("verify", folder)
    assert found.code == 1
    assert "wrong" in found.out


def test_the_command(tmp_path: Path):
    run = tmp_path / "run"
    gradc.train_step(perceptron(), loss=CrossEntropy(), optimizer=AdamW(), check=False).save(run)
    found = run_gradc("verify", run)
    assert found.code == 0, found.err
    assert "in float64" in found.out
    assert json.loads(run_gradc("verify", run, "--json").out)["ok"]
