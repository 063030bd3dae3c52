"""JSON with places."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples

from dialects.support.diagnostics import GradcError
from gradc.importers.onednn.json_positions import parse, position_of


def line_of(text: str | bytes) -> str:
    with pytest.raises(GradcError) as caught:
        parse(text, "g.json")
    line = str(caught.value)
    assert "\n" not in line
    return line


def test_objects_and_arrays_know_their_place():
    found = parse('{"a": [1, {}],\n\n  "b": {"c": []}}', "g.json")
    places = [position_of(v) for v in (found, found["a"], found["a"][1], found["b"], found["b"]["c"])]
    assert [str(p) for p in places] == [f"g.json:{p}" for p in ("1:1", "1:7", "1:11", "3:8", "3:14")]
    assert position_of(found["a"][0]) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def check_places(value, lines):
    """Every place is that of the bracket that opens the very same value."""
    if not isinstance(value, dict | list):
        return
    place = position_of(value)
    assert place is not None
    rest = "\n".join([lines[place.line - 1][place.column - 1 :], *lines[place.line :]])
    assert json.JSONDecoder().raw_decode(rest)[0] == value
    for entry in value.values() if isinstance(value, dict) else value:
        check_places(entry, lines)


@examples(100)
@given(JSON, st.sampled_from([None, 0, 3]), st.booleans())
def test_same_values_as_the_standard_decoder(value, indent, ascii_only):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    found = parse(text.encode("utf-8", "surrogatepass") if ascii_only else text, "g.json")
    assert found == json.loads(text)
    assert list(map(type, [found])) == [type(found)]
    check_places(found, text.split("\n"))


def test_numbers_that_dumps_contain():
    found = parse("[inf, -inf, nan, -nan, Infinity, -Infinity, NaN, 1e-3, -0]", "g.json")
    assert found[0] == math.inf
    assert found[1] == -math.inf
    assert all(math.isnan(x) for x in (found[2], found[3], found[6]))
    assert found[4:6] == [math.inf, -math.inf]
    assert found[7:] == [0.001, 0]


@pytest.mark.parametrize(
    "text", ["[info]", "[nano]", "[infinit]", "[- inf]", "[+1]", "[01]", "['a']", "[1,]"]
)
def test_what_is_no_json_stays_none(text: str):
    assert line_of(text).startswith("g.json:1:")


def test_duplicate_key():
    assert line_of('{"x": 1,\n "y": {"a": 1, "a": 2}}') == 'g.json:2:7: error: key "a" is given twice'


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000])
def test_deep_nesting(text: str):
    assert "nested too deeply" in line_of(text)


def test_encoding():
    assert parse(b"\xef\xbb\xbf[1]", "g.json") == [1]
    assert parse("\ufeff[1]", "g.json") == [1]
    assert str(position_of(parse(b"\xef\xbb\xbf[1]", "g.json"))) == "g.json:1:1"
    assert line_of(b'\xef\xbb\xbf{"a":\n "\xff"}') == "g.json:2:3: error: not UTF-8 text: byte 0xff"
    assert line_of("{}".encode("utf-16")).startswith("g.json:1:1: error: not UTF-8")


def test_a_number_too_long():
    assert line_of("[" + "9" * 5000 + "]").startswith("g.json:1:2: error: not JSON")
