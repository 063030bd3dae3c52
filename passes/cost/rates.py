"""Measured seconds per unit of each feature, per target and number of threads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from passes.cost.vector import Features, dot, split_by_sharing

Rates = Mapping[str, float]

MEASURED = ("cpu",)
"""Targets with a file of measured rates in this package."""


@cache
def rates_of(target: str) -> dict[int, Rates]:
    """Return the measured rates of a target by number of threads, in ascending order."""
    rates = content_of(target)["rates"]
    return {int(count): rates[count] for count in sorted(rates, key=int)}


def content_of(target: str) -> dict[str, Any]:
    """Return the file's content: `source`, the measurement; `rates`; `fit`, the accuracy per kind of
    model."""
    return json.loads((files("passes.cost") / f"{target}.json").read_text(encoding="utf-8"))


def seconds(features: Features, target: str, threads: int) -> float:
    """Return the time of features on a measured target.

    For other numbers of threads the time is a constant plus a part shared by the threads, t(n) = a + b / n,
    through two measured numbers. Work of one thread alone takes as long as with one thread.
    """
    rates = rates_of(target)
    features, alone = split_by_sharing(features)
    if alone:
        return dot(alone, rates[min(rates)]) + seconds(features, target, threads)
    if threads in rates:
        return dot(features, rates[threads])
    counts = list(rates)
    near = sorted(sorted(counts, key=lambda count: abs(count - threads))[:2])
    if len(near) == 1:
        return dot(features, rates[near[0]])
    few, many = near
    slow, quick = dot(features, rates[few]), dot(features, rates[many])
    shared = max(0.0, (slow - quick) / (1 / few - 1 / many))
    alone = max(0.0, quick - shared / many)
    return alone + shared / threads


def least_seconds(features: Features, target: str, threads: int) -> float:
    """Return a lower bound of `seconds` for features of which others may follow; additive over parts.

    For a measured number of threads it is their own time. Beyond, t(n) falls if more work takes one thread
    longer and two not, but never below the last measured time, if all of it were shared.
    """
    rates = rates_of(target)
    shared, alone = split_by_sharing(features)
    most = max(rates)
    if threads in rates:
        return dot(alone, rates[min(rates)]) + dot(shared, rates[threads])
    least = most * dot(shared, rates[most]) / threads if threads > most else 0.0
    return dot(alone, rates[min(rates)]) + least
