"""One line per diagnostic, placed where it can be, with the nearest word where one is near."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects import test
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, NameLoc, StringAttr, UnknownLoc
from xdsl.utils.exceptions import DiagnosticException

from dialects.support.diagnostics import (
    Diagnostic,
    GradcError,
    Position,
    UnsupportedError,
    UsageError,
    diagnostic_at,
    error_at,
    location,
    name_of,
    position_of,
    sentence,
    subject_of,
    suggest,
    violation,
)

PLACE = Position("g.mlir", 3, 7)


@pytest.mark.parametrize(
    ("diagnostic", "line"),
    [
        (Diagnostic("error", "no"), "error: no"),
        (Diagnostic("remark", "no", "Kind"), "remark: [Kind] no"),
        (Diagnostic("error", "no", position=PLACE), "g.mlir:3:7: error: no"),
        (Diagnostic("warning", "no", 'Kind "n"', PLACE), 'g.mlir:3:7: warning: [Kind "n"] no'),
        (Diagnostic("error", "a\nb\t c"), "error: a b c"),
        (Diagnostic("error", "no", 'Kind "\x1b[31m\x00"'), r'error: [Kind "\x1b[31m\x00"] no'),
        (Diagnostic("error", "given \ud800 \u202e é 日本"), r"error: given \ud800 \u202e é 日本"),
    ],
)
def test_text(diagnostic: Diagnostic, line: str):
    assert str(diagnostic) == line


@given(st.text(), st.text(), st.text())
def test_one_line(message: str, subject: str, file: str):
    text = str(Diagnostic("error", message, subject, Position(file, 1, 1)))
    assert len(text.splitlines()) == 1
    assert "error:" in text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "what"),
        ({"given": 3}, "what: given 3"),
        ({"expected": 4}, "what: expected 4"),
        ({"given": 0, "expected": False}, "what: given 0, expected False"),
        ({"given": 3, "expected": 4, "hint": "try 4"}, "what: given 3, expected 4; try 4"),
        ({"hint": "try 4"}, "what; try 4"),
    ],
)
def test_sentence(arguments: dict, text: str):
    assert sentence("what", **arguments) == text
    assert str(violation("what", **arguments)) == f"error: {text}"


def test_exit_codes():
    codes = {error: error.exit_code for error in (GradcError, UnsupportedError, UsageError)}
    assert codes == {GradcError: 4, UnsupportedError: 3, UsageError: 2}


def test_text_of_an_error_is_its_line():
    diagnostic = Diagnostic("error", "no", "Kind", PLACE)
    error = GradcError(diagnostic)
    assert str(error) == str(diagnostic)
    assert error.diagnostic is diagnostic
    # so that xDSL's own tools treat it as the user's
    assert isinstance(error, DiagnosticException)


def test_severity():
    remark = Diagnostic("remark", "no", "Kind", PLACE, strict=True)
    assert remark.with_severity("error") == Diagnostic("error", "no", "Kind", PLACE, strict=True)


@pytest.mark.parametrize(
    ("name", "position"), [("", None), ("n", None), ("", PLACE), ("n", PLACE), ("a/b:0", PLACE)]
)
def test_location_round_trip(name: str, position: Position | None):
    op = test.TestOp()
    op.location = location(name, position)
    assert name_of(op) == name
    assert position_of(op) == position


def test_location_forms():
    place = FileLineColLoc(StringAttr("g.mlir"), IntAttr(3), IntAttr(7))
    assert location() == UnknownLoc()
    assert location("", PLACE) == place
    assert location("n", PLACE) == NameLoc(StringAttr("n"), place)


def test_nested_names_have_a_place():
    op = test.TestOp()
    op.location = NameLoc(StringAttr("outer"), location("inner", PLACE))
    assert (name_of(op), position_of(op)) == ("outer", PLACE)


def test_subject():
    op = test.TestOp()
    assert subject_of(op) == "test.op"
    op.location = location("n")
    assert subject_of(op) == 'test.op "n"'
    op.attributes["source.id"] = StringAttr("17")
    assert subject_of(op) == 'test.op "n" id 17'


def test_subject_is_the_documented_kind():
    from dialects.onednn.interpolate_backward import InterpolateBackwardOp

    assert subject_of(InterpolateBackwardOp.create()) == "InterpolateBackward"


def test_error_at_an_op():
    op = test.TestOp()
    op.location = location("n", PLACE)
    error = error_at(op, "what", given=1, expected=2, hint="h", kind=UnsupportedError)
    assert isinstance(error, UnsupportedError)
    assert str(error) == 'g.mlir:3:7: error: [test.op "n"] what: given 1, expected 2; h'
    assert diagnostic_at(op, "remark", "m", strict=True).strict


def test_located_once():
    """An error gets the place of the innermost op that knows one, and keeps its kind."""
    inner, outer = test.TestOp(), test.TestOp()
    inner.location, outer.location = location("inner", PLACE), location("outer")
    plain = UnsupportedError(Diagnostic("error", "no"))
    placed = plain.at_op(inner)
    assert isinstance(placed, UnsupportedError)
    assert str(placed) == 'g.mlir:3:7: error: [test.op "inner"] no'
    assert placed.at_op(outer) is placed


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("stride", "did you mean strides?"),
        ("STRIDES", "did you mean strides?"),
        ("pads", "did you mean pads_end?"),
        ("weights_fromat", "did you mean weights_format?"),
        ("xyzzy", ""),
        ("", ""),
    ],
)
def test_nearest(word: str, hint: str):
    assert suggest(word, ["strides", "pads_begin", "pads_end", "weights_format"]) == hint


def test_nearest_two():
    assert suggest("same_uper", ["same_lower", "valid", "same_upper"]) == (
        "did you mean same_upper or same_lower?"
    )


def test_nearest_keeps_the_spelling():
    assert suggest("convolutionbackwarddata", ["ConvolutionBackwardData"]) == (
        "did you mean ConvolutionBackwardData?"
    )
