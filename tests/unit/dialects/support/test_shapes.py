"""Shapes with known, named and unknown dims, and their place in tensor types."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, IntegerAttr, StringAttr, TensorType, f32, i64
from xdsl.parser import Parser

from dialects import context
from dialects.shapes.forms import fresh, name
from dialects.shapes.sizes import floordiv, largest
from dialects.support import shapes
from dialects.support.diagnostics import GradcError
from dialects.support.shapes import Dim, Shape

N, M = name("N"), name("M")
SIZES = [N, M, 2 * N + 1, N * M, floordiv(N + 1, 2), largest(N, M), fresh(3), name("=N"), name("2*N + 1")]
DIMS = st.one_of(st.integers(0, 5), st.sampled_from(SIZES), st.none())
SHAPES = st.lists(DIMS, max_size=5).map(tuple)


def parse(text: str) -> TensorType:
    type_ = Parser(context(), text).parse_attribute()
    assert isinstance(type_, TensorType)
    return type_


@given(SHAPES)
def test_round_trip(shape: Shape):
    type_ = shapes.tensor_type(f32, shape)
    assert shapes.shape_of(type_) == shape
    assert parse(str(type_)) == type_


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ((), "tensor<f32>"),
        ((2, 3), "tensor<2x3xf32>"),
        ((None, 4), "tensor<?x4xf32>"),
        (("N", 4), 'tensor<?x4xf32, ["N", ""]>'),
        (("N", None, "N"), 'tensor<?x?x?xf32, ["N", "", "N"]>'),
        ((2 * N + 1, 4), 'tensor<?x4xf32, ["=2*N + 1", ""]>'),
        (("past_sequence_length + 1",), 'tensor<?xf32, ["past_sequence_length + 1"]>'),
        (("=N", fresh(7)), r'tensor<?x?xf32, ["=\22=N\22", "=?7"]>'),
    ],
)
def test_text(shape: Shape, text: str):
    assert str(shapes.tensor_type(f32, shape)) == text
    assert shapes.shape_of(parse(text)) == shape


def test_no_name_means_no_encoding():
    """Types that say the same are equal, whatever names they were made with."""
    assert shapes.shape_of(parse('tensor<?x4xf32, ["", ""]>')) == (None, 4)
    assert shapes.tensor_type(f32, (None, 4)) == parse("tensor<?x4xf32>")


def test_a_known_size_needs_no_name():
    assert shapes.shape_of(parse('tensor<2x4xf32, ["N", ""]>')) == (2, 4)


@pytest.mark.parametrize("dim", [-1, DYNAMIC_INDEX])
def test_negative_dims_are_ours(dim: int):
    with pytest.raises(ValueError, match="negative dim"):
        shapes.tensor_type(f32, (2, dim))


@pytest.mark.parametrize(
    "encoding",
    [
        ArrayAttr([StringAttr("N")]),
        ArrayAttr([StringAttr("N"), StringAttr(""), StringAttr("")]),
        ArrayAttr([StringAttr("N"), IntegerAttr(1, i64)]),
        StringAttr("N"),
    ],
)
def test_foreign_encodings(encoding):
    with pytest.raises(GradcError, match="expected 2 dim names"):
        shapes.shape_of(TensorType(f32, [DYNAMIC_INDEX, 4], encoding))


@pytest.mark.parametrize("entry", ["=", "=N +", "=3", "=N N", "=1//0"])
def test_what_is_no_size(entry: str):
    with pytest.raises(GradcError, match="size in an encoding"):
        shapes.shape_of(TensorType(f32, [DYNAMIC_INDEX], ArrayAttr([StringAttr(entry)])))


def test_a_name_that_looks_like_an_expression_is_none():
    shape = shapes.shape_of(parse('tensor<?x?xf32, ["2*N + 1", "=2*N + 1"]>'))
    assert shape == (name("2*N + 1"), 2 * N + 1)
    assert shape[0] != shape[1]
    assert shapes.dim_names(shape) == ("2*N + 1", None)


def test_sizes_for_names():
    assert shapes.with_sizes((N, 2 * N + M, 3, None), {"N": 4, "M": 1}) == (4, 9, 3, None)
    assert shapes.with_sizes((N, 2 * N + M), {"M": 1}) == (N, 2 * N + 1)
    assert shapes.with_sizes((floordiv(N, M),), {"M": 0}) == (None,)


@pytest.mark.parametrize(
    ("a", "b"), [(2, N), (N, 2 * M), (2 * N, fresh(1)), (2 * N, N + fresh(1)), (fresh(1), None)]
)
def test_what_says_more_is_kept(a: Dim, b: Dim):
    assert shapes.merge_dim(a, b) == shapes.merge_dim(b, a) == a


def test_not_a_tensor():
    with pytest.raises(GradcError, match="not a ranked tensor"):
        shapes.shape_of(f32)
    with pytest.raises(GradcError, match="not a ranked tensor"):
        shapes.shape_of(Parser(context(), "tensor<*xf32>").parse_attribute())


def test_static():
    assert shapes.static((2, 3)) == (2, 3)
    assert shapes.static(()) == ()
    assert shapes.static((2, None)) is None
    assert shapes.static(("N", 3)) is None


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [(2, 2, True), (2, 3, False), (0, 1, False), (2, "N", True), (None, 3, True), ("N", "M", True)],
)
def test_same_dim(a: Dim, b: Dim, same: bool):
    assert shapes.same_dim(a, b) is same
    assert shapes.same_dim(b, a) is same


def test_compatible():
    assert shapes.compatible((2, None), ("N", 3))
    assert not shapes.compatible((2, 3), (2, 4))
    assert not shapes.compatible((2,), (2, 1))
    assert shapes.compatible((), ())


@pytest.mark.parametrize(
    ("a", "b", "merged"),
    [
        (2, None, 2),
        (None, 2, 2),
        (2, "N", 2),
        ("N", 2, 2),
        ("N", None, "N"),
        (None, "N", "N"),
        ("N", "M", "N"),
        (None, None, None),
        (0, None, 0),
        (None, 0, 0),
    ],
)
def test_merge_dim(a: Dim, b: Dim, merged: Dim):
    assert shapes.merge_dim(shapes.dim_of(a), shapes.dim_of(b)) == merged


@given(SHAPES)
def test_merge_with_itself(shape: Shape):
    assert shapes.merge(shape, shape) == shape
    assert shapes.merge(shape, (None,) * len(shape)) == shape


def test_merge_needs_compatible_shapes():
    with pytest.raises(AssertionError):
        shapes.merge((2,), (3,))
    with pytest.raises(ValueError, match="zip"):
        shapes.merge((2,), (2, 1))


def test_show():
    assert shapes.show((1, "N", None)) == "[1, N, ?]"
    assert shapes.show(()) == "[]"
