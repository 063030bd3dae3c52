"""That the gradient of a function of numpy's kernels is one: <u, J v> = <J^T u, v>, in float64."""

from __future__ import annotations

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
    step: float = STEP,
    bound: float = BOUND,
    floats: type = np.float64,
) -> tuple[ModuleOp, list[np.ndarray]]:
    """Hold the gradient of all results by all inputs of a dtype against differences; with its cotangents."""
    module.verify()
    ahead, behind, directions = [], [], []
    for array in inputs:
        direction = rng.normal(size=array.shape).astype(floats) if array.dtype == floats else None
        directions.append(direction)
        ahead.append(array if direction is None else array + step * direction)
        behind.append(array if direction is None else array - step * direction)
    results = evaluate(module, inputs)
    cotangents = [rng.normal(size=result.shape).astype(result.dtype) for result in results]
    moved = zip(cotangents, evaluate(module, ahead), evaluate(module, behind), strict=True)
    products = [u * (a - b) / (2 * step) for u, a, b in moved]
    want, scale = sum(p.sum() for p in products), sum(np.abs(p).sum() for p in products)

    gradient = module.clone()
    names = [f"y{i}" for i in range(len(results))]
    _name_results(gradient, names)
    given = input_names(entry_function(gradient))
    wrt = [name for name, direction in zip(given, directions, strict=True) if direction is not None]
    request = Request(of=names, wrt=wrt, cotangents=True, allow_unused=True)
    differentiate(gradient, request, strict_ieee=strict)
    gradient.verify()
    found = iter(evaluate(gradient, [*inputs, *cotangents]))
    got = 0.0
    for array, direction in zip(inputs, directions, strict=True):
        if direction is None:
            continue
        one = next(found)
        assert one.shape == array.shape
        assert one.dtype == array.dtype
        got += (one * direction).sum()
    assert abs(want - got) <= bound * (scale + 1e-3), (want, got)
    return gradient, cotangents


def _name_results(module: ModuleOp, names: list[str]) -> None:
    function = entry_function(module)
    set_names(function, [f"in{i}" for i in range(len(input_names(function)))], names)
