"""Errors of the tangents within ops with regions, whose effect on the results is found by adding them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from dialects.onnx import traits
from dialects.onnx.base import OnnxOp
from gradc.verification.tangents import Tangent

ROUNDINGS = 2.0**-44
"""Rounding error of a float64 derivative that is a difference of numbers of size 1."""


SUMS = ("Softmax", "LogSoftmax")
"""Functions of all elements along an axis that saturate."""

TERMS = 8
"""Multiple of the largest tangent that bounds the terms of an element of their derivatives."""


def saturation_error(op: Operation, tangent: Any, shape: tuple[int, ...]) -> np.ndarray | None:
    """Return the rounding error of the tangent of a saturated function, such as 1 - y y at y = 1; None for
    other ops. `tangent` is that of the operand, `shape` that of the result."""
    if not isinstance(op, OnnxOp) or op.onnx_name() not in (*traits.FUNCTIONS, *SUMS):
        return None
    if tangent is None or isinstance(tangent, list) or np.shape(tangent) != shape:
        return None
    if op.onnx_name() in SUMS:
        return np.full(shape, ROUNDINGS * TERMS * np.abs(tangent).max(initial=0.0))
    return ROUNDINGS * np.abs(tangent)


def shake(op: Operation, tangents: Sequence[Any], found: Any, generator: np.random.Generator) -> Any:
    """Return a result with its error, of random signs. `tangents` are those of the operands."""
    if isinstance(found, list):
        return [_shake_one(op, (), each, generator) for each in found]
    return _shake_one(op, tangents, found, generator)


def _shake_one(op: Operation, tangents: Sequence[Any], found: Any, generator: np.random.Generator) -> Any:
    if not isinstance(found, Tangent):
        return found
    error = np.broadcast_to(found.noise, found.found.shape)
    rounding = saturation_error(op, tangents[0] if tangents else None, found.found.shape)
    error = error if rounding is None else error + rounding
    signs = generator.choice((-1.0, 1.0), found.found.shape)
    return Tangent(found.found + signs * np.where(np.isfinite(error), error, 0.0))
