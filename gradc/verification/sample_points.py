"""Sample points of gradient checks: input values and dynamic sizes."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.support.diagnostics import GradcError
from dialects.support.entry import entry_function
from dialects.support.shapes import has_rank, shape_of
from gradc.verification.evaluation import NotComputed, reason_of
from gradc.verification.operand_value_rules import CHOICES
from gradc.verification.samples import ANY_SIZES, Guess, random_inputs

Arrays = dict[str, np.ndarray]

SEEDS = 3
"""Number of points; at the last one all inputs are positive."""

GUESSES = (
    ANY_SIZES,
    *(Guess(values=choice) for choice in range(2 * CHOICES)),
    Guess(size=40),
    Guess(60, 60),
    Guess(1, 1),
)
"""Sizes of dynamic dims and values of inputs that are sizes or indices, tried in order until all ops have a
value and a result has a number."""


LONG = Guess(size=576)
"""The guess for signals, whose windows are long."""

MOST_OF_LONG = 2**18
"""Largest number of elements of all inputs for which LONG is tried."""


def guesses_of(primal: ModuleOp) -> list[Guess]:
    arguments = entry_function(primal).args
    is_small = sum(_elements_if_long(value) for value in arguments) <= MOST_OF_LONG
    found = [*GUESSES, LONG] if is_small else list(GUESSES)
    return [Guess(values=0), *found] if any(map(_counts_trips, arguments)) else found


def _counts_trips(value: SSAValue) -> bool:
    """Return whether an argument is the trip count of a Loop, for which random integers are only 0 and 1."""
    return any(isinstance(use.operation, onnx.LoopOp) and use.index == 0 for use in value.uses)


def _elements_if_long(value: SSAValue) -> int:
    if not has_rank(value):
        return 0
    sizes = (LONG.size if axis else LONG.batch for axis in range(len(shape_of(value))))
    return prod(
        dim if isinstance(dim, int) else size for dim, size in zip(shape_of(value), sizes, strict=True)
    )


def sample_inputs(primal: ModuleOp, seed: int, guess: Guess) -> Arrays:
    found = random_inputs(primal, seed, guess=guess)
    if seed < SEEDS - 1:
        return found
    return {name: _positive(array) for name, array in found.items()}


def _positive(array: Any) -> Any:
    is_float = isinstance(array, np.ndarray) and array.dtype.kind not in "iubOUSTc"
    return np.abs(array) + np.asarray(0.1, array.dtype) if is_float else array


def in_words(error: GradcError | NotComputed) -> str:
    """Return the message about an op that has no value at a sample."""
    where = "at the sizes that were drawn, " if isinstance(error, GradcError) else ""
    return where + reason_of(error)
