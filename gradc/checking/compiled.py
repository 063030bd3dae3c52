"""The compiled model beside the gradient as it is meant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dialects.support.diagnostics import Diagnostic
from dialects.support.dtypes import by_name
from gradc.checking.claims import CheckError, Claim, remark
from gradc.checking.drawn import drawn_inputs, guesses_of, in_words
from gradc.checking.lines import Arrays, evaluated, in_float64, line, rounded_otherwise, widened
from gradc.checking.roundings import NUDGES, ROUNDINGS, nudged, rounding
from gradc.checking.samples import Guess
from gradc.checking.verify import OutputError, compare_outputs, in_order, reference
from gradc.graph.tensors import TensorInfo


def check_compiled(
    claim: Claim, infos: Sequence[TensorInfo], run: Callable[[Arrays], Arrays]
) -> list[Diagnostic]:
    """The compiled model beside the gradient executed by numpy. Raises CheckError where they differ by more
    than roundings at two points."""
    rows: list[OutputError] = []
    guesses = guesses_of(claim.primal)
    for seed in range(2):
        try:
            rows = _rows_of_some_guess(claim, infos, run, seed, guesses)
        except Exception as error:
            return [remark(f"the compiled model could not be checked: {in_words(error)}")]
        if all(row.ok for row in rows):
            return []
    worst = max(rows, key=lambda row: row.worst / row.rtol)
    text = f"{worst.name} of the compiled model is wrong: it is off by {worst.worst:.3g} of its size"
    raise CheckError(Diagnostic("error", f"{text}, where {worst.rtol:.3g} is within roundings"))


def _rows_of_some_guess(
    claim: Claim,
    infos: Sequence[TensorInfo],
    run: Callable[[Arrays], Arrays],
    seed: int,
    guesses: list[Guess],
) -> list[OutputError]:
    """Of the first guess that the model can have; those before it leave the list. Raises as the last does."""
    while guesses[1:]:
        try:
            return _rows(claim, infos, run, seed, guesses[0])
        except Exception:
            guesses.pop(0)
    return _rows(claim, infos, run, seed, guesses[0])


def _rows(
    claim: Claim,
    infos: Sequence[TensorInfo],
    run: Callable[[Arrays], Arrays],
    seed: int,
    guess: Guess,
) -> list[OutputError]:
    inputs = drawn_inputs(claim.primal, seed, guess)
    path = line(claim.primal, claim.of, (), straight_through=claim.straight_through)
    rng = np.random.default_rng([seed, 1])  # no cotangent is what an input is: such gradients are often zero
    for name, value in path.run(inputs, {}).items() if claim.cotangents else ():
        info = next(info for info in infos if info.name == claim.cotangents[name])
        inputs[info.name] = rng.standard_normal(value.shape).astype(_numpy(info))
    fed = in_order(claim.gradient, infos, inputs)
    expected = reference(claim.gradient, fed)
    rows = compare_outputs(claim.gradient, fed, run(inputs), expected)
    if all(row.ok for row in rows):
        return rows
    exact, in_f64 = widened(claim.gradient), [in_float64(array) for array in fed]
    wide = evaluated(exact, in_f64)
    points = (list(nudged(dict(enumerate(fed)), seed, own=True).values()) for seed in range(NUDGES))
    others = [evaluated(exact, point) for point in points]
    if (other := rounded_otherwise(claim.gradient)) is not None:
        others.append(evaluated(other, in_f64))
    noises = map(rounding, expected, wide, zip(*others, strict=True))
    return [_judged(row, noise) for row, noise in zip(rows, noises, strict=True)]


def _numpy(info: TensorInfo) -> Any:
    dtype = by_name(info.dtype)
    assert dtype is not None
    return dtype.numpy


def _judged(row: OutputError, noise: float) -> OutputError:
    """The row where its bound is no less than some roundings of the gradient itself."""
    return replace(row, rtol=max(row.rtol, ROUNDINGS * noise))
