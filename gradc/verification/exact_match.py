"""Exact comparison of results, also of strings and sequences, which have no error measure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dialects.support.dtypes import of_numpy

HALF = "bf16"
"""The only float that numpy lacks whose errors are measured."""


def is_measured(value: Any) -> bool:
    """Return whether a value is a tensor of numbers, whose errors can be measured."""
    dtype = of_numpy(value.dtype) if isinstance(value, np.ndarray) else None
    return dtype is not None and (dtype.numpy.kind in "fiub" or dtype.name == HALF)


def unmeasured_reason(values: Iterable[Any]) -> str:
    """Return the reason why errors of values cannot be measured, or ''."""
    found = next((kind_of(value) for value in values if not is_measured(value)), "")
    return f"errors are measured for tensors of numbers, not for {found}" if found else ""


def kind_of(value: Any) -> str:
    """Return the dtype of a tensor, or the kind of another value."""
    if not isinstance(value, np.ndarray):
        return {"list": "sequence", "NoneType": "nothing"}.get(type(value).__name__, type(value).__name__)
    dtype = of_numpy(value.dtype)
    return dtype.name if dtype is not None else str(value.dtype)


def is_same(a: Any, b: Any) -> bool:
    """Return whether two results are bitwise identical; all NaNs are equal."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(is_same, a, b))
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return a == b
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.hasobject or a.dtype.kind in "OU":
        return a.tolist() == b.tolist()
    return a.tobytes() == b.tobytes() or (a.dtype.kind in "fc" and np.array_equal(a, b, equal_nan=True))
