"""Features: a sparse vector by name."""

from __future__ import annotations

from collections.abc import Mapping

Features = dict[str, float]

NEAR = 2**20
"""Bytes that a node may move before they no longer all come from the caches nearby."""

DISTANT = 2**24
"""Bytes that a node may move before they no longer all come from any cache: then memory is what counts, for
all kinds of nodes alike."""

ALONE = "alone "
"""Begins the name of a feature of work that one thread does, whatever their number."""


LEAST = 1e-9
"""Seconds of what runs at compile time: prices can be compared by ratios."""


def traffic(name: str, moved: float) -> Features:
    found = {f"{name}.bytes": float(moved)}
    if moved > NEAR:
        found[f"{name}.far"] = float(moved - NEAR)
    if moved > DISTANT:
        found["distant"] = float(moved - DISTANT)
    return found


def add(total: Features, more: Mapping[str, float], times: float = 1.0) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0.0) + times * value


def dot(features: Mapping[str, float], rates: Mapping[str, float]) -> float:
    return sum(value * rates.get(name, 0.0) for name, value in features.items())


def split_by_sharing(features: Mapping[str, float]) -> tuple[Features, Features]:
    """What threads share, and what one of them does alone under the names of what is shared."""
    shared = {name: value for name, value in features.items() if not name.startswith(ALONE)}
    alone = {name.removeprefix(ALONE): value for name, value in features.items() if name not in shared}
    return shared, alone
