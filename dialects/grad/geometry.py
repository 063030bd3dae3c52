"""Sizes, pads and coordinates of the gradient ops, on plain ints.

Notation, per spatial axis: X is the size of diff_src (the forward input), Y that of diff_dst (the forward
output), K the kernel, s the stride, d the dilation (1 = dense), Ke = (K - 1) d + 1 the kernel's extent, pb
and pe the pads, r the residue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dialects.support.diagnostics import violation
from dialects.support.memo import MEMO_SIZE
from dialects.support.shapes import Dim


def axis_letters(spatial_rank: int) -> str:
    """Return the documented names of the spatial axes: W, HW or DHW."""
    return "DHW"[3 - spatial_rank :]


@dataclass(frozen=True)
class Window:
    """The sliding window of a convolution along one axis."""

    kernel: int
    stride: int
    dilation: int

    @property
    def extent(self) -> int:
        """Ke = (K - 1) d + 1: input positions that one output position spans."""
        return (self.kernel - 1) * self.dilation + 1

    def output_size(self, x: int, pad_begin: int, pad_end: int) -> int:
        """Return Y = (X + pb + pe - Ke) div s + 1: the windows that fit into the padded input."""
        return (x + pad_begin + pad_end - self.extent) // self.stride + 1

    def input_size(self, y: int, pad_begin: int, pad_end: int, residue: int) -> int:
        """Return X = s (Y - 1) + Ke - pb - pe + r, the inverse of `output_size`.

        The floor in `output_size` maps s inputs to one output; r in [0, s) identifies the input.
        """
        return self.stride * (y - 1) + self.extent - pad_begin - pad_end + residue

    def residue(self, x: int, pad_begin: int, pad_end: int) -> int:
        """Return r = (X + pb + pe - Ke) mod s: padded input positions after the last window."""
        return (x + pad_begin + pad_end - self.extent) % self.stride

    def full_size(self, y: int) -> int:
        """Return the input size without pads and residue: s (Y - 1) + Ke."""
        return self.input_size(y, 0, 0, 0)

    def taps_within(self, start: np.ndarray, size: int) -> np.ndarray:
        """Return how many of the positions start + k d, k < K, are in [0, size)."""
        before, behind = (np.clip(-(-(edge - start) // self.dilation), 0, self.kernel) for edge in (0, size))
        return behind - before


Pads = tuple[int, int]


def library_total(window: Window, x: int) -> int:
    """Return the total padding of a `same` convolution over X (oneDNN, ONNX, TensorFlow, PyTorch).

    Y is ceil(X / s), so the padded input must be s (Y - 1) + Ke long. Substituting Y gives Ke - s where s
    divides X and Ke - X mod s elsewhere; a shorter kernel needs no padding.
    """
    rest = x % window.stride
    return max(0, window.extent - (rest or window.stride))


def same_pad_samples(window: Window) -> range:
    """Return sizes whose remainders by the stride cover the cases of `same` pads: both parities, and none."""
    whole = window.stride * window.extent
    return range(whole + 1, whole + 1 + min(window.stride, 3))


def library_pads(window: Window, x: int, auto_pad: str) -> Pads:
    """Return the pads; `same_upper` puts the odd one at the end, `same_lower` at the begin."""
    total = library_total(window, x)
    less = total // 2
    return (less, total - less) if auto_pad == "same_upper" else (total - less, less)


def documented_total(window: Window, x: int, y: int, output_padding: int) -> int:
    """Return s (Y - 1) + Ke - X + output_padding, the total of oneDNN's page; may be negative."""
    return window.full_size(y) - x + output_padding


def documented_pads(total: int, auto_pad: str) -> Pads:
    """Return the pads of oneDNN's page: `same_lower` rounds pb = total/2 down, `same_upper` pe."""
    less = total // 2
    return (total - less, less) if auto_pad == "same_upper" else (less, total - less)


def same_pads_backward(
    window: Window, x: int, y: int | None, output_padding: int, auto_pad: str, rule: str
) -> Pads | None:
    """Return the pads of a `same_*` ConvolutionBackwardData; None if they depend on an unknown Y.

    Raises GradcError if no pads of that rule are consistent.
    """
    if rule == "library":
        same_output = -(-x // window.stride)
        if y is not None and y != same_output:
            raise violation(
                f"auto_pad {auto_pad}: size {y} of diff_dst",
                given=y,
                expected=f"ceil({x}/{window.stride}) = {same_output}",
                hint=f"diff_src has {x}, stride is {window.stride}",
            )
        return library_pads(window, x, auto_pad)
    if y is None:
        return None
    total = documented_total(window, x, y, output_padding)
    if total >= 0:
        return documented_pads(total, auto_pad)
    if x < window.extent or window.output_size(x, 0, 0) != y:
        raise violation(
            f"auto_pad {auto_pad}: total padding {window.stride}*({y}-1) + {window.extent} - {x} + "
            f"{output_padding} = {total} is negative, and no residue below stride {window.stride} "
            "absorbs it",
            given=f"diff_src size {x}",
            expected=f"at most {window.input_size(y, 0, 0, window.stride - 1)}",
        )
    return (0, 0)


def same_pads_forward(window: Window, y: int, auto_pad: str, rule: str) -> Pads:
    """Return the pads of a `same_*` ConvTransposeBackwardData, a forward convolution over Y."""
    if rule == "library":
        return library_pads(window, y, auto_pad)
    return documented_pads(library_total(window, y), auto_pad)


def check_fits(window: Window, size: int, pads: Pads) -> None:
    """Check that the kernel lies inside the padded input."""
    padded = size + sum(pads)
    if window.extent > padded:
        raise violation(
            f"kernel extent ({window.kernel}-1)*{window.dilation}+1 = {window.extent} exceeds the "
            f"padded size {size}+{pads[0]}+{pads[1]} = {padded}",
            hint="enlarge the pads or the size, or shrink kernel or dilation",
        )


def check_consistent(window: Window, x: int, y: int, pads: Pads) -> None:
    """Check that the forward convolution of X gives Y."""
    check_fits(window, x, pads)
    forward = window.output_size(x, *pads)
    if forward == y:
        return
    first = max(1, window.input_size(y, *pads, 0))
    last = window.input_size(y, *pads, window.stride - 1)
    legal = "none" if last < 1 else f"{first}" if first == last else f"{first} to {last}"
    raise violation(
        f"sizes disagree: forward gives ({x} - {window.extent} + {pads[0]} + {pads[1]}) div "
        f"{window.stride} + 1 = {forward}, diff_dst has {y}",
        given=f"diff_src size {x}",
        expected=f"{legal} (legal sizes)",
    )


@dataclass(frozen=True)
class ConvAxis:
    """A spatial axis of a convolution: its window and pads."""

    window: Window
    pad_begin: int
    pad_end: int

    @property
    def pads(self) -> Pads:
        return (self.pad_begin, self.pad_end)

    def diff_src_size(self, y: Dim, residue: int) -> Dim:
        """Return X of a backward-data convolution; a name survives where X == Y identically."""
        if isinstance(y, int):
            return self.window.input_size(y, *self.pads, residue)
        unit = self.window.stride == 1 and self.window.input_size(0, *self.pads, residue) == 0
        return y if unit else None

    def forward_size(self, size: Dim) -> Dim:
        """Return the output size of a forward convolution over `size`."""
        if isinstance(size, int):
            return self.window.output_size(size, *self.pads)
        unit = self.window.stride == 1 and self.window.output_size(0, *self.pads) == 0
        return size if unit else None


def conv_axes(
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads_begin: Sequence[int],
    pads_end: Sequence[int],
) -> tuple[ConvAxis, ...]:
    return _conv_axes(*map(tuple, (kernel, strides, dilations, pads_begin, pads_end)))


@lru_cache(MEMO_SIZE)
def _conv_axes(*lists: tuple[int, ...]) -> tuple[ConvAxis, ...]:
    return tuple(ConvAxis(Window(k, s, d), pb, pe) for k, s, d, pb, pe in zip(*lists, strict=True))


def window_attributes(axes: Sequence[ConvAxis]) -> dict[str, list[int]]:
    """Return an op's attributes for such axes, without the kernel, whose size the weights may give."""
    return {
        "strides": [a.window.stride for a in axes],
        "dilations": [a.window.dilation for a in axes],
        "pads_begin": [a.pad_begin for a in axes],
        "pads_end": [a.pad_end for a in axes],
    }
