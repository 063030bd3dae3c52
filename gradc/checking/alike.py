"""Results that are no tensors of numbers, such as strings and sequences: they are the same, or not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dialects.support.dtypes import of_numpy

HALF = "bf16"
"""Of the floats that numpy has not, the one whose errors are measured."""


def is_measured(value: Any) -> bool:
    """Whether errors of it can be told: a tensor of numbers."""
    dtype = of_numpy(value.dtype) if isinstance(value, np.ndarray) else None
    return dtype is not None and (dtype.numpy.kind in "fiub" or dtype.name == HALF)


def why_not_measured(values: Iterable[Any]) -> str:
    """Why there are no errors of values, '' if there are."""
    found = next((kind_of(value) for value in values if not is_measured(value)), "")
    return f"errors are told of tensors of numbers, not of {found}" if found else ""


def kind_of(value: Any) -> str:
    """The dtype of a tensor, or what else it is."""
    if not isinstance(value, np.ndarray):
        return {"list": "sequence", "NoneType": "nothing"}.get(type(value).__name__, type(value).__name__)
    dtype = of_numpy(value.dtype)
    return dtype.name if dtype is not None else str(value.dtype)


def is_same(a: Any, b: Any) -> bool:
    """Whether two results are the same to the last bit; a NaN is as good as another."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(is_same, a, b))
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return a == b
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.hasobject or a.dtype.kind in "OU":
        return a.tolist() == b.tolist()
    return a.tobytes() == b.tobytes() or (a.dtype.kind in "fc" and np.array_equal(a, b, equal_nan=True))
