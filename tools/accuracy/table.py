"""Accuracy table of docs/accuracy.md: errors of every strategy, op and dtype on the CPU provider."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from dialects.support.dtypes import FLOATS
from gradc.terminal import progress
from gradc.verification.errors import ULPS_OF_TERMS, Spread
from passes.strategies import all_strategies
from tools.accuracy.cases import Bound, Case, cases
from tools.generated import Part

PART = Part("accuracy table")
REFUSED = "-"


@dataclass
class Entry:
    """Maximum errors of a strategy for one kind of op in one dtype, over all problems."""

    terms: int = 0
    worst: float = 0.0
    p99: float = 0.0
    median: float = 0.0
    broken: list[str] = field(default_factory=list)

    def add(self, case: Case, spread: Spread, mismatches: int) -> None:
        self.terms = max(self.terms, case.terms)
        self.worst, self.p99 = max(self.worst, spread.worst), max(self.p99, spread.p99)
        self.median = max(self.median, spread.median)
        bound = Bound(case.dtype, case.terms)
        for name in ("worst", "p99"):
            got, most = getattr(spread, name), getattr(bound, name)
            if got > most:
                fault = f"{name} error of {got:.3g} ulps of the terms, bound {most:.3g}"
                self.broken.append(f"{case.what}: {fault}")
        if mismatches:
            self.broken.append(f"{case.what}: {mismatches} values that are not finite alike")

    def __str__(self) -> str:
        return " / ".join(f"{value:.2g}" for value in (self.worst, self.p99, self.median))


Entries = dict[tuple[str, str], dict[str, Entry]]
"""(op, strategy) -> dtype -> entry; every registered pair has a row, every accepted dtype an entry."""


def measure_all() -> Entries:
    found: Entries = {(op.name, s.name): {} for s in all_strategies() for op in s.ops}
    with progress.bar():
        for done, dtype in enumerate(FLOATS):
            for case in cases(dtype):
                progress.show(done, len(FLOATS), f"{dtype} {case.what}")
                _measure(found, dtype, case)
    return found


def _measure(found: Entries, dtype: str, case: Case) -> None:
    for kind, strategy in _strategies_of(case):
        if (errors := case.errors(strategy, _strict_only(strategy))) is not None:
            entry = found[kind, strategy].setdefault(dtype, Entry())
            entry.add(case, errors.spreads[ULPS_OF_TERMS], errors.mismatches)


def _strategies_of(case: Case) -> Iterator[tuple[str, str]]:
    """Yield the ops of a case with their strategies."""
    kinds = {op.name: type(op) for op in case.gradients}
    for strategy in all_strategies():
        for name, kind in kinds.items():
            if issubclass(kind, strategy.ops):
                yield name, strategy.name


def _strict_only(strategy: str) -> bool:
    return any(s.name == strategy and s.strict_only for s in all_strategies())


def lines(entries: Entries) -> Iterator[str]:
    yield f"| op | strategy | n | {' | '.join(FLOATS)} |"
    yield f"|---|---|---|{'---|' * len(FLOATS)}"
    for (op, strategy), found in entries.items():
        terms = max((entry.terms for entry in found.values()), default=0)
        cells = (str(found.get(dtype, REFUSED)) for dtype in FLOATS)
        yield f"| {op.removeprefix('grad.')} | {strategy} | {terms} | {' | '.join(cells)} |"


def rows_of(document: str) -> list[tuple[str, str, str, tuple[bool, ...]]]:
    """Return the machine-independent part of a document's table: op, strategy, terms, refusals."""
    rows = []
    for line in PART.read(document).splitlines()[2:]:
        op, strategy, terms, *cells = (cell.strip() for cell in line.strip().strip("|").split("|"))
        rows.append((op, strategy, terms, tuple(cell == REFUSED for cell in cells)))
    return rows


def broken_bounds(entries: Entries) -> list[str]:
    return [
        f"{strategy}: {line}"
        for (_, strategy), found in entries.items()
        for entry in found.values()
        for line in entry.broken
    ]


def refresh(text: str, entries: Entries) -> str:
    """Return the document with a new table. Raises ValueError if it lacks the markers."""
    return PART.write(text, "\n".join(lines(entries)))
