"""Features: a sparse vector by name."""

from __future__ import annotations

from collections.abc import Mapping

Features = dict[str, float]

NEAR = 2**20
"""Bytes that a node may move before they no longer all come from the caches nearby."""


def traffic(name: str, moved: float) -> Features:
    return {f"{name}.bytes": float(moved)} | ({f"{name}.far": float(moved - NEAR)} if moved > NEAR else {})


def add(total: Features, more: Mapping[str, float], times: float = 1.0) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0.0) + times * value


def dot(features: Mapping[str, float], rates: Mapping[str, float]) -> float:
    return sum(value * rates.get(name, 0.0) for name, value in features.items())
