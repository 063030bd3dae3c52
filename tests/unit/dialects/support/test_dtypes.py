"""The table of dtypes is complete and unambiguous in every direction."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from xdsl.dialects import builtin

from dialects.support import dtypes
from dialects.support.dtypes import DTYPES, ONNX_DTYPES, DType


@pytest.mark.parametrize("dtype", ONNX_DTYPES, ids=lambda dtype: dtype.name)
def test_every_direction(dtype: DType):
    assert dtypes.by_name(dtype.name) is dtype
    assert dtypes.of_mlir(dtype.mlir) is dtype
    assert dtypes.of_numpy(dtype.numpy) is dtype
    assert dtypes.name_of(dtype.mlir) == dtype.name
    assert dtypes.by_number(dtype.number) is dtype


@pytest.mark.parametrize("column", range(5))
def test_no_two_rows_share_an_entry(column: int):
    assert len({dtype[column] for dtype in ONNX_DTYPES}) == len(ONNX_DTYPES)


def test_all_data_types_of_onnx():
    names = {number: name.lower() for name, number in onnx.TensorProto.DataType.items() if number}
    known = {dtype.number: dtype.onnx for dtype in ONNX_DTYPES}
    assert known == names
    for dtype in ONNX_DTYPES:
        theirs = onnx.helper.tensor_dtype_to_np_dtype(dtype.number)
        assert dtype.numpy == theirs


def test_widths():
    bits = {"f32": 32, "bf16": 16, "f16": 16, "f64": 64, "s32": 32, "s64": 64, "s8": 8, "u8": 8}
    bits |= {"s4": 4, "u4": 4, "f8_e4m3": 8, "f8_e5m2": 8}
    assert {d.name: d.numpy.itemsize * 8 for d in DTYPES} == {n: max(b, 8) for n, b in bits.items()} | {
        "boolean": 8
    }
    types = {d.name: d.mlir for d in DTYPES}
    for name, width in bits.items():
        assert types[name].bitwidth == width  # pyright: ignore[reportAttributeAccessIssue]
    assert types["boolean"] == builtin.i1


def test_kinds():
    kinds = {d.name: d.numpy.kind for d in DTYPES}
    assert [name for name, kind in kinds.items() if kind == "i"] == ["s32", "s64", "s8"]
    assert kinds["u8"] == "u"
    assert kinds["boolean"] == "b"
    assert {"f32", "f16", "f64"} <= {name for name, kind in kinds.items() if kind == "f"}


def test_groups_are_of_the_table():
    names = {d.name for d in DTYPES}
    assert set(dtypes.HALVES) < set(dtypes.FLOATS) < names
    for half in dtypes.HALVES:
        row = dtypes.by_name(half)
        assert row is not None
        assert row.numpy.itemsize == 2


def test_unknown():
    assert dtypes.by_name("f8") is None
    assert dtypes.by_name("F32") is None
    assert dtypes.of_mlir(builtin.IntegerType(3)) is None
    assert dtypes.of_numpy(np.dtype("V3")) is None
    assert dtypes.of_numpy(np.dtype(">f4")) is None
    assert dtypes.name_of(builtin.IntegerType(3)) == "i3"
