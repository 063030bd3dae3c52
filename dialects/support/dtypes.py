"""The table of element types: documented name, MLIR type, numpy dtype."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import ml_dtypes
import numpy as np
from xdsl.dialects import builtin
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition


@irdl_attr_definition
class StringType(ParametrizedAttribute, TypeAttribute):
    """Element type of ONNX string tensors, which MLIR's builtin dialect lacks."""

    name = "onnx.string"


class DType(NamedTuple):
    """One element type: oneDNN's `name`, or one in its style, its `mlir` type and its `numpy` dtype. `number`
    is TensorProto.DataType, `onnx` is ONNX's word, as in `tensor(float)`."""

    name: str
    mlir: Attribute
    numpy: np.dtype
    number: int
    onnx: str


def _int_type(bits: int) -> builtin.IntegerType:
    return builtin.IntegerType(bits)


def _uint_type(bits: int) -> builtin.IntegerType:
    return builtin.IntegerType(bits, builtin.Signedness.UNSIGNED)


UI8 = _uint_type(8)


def _small(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name))


# fmt: off
DTYPES = (
    DType("f32", builtin.f32, np.dtype(np.float32), 1, "float"),
    DType("bf16", builtin.bf16, np.dtype(ml_dtypes.bfloat16), 16, "bfloat16"),
    DType("f16", builtin.f16, np.dtype(np.float16), 10, "float16"),
    DType("f64", builtin.f64, np.dtype(np.float64), 11, "double"),
    DType("s32", builtin.i32, np.dtype(np.int32), 6, "int32"),
    DType("s64", builtin.i64, np.dtype(np.int64), 7, "int64"),
    DType("s8", builtin.i8, np.dtype(np.int8), 3, "int8"),
    DType("u8", UI8, np.dtype(np.uint8), 2, "uint8"),
    DType("boolean", builtin.i1, np.dtype(np.bool_), 9, "bool"),
    DType("s4", _int_type(4), _small("int4"), 22, "int4"),
    DType("u4", _uint_type(4), _small("uint4"), 21, "uint4"),
    DType("f8_e4m3", builtin.Float8E4M3FNType(), _small("float8_e4m3fn"), 17, "float8e4m3fn"),
    DType("f8_e5m2", builtin.Float8E5M2Type(), _small("float8_e5m2"), 19, "float8e5m2"),
)
"""Data types that the source dialects document."""

ONNX_DTYPES = (
    *DTYPES,
    DType("s16", builtin.i16, np.dtype(np.int16), 5, "int16"),
    DType("u16", _uint_type(16), np.dtype(np.uint16), 4, "uint16"),
    DType("u32", _uint_type(32), np.dtype(np.uint32), 12, "uint32"),
    DType("u64", _uint_type(64), np.dtype(np.uint64), 13, "uint64"),
    DType("s2", _int_type(2), _small("int2"), 26, "int2"),
    DType("u2", _uint_type(2), _small("uint2"), 25, "uint2"),
    DType("f8_e4m3fnuz", builtin.Float8E4M3FNUZType(), _small("float8_e4m3fnuz"), 18, "float8e4m3fnuz"),
    DType("f8_e5m2fnuz", builtin.Float8E5M2FNUZType(), _small("float8_e5m2fnuz"), 20, "float8e5m2fnuz"),
    DType("f8_e8m0", builtin.Float8E8M0FNUType(), _small("float8_e8m0fnu"), 24, "float8e8m0"),
    DType("f6_e2m3", builtin.Float6E2M3FNType(), _small("float6_e2m3fn"), 27, "float6e2m3"),
    DType("f6_e3m2", builtin.Float6E3M2FNType(), _small("float6_e3m2fn"), 28, "float6e3m2"),
    DType("f4_e2m1", builtin.Float4E2M1FNType(), _small("float4_e2m1fn"), 23, "float4e2m1"),
    DType("c64", builtin.ComplexType(builtin.f32), np.dtype(np.complex64), 14, "complex64"),
    DType("c128", builtin.ComplexType(builtin.f64), np.dtype(np.complex128), 15, "complex128"),
    DType("string", StringType(), np.dtype(np.object_), 8, "string"),
)
"""All data types of ONNX. Arrays and constants store types of fewer than 8 bits one element per byte; string
arrays hold objects, and there are no string constants."""
# fmt: on

_BY_NAME = {d.name: d for d in ONNX_DTYPES}
_BY_MLIR = {d.mlir: d for d in ONNX_DTYPES}
_BY_NUMPY = {d.numpy: d for d in ONNX_DTYPES}
_BY_NUMBER = {d.number: d for d in ONNX_DTYPES}

FLOATS = ("f32", "bf16", "f16", "f64")
"""Data types of every gradient op. f64 runs only where the runtime has kernels."""

HALVES = ("bf16", "f16")


def by_name(name: str) -> DType | None:
    return _BY_NAME.get(name)


def of_mlir(element_type: Attribute) -> DType | None:
    return _BY_MLIR.get(element_type)


def by_number(number: int) -> DType | None:
    """Return the entry of a TensorProto.DataType."""
    return _BY_NUMBER.get(number)


def of_numpy(dtype: np.dtype) -> DType | None:
    return _BY_NUMPY.get(np.dtype(dtype))


def known_dtype(given: Attribute | np.dtype | str) -> DType:
    """Return the entry of a type that has one: of MLIR, of numpy, or by its name."""
    if isinstance(given, str):
        found = by_name(given)
    else:
        found = of_mlir(given) if isinstance(given, Attribute) else of_numpy(given)
    assert found is not None, f"no ONNX type for {given}"
    return found


def limits_of(dtype: DType) -> tuple[float, float]:
    """Return the least and the largest finite number of an integer or float type."""
    kind: type[Any] = ml_dtypes.finfo if dtype.name.startswith(("f", "bf")) else ml_dtypes.iinfo
    limits = cast(Any, kind)(dtype.numpy)
    return float(limits.min), float(limits.max)


def name_of(element_type: Attribute) -> str:
    """Return the documented word for an MLIR element type, or its MLIR spelling."""
    known = of_mlir(element_type)
    return known.name if known else str(element_type)
