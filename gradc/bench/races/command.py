"""Implementation of `gradc bench` for models and networks, independent of its options."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version

from dialects.support.diagnostics import Diagnostic, UsageError
from gradc.bench.peers import check_names
from gradc.bench.peers.base import NotAvailable
from gradc.bench.races import MODEL_PEERS, NETWORKS_SUITE
from gradc.bench.races import report as reports
from gradc.bench.races.models import RaceSettings, race_model
from gradc.bench.races.networks import NETWORKS
from gradc.bench.races.race import Finish, Race
from gradc.bench.races.training import KINDS, import_torch, race_network
from gradc.bench.run import GRADC, or_failure
from gradc.files.json_text import json_text
from gradc.files.kinds import is_onnx
from gradc.terminal import messages, progress
from gradc.terminal.outputs import STDOUT, write_output
from gradc.terminal.tables import look

PACKAGES = ("onnxslim", "onnx-ad", "torch")

Start = tuple[str, str, Callable[[], Race]]
"""Name and kind of a race, and the function that runs it."""


def is_model(argument: str) -> bool:
    return is_onnx(argument)


def bench_models(paths: Sequence[str], settings: RaceSettings, networks: bool, json_path: str | None) -> bool:
    """Run the races, print the table, write the file; return whether all of gradc's results were right.

    An interrupt prints and writes the results so far.
    """
    check_names(settings.peers or (), MODEL_PEERS)
    starts: list[Start] = [(path, _kind(settings), _of_file(path, settings)) for path in paths]
    if networks:
        starts += _of_networks(settings)
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
    try:
        torch = import_torch(settings.threads)
    except NotAvailable as error:
        raise UsageError(
            Diagnostic("error", f"--suite {NETWORKS_SUITE} makes its models with torch: {error}")
        ) from None

    def start(name: str, kind: str) -> Start:
        return name, kind, lambda: race_network(name, kind, torch, settings)

    return [start(name, kind) for kind in KINDS for name in NETWORKS]


def _run_all(starts: Sequence[Start], races: list[Race]) -> None:
    with progress.bar(patience=0):
        for index, (name, kind, run) in enumerate(starts):
            progress.show(index, len(starts), f"{name}, {kind}")
            failed = partial(Race, name, kind, (Finish(GRADC),))
            races.append(or_failure(run, failed))


def _publish(races: Sequence[Race], settings: RaceSettings, json_path: str | None) -> None:
    peers = {name: found for name in PACKAGES if settings.wants(name) and (found := _version(name))}
    if json_path != STDOUT:
        print(reports.as_text(races, peers, settings.threads, look(sys.stdout)))
    if json_path is None:
        return
    text = f"{json_text(reports.as_data(races, peers, settings.threads))}\n".encode()
    write_output(json_path, text, "JSON")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
