"""Operand values of a call, as numpy kernels read them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dialects.onnx.call import Call
from dialects.support.dtypes import of_numpy


def value(call: Call, index: int) -> np.ndarray:
    """Return an operand's value, read-only: floats as float64, integers of a few bits as int64."""
    found = call.operand(index).value
    assert found is not None
    return wide(found)


def wide(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind in "biuOT" or array.dtype == np.float64:
        return array
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    dtype = of_numpy(array.dtype)
    few_bits = dtype is not None and dtype.name in ("s2", "s4", "u2", "u4")
    return array.astype(np.int64 if few_bits else np.float64)


def values(call: Call) -> list[np.ndarray]:
    return [value(call, i) for i in range(len(call.operands))]


def optional(call: Call, index: int) -> np.ndarray | None:
    return None if call.optional(index) is None else value(call, index)


def sizes(call: Call, index: int, default: Sequence[int]) -> list[int]:
    """Return the elements of an optional vector operand. Raises ValueError for another rank."""
    given = call.optional(index)
    if given is None:
        return list(default)
    assert given.value is not None
    if given.value.ndim != 1:
        raise ValueError(f"operand {index} has the rank {given.value.ndim}, expected a vector")
    return [int(x) for x in given.value]


def scalar(call: Call, index: int, default: int) -> int:
    """Return the value of an optional integer operand of one element."""
    given = optional(call, index)
    return default if given is None else int(given.reshape(()))
