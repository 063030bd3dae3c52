"""numpy <-> dense attributes, by bytes.

xDSL can build a dense attribute element by element, which takes seconds for a large bf16 weight. The
buffer is therefore always moved whole. xDSL does not hold the buffer's length against the shape, so
this module does.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, TensorType

from dialects.support import dtypes
from dialects.support.diagnostics import violation


def from_numpy(array: np.ndarray) -> DenseIntOrFPElementsAttr:
    """A dense attribute with the array's dtype, shape and bytes."""
    dtype = dtypes.of_numpy(array.dtype)
    if dtype is None:
        known = ", ".join(d.name for d in dtypes.DTYPES)
        raise violation("constant dtype", given=array.dtype, expected=f"one of {known}")
    type_ = TensorType(dtype.mlir, array.shape)  # pyright: ignore[reportArgumentType]
    data = np.ascontiguousarray(array)
    return DenseIntOrFPElementsAttr(type_, BytesAttr(data.tobytes()))  # pyright: ignore


def to_numpy(attr: DenseIntOrFPElementsAttr) -> np.ndarray:
    """A read-only array over the attribute's own buffer; a splat written as one element is spread."""
    type_ = attr.type
    dtype = dtypes.of_mlir(type_.element_type)
    if dtype is None:
        raise violation("constant element type", given=type_.element_type)
    shape = type_.get_shape()
    flat = np.frombuffer(attr.data.data, dtype.numpy)
    if dtype.name == "boolean":
        flat = np.frombuffer(attr.data.data, np.uint8) != 0
    if flat.size == int(np.prod(shape)):
        return flat.reshape(shape)
    if flat.size == 1:
        return np.broadcast_to(flat, shape)
    raise violation(f"dense constant of type {type_}", given=f"{flat.size} elements", expected=np.prod(shape))
