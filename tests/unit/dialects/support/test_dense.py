"""numpy <-> dense attributes: every dtype, by bytes, also through text."""

from __future__ import annotations

import io

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    IntegerType,
    TensorType,
    f32,
    i1,
    i64,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from dialects import context
from dialects.support import dense
from dialects.support.diagnostics import GradcError
from dialects.support.dtypes import DTYPES, DType

EACH_DTYPE = pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)


def sample(dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
    """Values that the dtype can tell apart, its extremes among them."""
    size = int(np.prod(shape))
    if dtype.numpy.kind in "iu":
        info = np.iinfo(dtype.numpy)
        values = np.linspace(info.min, info.max, size, dtype=np.float64)
        return np.clip(values, info.min, info.max * 0.99).astype(dtype.numpy).reshape(shape)
    return (np.arange(size) % 5 - 2.25).astype(dtype.numpy).reshape(shape)


@pytest.mark.sweep
@EACH_DTYPE
@pytest.mark.parametrize("shape", [(), (1,), (0,), (3,), (2, 3), (2, 0, 3), (2, 1, 2, 2)])
def test_round_trip(dtype: DType, shape: tuple[int, ...]):
    array = sample(dtype, shape)
    attr = dense.from_numpy(array)
    assert attr.type == TensorType(dtype.mlir, shape)  # pyright: ignore[reportArgumentType]
    back = dense.to_numpy(attr)
    assert back.dtype == dtype.numpy
    assert back.shape == shape
    assert back.tobytes() == array.tobytes()


@EACH_DTYPE
def test_through_text(dtype: DType):
    attr = dense.from_numpy(sample(dtype, (2, 3)))
    stream = io.StringIO()
    Printer(stream=stream).print_attribute(attr)
    parsed = Parser(context(), stream.getvalue()).parse_attribute()
    assert isinstance(parsed, DenseIntOrFPElementsAttr)
    again, before = dense.to_numpy(parsed), dense.to_numpy(attr)
    if dtype.name in ("s4", "u4"):  # four bits of a byte mean nothing
        again, before = again.astype(np.int8), before.astype(np.int8)
    assert again.tobytes() == before.tobytes()


@given(hnp.arrays(np.float32, hnp.array_shapes(max_dims=3, max_side=4), elements=st.floats(width=32)))
def test_bits_are_kept(array: np.ndarray):
    assert dense.to_numpy(dense.from_numpy(array)).tobytes() == array.tobytes()


def test_equal_arrays_give_equal_attributes():
    """Also where numpy holds them differently: strides, and booleans of other bytes."""
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert dense.from_numpy(array.T) == dense.from_numpy(np.ascontiguousarray(array.T))
    assert dense.from_numpy(array[:, ::2]) == dense.from_numpy(array[:, ::2].copy())
    odd = np.array([0, 255], np.uint8).view(np.bool_)
    assert np.array_equal(dense.to_numpy(dense.from_numpy(odd)), [False, True])


def test_xdsl_booleans():
    """xDSL's own constructor writes true as 0xff."""
    attr = DenseIntOrFPElementsAttr.from_list(TensorType(i1, [3]), [True, False, True])
    assert dense.to_numpy(attr).tolist() == [True, False, True]


def test_xdsl_values_agree():
    attr = dense.from_numpy(np.array([[1, -2], [3, 4]], np.int64))
    assert list(attr.get_values()) == [1, -2, 3, 4]
    half = dense.from_numpy(np.array([1.5, -3.0], ml_dtypes.bfloat16))
    assert list(half.get_values()) == [1.5, -3.0]


@pytest.mark.parametrize("text", ["dense<1.5> : tensor<2x3xf32>", "dense<true> : tensor<2x3xi1>"])
def test_splat(text: str):
    attr = Parser(context(), text).parse_attribute()
    assert isinstance(attr, DenseIntOrFPElementsAttr)
    array = dense.to_numpy(attr)
    assert array.shape == (2, 3)
    assert len(set(array.ravel().tolist())) == 1


def test_the_view_is_read_only():
    array = dense.to_numpy(dense.from_numpy(np.zeros(3, np.float32)))
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


@pytest.mark.parametrize("size", [2, 3, 5, 0])
def test_wrong_length(size: int):
    """xDSL does not hold the buffer against the shape."""
    data = BytesAttr(np.zeros(size, np.float32).tobytes())
    attr = DenseIntOrFPElementsAttr(TensorType(f32, [4]), data)
    with pytest.raises(GradcError, match=f"given {4 * size} bytes, expected 16"):
        dense.to_numpy(attr)


def test_broken_element():
    attr = DenseIntOrFPElementsAttr(TensorType(i64, [1]), BytesAttr(b"\0" * 7))
    with pytest.raises(GradcError, match="given 7 bytes, expected 8"):
        dense.to_numpy(attr)


def test_unknown_dtypes():
    with pytest.raises(GradcError, match=r"constant dtype: given .V2"):
        dense.from_numpy(np.zeros(2, "V2"))
    with pytest.raises(GradcError, match="constant dtype: given >f4"):
        dense.from_numpy(np.zeros(2, ">f4"))
    attr = DenseIntOrFPElementsAttr(TensorType(IntegerType(13), [1]), BytesAttr(b"\0\0"))
    with pytest.raises(GradcError, match="constant element type: given i13"):
        dense.to_numpy(attr)
