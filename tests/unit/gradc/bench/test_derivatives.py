"""Benchmarks of derivatives against torch.func: what is compared before it is timed, and what is reported."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from support.cli import run_gradc

pytest.importorskip("torch", reason="pip install torch")

import torch

from gradc.bench.races import derivative_networks, derivatives
from gradc.bench.races.models import RaceSettings
from gradc.bench.run import GRADC

SETTINGS = RaceSettings(1, 0.0, 0, ("torch",))
CASES = [(name, kind) for kind, what in derivatives.KINDS.items() for name in what.only]


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name, kind in CASES if name in derivative_networks.SMALL]
)
def test_a_derivative_against_torch(name: str, kind: str):
    found = derivatives.race_derivative(name, kind, torch, SETTINGS)
    assert found.failure == ""
    assert [finish.name for finish in found.finishes if finish.ratio] == [GRADC, "torch"]
    assert all(finish.error is not None for finish in found.finishes)


def test_a_wrong_derivative_is_not_timed(monkeypatch: pytest.MonkeyPatch):
    right = derivatives.KINDS["Jacobian"]

    def half(torch: Any, f: Any) -> Any:
        return lambda x: right.torch(torch, f)(x) / 2

    monkeypatch.setattr(derivatives, "KINDS", {"Jacobian": replace(right, torch=half)})
    found = derivatives.race_derivative("policy", "Jacobian", torch, SETTINGS)
    assert found.failure.startswith("gradc is wrong: off by ")
    assert all(finish.ratio is None for finish in found.finishes)


def test_the_suite_runs_with_one_thread_by_default(monkeypatch: pytest.MonkeyPatch):
    only = {"product": replace(derivatives.KINDS["product"], only=("policy",))}
    monkeypatch.setattr(derivatives, "KINDS", only)
    done = run_gradc("bench", "--suite", "derivatives", "--budget", "0", "--json", "-")
    found = json.loads(done.out)
    assert (done.code, found["threads"]) == (0, 1)
    assert [(race["name"], race["kind"]) for race in found["models"]] == [("policy", "product")]
