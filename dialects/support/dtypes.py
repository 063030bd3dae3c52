"""The one table of element types: documented name, MLIR type, numpy dtype."""

from __future__ import annotations

from typing import NamedTuple

import ml_dtypes
import numpy as np
from xdsl.dialects import builtin
from xdsl.ir import Attribute

UI8 = builtin.IntegerType(8, builtin.Signedness.UNSIGNED)


class DType(NamedTuple):
    """`name` is oneDNN's word; `mlir` and `numpy` are what the IR and arrays use for it."""

    name: str
    mlir: Attribute
    numpy: np.dtype


DTYPES = (
    DType("f32", builtin.f32, np.dtype(np.float32)),
    DType("bf16", builtin.bf16, np.dtype(ml_dtypes.bfloat16)),
    DType("f16", builtin.f16, np.dtype(np.float16)),
    DType("f64", builtin.f64, np.dtype(np.float64)),
    DType("s32", builtin.i32, np.dtype(np.int32)),
    DType("s64", builtin.i64, np.dtype(np.int64)),
    DType("s8", builtin.i8, np.dtype(np.int8)),
    DType("u8", UI8, np.dtype(np.uint8)),
    DType("boolean", builtin.i1, np.dtype(np.bool_)),
)

_BY_NAME = {d.name: d for d in DTYPES}
_BY_MLIR = {d.mlir: d for d in DTYPES}
_BY_NUMPY = {d.numpy: d for d in DTYPES}

FLOATS = ("f32", "bf16", "f16", "f64")
"""Data types of every gradient op. f64 is a convenience: it runs where the runtime has kernels."""

HALVES = ("bf16", "f16")


def by_name(name: str) -> DType | None:
    return _BY_NAME.get(name)


def of_mlir(element_type: Attribute) -> DType | None:
    return _BY_MLIR.get(element_type)


def of_numpy(dtype: np.dtype) -> DType | None:
    return _BY_NUMPY.get(np.dtype(dtype))


def name_of(element_type: Attribute) -> str:
    """The documented word for an MLIR element type, or its MLIR spelling if it has none."""
    known = of_mlir(element_type)
    return known.name if known else str(element_type)
