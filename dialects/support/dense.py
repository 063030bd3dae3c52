"""numpy <-> dense attributes, by bytes.

xDSL can build a dense attribute element by element, which takes seconds for a large bf16 weight, so the
buffer is always copied whole. xDSL does not check the buffer's length against the shape; this module does.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr

from dialects.support import dtypes, shapes
from dialects.support.diagnostics import violation


def from_numpy(array: np.ndarray) -> DenseIntOrFPElementsAttr:
    """Return a dense attribute with the array's dtype, shape and bytes, which are shared if possible."""
    dtype = dtypes.of_numpy(array.dtype)
    if dtype is None or array.dtype.hasobject:
        known = ", ".join(d.name for d in dtypes.DTYPES)
        raise violation("constant dtype", given=array.dtype, expected=f"one of {known}")
    type_ = shapes.tensor_type(dtype.mlir, array.shape)
    return DenseIntOrFPElementsAttr(type_, BytesAttr(_bytes_of(array)))  # pyright: ignore


def _bytes_of(array: np.ndarray) -> bytes:
    """Return the array's buffer: the bytes object it is a full contiguous view of, else a copy."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if isinstance(owner, bytes) and len(owner) == array.nbytes and array.flags.c_contiguous:
        return owner
    return np.ascontiguousarray(array).tobytes()


def to_numpy(attr: DenseIntOrFPElementsAttr) -> np.ndarray:
    """Return a read-only array over the attribute's buffer; a one-element splat is broadcast.

    Raises GradcError if the buffer's length does not fit the shape.
    """
    type_ = attr.type
    dtype = dtypes.of_mlir(type_.element_type)
    if dtype is None:
        raise violation("constant element type", given=type_.element_type)
    shape, data = type_.get_shape(), attr.data.data
    count, itemsize = math.prod(shape), dtype.numpy.itemsize
    if len(data) not in (count * itemsize, itemsize):
        given, expected = f"{len(data)} bytes", f"{count * itemsize}, or {itemsize} for a splat"
        raise violation(f"dense constant of type {type_}", given=given, expected=expected)
    flat = np.frombuffer(data, dtype.numpy)
    if dtype.name == "boolean":
        flat = np.frombuffer(data, np.uint8) != 0
    return flat.reshape(shape) if flat.size == count else np.broadcast_to(flat, shape)
