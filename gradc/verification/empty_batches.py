"""Check of the compiled gradient's shapes and zeros at an empty batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from dialects.support.diagnostics import Diagnostic, GradcError
from dialects.support.entry import entry_function
from dialects.support.shapes import has_rank, shape_of, static_shape
from gradc.verification.compiled_model import Model
from gradc.verification.evaluation import NotComputed, reason_of
from gradc.verification.gradient_spec import CheckError, Claim
from gradc.verification.kernels import Kernels
from gradc.verification.primal import values_of
from gradc.verification.sample_points import sample_inputs
from gradc.verification.samples import Guess

Arrays = Mapping[str, Any]

SECONDS_OF_A_POINT = 1.0
"""Longest average seconds of a point for which the empty batch is checked as well."""

WHERE = "at an empty batch"


STEPPED = ("onnx.GRU", "onnx.LSTM", "onnx.RNN", "onnx.Scan")
"""Ops whose first axis may be that of steps, which no runtime accepts with size 0."""


def has_batch(claim: Claim) -> bool:
    """Return whether the first axis of an input is dynamic and is no axis of steps."""
    if any(op.name in STEPPED for op in claim.primal.walk()):
        return False
    return any(map(_is_batch, entry_function(claim.primal).args))


def at_empty_batch(claim: Claim, model: Model, guess: Guess, kernel: Kernels | None) -> str:
    """Check the gradient at the guessed sizes with a batch of 0; return the undecided part, or ''.

    Raises CheckError for a wrong shape, or for a nonzero gradient of empty results. Nothing is tested if the
    function has no value at these inputs. The runtime is not used: some kernels end the process at an empty
    batch.
    """
    if not has_batch(claim):
        return ""
    try:
        inputs = sample_inputs(claim.primal, 0, replace(guess, batch=0))
    except GradcError:
        return ""
    of = _values(claim, inputs, kernel)
    if of is None:
        return ""
    cotangents = {name: np.ones(array.shape) for name, array in of.items()}
    try:
        values = model.values(model.given(inputs, cotangents))
        read = model.written.read(values, {**inputs, **cotangents})
    except (NotComputed, GradcError) as error:
        return f"{WHERE}: the gradient has no value: {reason_of(error)}"
    named = {model.written.gradients.get(name, name): array for name, array in read.items()}
    found = {result: array for result, array in named.items() if isinstance(array, np.ndarray)}
    shapes = _shapes(claim, model, inputs)
    is_zero = not any(array.size for array in of.values())
    if names := [result for result, array in found.items() if _is_empty_alike(array, shapes.get(result))]:
        return f"{WHERE}: {names[0]} has no elements, as it should, but other sizes"
    if why := next(filter(None, (_wrong(r, a, shapes.get(r), is_zero) for r, a in found.items())), ""):
        raise CheckError(Diagnostic("error", f"{WHERE}, {why}"))
    return ""


def _values(claim: Claim, inputs: Arrays, kernel: Kernels | None) -> dict[str, np.ndarray] | None:
    """Return the results, or None unless all are tensors of finite numbers."""
    names, by = list(claim.differentiated.of), list(claim.differentiated.wrt)
    try:
        of = values_of(claim.primal, names, inputs, by, claim.straight_through, kernel)
    except (NotComputed, GradcError):
        return None
    finite = all(isinstance(array, np.ndarray) and np.isfinite(array).all() for array in of.values())
    return of if finite else None


def _shapes(claim: Claim, model: Model, inputs: Arrays) -> dict[str, tuple[int, ...]]:
    """Return the expected shapes of gradients, by result, where they are known."""
    found: dict[str, tuple[int, ...]] = {}
    for name in claim.differentiated.wrt:
        result = model.written.gradients.get(name, name)
        value = claim.differentiated.wrt[name]
        shape = np.shape(inputs[name]) if name in inputs else has_rank(value) and static_shape(value)
        if isinstance(shape, tuple):
            found[result] = shape
    return found


def _is_empty_alike(got: np.ndarray, shape: tuple[int, ...] | None) -> bool:
    """Return whether an empty gradient has other sizes, which a loop without steps cannot know."""
    return shape is not None and got.shape != shape and got.ndim == len(shape) and not got.size and 0 in shape


def _wrong(result: str, got: np.ndarray, shape: tuple[int, ...] | None, is_zero: bool) -> str:
    if shape is not None and got.shape != shape:
        return f"{result} has a wrong shape: given {list(got.shape)}, expected {list(shape)}"
    if is_zero and np.any(np.nan_to_num(got)):
        return f"{result} is not 0, though no result has elements"
    return ""


def _is_batch(value: SSAValue) -> bool:
    return has_rank(value) and bool(shape_of(value)) and not isinstance(shape_of(value)[0], int)
