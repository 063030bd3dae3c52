"""Report of races of whole models, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from gradc.bench.races.race import Finish, Race
from gradc.bench.report import WIDTH, about, geometric_mean, threads_of
from gradc.runtime.session import runtime_version
from gradc.terminal.tables import BAD, PLAIN, Look, table
from gradc.util.machine import this_machine
from gradc.util.version import __version__

NUMBERS = (2, 3, 4, 5, 6)
FAILED = "FAILED"


def as_text(races: Sequence[Race], peers: Mapping[str, str], threads: int, look: Look = PLAIN) -> str:
    versions = ", ".join(f"{name} {what}" for name, what in peers.items()) or "none"
    heading = (
        f"{this_machine()}\n"
        f"gradc {__version__} on onnxruntime {runtime_version()}, {threads_of(threads)}; peers: {versions}\n"
        "ratio: how many times as long as gradc's model it takes (quartiles of the bursts)"
    )
    header = ("model", "contestant", "nodes", "time", "ratio", "25 %", "75 %", "")
    rows = [_row(race, finish) for race in races for finish in race.finishes]
    styles = {index: BAD for index, row in enumerate(rows) if row[-1].startswith(FAILED)}
    wide = look if look.colours is not None else replace(look, width=WIDTH)
    return "\n\n".join([heading, table(header, rows, NUMBERS, wide, styles), *_summary(races)])


def _row(race: Race, finish: Finish) -> Sequence[str]:
    first = finish is race.gradc
    name = f"{race.name}, {race.kind}" if first else ""
    nodes = "" if finish.nodes is None else f"{finish.nodes:,}"
    time = "" if finish.seconds is None else f"{finish.seconds * 1e3:.3f} ms"
    ratios = ("", "", "")
    if finish.ratio is not None and finish.spread is not None and not first:
        ratios = tuple(f"{ratio:.2f}" for ratio in (finish.ratio, *finish.spread))
    note = f"{FAILED}: {race.failure}" if first and race.failure else finish.note
    return (name, finish.name, nodes, time, *ratios, note)


def _summary(races: Sequence[Race]) -> list[str]:
    lines = [f"{kind}, {name}: {text}" for kind, name, text in _means(races)]
    return ["\n".join(lines)] if lines else []


def _means(races: Sequence[Race]) -> list[tuple[str, str, str]]:
    """Return the means of each timed contestant over the races of a kind."""
    found: dict[tuple[str, str], list[Finish]] = {}
    for race in races:
        for finish in race.finishes[1:]:
            if finish.ratio is not None:
                found.setdefault((race.kind, finish.name), []).append(finish)
    return [(kind, name, _mean(finishes)) for (kind, name), finishes in found.items()]


def _mean(finishes: Sequence[Finish]) -> str:
    ratios = [finish.ratio for finish in finishes if finish.ratio]
    mean, least = geometric_mean(ratios), min(ratios)
    text = f"{mean:.2f} times as long as gradc's in the geometric mean of {len(ratios)}, least {least:.2f}"
    return f"{text}; gradc takes {1 / mean:.2f} of them" if finishes[0].yardstick else text


def as_data(races: Sequence[Race], peers: Mapping[str, str], threads: int) -> dict[str, Any]:
    """Return all measurements: seconds, and ratios as in the table."""
    return {**about(peers), "threads": threads, "models": [asdict(race) for race in races]}
