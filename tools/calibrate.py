"""Measure this machine's rates for the cost model: `python -m tools.calibrate --help`."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from gradc.bench.random_problems import problems
from gradc.files.writing import write_atomically
from gradc.terminal import progress
from passes.cost.rates import content_of, rates_of
from passes.cost.vector import add, split_by_sharing
from passes.targets.target import Target
from tools.calibration import fit as fitting
from tools.calibration.fit import Sample
from tools.calibration.measurements import Measurements, measure
from tools.calibration.model import RUN, Model, candidates
from tools.calibration.nodes import nodes

SEED, PROBLEMS = 1, 260
DATA = Path(__file__).parent / "calibration" / "data"


def models(threads: int, scale: float = 1.0) -> Iterator[Model]:
    """Yield all models of a calibration; deterministic."""
    yield from nodes(SEED, scale)
    target = Target("cpu", threads=threads)
    for problem in problems(SEED, round(PROBLEMS * scale)):
        yield from candidates(problem, target)


def path_of(machine: str, threads: int) -> Path:
    """Return the file of a machine's measurements."""
    return DATA / f"{machine}-{threads}.json"


def machine_name() -> str:
    """Return this machine's processor as a file name: Intel(R) Xeon(R) Processor as Intel-Xeon-Processor."""
    from gradc.util.machine import this_machine

    return "-".join(re.findall(r"[\w.]+", this_machine().cpu.replace("(R)", "")))


def machines(threads: int) -> list[str]:
    """Return the machines that were measured with this number of threads."""
    return sorted(path.stem.removesuffix(f"-{threads}") for path in DATA.glob(f"*-{threads}.json"))


def measure_all(threads: int, seconds: float, todo: Sequence[Model], measured: Measurements) -> None:
    """Measure models until the time is over, and store the results. A repeated measurement keeps the lower
    time, as other load on the machine only adds to it."""
    end = time.perf_counter() + seconds
    with progress.bar(patience=0):
        for index, model in enumerate(todo):
            if time.perf_counter() > end:
                break
            progress.show(index, len(todo), f"{threads} threads: {model.label}")
            found, before = measure(model, threads), measured.seconds.get(model.label, math.inf)
            measured.seconds[model.label] = min(found, before)
    DATA.mkdir(exist_ok=True)
    measured.write(path_of(machine_name(), threads))


def forget_removed(threads: int) -> None:
    """Delete the measurements of removed models, for every machine."""
    known = list(models(threads))
    for machine in machines(threads):
        path = path_of(machine, threads)
        Measurements(dict(Measurements.read(path).of(known))).write(path)


def samples(threads: int) -> list[Sample]:
    """Return the measurements for a number of threads, except models with a serial part, which has the rates
    of one thread. The overhead of a run is a feature per machine, and all machines have the same total
    weight.
    """
    measured_by = {machine: Measurements.read(path_of(machine, threads)) for machine in machines(threads)}
    found: dict[str, list[Sample]] = {machine: [] for machine in measured_by}
    for model in models(threads):
        shared, alone = split_by_sharing(model.facts.features)
        if alone and threads > 1:
            continue
        features = {name: value for name, value in shared.items() if name != RUN}
        add(features, alone)
        for machine, measured in measured_by.items():
            if model.label in measured.seconds:
                own = {**features, f"{RUN} {machine}": 1.0}
                found[machine].append(Sample(model.kind, own, measured.seconds[model.label]))
    most = max(map(len, found.values()), default=0)
    return [replace(sample, weight=most / len(group)) for group in found.values() for sample in group]


def rates(threads: Sequence[int]) -> dict[str, Any]:
    """Return the content of a rates file, fitted to the measurements."""
    from gradc.runtime.session import runtime_version

    names = sorted({machine.replace("-", " ") for count in threads for machine in machines(count)})
    content: dict[str, Any] = {"source": f"onnxruntime {runtime_version()}; {' and '.join(names)}"}
    content |= {"rates": {}, "fit": {}}
    for count in threads:
        given = samples(count)
        rated = fitting.fit(given)
        content["rates"][str(count)] = _round(rated)
        content["fit"][str(count)] = fitting.quality(given, rated)
    return content


def refit_rates(prefix: str) -> dict[str, Any]:
    """Return the rates file with new rates of the features that begin with `prefix`."""
    content = content_of("cpu")
    for count, given in rates_of("cpu").items():
        chosen = [
            sample for sample in samples(count) if any(name.startswith(prefix) for name in sample.features)
        ]
        rated = fitting.fit_some(chosen, given, prefix)
        content["rates"][str(count)] = _round(rated)
        content["fit"][str(count)] |= fitting.quality(chosen, rated)
    return content


def _round(rates: Mapping[str, float]) -> dict[str, float]:
    return {name: float(f"{rates[name]:.4g}") for name in sorted(rates)}


@click.command()
@click.option("--threads", multiple=True, type=click.IntRange(1), default=(1, 2), show_default=True)
@click.option("--seconds", default=600.0, show_default=True, help="Stop measuring after this time.")
@click.option("--refit", is_flag=True, help="Do not measure; fit new rates to the stored measurements.")
@click.option("--again", is_flag=True, help="Measure all models again, and keep the lower times.")
@click.option("--only", metavar="PREFIX", help="Fit only the rates of these features.")
@click.option("--out", type=click.Path(dir_okay=False), required=True, help="Rates file to write.")
def main(
    threads: tuple[int, ...], seconds: float, refit: bool, again: bool, only: str | None, out: str
) -> None:
    """Time small models on onnxruntime and write the rates that fit the times of all measured machines.

    Measurements are stored next to this program: an interrupted run continues. A complete run deletes the
    measurements of removed models.
    """
    end = time.perf_counter() + seconds
    for count in () if refit or only else threads:
        measured = Measurements.read(path_of(machine_name(), count))
        todo = list(models(count)) if again else measured.missing(models(count))
        measure_all(count, end - time.perf_counter(), todo, measured)
        if left := len(measured.missing(todo)):
            raise click.ClickException(f"{left} models are not measured yet: run it again")
        forget_removed(count)
    content = refit_rates(only) if only else rates(threads)
    write_atomically(out, (json.dumps(content, indent=1) + "\n").encode())
    for count, kinds in content["fit"].items():
        for kind, numbers in kinds.items():
            click.echo(f"{count} threads  {kind:28} {numbers}")


if __name__ == "__main__":
    main()
