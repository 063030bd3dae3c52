"""The adjoint identity of each op of a gradient at one point.

For an op with operands x, results y, tangents t and cotangents c, whose VJP rule contributes g to the
operands, `sum <g, t_x> = sum <c, t_y>`. The complete cotangent of each value is the sum of its
contributions. Summed over a graph these give `sum <gradient, t_wrt> = sum <seed, t_of>` exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

BOUND = 1e-6
"""Largest difference between the two sides, relative to the norm of their terms: f32 constants in VJP rules
have errors of 1e-7."""

NOISE = 1e-2
"""Noise larger than this fraction of the norm of the terms makes a balance idle."""

PART = 2**14
"""Elements per block, which fits in cache."""

Verdict = Literal["right", "wrong", "undecided", "idle"]


@dataclass
class Side:
    """A sum of inner products: its value, and the norm of its terms."""

    total: float = 0.0
    squares: float = 0.0

    def add(self, cotangent: Any, tangent: Any, mask: np.ndarray | None = None) -> None:
        """Add <cotangent, tangent>, over the elements of `mask` if one is given."""
        if isinstance(tangent, list):
            if not isinstance(cotangent, list) or len(cotangent) != len(tangent):
                self.total = np.nan
                return
            for c, t in zip(cotangent, tangent, strict=True):
                self.add(c, t)
            return
        if tangent is None:
            return
        if isinstance(cotangent, list) or np.shape(cotangent) != np.shape(tangent):
            self.total = np.nan
            return
        if mask is not None:
            cotangent, tangent = cotangent[mask], tangent[mask]
        self.add_side(_inner_product(cotangent, tangent))

    def add_side(self, other: Side) -> None:
        self.total += other.total
        self.squares += other.squares

    @property
    def norm(self) -> float:
        return float(np.sqrt(self.squares))


class InnerProducts:
    """The inner products of one cotangent with tangents, each formed once."""

    def __init__(self, cotangent: Any) -> None:
        self.cotangent = cotangent
        self._known: dict[int, tuple[Any, Side]] = {}

    def along(self, tangent: Any, mask: np.ndarray | None = None) -> Side:
        """Return <cotangent, tangent>, over the elements of `mask` if one is given."""
        if mask is None and id(tangent) in self._known:
            return self._known[id(tangent)][1]
        found = Side()
        found.add(self.cotangent, tangent, mask)
        if mask is None:
            self._known[id(tangent)] = tangent, found
        return found


def _inner_product(cotangent: np.ndarray, tangent: np.ndarray) -> Side:
    """Return <cotangent, tangent>, by blocks that fit in cache."""
    found, terms = Side(), np.empty(min(np.size(cotangent), PART))
    first, second = np.ravel(cotangent), np.ravel(tangent)
    with np.errstate(all="ignore"):
        for start in range(0, first.size, PART):
            part = terms[: first.size - start]
            np.multiply(first[start : start + PART], second[start : start + PART], out=part)
            found.total += float(part.sum())
            found.squares += float(part @ part)
    if np.isfinite(found.total):
        return found
    flat = product(first, second)
    return Side(float(flat.sum()), float(flat @ flat))


def product(cotangent: np.ndarray, tangent: np.ndarray) -> np.ndarray:
    """Return the terms of an inner product; they are 0 where the tangent is, also for inf cotangents."""
    with np.errstate(all="ignore"):
        terms = np.asarray(cotangent * tangent)
    if np.isfinite(terms).all():
        return terms
    return np.where(tangent == 0, 0.0, terms)


@dataclass
class Balance:
    """The two sides of the identity of an op, and how much of their difference is explained.

    noise: bound on the rounding errors of finite differences.
    low, high: bounds on the contribution of elements at a kink to the side of the results.
    open: number of elements at a kink.
    """

    contributed: Side = field(default_factory=Side)
    passed: Side = field(default_factory=Side)
    noise: float = 0.0
    low: float = 0.0
    high: float = 0.0
    open: int = 0
    excluded: bool = False
    """True if elements at a kink are left out of both sides."""
    contributes: bool = False
    """True if the rule contributes to an operand."""
    moved: bool = False
    """True if an operand has a tangent."""

    @property
    def difference(self) -> float:
        return self.contributed.total - self.passed.total

    @property
    def norm(self) -> float:
        return max(self.contributed.norm, self.passed.norm)

    @property
    def error(self) -> float:
        """The difference of the sides relative to the norm of their terms."""
        if not np.isfinite(self.difference):
            return np.inf
        return abs(self.difference) / self.norm if self.norm else 0.0

    def verdict(self) -> Verdict:
        difference, bound = self.difference, BOUND * self.norm + self.noise
        if not np.isfinite(difference):
            return "undecided" if self.open or not np.isfinite(self.passed.total) else "wrong"
        if self.norm == 0.0:  # all terms are 0, or so small that their squares are
            if self.open:
                return "undecided"
            return "right" if self.moved and not self.contributes else "idle"
        if abs(difference) > bound:
            explained = self.low - bound <= difference <= self.high + bound
            return "undecided" if explained and self.open else "wrong"
        if self.noise > NOISE * self.norm:
            return "idle"
        return "undecided" if self.open and self.excluded else "right"


def add_open(balance: Balance, cotangent: Any, tangent: Any) -> None:
    """Account for the undecided elements of a result's tangent, and for its rounding errors."""
    if isinstance(tangent, list):
        for c, t in zip(cotangent, tangent, strict=False):
            add_open(balance, c, t)
        return
    if tangent is None or np.shape(cotangent) != np.shape(tangent.found):
        return
    balance.noise += _noise(cotangent, tangent.noise)
    if tangent.open is None or not tangent.open.any():
        return
    mask = tangent.open
    c, found = cotangent[mask], tangent.found[mask]
    with np.errstate(all="ignore"):
        ends = np.stack([c * (tangent.low[mask] - found), c * (tangent.high[mask] - found)])
    ends = np.where(np.isnan(ends), 0.0, ends)
    moved = c != 0
    balance.open += int(moved.sum())
    balance.low += float(ends.min(axis=0)[moved].sum())
    balance.high += float(ends.max(axis=0)[moved].sum())


def _noise(cotangent: np.ndarray, noise: np.ndarray | float) -> float:
    """Return the norm of the finite errors of the terms of an inner product."""
    if not np.any(noise):
        return 0.0
    found = _inner_product(cotangent, np.broadcast_to(noise, np.shape(cotangent)))
    if np.isfinite(found.squares):
        return found.norm
    errors = np.abs(cotangent) * noise
    return float(np.sqrt(np.square(np.where(np.isfinite(errors), errors, 0.0)).sum()))
