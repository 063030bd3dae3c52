"""Shifts of the rows of Softmax-like operands that avoid a loss of digits by masks. Results do not change if
a number is added to a row, nor derivatives if one is added to a row's tangent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradc.verification.tangents.tangent import Array

AXES: Mapping[str, int] = {"LogSoftmax": -1, "Softmax": -1}
"""Op -> the default of its `axis`."""

LOSSES = frozenset(("SoftmaxCrossEntropyLoss",))
MASK = 3
"""The index of the mask among the inputs of Attention."""


def subtract_largest(data: Array, axis: int) -> tuple[Array, Array]:
    """Return the data less the largest of each row, if that is finite, and the index of the largest."""
    place = np.expand_dims(np.argmax(data, axis), axis)
    largest = np.take_along_axis(data, place, axis)
    return data - np.where(np.isfinite(largest), largest, 0.0), place


def normalize_tangent(tangent: Array, place: Array, axis: int) -> tuple[Array, Array]:
    """Return the tangent less that at `place`, divided by its largest magnitude per row, and the latter."""
    tangent = tangent - np.take_along_axis(tangent, place, axis)
    size = np.max(np.abs(tangent), axis=axis, keepdims=True)
    return tangent / np.where(size > 0, size, 1.0), size


def without_large_masks(operands: Sequence[Any], index: int) -> list[Any]:
    """Return the operands of an Attention with a float mask shifted so that each row's largest is 0."""
    found = list(operands)
    if found[index].dtype == np.float64 and found[index].size and found[index].max(-1).any():
        found[index] = subtract_largest(found[index], -1)[0]
    return found
