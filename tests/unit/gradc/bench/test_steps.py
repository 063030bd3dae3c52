"""Benchmarks of training steps: what is compared before it is timed, and what is reported."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.cli import run_gradc
from support.tiers import some

from gradc.bench.races import step_networks, steps
from gradc.bench.races.models import RaceSettings
from gradc.bench.races.race import within
from gradc.bench.races.report import as_text
from gradc.bench.races.step_networks import STEP_NETWORKS, Trained
from gradc.bench.run import GRADC
from gradc.util.extras import install

SETTINGS = RaceSettings(1, 0.0, 0, ("torch",))


def make_tiny(torch: Any) -> Any:
    nn = torch.nn
    return nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))


def draw_tiny(random: np.random.Generator) -> step_networks.Batch:
    return random.standard_normal((6, 5)).astype(np.float32), random.integers(0, 3, 6)


TINY = Trained(make_tiny, draw_tiny, "two layers")


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch", reason="pip install torch")


@pytest.fixture(scope="module")
def trial(torch: Any, tmp_path_factory: pytest.TempPathFactory) -> steps.Trial:
    return steps.trial(TINY, torch, SETTINGS, tmp_path_factory.mktemp("steps") / "tiny")


@pytest.mark.parametrize("kind", steps.STEP_KINDS)
def test_a_step_against_torch(kind: str, torch: Any, trial: steps.Trial):
    found = steps.race_step("tiny", kind, trial, torch, SETTINGS)
    assert found.failure == ""
    assert [finish.name for finish in found.finishes if finish.ratio] == [GRADC, "torch"]
    assert all(finish.error is not None for finish in found.finishes)
    assert f"{kind}, torch: " in as_text([found], {}, 1)


def test_a_step_that_trains_nothing_is_a_failure(torch: Any, trial: steps.Trial):
    still = replace(trial.step, facts={**trial.step.facts, "updates": {}})
    found = steps.race_step("tiny", steps.LOOP, replace(trial, step=still), torch, SETTINGS)
    assert found.failure.startswith("gradc is wrong: off by ")
    assert all(finish.ratio is None for finish in found.finishes)


def test_a_peer_that_is_not_asked_for_does_not_run(torch: Any, trial: steps.Trial):
    alone = replace(SETTINGS, peers=())
    assert [f.name for f in steps.race_step("tiny", steps.TRAINER, trial, torch, alone).finishes] == [GRADC]


def test_the_suite_runs_with_one_thread_by_default(torch: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(step_networks, "STEP_NETWORKS", {"tiny": TINY})
    done = run_gradc("bench", "--suite", "training", "--budget", "0", "--json", "-")
    found = json.loads(done.out)
    assert (done.code, found["threads"]) == (0, 1)
    assert [(race["name"], race["kind"]) for race in found["models"]] == [
        ("tiny", kind) for kind in steps.STEP_KINDS
    ]


def test_the_suite_needs_torch(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    done = run_gradc("bench", "--suite", "training")
    assert done.code == 2
    assert "--suite training makes its models with torch: " in done.err
    assert install("peers") in done.err


@pytest.mark.parametrize("name", STEP_NETWORKS)
def test_the_labels_fit_the_logits(name: str, torch: Any):
    network = STEP_NETWORKS[name]
    x, labels = network.draw(np.random.default_rng(0))
    with torch.no_grad():
        shape = list(network.make(torch).eval()(torch.tensor(x)).shape)
    axis = 2 if len(shape) == 3 else 1
    classes = shape.pop(axis)
    assert shape == list(labels.shape)
    assert labels.dtype == np.int64
    assert labels.max() < classes


@pytest.mark.sweep
def test_the_losses_of_a_network(torch: Any, tmp_path: Path):
    torch.set_num_threads(1)
    for name in some(list(STEP_NETWORKS)):
        of = steps.trial(STEP_NETWORKS[name], torch, SETTINGS, tmp_path / name)
        judge = within(steps.torch_entrant("exact", torch, of, double=True).results(), steps.BOUND)
        for entrant in (steps.loop_entrant(of, 1), steps.trainer_entrant(of, 1)):
            error, bound = judge(entrant.results())
            assert error <= bound
