"""Feature vectors: sparse, by name."""

from __future__ import annotations

from collections.abc import Mapping

Features = dict[str, float]

NEAR = 2**20
"""Bytes that a node may move before some come from beyond the near caches."""

DISTANT = 2**24
"""Bytes that a node may move before some come from memory, which then dominates for all kinds of nodes."""

ALONE = "alone "
"""Name prefix of features of work that a single thread does, whatever their number."""


LEAST = 1e-9
"""Least price in seconds, for work done at compile time: prices stay comparable by ratios."""


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
    """Split features into those that threads share, and those of one thread, without `ALONE`."""
    shared = {name: value for name, value in features.items() if not name.startswith(ALONE)}
    alone = {name.removeprefix(ALONE): value for name, value in features.items() if name not in shared}
    return shared, alone
