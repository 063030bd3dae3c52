"""Nonnegative rates that minimize the sum of squares of log(predicted / measured).

Gauss-Newton: near rates r, log(f r' / t) is log(f r / t) + (f r' - f r) / (f r), linear in r'. Each round is
a least-squares problem in r' >= 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from passes.cost.vector import Features, dot

ROUNDS = 12
PRIOR = 1e-3
"""Weight of a pull towards zero, which selects one of several features that always occur together."""


@dataclass(frozen=True)
class Sample:
    kind: str
    features: Features
    seconds: float
    weight: float = 1.0
    """Weight of the squared error, relative to other samples."""


def fit(samples: Sequence[Sample]) -> dict[str, float]:
    """Return seconds per unit by feature."""
    names = sorted({name for sample in samples for name in sample.features})
    matrix = np.array([[sample.features.get(name, 0.0) for name in names] for sample in samples])
    measured = np.array([sample.seconds for sample in samples])
    scale = matrix.max(axis=0)
    matrix = matrix / scale
    weight = np.sqrt([sample.weight for sample in samples])
    # relative errors of a sum of non-negative terms first, then of its logarithm
    rates = nonnegative((weight / measured)[:, None] * matrix, weight)
    for _ in range(ROUNDS):
        predicted = np.maximum(matrix @ rates, measured / 20)
        target = (matrix @ rates) / predicted - np.clip(np.log(predicted / measured), -2, 2)
        step = nonnegative((weight / predicted)[:, None] * matrix, weight * target)
        rates = 0.5 * rates + 0.5 * step
    return {name: float(rate) for name, rate in zip(names, rates / scale, strict=True)}


def fit_some(samples: Sequence[Sample], rates: Mapping[str, float], prefix: str) -> dict[str, float]:
    """Return all rates, with new ones for features with this prefix: they minimize the squares of relative
    errors of what the other rates leave unexplained."""
    names = sorted({name for sample in samples for name in sample.features if name.startswith(prefix)})
    given = {name: rate for name, rate in rates.items() if name not in names}
    matrix = np.array(
        [[sample.features.get(name, 0.0) / sample.seconds for name in names] for sample in samples]
    )
    left = np.array([1 - dot(sample.features, given) / sample.seconds for sample in samples])
    found = nonnegative(matrix, left)
    return given | {name: float(rate) for name, rate in zip(names, found, strict=True)}


def nonnegative(matrix: np.ndarray, target: np.ndarray, rounds: int = 3) -> np.ndarray:
    """Return the x >= 0 that minimizes |matrix x - target|: Lawson and Hanson's active sets."""
    count = matrix.shape[1]
    size = np.linalg.norm(matrix, axis=0)
    size[size == 0] = 1.0
    scaled = matrix / size
    gram = scaled.T @ scaled + PRIOR**2 * np.eye(count)
    right = scaled.T @ target
    x, free = np.zeros(count), np.zeros(count, bool)
    for _ in range(rounds * count):
        gradient = right - gram @ x
        gradient[free] = -np.inf
        best = int(np.argmax(gradient))
        if gradient[best] <= 1e-9 * len(target):
            break
        free[best] = True
        x = _solve_free(gram, right, x, free)
    return x / size


def _solve_free(gram: np.ndarray, right: np.ndarray, x: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Return the optimum over the free variables, with negative ones fixed to zero."""
    while True:
        at = np.flatnonzero(free)
        wanted = np.linalg.solve(gram[np.ix_(at, at)], right[at])
        if (wanted > 0).all():
            x = np.zeros_like(x)
            x[at] = wanted
            return x
        below = wanted <= 0
        share = np.min(x[at][below] / (x[at][below] - wanted[below] + 1e-300))
        x = x.copy()
        x[at] += share * (wanted - x[at])
        bound = at[below & (x[at] <= 1e-12)]
        if not len(bound):
            bound = at[below][[int(np.argmin(x[at][below]))]]
        x[bound] = 0.0
        free[bound] = False


def quality(samples: Sequence[Sample], rates: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Return per kind the number of models, and median and 90th percentile of the relative error."""
    errors: dict[str, list[float]] = {}
    for sample in samples:
        errors.setdefault(sample.kind, []).append(abs(dot(sample.features, rates) / sample.seconds - 1))
    return {
        kind: {
            "models": len(values),
            "median": round(float(np.median(values)), 3),
            "p90": round(float(np.quantile(values, 0.9)), 3),
        }
        for kind, values in sorted(errors.items())
    }
