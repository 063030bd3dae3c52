"""Benchmarks of exported PyTorch functions: what is compared before it is timed, and what is reported."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from support.cli import run_gradc

pytest.importorskip("torch", reason="pip install torch")

import torch

from gradc.bench.races import exports, torch_functions, torch_networks
from gradc.bench.races.models import RaceSettings
from gradc.bench.races.torch_functions import Differentiating
from gradc.bench.run import GRADC

SETTINGS = RaceSettings(1, 0.0, 0, ("torch",))


def pendulum(torch: Any) -> torch_functions.Made:
    return torch_functions.FUNCTIONS["pendulum"].make(torch)


TINY = {"tiny": Differentiating(pendulum, "Hamilton's equations")}


def test_a_function_against_torch():
    found = exports.race_export("pendulum", exports.FUNCTION, torch, SETTINGS)
    assert found.failure == ""
    assert [finish.name for finish in found.finishes if finish.ratio] == [GRADC, "torch"]
    assert all(finish.error is not None for finish in found.finishes)


def test_a_wrong_model_is_not_timed(monkeypatch: pytest.MonkeyPatch):
    def half(*args: Any, **options: Any) -> Any:
        def function(q: Any, p: Any) -> Any:
            return p / 2, -torch.sin(q)

        return export(function, *args[1:], **options)

    export = exports.export
    monkeypatch.setattr(exports, "export", half)
    found = exports.race_export("pendulum", exports.FUNCTION, torch, SETTINGS)
    assert found.failure.startswith("gradc is wrong: off by ")
    assert all(finish.ratio is None for finish in found.finishes)


@pytest.mark.parametrize("functions", [torch_functions.FUNCTIONS, torch_networks.FUNCTIONS])
def test_the_reference_runs_in_float64_and_leaves_the_function_as_it_is(functions: Any):
    """With the first function that has parameters: the networks themselves take seconds."""
    name = next(name for name in ("hamiltonian", "training-mlp") if name in functions)
    module, arguments = functions[name].make(torch)
    names = [info.name for info in exports.export(module, arguments, check=False).outputs]
    before = exports.torch_entrant(torch, module, arguments, names)
    before.run()
    truth = exports.in_float64(torch, module, arguments, names)
    assert {str(array.dtype) for array in truth.values()} == {"float64"}
    assert {parameter.dtype for parameter in module.parameters()} == {torch.float32}
    error, bound = exports.within(truth, exports.BOUND)(before.results())
    assert 0 < error < bound


def test_the_suite_runs_with_one_thread_by_default(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(exports, "KINDS", {exports.FUNCTION: TINY})
    done = run_gradc("bench", "--suite", "torch", "--budget", "0", "--json", "-")
    found = json.loads(done.out)
    assert (done.code, found["threads"]) == (0, 1)
    assert [(race["name"], race["kind"]) for race in found["models"]] == [("tiny", exports.FUNCTION)]


def test_the_suite_needs_torch(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    done = run_gradc("bench", "--suite", "torch")
    assert done.code == 2
    assert "--suite torch makes its models with torch: " in done.err
