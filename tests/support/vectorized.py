"""A vectorized module held against a run of the module for each row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from dialects.evaluate import evaluate
from dialects.support.entry import entry_function
from passes.vectorize.vectorize import vectorize

ROWS = 3


def assert_rows(
    module: ModuleOp, inputs: Sequence[np.ndarray], batched: Sequence[int], size: int | str
) -> int:
    """Compare a vectorized module with its rows; return the number of ops that fell back to a Scan."""
    rng = np.random.default_rng(0)
    stacks = {i: np.stack([inputs[i], *(_like(inputs[i], rng) for _ in range(ROWS - 1))]) for i in batched}
    rows = [
        evaluate(module, [stacks[i][row] if i in stacks else x for i, x in enumerate(inputs)])
        for row in range(ROWS)
    ]
    if any(len({result.shape for result in results}) > 1 for results in zip(*rows, strict=True)):
        return 0  # sizes that depend on values, which differ between rows
    whole = module.clone()
    function = entry_function(whole)
    found = vectorize(function, [function.args[i] for i in batched], size)
    whole.verify()
    results = evaluate(whole, [stacks.get(i, x) for i, x in enumerate(inputs)])
    for result, *expected in zip(results, *rows, strict=True):
        np.testing.assert_allclose(result, np.stack(expected), rtol=1e-5, atol=1e-5)
    return len(found.fallbacks)


def _like(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Other floats in the same range, or the same indices in another order."""
    if array.dtype.kind == "i":
        return rng.permutation(array) if array.ndim else array * 0
    return rng.permuted(array.reshape(-1)).reshape(array.shape)
