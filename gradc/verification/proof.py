"""Outcome of a gradient check, as a line of text and as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

MOST_NAMED = 3
"""Number of ops that a line names; others are counted."""


@dataclass(frozen=True)
class Undecided:
    """An op that the check could not decide, and the reason."""

    op: str
    reason: str

    def __str__(self) -> str:
        return f"{self.op} ({self.reason})"


@dataclass(frozen=True)
class Proof:
    """The outcome of a gradient check.

    ops: number of differentiated ops; proved: number of those whose derivative is right.
    worst: the largest relative error of an op or of the whole.
    undecided: the ops that are not proved, with the reason.
    runtime: the execution provider whose results agree, "" if none ran.
    not_reached: branches that no sample takes.
    reason: why a part of the check is missing, "" if none is.
    seconds: the CPU time of the check.
    ran: whether any part of the check was done.
    whole: whether the identity of the whole gradient holds.
    """

    ops: int = 0
    proved: int = 0
    worst: float = 0.0
    undecided: tuple[Undecided, ...] = ()
    runtime: str = ""
    not_reached: tuple[str, ...] = ()
    reason: str = ""
    seconds: float = field(default=0.0, compare=False)
    ran: bool = False
    whole: bool = False

    @property
    def status(self) -> str:
        if not self.ran:
            return "not checked"
        complete = self.proved == self.ops and self.whole and not self.reason and not self.not_reached
        return "proved" if complete else "partly proved"

    def __str__(self) -> str:
        if not self.ran:
            return f"{self.status} ({self.reason})" if self.reason else self.status
        ops = "1 op" if self.ops == 1 else f"{self.ops} ops"
        whole = " and the whole" if self.whole else ""
        worst = f", worst {_short(self.worst)}" if self.proved or self.whole else ""
        parts = [f"proved: {self.proved} of {ops}{whole}{worst}"]
        if self.undecided:
            parts.append(f"not decided: {join_some(list(map(str, self.undecided)))}")
        if self.not_reached:
            parts.append(f"not reached: {join_some(list(self.not_reached))}")
        if self.reason:
            parts.append(self.reason)
        return "; ".join(parts)

    def as_data(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "ops": self.ops,
            "proved": self.proved,
            "worst": self.worst if self.ran else None,
            "whole": self.whole,
            "undecided": [{"op": one.op, "reason": one.reason} for one in self.undecided],
            "not_reached": list(self.not_reached),
            "runtime": self.runtime or None,
            "seconds": round(self.seconds, 3),
            "reason": self.reason or None,
        }


def _short(error: float) -> str:
    """Format an error with one digit, without zeros before its exponent."""
    return f"{error:.0e}".replace("e-0", "e-") if error else "0"


def join_some(items: list[str]) -> str:
    """Join the first few items and count the others."""
    more = len(items) - MOST_NAMED
    return ", ".join(items[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
