"""That the gradient of a function of numpy's kernels is one: <u, J v> = <J^T u, v>, in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from dialects.evaluate import evaluate
from dialects.support.entry import entry_function, input_names, set_names
from passes.differentiate import Request, differentiate

STEP, BOUND = 1e-5, 2e-6


def is_adjoint(
    module: ModuleOp,
    inputs: list[np.ndarray],
    rng: np.random.Generator,
    strict: bool,
    run: Callable[[ModuleOp, Sequence[np.ndarray]], Sequence[np.ndarray]] = evaluate,
) -> tuple[ModuleOp, list[np.ndarray]]:
    """Hold the gradient of all results by all inputs of f64 against differences; with its cotangents."""
    module.verify()
    ahead, behind, directions = [], [], []
    for array in inputs:
        direction = rng.normal(size=array.shape) if array.dtype == np.float64 else None
        directions.append(direction)
        ahead.append(array if direction is None else array + STEP * direction)
        behind.append(array if direction is None else array - STEP * direction)
    results = run(module, inputs)
    cotangents = [rng.normal(size=result.shape).astype(result.dtype) for result in results]
    moved = zip(cotangents, run(module, ahead), run(module, behind), strict=True)
    products = [u * (a - b) / (2 * STEP) for u, a, b in moved]
    want, scale = sum(p.sum() for p in products), sum(np.abs(p).sum() for p in products)

    gradient = module.clone()
    names = [f"y{i}" for i in range(len(results))]
    name_results(gradient, names)
    given = input_names(entry_function(gradient))
    wrt = [name for name, direction in zip(given, directions, strict=True) if direction is not None]
    request = Request(of=names, wrt=wrt, cotangents=True, allow_unused=True)
    differentiate(gradient, request, strict_ieee=strict)
    gradient.verify()
    found = iter(run(gradient, [*inputs, *cotangents]))
    got = 0.0
    for array, direction in zip(inputs, directions, strict=True):
        if direction is None:
            continue
        one = next(found)
        assert one.shape == array.shape
        assert one.dtype == array.dtype
        got += (one * direction).sum()
    assert abs(want - got) <= BOUND * (scale + 1e-3), (want, got)
    return gradient, cotangents


def name_results(module: ModuleOp, names: list[str]) -> None:
    function = entry_function(module)
    set_names(function, [f"in{i}" for i in range(len(input_names(function)))], names)
