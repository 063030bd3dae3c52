"""Measured speed of the strategies, from the files of docs/speed."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gradc.bench.floors import CLOSE
from gradc.bench.report import geometric_mean
from tools.documents.markdown import about_run
from tools.documents.prose import table

ROOT = Path(__file__).resolve().parents[2]
SUITES = ("one-thread", "two-threads")
STRATEGIES = "docs/speed/strategies.json"
COMMAND = f"gradc bench docs/speed/ops.txt --strategy all --peers none --threads 1 --json {STRATEGIES}"

_PREFIX = "gradc:"


@dataclass(frozen=True)
class Race:
    """A problem with the times of its strategies; `chosen` is gradc's choice.

    `ratios` are times relative to the chosen strategy, compared round by round as in `gradc bench`.
    """

    problem: str
    title: str
    layout: str
    chosen: str
    seconds: dict[str, float]
    ratios: dict[str, float]

    def times(self, strategy: str) -> float:
        """Return a strategy's time relative to the fastest."""
        return self.ratios[strategy] / min(self.ratios.values())


@cache
def report(path: str) -> dict[str, Any]:
    return json.loads((ROOT / path).read_text(encoding="utf-8"))


def races(found: dict[str, Any]) -> dict[str, list[Race]]:
    """Return source op -> problems of a bench of all strategies, by the labels."""
    by_kind: dict[str, list[Race]] = defaultdict(list)
    for case in found["cases"]:
        kind, _, title = case["label"].partition(": ")
        seconds, ratios = (_of_strategies(case, field) for field in ("seconds", "ratio"))
        layout = case["group"]["layout"]
        by_kind[kind].append(Race(case["problem"], title, layout, case["strategy"], seconds, ratios))
    return dict(by_kind)


def _of_strategies(case: dict[str, Any], field: str) -> dict[str, float]:
    return {
        contestant["name"].removeprefix(_PREFIX): contestant[field]
        for contestant in case["contestants"]
        if contestant["name"].startswith(_PREFIX) and contestant[field]
    }


def standing(strategy: str, of: Sequence[Race]) -> tuple[str, str]:
    """Return in how many problems a strategy is the fastest, and its mean time relative to the fastest."""
    ran = [race for race in of if strategy in race.seconds]
    if not ran:
        return "not timed", ""
    first = sum(race.times(strategy) == 1 for race in ran)
    return f"{first} of {len(ran)}", f"{geometric_mean([race.times(strategy) for race in ran]):.2f}"


def choice() -> str:
    """Summarize the quality of the predicted choice in a sentence or two."""
    found = report(STRATEGIES)
    all_races = [race for part in races(found).values() for race in part]
    losses = [race.times(race.chosen) for race in all_races]
    close = sum(loss <= 1 / CLOSE for loss in losses)
    return (
        f"Of {len(losses)} problems (`docs/speed/ops.txt`, f32, one thread), every strategy timed, "
        f"the choice was within {1 - CLOSE:.0%} of the fastest in {close}. It takes "
        f"{geometric_mean(losses):.3f} times as long as the fastest in the geometric mean, "
        f"{max(losses):.2f} times at worst. {about_run(found)}"
    )


def compile_times() -> str:
    """Return the table of the file that benchmarks/compile_time.py wrote."""
    found = report("docs/speed/compile-time.json")
    columns = ("build_ms", "first_ms", "again_ms")
    rows = [
        (row["graph"], f"{row['ops']:,}", *(f"{row[name]:.1f}" for name in columns)) for row in found["rows"]
    ]
    header = ("graph", "ops", "to build the graph, ms", "to compile it, ms", "to compile it again, ms")
    return f"{table(header, rows)}\n\n{about_run(found)}"


def networks() -> str:
    """Return the table of the file that `gradc bench --suite networks --threads 1 --json` wrote."""
    found = report("docs/speed/networks.json")
    header = ("network", "gradient", "nodes", "ms", "its forwards", "torch", "onnx-ad")
    rows = [_network(race) for race in found["models"]]
    return f"{table(header, rows)}\n\n{about_run(found)}"


def _network(race: dict[str, Any]) -> tuple[str, ...]:
    """Return a row: gradc's time, and the times of the others relative to it."""
    ours, *others = race["finishes"]
    ratios = {other["name"]: other["ratio"] for other in others}
    forwards = f"{1 / ratios['forward']:.2f}"
    peers = (f"{ratios[name]:.2f}" if ratios.get(name) else "" for name in ("torch", "onnx-ad"))
    times = (f"{ours['nodes']:,}", f"{ours['seconds'] * 1e3:.2f}", forwards)
    return (race["name"], race["kind"], *times, *peers)
