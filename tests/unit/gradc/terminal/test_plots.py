"""Line plots of a series."""

from __future__ import annotations

import math
from io import BytesIO, TextIOWrapper

import pytest

from gradc.terminal.plots import has_braille, plot


def test_a_falling_line_in_ascii():
    text = plot([4, 3, 2, 1], 40, height=4, braille=False)
    assert text.splitlines() == [
        "         4 | *",
        "           |  *",
        "           |   *",
        "         1 |    *",
        "             1 to 4",
    ]


def test_braille_has_four_dots_in_a_row_and_two_in_a_column():
    first, *_ = plot([4, 3, 2, 1], 40, height=1).splitlines()
    assert first.endswith("| " + chr(0x2800 + 0x01 + 0x10) + chr(0x2800 + 0x04 + 0x80))


def test_large_ratios_have_a_log_scale():
    lines = plot([1000, 100, 10], 40, height=3, braille=False).splitlines()
    assert [line[11:] for line in lines[:3]] == ["| *", "|  *", "|   *"]
    assert "log scale" in lines[-1]
    assert "log scale" not in plot([1000, 0], 40)


@pytest.mark.parametrize("width", [1, 20, 80, 300])
@pytest.mark.parametrize("count", [1, 7, 1000])
@pytest.mark.parametrize("braille", [True, False])
def test_fits_the_width(width: int, count: int, braille: bool):
    lines = plot([math.sin(index / 50) for index in range(count)], width, braille=braille).splitlines()
    assert len(lines) == 9
    assert max(map(len, lines[:-1])) <= max(width, 24)


def test_what_is_not_finite_is_left_out():
    text = plot([3, math.nan, math.inf, 1], 40, height=3, braille=False).splitlines()
    assert [line[11:] for line in text[:3]] == ["| *", "|", "|    *"]
    assert plot([math.nan], 40) == "no finite values"


def test_one_value_and_equal_values():
    assert plot([2.0], 40, height=2, braille=False).splitlines()[1] == "         2 | *"
    assert plot([2.0, 2.0], 40, height=2, braille=False).splitlines()[1] == "         2 | **"


@pytest.mark.parametrize(("encoding", "expected"), [("utf-8", True), ("ascii", False), ("latin-1", False)])
def test_encodings(encoding: str, expected: bool):
    assert has_braille(TextIOWrapper(BytesIO(), encoding=encoding)) == expected
    assert not has_braille(None)
