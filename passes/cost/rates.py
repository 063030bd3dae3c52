"""Seconds per unit of each feature, as data per target and number of threads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from passes.cost.vector import Features, dot, split_by_sharing

Rates = Mapping[str, float]

MEASURED = ("cpu",)
"""Targets with a file of measured rates beside this one."""


@cache
def rates_of(target: str) -> dict[int, Rates]:
    """The measured rates of a target by number of threads, the least first."""
    rates = content_of(target)["rates"]
    return {int(count): rates[count] for count in sorted(rates, key=int)}


def content_of(target: str) -> dict[str, Any]:
    """The file: `source`, what was measured where; `rates`; `fit`, how well each kind of model is met."""
    return json.loads((files("passes.cost") / f"{target}.json").read_text(encoding="utf-8"))


def seconds(features: Features, target: str, threads: int) -> float:
    """The time of what has these features on a measured target.

    Between two measured numbers of threads and beyond the last, the time is the part that does not
    depend on them plus one that is shared by them, t(n) = a + b / n, through the times at two of them.
    What one thread does alone takes as long as with one thread.
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
    """No more than `seconds` of what has these features and may have any others.

    For a number of threads that was measured that is their own time. Beyond, t(n) falls where more work takes
    one thread longer and two not; but never below the last measured time, if all of it were shared. It is the
    sum of those of parts.
    """
    rates = rates_of(target)
    shared, alone = split_by_sharing(features)
    most = max(rates)
    if threads in rates:
        return dot(alone, rates[min(rates)]) + dot(shared, rates[threads])
    least = most * dot(shared, rates[most]) / threads if threads > most else 0.0
    return dot(alone, rates[min(rates)]) + least
