"""Sizes and pads of convolutions: against windows that are counted, and against measured pads."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dialects.grad.geometry import (
    ConvAxis,
    Pads,
    Window,
    axis_letters,
    check_consistent,
    check_fits,
    conv_axes,
    documented_pads,
    documented_total,
    library_pads,
    library_total,
    same_pads_backward,
    same_pads_forward,
)
from dialects.support.diagnostics import GradcError

WINDOWS = st.builds(Window, st.integers(1, 6), st.integers(1, 5), st.integers(1, 4))
PADS = st.integers(0, 9)
SIZES = st.integers(1, 40)


def count_windows(window: Window, x: int, pb: int, pe: int) -> int:
    """How often the kernel fits, by trying: each position's taps must lie in the padded input."""
    count, start = 0, 0
    taps = [k * window.dilation for k in range(window.kernel)]
    while start + taps[-1] < x + pb + pe:
        count, start = count + 1, start + window.stride
    return count


@given(WINDOWS, SIZES, PADS, PADS)
def test_output_size_counts_windows(window: Window, x: int, pb: int, pe: int):
    assume(window.extent <= x + pb + pe)
    assert window.output_size(x, pb, pe) == count_windows(window, x, pb, pe)


@given(WINDOWS, SIZES, PADS, PADS)
def test_input_size_inverts_output_size(window: Window, x: int, pb: int, pe: int):
    assume(window.extent <= x + pb + pe)
    y = window.output_size(x, pb, pe)
    residue = window.residue(x, pb, pe)
    assert 0 <= residue < window.stride
    assert window.input_size(y, pb, pe, residue) == x


@given(WINDOWS, SIZES, PADS, PADS)
def test_the_residues_are_all_that_is_lost(window: Window, y: int, pb: int, pe: int):
    for residue in range(window.stride):
        x = window.input_size(y, pb, pe, residue)
        if x >= 1:
            assert window.output_size(x, pb, pe) == y
            assert window.residue(x, pb, pe) == residue


@given(WINDOWS, SIZES)
def test_full_size(window: Window, y: int):
    """Exactly what y windows cover."""
    covered = {i * window.stride + k for i in range(y) for k in (0, (window.kernel - 1) * window.dilation)}
    assert window.full_size(y) == max(covered) + 1


@given(WINDOWS, SIZES, st.sampled_from(["same_upper", "same_lower"]))
def test_library_pads_give_ceil(window: Window, x: int, auto_pad: str):
    """The output is ceil(X / s), with no more padding than that takes."""
    pb, pe = library_pads(window, x, auto_pad)
    assert pb + pe == library_total(window, x)
    assert (pe - pb if auto_pad == "same_upper" else pb - pe) in (0, 1)
    expected = -(-x // window.stride)
    assert window.output_size(x, pb, pe) == expected
    if pb + pe > 0:
        short = x + pb + pe - 1
        assert short < window.extent or window.output_size(short, 0, 0) < expected


@given(WINDOWS, SIZES)
def test_the_totals_agree_on_same_sizes(window: Window, x: int):
    """The page's total, not clamped, is the library's where Y = ceil(X / s)."""
    y = -(-x // window.stride)
    assert max(0, documented_total(window, x, y, 0)) == library_total(window, x)


@given(st.integers(0, 20))
def test_the_rules_put_the_odd_one_on_opposite_sides(total: int):
    lower, upper = documented_pads(total, "same_lower"), documented_pads(total, "same_upper")
    assert lower == upper[::-1]
    assert sum(lower) == total
    # the page: PD_L of same_lower is total / 2 rounded down
    assert lower[0] == total // 2


# Measured on oneDNN 3.13.2: the pads that explain the library's results.


@pytest.mark.parametrize(
    ("window", "x", "auto_pad", "pads"),
    [
        (Window(3, 2, 1), 6, "same_upper", (0, 1)),
        (Window(3, 2, 1), 6, "same_lower", (1, 0)),
        (Window(2, 1, 1), 3, "same_upper", (0, 1)),
        (Window(2, 1, 1), 3, "same_lower", (1, 0)),
        (Window(1, 2, 1), 6, "same_upper", (0, 0)),
        (Window(1, 2, 1), 6, "same_lower", (0, 0)),
    ],
)
def test_measured_convolution(window: Window, x: int, auto_pad: str, pads: Pads):
    y = -(-x // window.stride)
    assert same_pads_backward(window, x, y, 0, auto_pad, "library") == pads
    assert same_pads_backward(window, x, None, 0, auto_pad, "library") == pads
    other = pads if sum(pads) == 0 else pads[::-1]
    assert same_pads_backward(window, x, y, 0, auto_pad, "documented") == other


def correlate(dy: list[int], w: list[int], stride: int, pads: Pads) -> list[int]:
    padded = [0] * pads[0] + dy + [0] * pads[1]
    starts = range(0, len(padded) - len(w) + 1, stride)
    return [sum(p * k for p, k in zip(padded[i:], w, strict=False)) for i in starts]


@pytest.mark.parametrize(
    ("length", "auto_pad", "result"),
    [
        (6, "same_upper", [321, 32100, 210000]),
        (6, "same_lower", [32, 3210, 321000]),
        (5, "same_upper", [32, 3210, 21000]),
        (5, "same_lower", [32, 3210, 21000]),
        (4, "same_upper", [321, 2100]),
        (4, "same_lower", [32, 3210]),
    ],
)
def test_measured_conv_transpose(length: int, auto_pad: str, result: list[int]):
    dy = [10**i for i in range(length)]
    pads = same_pads_forward(Window(3, 2, 1), length, auto_pad, "library")
    assert correlate(dy, [1, 2, 3], 2, pads) == result


@pytest.mark.parametrize(("length", "size"), [(5, 2), (6, 2), (7, 3)])
def test_measured_valid(length: int, size: int):
    assert Window(3, 2, 1).output_size(length, 0, 0) == size


def test_forward_rules_are_mirrored():
    upper, lower = (
        same_pads_forward(Window(3, 2, 1), 6, w, "documented") for w in ("same_upper", "same_lower")
    )
    assert (upper, lower) == ((1, 0), (0, 1))


# The page's rule


@given(WINDOWS, SIZES, SIZES, st.integers(0, 4), st.sampled_from(["same_upper", "same_lower"]))
def test_documented_pads_are_consistent_or_refused(
    window: Window, x: int, y: int, padding: int, auto_pad: str
):
    total = documented_total(window, x, y, padding)
    absorbed = x >= window.extent and window.output_size(x, 0, 0) == y
    if total < 0 and not absorbed:
        with pytest.raises(GradcError, match="is negative"):
            same_pads_backward(window, x, y, padding, auto_pad, "documented")
        return
    pads = same_pads_backward(window, x, y, padding, auto_pad, "documented")
    assert pads is not None
    assert min(pads) >= 0
    assert sum(pads) == max(total, 0)
    # what output_padding adds beyond the residue that it announces is lost in the floor
    if padding < window.stride and window.extent <= x + sum(pads):
        assert window.output_size(x, *pads) == y


def test_a_negative_total_that_the_residue_absorbs():
    # 2 (3 - 1) + 1 - 6 = -1, and floor((6 - 1) / 2) + 1 = 3
    assert documented_total(Window(1, 2, 1), 6, 3, 0) == -1
    assert same_pads_backward(Window(1, 2, 1), 6, 3, 0, "same_upper", "documented") == (0, 0)


def test_a_negative_total_that_it_does_not():
    with pytest.raises(
        GradcError, match=r"2\*\(3-1\) \+ 1 - 7 \+ 0 = -2 .*given diff_src size 7, .*at most 6"
    ):
        same_pads_backward(Window(1, 2, 1), 7, 3, 0, "same_upper", "documented")


def test_unknown_y():
    assert same_pads_backward(Window(3, 1, 1), 5, None, 0, "same_upper", "documented") is None


@pytest.mark.parametrize("y", [2, 4])
def test_the_library_needs_y_to_be_ceil(y: int):
    with pytest.raises(GradcError, match=r"given \d, expected ceil\(6/2\) = 3"):
        same_pads_backward(Window(3, 2, 1), 6, y, 0, "same_lower", "library")


# Checks


def test_check_fits():
    check_fits(Window(3, 1, 2), 3, (1, 1))
    with pytest.raises(GradcError, match=r"\(3-1\)\*2\+1 = 5 exceeds the padded size 3\+1\+0 = 4"):
        check_fits(Window(3, 1, 2), 3, (1, 0))


@given(WINDOWS, SIZES, SIZES, PADS, PADS)
def test_check_consistent_names_every_legal_size(window: Window, x: int, y: int, pb: int, pe: int):
    legal = [
        candidate
        for candidate in range(1, 300)
        if window.extent <= candidate + pb + pe and count_windows(window, candidate, pb, pe) == y
    ]
    if x in legal:
        check_consistent(window, x, y, (pb, pe))
        return
    with pytest.raises(GradcError) as caught:
        check_consistent(window, x, y, (pb, pe))
    if window.extent > x + pb + pe:
        assert "exceeds the padded size" in str(caught.value)
        return
    shown = {0: "none", 1: f"{legal[0]}" if legal else ""}.get(len(legal), "")
    shown = shown or f"{legal[0]} to {legal[-1]}"
    assert f"expected {shown} (legal sizes)" in str(caught.value)


# Axes


def test_axis_letters():
    assert [axis_letters(n) for n in (1, 2, 3)] == ["W", "HW", "DHW"]


def test_conv_axes():
    axes = conv_axes((3, 1), (2, 1), (1, 4), (0, 1), (5, 6))
    assert axes == (ConvAxis(Window(3, 2, 1), 0, 5), ConvAxis(Window(1, 1, 4), 1, 6))
    assert axes[0].pads == (0, 5)


@given(WINDOWS, SIZES, PADS, PADS)
def test_sizes_of_an_axis(window: Window, y: int, pb: int, pe: int):
    axis = ConvAxis(window, pb, pe)
    assert axis.diff_src_size(y, 0) == window.input_size(y, pb, pe, 0)
    assert axis.forward_size(y) == window.output_size(y, pb, pe)
    assert axis.diff_src_size(None, 0) is None
    assert axis.forward_size(None) is None


@given(WINDOWS, PADS, PADS)
def test_a_name_survives_only_where_sizes_are_equal(window: Window, pb: int, pe: int):
    axis = ConvAxis(window, pb, pe)
    sizes = range(30, 40)
    assert (axis.diff_src_size("Y", 0) == "Y") == all(axis.diff_src_size(y, 0) == y for y in sizes)
    assert (axis.forward_size("Y") == "Y") == all(axis.forward_size(y) == y for y in sizes)
