"""Minimization of a sum of tables over discrete variables, by variable elimination.

min over x of sum over f of f(x[scope of f]). A variable is eliminated by summing the tables over it, and
taking the minimum for each combination of its neighbours (bucket elimination, Dechter 1999). Variables with
the fewest neighbours go first, so that chains, trees, ladders and U-shapes need tables of a few entries, and
time linear in the number of variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from math import prod

import numpy as np

MOST_ENTRIES = 2**16
"""Limit on the entries of a table. Beyond it the variable with most neighbours is fixed to its first value,
which may miss the minimum. Training steps of residual networks take 20,000, with SE blocks 60,000."""

Scope = tuple[int, ...]
"""Variables in ascending order: the axes of a table."""


def least(sizes: Sequence[int], tables: Iterable[tuple[Scope, np.ndarray]]) -> list[int]:
    """Return the index of the best of `sizes[v]` values for each variable v; the first of equal ones."""
    problem = _Problem(sizes)
    for scope, table in tables:
        problem.add(scope, table)
    return problem.minimize()


@dataclass
class _Problem:
    sizes: Sequence[int]
    tables: list[tuple[Scope, np.ndarray]] = field(default_factory=list)
    seen_by: list[set[int]] = field(init=False)
    """Per variable, the indices of the tables over it."""

    fixed: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.seen_by = [set() for _ in self.sizes]

    def add(self, scope: Scope, table: np.ndarray) -> None:
        for variable in scope:
            self.seen_by[variable].add(len(self.tables))
        self.tables.append((scope, table))

    def minimize(self) -> list[int]:
        eliminated: list[tuple[int, Scope, np.ndarray]] = []
        waiting = [(self._entries(variable), variable) for variable in range(len(self.sizes))]
        heapify(waiting)
        left = set(range(len(self.sizes)))
        while waiting:
            entries, variable = heappop(waiting)
            if variable not in left:
                continue
            if entries != (now := self._entries(variable)):
                heappush(waiting, (now, variable))
            elif entries > MOST_ENTRIES:
                hub = max(self._around(variable), key=lambda v: len(self.seen_by[v]))
                self._fix(hub, 0)
                left.discard(hub)
                heappush(waiting, (self._entries(variable), variable))
            else:
                scope, table = self._eliminate(variable)
                eliminated.append((variable, scope, table))
                left.discard(variable)
        values = dict(self.fixed)
        for variable, scope, choice in reversed(eliminated):
            values[variable] = int(choice[tuple(values[v] for v in scope)])
        return [values[variable] for variable in range(len(self.sizes))]

    def _around(self, variable: int) -> Scope:
        """Return the variable and those that share a table with it."""
        return tuple(sorted({variable, *(v for i in self.seen_by[variable] for v in self.tables[i][0])}))

    def _entries(self, variable: int) -> int:
        return prod(self.sizes[v] for v in self._around(variable))

    def _taken(self, variable: int) -> list[tuple[Scope, np.ndarray]]:
        """Remove and return the tables over a variable."""
        places = sorted(self.seen_by[variable])
        for place in places:
            for v in self.tables[place][0]:
                self.seen_by[v].discard(place)
        return [self.tables[place] for place in places]

    def _eliminate(self, variable: int) -> tuple[Scope, np.ndarray]:
        """Return the best index of a variable as a function of its neighbours."""
        around = self._around(variable)
        total = np.zeros([self.sizes[v] for v in around])
        for scope, table in self._taken(variable):
            total += table.reshape([self.sizes[v] if v in scope else 1 for v in around])
        axis = around.index(variable)
        others = tuple(v for v in around if v != variable)
        if others:
            self.add(others, total.min(axis))
        return others, total.argmin(axis)

    def _fix(self, variable: int, value: int) -> None:
        self.fixed[variable] = value
        for scope, table in self._taken(variable):
            others = tuple(v for v in scope if v != variable)
            if others:
                self.add(others, table.take(value, scope.index(variable)))
