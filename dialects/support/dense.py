"""numpy <-> dense attributes, by bytes.

xDSL can build a dense attribute element by element, which takes seconds for a large bf16 weight. The
buffer is therefore always moved whole. xDSL does not hold the buffer's length against the shape, so
this module does.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr

from dialects.support import dtypes, shapes
from dialects.support.diagnostics import violation


def from_numpy(array: np.ndarray) -> DenseIntOrFPElementsAttr:
    """A dense attribute with the array's dtype, shape and bytes, which are shared where they can be."""
    dtype = dtypes.of_numpy(array.dtype)
    if dtype is None or array.dtype.hasobject:
        known = ", ".join(d.name for d in dtypes.DTYPES)
        raise violation("constant dtype", given=array.dtype, expected=f"one of {known}")
    type_ = shapes.tensor_type(dtype.mlir, array.shape)
    return DenseIntOrFPElementsAttr(type_, BytesAttr(_bytes_of(array)))  # pyright: ignore


def _bytes_of(array: np.ndarray) -> bytes:
    """Those that the array is a view of, if it is a view of all of them in their order."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if isinstance(owner, bytes) and len(owner) == array.nbytes and array.flags.c_contiguous:
        return owner
    return np.ascontiguousarray(array).tobytes()


def to_numpy(attr: DenseIntOrFPElementsAttr) -> np.ndarray:
    """A read-only array over the attribute's own buffer; a splat written as one element is spread.

    Raises GradcError for a buffer of another length.
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
