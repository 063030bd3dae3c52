"""Implementation of `gradc bench` for models and networks, independent of its options."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from dialects.support.diagnostics import Diagnostic, UsageError
from gradc.bench.peers import check_names
from gradc.bench.peers.base import NotAvailable
from gradc.bench.races import (
    DERIVATIVES_SUITE,
    MODEL_PEERS,
    NETWORKS_SUITE,
    TORCH_SUITE,
    TRAINING_SUITE,
)
from gradc.bench.races import report as reports
from gradc.bench.races.models import RaceSettings, race_model
from gradc.bench.races.networks import NETWORKS
from gradc.bench.races.race import Finish, Race
from gradc.bench.races.training import KINDS, import_torch, race_network
from gradc.bench.run import GRADC, or_failure
from gradc.files.json_text import json_text
from gradc.files.kinds import is_onnx
from gradc.runtime.session import runtime_version
from gradc.terminal import messages, progress
from gradc.terminal.outputs import STDOUT, write_output
from gradc.terminal.tables import look

PACKAGES = ("onnxslim", "onnx-ad", "torch")

Start = tuple[str, str, Callable[[], Race]]
"""Name and kind of a race, and the function that runs it."""


def is_model(argument: str) -> bool:
    return is_onnx(argument)


def bench_models(
    paths: Sequence[str], settings: RaceSettings, suite: str | None, json_path: str | None
) -> bool:
    """Run the races, print the table, write the file; return whether all of gradc's results were right.

    An interrupt prints and writes the results so far.
    """
    check_names(settings.peers or (), MODEL_PEERS)
    starts: list[Start] = [(path, _kind(settings), _of_file(path, settings)) for path in paths]
    if suite == NETWORKS_SUITE:
        starts += _of_networks(settings)
    if suite == TORCH_SUITE:
        starts += _of_functions(settings)
    if suite == DERIVATIVES_SUITE:
        starts += _of_derivatives(settings)
    if suite == TRAINING_SUITE:
        with tempfile.TemporaryDirectory() as folder:
            return _bench([*starts, *_of_steps(settings, Path(folder))], settings, json_path)
    return _bench(starts, settings, json_path)


def bench_memory(settings: RaceSettings, json_path: str | None) -> bool:
    """Measure the memory of the training suite, print the table, write the file; return whether all of
    gradc's losses were right."""
    check_names(settings.peers or (), MODEL_PEERS)
    runtime_version()  # raises UnsupportedError without onnxruntime, which the imports need
    from gradc.bench.races import step_memory
    from gradc.bench.races.step_networks import STEP_NETWORKS

    torch, found = _torch(TRAINING_SUITE, settings), list[step_memory.Comparison]()
    with tempfile.TemporaryDirectory() as folder, progress.bar(patience=0):
        for index, (name, network) in enumerate(STEP_NETWORKS.items()):
            progress.show(index, len(STEP_NETWORKS), f"{name}, memory")
            place = Path(folder) / name
            found.append(step_memory.compare_memory(name, network, torch, settings, place))
    if json_path != STDOUT:
        print(step_memory.as_text(found, settings.threads, look(sys.stdout)))
    if json_path is not None:
        data = step_memory.as_data(found, _peers(settings), settings.threads)
        write_output(json_path, f"{json_text(data)}\n".encode(), "JSON")
    return not any(one.failure for one in found)


def _bench(starts: Sequence[Start], settings: RaceSettings, json_path: str | None) -> bool:
    races: list[Race] = []
    try:
        _run_all(starts, races)
    except KeyboardInterrupt:
        messages.note(f"interrupted: {len(races)} of {len(starts)} models were measured")
        _publish(races, settings, json_path)
        raise
    _publish(races, settings, json_path)
    return not any(race.failure for race in races)


def _kind(settings: RaceSettings) -> str:
    return "gradient" if settings.wrt or settings.of else "model"


def _of_file(path: str, settings: RaceSettings) -> Callable[[], Race]:
    return lambda: race_model(path, settings)


def _of_networks(settings: RaceSettings) -> list[Start]:
    torch = _torch(NETWORKS_SUITE, settings)

    def start(name: str, kind: str) -> Start:
        return name, kind, lambda: race_network(name, kind, torch, settings)

    return [start(name, kind) for kind in KINDS for name in NETWORKS]


def _of_steps(settings: RaceSettings, folder: Path) -> list[Start]:
    """Return the races of training steps; `folder` gets the files of the steps."""
    runtime_version()  # raises UnsupportedError without onnxruntime, which the imports need
    from gradc.bench.races.step_networks import STEP_NETWORKS
    from gradc.bench.races.steps import STEP_KINDS, Trial, race_step, trial

    torch = _torch(TRAINING_SUITE, settings)

    @cache
    def trial_of(name: str) -> Trial:
        return trial(STEP_NETWORKS[name], torch, settings, folder / name)

    def start(name: str, kind: str) -> Start:
        return name, kind, lambda: race_step(name, kind, trial_of(name), torch, settings)

    return [start(name, kind) for name in STEP_NETWORKS for kind in STEP_KINDS]


def _of_functions(settings: RaceSettings) -> list[Start]:
    runtime_version()  # raises UnsupportedError without onnxruntime
    torch = _torch(TORCH_SUITE, settings)
    from gradc.bench.races.exports import KINDS, race_export

    def start(name: str, kind: str) -> Start:
        return name, kind, lambda: race_export(name, kind, torch, settings)

    return [start(name, kind) for kind, functions in KINDS.items() for name in functions]


def _of_derivatives(settings: RaceSettings) -> list[Start]:
    runtime_version()  # raises UnsupportedError without onnxruntime
    torch = _torch(DERIVATIVES_SUITE, settings)
    from gradc.bench.races.derivatives import KINDS, race_derivative

    def start(name: str, kind: str) -> Start:
        return name, kind, lambda: race_derivative(name, kind, torch, settings)

    return [start(name, kind) for kind, what in KINDS.items() for name in what.only]


def _torch(suite: str, settings: RaceSettings) -> Any:
    try:
        return import_torch(settings.threads)
    except NotAvailable as error:
        text = f"--suite {suite} makes its models with torch: {error}"
        raise UsageError(Diagnostic("error", text)) from None


def _run_all(starts: Sequence[Start], races: list[Race]) -> None:
    with progress.bar(patience=0):
        for index, (name, kind, run) in enumerate(starts):
            progress.show(index, len(starts), f"{name}, {kind}")
            failed = partial(Race, name, kind, (Finish(GRADC),))
            races.append(or_failure(run, failed))


def _publish(races: Sequence[Race], settings: RaceSettings, json_path: str | None) -> None:
    peers = _peers(settings)
    if json_path != STDOUT:
        print(reports.as_text(races, peers, settings.threads, look(sys.stdout)))
    if json_path is None:
        return
    text = f"{json_text(reports.as_data(races, peers, settings.threads))}\n".encode()
    write_output(json_path, text, "JSON")


def _peers(settings: RaceSettings) -> dict[str, str]:
    return {name: found for name in PACKAGES if settings.wants(name) and (found := _version(name))}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
