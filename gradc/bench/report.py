"""Report of a benchmark, as tables and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from math import exp, log
from typing import Any

from gradc.bench.floors import CLOSE, Group, Target
from gradc.bench.run import Outcome, Result, Settings
from gradc.files.json_text import json_text
from gradc.runtime.session import runtime_version
from gradc.terminal.tables import BAD, PLAIN, POOR, Look, table
from gradc.util.machine import this_machine
from gradc.util.version import __version__

NUMBERS = (0, 1, 2, 3, 4)
WIDTH = 500
"""Columns of a plain table; problem strings and remarks are long."""

BELOW, FAILED = "below its floor", "FAILED"


@dataclass(frozen=True)
class Report:
    """All results of a run. `peers` has the version of each peer, or why it is missing."""

    settings: Settings
    peers: Mapping[str, str]
    results: Sequence[Result]

    @property
    def failures(self) -> list[Result]:
        return [r for r in self.results if r.failure]

    @property
    def groups(self) -> list[GroupMean]:
        return group_means(self.results)


@dataclass(frozen=True)
class GroupMean:
    """The cases of a group that have a peer; `mean` is the geometric mean of their ratios."""

    group: Group
    cases: int
    mean: float
    worst: float
    below: int
    target: Target


def group_means(results: Sequence[Result]) -> list[GroupMean]:
    found: dict[Group, list[Result]] = {}
    for result in results:
        if result.ratio is not None:
            found.setdefault(result.group, []).append(result)
    return [_group_mean(group, members) for group, members in sorted(found.items())]


def _group_mean(group: Group, members: Sequence[Result]) -> GroupMean:
    ratios = [r.ratio for r in members if r.ratio is not None]
    below = sum(r.is_below for r in members)
    return GroupMean(group, len(ratios), geometric_mean(ratios), min(ratios), below, members[0].target)


def geometric_mean(values: Sequence[float]) -> float:
    return exp(sum(map(log, values)) / len(values))


def threads_of(threads: int) -> str:
    return f"{threads} thread{'s' * (threads > 1)}"


# --- text ------------------------------------------------------------------------------------------


def as_text(report: Report, look: Look = PLAIN) -> str:
    """Return the tables; with colors, cases below their lower bound are yellow and wrong ones red."""
    header, rows = _cases(report)
    wide = look if look.colours is not None else replace(look, width=WIDTH)
    parts = [_heading(report), table(header, rows, NUMBERS, wide, dict(enumerate(map(_style, rows))))]
    parts += [table(*_groups(report), (1, 2, 3, 4), look)] if report.groups else []
    return "\n\n".join([*parts, *_notes(report)])


def _style(row: Sequence[str]) -> str:
    return BAD if row[-1].startswith(FAILED) else POOR if BELOW in row[-1] else ""


def _heading(report: Report) -> str:
    peers = ", ".join(f"{name} {what}" for name, what in report.peers.items()) or "none"
    runtime = f"gradc {__version__} on onnxruntime {runtime_version()}, {threads_of(report.settings.threads)}"
    return (
        f"{this_machine()}\n"
        f"{runtime}; peers: {peers}\n"
        "ratio: how many times as fast as the best peer (quartiles of the bursts), 1 is as fast"
    )


def _cases(report: Report) -> tuple[Sequence[str], list[Sequence[str]]]:
    header = ("ratio", "25 %", "75 %", "gradc", "best peer", "", "problem", "strategy", "")
    return header, [_case_row(result) for result in report.results]


def _case_row(result: Result) -> Sequence[str]:
    best = result.best
    numbers = ("", "", "")
    if best is not None and best.spread is not None:
        numbers = tuple(f"{ratio:.2f}" for ratio in (best.ratio, *best.spread))
    times = (_milliseconds(result.gradc), _milliseconds(best) if best else "", best.name if best else "")
    return (*numbers, *times, str(result.case.problem), result.chosen, _remark(result))


def _milliseconds(outcome: Outcome) -> str:
    return "" if outcome.seconds is None else f"{outcome.seconds * 1e3:.3f} ms"


def _remark(result: Result) -> str:
    if result.failure:
        return f"{FAILED}: {result.failure}"
    parts = [f"{BELOW} {result.target.floor}"] if result.is_below else []
    best = result.best_strategy
    if best is not None and best.ratio is not None and best.ratio < CLOSE:
        parts.append(f"{best.name} takes {best.ratio:.2f} of the time")
    parts += [f"{o.name} {o.note}" for o in result.peers if o.note.startswith("wrong")]
    return "; ".join(parts)


def _groups(report: Report) -> tuple[Sequence[str], list[Sequence[str]]]:
    header = ("group", "cases", "geometric mean", "wanted", "worst", "")
    return header, [_group_row(mean) for mean in report.groups]


def _group_row(mean: GroupMean) -> Sequence[str]:
    remarks = ["mean too low"] if mean.mean < mean.target.mean else []
    remarks += [f"{mean.below} of {mean.cases} {BELOW} {mean.target.floor}"] if mean.below else []
    numbers = (str(mean.cases), f"{mean.mean:.2f}", f"{mean.target.mean:.2f}", f"{mean.worst:.2f}")
    return (str(mean.group), *numbers, "; ".join(remarks))


def _notes(report: Report) -> list[str]:
    raced = [r for r in report.results if r.best_strategy is not None]
    if not raced:
        return []
    ratios = [r.best_strategy.ratio for r in raced if r.best_strategy and r.best_strategy.ratio]
    close = sum(ratio >= CLOSE for ratio in ratios)
    percent = round(100 * (1 - CLOSE))
    return [f"auto is within {percent} % of the fastest strategy in {close} of {len(ratios)} cases"]


# --- JSON --------------------------------------------------------------------------------------------


def about(peers: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return date, machine and versions, as in every file of measurements."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": asdict(this_machine()),
        "versions": {"gradc": __version__, "onnxruntime": runtime_version(), **(peers or {})},
    }


def as_data(report: Report) -> dict[str, Any]:
    """Return all measurements with the UTC date: seconds, and ratios as in the table."""
    return {
        **about(report.peers),
        "settings": asdict(report.settings),
        "groups": [_group_json(mean) for mean in report.groups],
        "cases": [_result_json(result) for result in report.results],
    }


def as_json(report: Report) -> str:
    """Return `as_data` as text."""
    return json_text(as_data(report))


def _group_json(mean: GroupMean) -> dict[str, Any]:
    return asdict(mean) | {"group": mean.group._asdict(), "target": mean.target._asdict()}


def _result_json(result: Result) -> dict[str, Any]:
    return {
        "problem": str(result.case.problem),
        "label": result.case.label,
        "group": result.group._asdict(),
        "target": result.target._asdict(),
        "ratio": result.ratio,
        "best_peer": result.best.name if result.best else None,
        "below_floor": result.is_below,
        "strategy": result.chosen or None,
        "failure": result.failure or None,
        "contestants": [asdict(outcome) for outcome in result.outcomes],
    }
