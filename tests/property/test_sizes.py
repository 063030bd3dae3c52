"""Sizes as expressions: whatever is done with forms is what Python does with the ints that they stand for."""

from __future__ import annotations

import copy
import operator
from functools import reduce

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dialects.shapes import forms, sizes
from dialects.shapes.bounds import lower, upper
from dialects.shapes.forms import Form, Size, TooComplex, form_text, fresh, name
from dialects.shapes.size_text import InvalidSize, parse

NAMES = ("N", "M", "past_sequence_length + 1", "min", 'a "b\\', "=N", "?1", "2")
VALUES = st.fixed_dictionaries({each: st.integers(0, 9) for each in NAMES})
NUMBERS = st.integers(-6, 6)
BINARY = {
    "+": (operator.add, operator.add),
    "-": (operator.sub, operator.sub),
    "*": (operator.mul, operator.mul),
    "//": (sizes.floordiv, operator.floordiv),
    "ceil": (sizes.ceildiv, lambda a, b: -(-a // b)),
    "%": (sizes.mod, operator.mod),
    "min": (sizes.smallest, min),
    "max": (sizes.largest, max),
}
Tree = int | str | tuple
TREES: st.SearchStrategy[Tree] = st.recursive(
    st.one_of(NUMBERS, st.sampled_from(NAMES)),
    lambda inner: st.tuples(st.sampled_from(sorted(BINARY)), inner, inner),
    max_leaves=8,
)


def form_of(tree: Tree) -> Form:
    if isinstance(tree, tuple):
        return BINARY[tree[0]][0](form_of(tree[1]), form_of(tree[2]))
    return name(tree) if isinstance(tree, str) else tree


def value_of(tree: Tree, values: dict[str, int]) -> int:
    if isinstance(tree, tuple):
        return BINARY[tree[0]][1](value_of(tree[1], values), value_of(tree[2], values))
    return values[tree] if isinstance(tree, str) else tree


@st.composite
def made(draw: st.DrawFn) -> Form:
    try:
        return form_of(draw(TREES))
    except (TooComplex, ZeroDivisionError):
        assume(False)
        raise


@given(TREES, VALUES)
def test_a_form_has_the_values_of_what_it_was_made_of(tree: Tree, values: dict[str, int]):
    try:
        expected = value_of(tree, values)
        form = form_of(tree)
    except (TooComplex, ZeroDivisionError):
        return
    assert sizes.substitute(form, values) == expected
    assert lower(form) <= expected <= upper(form)


@given(made(), made(), made())
def test_ring_laws(a: Form, b: Form, c: Form):
    try:
        pairs = [
            (a + b, b + a),
            (a * b, b * a),
            ((a + b) + c, a + (b + c)),
            ((a * b) * c, a * (b * c)),
            (a * (b + c), a * b + a * c),
            (a - b + b, a),
            (a + 0, a),
            (a * 1, a),
            (a * 0, 0),
            (0 - a, -a),
        ]
    except TooComplex:
        return
    for left, right in pairs:
        assert left is right or left == right


@given(made())
def test_text_is_read_as_the_form_that_it_was_written_from(form: Form):
    assert parse(form_text(form)) is form or parse(form_text(form)) == form


@given(made())
def test_equal_forms_are_one_object(form: Form):
    for again in (copy.deepcopy(form), form + name("K") - name("K")):
        assert again is form or isinstance(form, int)


@given(made(), made())
def test_other_forms_have_another_text(a: Form, b: Form):
    assert (a == b) == (form_text(a) == form_text(b))


@given(made(), st.one_of(st.integers(1, 6), st.sampled_from([name("N"), name("N") + 7])), st.integers(0, 5))
def test_multiples_leave_a_division(a: Form, n: Form, rest: int):
    try:
        times = a * n
        assert sizes.floordiv(times, n) == a
        assert sizes.mod(times, n) == 0
        if lower(n) > rest:
            assert sizes.floordiv(times + rest, n) == a
            assert sizes.mod(times + rest, n) == rest
        assert sizes.floordiv(a, n) * n + sizes.mod(a, n) == a
    except TooComplex:
        return


@given(made(), made(), VALUES)
def test_onnx_rounds_towards_zero(a: Form, b: Form, values: dict[str, int]):
    try:
        found = sizes.truncdiv(a, b)
        x, y = sizes.substitute(a, values), sizes.substitute(b, values)
        if found is None or y == 0:
            return
        assert isinstance(x, int)
        assert isinstance(y, int)
        assert sizes.substitute(found, values) == int(abs(x) // abs(y)) * (1 if x * y >= 0 else -1)
    except (TooComplex, ZeroDivisionError):
        return


N, M, H = name("N"), name("M"), name("H")


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (2 * N + 1, "2*N + 1"),
        (1 - N, "-N + 1"),
        (N * M * 3 - M + N * N, "3*M*N + N*N - M"),
        (sizes.floordiv(H + 1, 2), "(H + 1)//2"),
        (sizes.floordiv(sizes.floordiv(H + 1, 2) + 1, 2), "(H + 3)//4"),
        (sizes.floordiv(H - 1, 2) + 1, "(H + 1)//2"),
        (sizes.floordiv(3 * H, 2), "H + H//2"),
        (sizes.floordiv(6 * H + 3, 4) * -2, "-2*((H + 1)//2) - 2*H"),
        (sizes.largest(N, M, 0), "max(M, N)"),
        (sizes.largest(N + 1, N, 1), "N + 1"),
        (sizes.smallest(N, 3), "min(3, N)"),
        (name("past_sequence_length + 1") * 2, '2*"past_sequence_length + 1"'),
        (sizes.floordiv(N * M * 4, M * 2), "2*N"),
        (sizes.floordiv(N, M), "N//M"),
        (sizes.floordiv(N * H, M * H), "N//M"),
        (sizes.floordiv((N + M) * (H + 1), H + 1), "M + N"),
        (fresh(3) + 1, "?3 + 1"),
    ],
)
def test_text(form: Form, text: str):
    assert form_text(form) == text


def test_a_name_is_its_text_and_nothing_else_is():
    assert name("N") == "N"
    assert hash(name("N")) == hash("N")
    assert name("2*N") != 2 * N
    assert str(name("2*N")) == "2*N"
    assert 2 * N != "2*N"
    assert fresh(1) != name("?1")
    assert fresh(1) != "?1"
    assert str(name("2*N") + 1) == '"2*N" + 1'


def test_a_division_is_only_onnx_s_where_nothing_is_negative():
    assert sizes.truncdiv(N - 1, 2) == sizes.largest(0, sizes.floordiv(N - 1, 2))
    assert sizes.truncdiv(N - 2, 2) is None
    assert [sizes.truncdiv(n - 1, 2) for n in (0, 1, 2, 3)] == [0, 0, 0, 1]
    assert sizes.truncdiv(N, M - 1) is None
    assert sizes.truncdiv(N, 0) is None
    assert sizes.truncdiv(-7, 2) == -3
    assert sizes.truncdiv(N + 1, 2) == sizes.floordiv(N + 1, 2)
    assert sizes.truncdiv(2 * sizes.ceildiv(N, 2) - N, 1) is not None


NO_SIZES = ["", "2*", "(N", "N)", "N M", "1//0", "max()", "?", "é", "(" * 40 + "N" + ")" * 40, "N" * 5000]


@pytest.mark.parametrize("text", NO_SIZES)
def test_what_is_no_size_is_refused(text: str):
    with pytest.raises(InvalidSize):
        parse(text)


def test_there_is_an_end():
    with pytest.raises(TooComplex):
        reduce(operator.mul, (name(f"N{i}") + 1 for i in range(100)))
    with pytest.raises(TooComplex):
        reduce(lambda form, i: sizes.floordiv(form + name(f"N{i}"), 2) + M, range(100), N)


def test_substitution_reaches_what_is_inside():
    form = sizes.largest(sizes.floordiv(N + 1, 2), M) + N
    assert sizes.substitute(form, {"N": 5, "M": 4}) == 9
    assert sizes.substitute(form, {"N": H}) == sizes.largest(sizes.floordiv(H + 1, 2), M) + H
    assert isinstance(sizes.substitute(form, {"M": 4}), Size)


def test_forms_that_nothing_holds_are_dropped():
    before = len(forms._KNOWN)
    for i in range(100):
        name(f"of the moment {i}")
    assert len(forms._KNOWN) < before + 50
