"""Problems with values that are no ordinary numbers, and where a result is one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from support.problems import Problem

SPECIALS = (np.inf, -np.inf, np.nan)
ZEROS = (0.0, -0.0)


def with_specials(problem: Problem, seed: int) -> Problem:
    """The same graph, in whose data and weights a few values are inf, NaN or 0; one run or all."""
    rng = np.random.default_rng([seed, 7])

    def spoiled(array: np.ndarray) -> np.ndarray:
        if array.dtype.kind in "iu" or not array.size:
            return array
        array = array.copy()
        for values, most in ((SPECIALS, 2), (ZEROS, 1 + array.size // 4)):
            count = int(rng.integers(0, min(most, array.size) + 1))
            places = rng.choice(array.size, count, replace=False)
            array.flat[places] = rng.choice(values, count)
        return array

    return replace(
        problem,
        given={name: [spoiled(a) for a in arrays] for name, arrays in problem.given.items()},
        constants={name: (form, spoiled(a)) for name, (form, a) in problem.constants.items()},
    )


def pattern(array: np.ndarray) -> np.ndarray:
    """What kind of number each element is: 0 finite, 1 inf, -1 minus inf, 2 NaN."""
    wide = array.astype(np.float64)
    found = np.zeros(array.shape, np.int8)
    for kind, places in ((1, wide == np.inf), (-1, wide == -np.inf), (2, np.isnan(wide))):
        found[places] = kind
    return found
