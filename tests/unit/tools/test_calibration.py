"""Rates from what was measured on several machines."""

import pytest

from passes.cost.rates import rates_of
from passes.cost.vector import DISTANT, NEAR, dot, split_by_sharing, traffic
from tools import calibrate
from tools.calibration.measurements import Measurements
from tools.calibration.model import RUN
from tools.calibration.nodes import nodes

MACHINES = {"AMD-EPYC": (1.0, 3e-6), "Intel-Xeon-Processor": (1.0, 30e-6)}
"""How many times the time of the rates each takes, and what a run costs beside its nodes."""


@pytest.fixture
def measured(tmp_path, monkeypatch) -> list:
    """Times that follow from the rates, on two machines."""
    few = [model for model in nodes(1, 0.2) if not split_by_sharing(model.facts.features)[1]]
    monkeypatch.setattr(calibrate, "DATA", tmp_path)
    monkeypatch.setattr(calibrate, "models", lambda threads: iter(few))
    given = {name: rate for name, rate in rates_of("cpu")[1].items() if not name.startswith(RUN)}
    for machine, (times, run) in MACHINES.items():
        seconds = {model.label: times * dot(model.facts.features, given) + run for model in few}
        Measurements(seconds).write(calibrate.path_of(machine, 1))
    return few


def test_machines_are_those_with_a_file(measured):
    assert calibrate.machines(1) == sorted(MACHINES)
    assert calibrate.machines(2) == []


def test_this_machine_has_a_name_for_a_file():
    assert calibrate.machine_name().replace("-", "").replace(".", "").isalnum()


def test_a_model_is_a_sample_of_every_machine(measured):
    samples = calibrate.samples(1)
    assert len(samples) == 2 * len(measured)
    runs = {name for sample in samples for name in sample.features if name.startswith(RUN)}
    assert runs == {f"{RUN} {machine}" for machine in MACHINES}


def test_what_a_run_costs_is_each_machines_own(measured):
    """The rates explain the times of both, although a run as such takes ten times as long on one."""
    content = calibrate.rates([1])
    assert content["source"].endswith("; AMD EPYC and Intel Xeon Processor")
    for machine, (_, run) in MACHINES.items():
        assert content["rates"]["1"][f"{RUN} {machine}"] == pytest.approx(run, rel=0.05)
    errors = [kind["median"] for kind in content["fit"]["1"].values()]
    assert max(errors) < 0.02


def test_machines_count_alike(measured):
    """Whatever number of models was measured on each."""
    path = calibrate.path_of("AMD-EPYC", 1)
    seconds = Measurements.read(path).seconds
    Measurements(dict(list(seconds.items())[: len(seconds) // 3])).write(path)
    weights: dict[str, float] = {}
    for sample in calibrate.samples(1):
        (run,) = (name for name in sample.features if name.startswith(RUN))
        weights[run] = weights.get(run, 0.0) + sample.weight
    amd, intel = weights.values()
    assert amd == pytest.approx(intel)


def test_what_is_no_model_any_more_is_forgotten(measured):
    path = calibrate.path_of("AMD-EPYC", 1)
    known = Measurements.read(path)
    Measurements({**known.seconds, "gone": 1.0}).write(path)
    calibrate.forget_removed(1)
    assert Measurements.read(path) == known


@pytest.mark.parametrize(("second", "kept"), [(0.5, 0.5), (2.0, 1.0)])
def test_the_lower_of_two_times_is_kept(measured, monkeypatch, second, kept):
    monkeypatch.setattr(calibrate, "measure", lambda model, threads: second)
    reported = Measurements({measured[0].label: 1.0})
    calibrate.measure_all(1, 60.0, measured[:1], reported)
    assert Measurements.read(calibrate.path_of(calibrate.machine_name(), 1)).seconds == {
        measured[0].label: kept
    }


@pytest.mark.parametrize("of", [NEAR, DISTANT])
def test_bytes_beyond_a_cache_count_once_more(of):
    assert sum(traffic("Add", of).values()) < sum(traffic("Add", of + 1).values()) - 1
    assert set(traffic("Add", DISTANT + 1)) - set(traffic("Mul", DISTANT + 1)) == {"Add.bytes", "Add.far"}
