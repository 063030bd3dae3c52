"""Documented attributes: every type word, to an attribute and back, and what each refuses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute

from dialects.onednn.conv_backward_data import ConvolutionBackwardDataOp
from dialects.support.attributes import (
    FLAG,
    FLOAT,
    FLOATS,
    INT,
    INTS,
    AttributeSpec,
    documented_attributes,
    is_padding,
    unknown_dims,
    word,
)

WORD = word(
    "none", "same_upper", default="none", synonyms={"notset": "none"}, hints={"full": "there is no full"}
)
INT64 = st.integers(-(2**63), 2**63 - 1)
FINITE = st.floats(allow_nan=False)


def round_trip(spec: AttributeSpec, value: Any) -> Any:
    encoded = spec.encode(value)
    decoded = spec.decode(encoded)
    assert spec.plain(value) == decoded
    assert spec.encode(decoded) == encoded
    return decoded


@given(INT64)
def test_int(value: int):
    assert round_trip(INT, value) == value


@given(st.lists(INT64, max_size=5))
def test_ints(value: list[int]):
    assert round_trip(INTS, value) == tuple(value)


@given(FINITE)
def test_float(value: float):
    assert round_trip(FLOAT, value) == value


@given(st.lists(FINITE, max_size=5))
def test_floats(value: list[float]):
    assert round_trip(FLOATS, value) == tuple(value)


@pytest.mark.parametrize("value", [False, True, 0, 1])
def test_flag(value: int):
    assert round_trip(FLAG, value) is bool(value)


@pytest.mark.parametrize("value", ["none", "NONE", "None", "notset", "NOTSET"])
def test_word(value: str):
    assert round_trip(WORD, value) == "none"


@pytest.mark.parametrize(
    ("spec", "value", "attr"),
    [
        (INT, 3, IntegerAttr(3, i64)),
        (INTS, (1, 2), DenseArrayBase.from_list(i64, [1, 2])),
        (INTS, np.array([1, 2], np.int32), DenseArrayBase.from_list(i64, [1, 2])),
        (INTS, (), DenseArrayBase.from_list(i64, [])),
        (FLOAT, 1, FloatAttr(1.0, f64)),
        (FLOATS, [1, 2.5], DenseArrayBase.from_list(f64, [1.0, 2.5])),
        (FLAG, 1, BoolAttr.from_bool(True)),
        (WORD, "SAME_upper", StringAttr("same_upper")),
        (INT, np.int32(7), IntegerAttr(7, i64)),
        (FLOAT, np.float32(0.5), FloatAttr(0.5, f64)),
    ],
)
def test_encoding(spec: AttributeSpec, value: Any, attr: Attribute):
    assert spec.encode(value) == attr


@pytest.mark.parametrize(
    ("spec", "attr", "value"),
    [
        (INT, IntegerAttr(3, i32), 3),
        (INTS, ArrayAttr([IntegerAttr(1, i64), IntegerAttr(2, i32)]), (1, 2)),
        (INTS, DenseArrayBase.from_list(i32, [1, 2]), (1, 2)),
        (INTS, ArrayAttr([]), ()),
        (FLOAT, FloatAttr(1.5, f32), 1.5),
        (FLOAT, IntegerAttr(2, i64), 2.0),
        (FLOATS, ArrayAttr([FloatAttr(1.5, f32), IntegerAttr(2, i64)]), (1.5, 2.0)),
        (FLAG, IntegerAttr(1, i64), True),
        (FLAG, IntegerAttr(0, i1), False),
        (FLAG, BoolAttr.from_bool(True), True),
        (WORD, StringAttr("NotSet"), "none"),
    ],
)
def test_other_spellings(spec: AttributeSpec, attr: Attribute, value: Any):
    assert spec.decode(attr) == value
    assert type(spec.decode(attr)) is type(value)


@pytest.mark.parametrize(
    ("spec", "value", "message"),
    [
        (INT, True, "given True, expected type s64"),
        (INT, 1.0, "given 1.0, expected type s64"),
        (INT, "1", "given '1', expected type s64"),
        (INT, None, "given None, expected type s64"),
        (INT, 2**63, "64 bits"),
        (INTS, 1, "given 1, expected type s64[]"),
        (INTS, "12", "given '12', expected type s64[]"),
        (INTS, [1, 2.5], "given 2.5 at element 1, expected type s64[]"),
        (INTS, [1, None], "given None at element 1"),
        (INTS, [-(2**63) - 1], "64 bits"),
        (FLOAT, "1", "given '1', expected type f32"),
        (FLOAT, True, "given True, expected type f32"),
        (FLOAT, [1.0], "expected type f32"),
        (FLOATS, 1.0, "given 1.0, expected type f32[]"),
        (FLOATS, ["a"], "given 'a' at element 0"),
        (FLAG, 2, "given 2, expected type bool"),
        (FLAG, 1.0, "given 1.0, expected type bool"),
        (FLAG, "true", "given 'true', expected type bool"),
        (FLAG, [], "expected type bool"),
        (WORD, 1, "given 1, expected a string"),
        (WORD, "same_uper", 'given "same_uper", expected one of none, same_upper; did you mean same_upper?'),
        (WORD, "FULL", "there is no full"),
        (WORD, "", 'given "", expected one of none, same_upper'),
    ],
)
def test_refused(spec: AttributeSpec, value: Any, message: str):
    for read in (spec.encode, spec.plain):
        with pytest.raises(ValueError) as caught:  # noqa: PT011 (the message is compared below)
            read(value)
        assert message in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "attr"),
    [
        (INT, StringAttr("1")),
        (INT, BoolAttr.from_bool(True)),
        (INT, UnitAttr()),
        (INTS, IntegerAttr(1, i64)),
        (INTS, ArrayAttr([StringAttr("1")])),
        (INTS, DenseArrayBase.from_list(f64, [1.0])),
        (INTS, UnitAttr()),
        (FLOATS, UnitAttr()),
        (FLAG, StringAttr("true")),
        (WORD, IntegerAttr(1, i64)),
        (WORD, ArrayAttr([])),
    ],
)
def test_refused_attributes(spec: AttributeSpec, attr: Attribute):
    with pytest.raises(ValueError, match=r"given .*expected"):
        spec.decode(attr)


def test_infinity_and_nan_are_numbers():
    """Whether an op admits them is the op's business."""
    assert FLOAT.decode(FLOAT.encode(math.inf)) == math.inf
    assert math.isnan(FLOAT.decode(FLOAT.encode(math.nan)))
    assert FLOAT.plain(10**400) == math.inf
    assert FLOAT.plain(-(10**400)) == -math.inf


def test_with_default():
    assert INTS.default is None
    assert INTS.with_default((0, 0)).default == (0, 0)
    assert INTS.with_default((0, 0)).tag == INTS.tag


@pytest.mark.parametrize(
    ("values", "filler", "padding"),
    [
        ([0] * 12, 0, True),
        ([1] * 12, 1, True),
        ([0] * 11, 0, False),
        ([0] * 13, 0, False),
        ([0] * 11 + [1], 0, False),
        ([0] * 12, 1, False),
        ([], 0, False),
    ],
)
def test_is_padding(values: list[int], filler: int, padding: bool):
    assert is_padding(values, filler) is padding


def test_unknown_dims():
    assert unknown_dims([1, None, "N", 0]) == [1, DYNAMIC_INDEX, DYNAMIC_INDEX, 0]


def test_documented_attributes():
    """One line of the class body says it all; gradc's own attribute is among them."""
    found = documented_attributes(ConvolutionBackwardDataOp)
    required = {name for name, attribute in found.items() if attribute.required}
    assert required == {"strides", "pads_begin", "pads_end", "dilations"}
    assert set(found) - required == {
        "auto_pad",
        "auto_pad_rule",
        "output_padding",
        "groups",
        "data_format",
        "weights_format",
        "dst_shape",
    }
    defaults = {name: attribute.spec.default for name, attribute in found.items()}
    assert defaults["groups"] == 1
    assert (defaults["data_format"], defaults["weights_format"]) == ("NXC", "XIO")
    assert (defaults["auto_pad"], defaults["auto_pad_rule"]) == ("none", "documented")
    assert all(name == attribute.name for name, attribute in found.items())
