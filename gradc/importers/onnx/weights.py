"""Tensors of a model as dense attributes, without copying their bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from onnx import SparseTensorProto, TensorProto, numpy_helper
from xdsl.dialects.builtin import ArrayAttr, BytesAttr, DenseIntOrFPElementsAttr, TensorType

from dialects.onnx.attributes import text_attribute
from dialects.onnx.tensor_attributes import SparseTensorAttr, StringTensorAttr
from dialects.support import limits, shapes
from dialects.support.dense import from_numpy, to_numpy
from dialects.support.diagnostics import violation
from dialects.support.dtypes import DType, StringType, by_number
from gradc.model.external_data import TensorData

PACKED = frozenset(("s2", "u2", "s4", "u4", "f4_e2m1", "f6_e2m3", "f6_e3m2"))
"""Dtypes of which ONNX packs several elements into a byte; gradc stores one per byte."""


CONTENTS = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data")


def tensor_attribute(proto: TensorProto, data: TensorData) -> DenseIntOrFPElementsAttr | StringTensorAttr:
    """Return the attribute of a tensor, whose bytes may be external."""
    dtype = by_number(proto.data_type)
    if dtype is None:
        raise violation("element type", given=proto.data_type, expected="a TensorProto.DataType")
    if any(dim < 0 for dim in proto.dims):
        raise violation("dims", given=list(proto.dims), expected="no negative one")
    if dtype.name == "string":
        return _strings(proto)
    if proto.data_location == TensorProto.EXTERNAL:
        count = math.prod(proto.dims)
        packed = dtype.name in PACKED
        size = _byte_size(proto.dims, dtype) if packed else count * dtype.numpy.itemsize
        return _dense(proto, dtype, data.read(proto, size))
    if proto.HasField("raw_data"):
        return _dense(proto, dtype, proto.raw_data)
    if math.prod(proto.dims) and not any(len(getattr(proto, name)) for name in CONTENTS):
        hint = "Compiled.model has the weights that Compiled.proto leaves out"
        what = f"elements of a tensor of {list(proto.dims)}"
        raise violation(what, given="none", expected=f"{math.prod(proto.dims):,}", hint=hint)
    return _from_fields(proto)


def dense_of_sparse(proto: SparseTensorProto, data: TensorData) -> DenseIntOrFPElementsAttr:
    """Return a sparse tensor as a dense one."""
    sparse = sparse_attribute(proto, data)
    shape = sparse.type.get_shape()
    limits.check("constant-elements", math.prod(shape), "elements of a sparse tensor")
    values, indices = to_numpy(sparse.values), to_numpy(sparse.indices)
    whole = np.zeros(shape, values.dtype)
    bounds = [math.prod(shape)] if indices.ndim == 1 else shape
    columns = [indices] if indices.ndim == 1 else list(indices.T)
    for column, bound in zip(columns, bounds, strict=True):
        if column.size and not 0 <= column.min() <= column.max() < bound:
            raise violation("indices of a sparse tensor", expected=f"from 0 to {bound - 1}")
    if indices.ndim == 1:
        whole.reshape(-1)[indices] = values
    else:
        whole[tuple(columns)] = values
    return from_numpy(whole)


def sparse_attribute(proto: SparseTensorProto, data: TensorData) -> SparseTensorAttr:
    values, indices = (tensor_attribute(part, data) for part in (proto.values, proto.indices))
    if isinstance(values, StringTensorAttr) or isinstance(indices, StringTensorAttr):
        raise violation("values of a sparse tensor", given="strings", expected="numbers")
    if any(dim < 0 for dim in proto.dims):
        raise violation("dims", given=list(proto.dims), expected="no negative one")
    return SparseTensorAttr(values, indices, shapes.tensor_type(values.type.element_type, proto.dims))


def _strings(proto: TensorProto) -> StringTensorAttr:
    words = ArrayAttr(map(text_attribute, proto.string_data))
    if math.prod(proto.dims) != len(words):
        raise violation(
            "strings", given=len(words), expected=f"{math.prod(proto.dims)} for {list(proto.dims)}"
        )
    return StringTensorAttr(words, TensorType(StringType(), list(proto.dims)))


def _dense(proto: TensorProto, dtype: DType, data: bytes) -> DenseIntOrFPElementsAttr:
    if dtype.name in PACKED:
        _check_length(data, _byte_size(proto.dims, dtype))
        return _unpack(proto, data)
    _check_length(data, math.prod(proto.dims) * dtype.numpy.itemsize)
    return DenseIntOrFPElementsAttr(shapes.tensor_type(dtype.mlir, proto.dims), BytesAttr(data))  # pyright: ignore


def _unpack(proto: TensorProto, data: bytes) -> DenseIntOrFPElementsAttr:
    packed = TensorProto(data_type=proto.data_type, dims=proto.dims, raw_data=data)
    return _from_fields(packed)


def _byte_size(dims: Sequence[int], dtype: DType) -> int:
    bits = int(dtype.name.partition("_")[0].lstrip("suf"))
    return math.ceil(math.prod(dims) * bits / 8)


def _check_length(data: bytes, expected: int) -> None:
    if len(data) != expected:
        raise violation("bytes of a tensor", given=len(data), expected=expected)


def _from_fields(proto: TensorProto) -> DenseIntOrFPElementsAttr:
    """Return the attribute of a tensor with one field entry per element, or packed ones."""
    what, count = f"elements of a tensor of {list(proto.dims)}", math.prod(proto.dims)
    entries = [len(value) for field, value in proto.ListFields() if field.name.endswith("_data")]
    if count and not entries:
        hint = "the .proto of a compiled model leaves out weights beyond 1 kB, its .model has all"
        raise violation(what, given="none", expected=f"{count:,}", hint=hint)
    try:
        return from_numpy(numpy_helper.to_array(proto))
    except (ValueError, TypeError, OverflowError) as error:
        if "reshape" in str(error):
            raise violation(what, given=f"{sum(entries):,}", expected=f"{count:,}") from None
        raise violation(f"{what}: {error}") from None
