"""Memory of training steps: processes that are measured, the table, and misuse of --memory."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from support.cli import run_gradc

from gradc.bench.races import step_memory
from gradc.bench.races.models import RaceSettings
from gradc.bench.races.step_memory import RECOMPUTE, STEP, TORCH, Comparison, Growth, as_data, as_text
from gradc.bench.races.step_networks import STEP_NETWORKS

GROWTHS = (
    Growth(TORCH, 200 * 2**20, 0.1, 1.5),
    Growth(STEP, 150 * 2**20, 0.1, 1.5),
    Growth(RECOMPUTE, 100 * 2**20, 0.125, 1.5),
)


def test_the_table_has_ratios_to_torch_and_to_the_step():
    text = as_text([Comparison("mlp", GROWTHS)], 1)
    (row,) = [line.split() for line in text.splitlines() if RECOMPUTE in line and " ms" in line]
    assert row[2:] == ["100", "0.50", "125.0", "ms", "1.25", "1.25"]
    assert "gradc, recompute: 0.50 of torch's memory in the geometric mean of 1, most 0.50" in text
    (data,) = as_data([Comparison("mlp", GROWTHS)], {}, 1)["networks"]
    assert [one["bytes"] for one in data["growths"]] == [growth.bytes for growth in GROWTHS]


def test_a_wrong_step_has_no_mean():
    text = as_text([Comparison("mlp", GROWTHS, "gradc is wrong: first losses 1.5, 1.6")], 1)
    assert "FAILED: gradc is wrong" in text
    assert "geometric mean" not in text


@pytest.mark.sweep
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_each_contestant_runs_in_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    torch: Any = pytest.importorskip("torch", reason="pip install torch")
    monkeypatch.setattr(step_memory, "ROUNDS", 1)
    settings = RaceSettings(1, 0.0, 0, ("torch",))
    found = step_memory.compare_memory("mlp", STEP_NETWORKS["mlp"], torch, settings, tmp_path / "mlp")
    assert found.failure == ""
    assert [one.contestant for one in found.growths] == [TORCH, STEP, RECOMPUTE]
    assert all(one.bytes > 2**20 and one.seconds > 0 for one in found.growths)


@pytest.mark.parametrize("given", [(), ("--suite", "networks"), ("model.onnx", "--suite", "training")])
def test_memory_is_for_the_suite_of_steps(given: tuple[str, ...]):
    done = run_gradc("bench", "--memory", *given)
    assert done.code == 2
    assert "--memory is for --suite training alone" in done.err
