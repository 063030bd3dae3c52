"""Sizes and pads of forward convolutions and pools, possibly with dynamic input sizes."""

from __future__ import annotations

from collections.abc import Sequence

from dialects.grad.geometry import Pads, Window, library_pads
from dialects.onnx.dims import add, ceildiv, floordiv, largest, mod, multiply, subtract
from dialects.support.shapes import Dim


def positions(window: Window, size: Dim, pads: Pads, *, ceil: bool = False) -> Dim:
    """Return Y = (X + pb + pe - Ke) div s + 1, the windows that fit into the padded input. `ceil` rounds up:
    a partial window at the end counts."""
    divided = ceildiv if ceil else floordiv
    return add(divided(add(size, sum(pads) - window.extent), window.stride), 1)


def spread(window: Window, size: Dim, pads: Pads, output_padding: int) -> Dim:
    """Return Y = s (X - 1) + Ke - pb - pe + output_padding, the output size of a transposed convolution."""
    offset = window.extent - window.stride - sum(pads) + output_padding
    return add(multiply(size, window.stride), offset)


def same_positions(window: Window, size: Dim) -> Dim:
    """Return Y = ceil(X / s), whatever the kernel."""
    return ceildiv(size, window.stride)


def same_pads(window: Window, size: Dim, auto_pad: str) -> Pads | None:
    """Return the pads that give `same_positions`; None if they depend on an unknown size."""
    rest = mod(size, window.stride)
    return library_pads(window, rest, auto_pad) if isinstance(rest, int) else None


def same_total(window: Window, size: Dim) -> Dim:
    """Return the sum of `same_pads`, max(0, s (Y - 1) + Ke - X), for static or dynamic sizes."""
    last = multiply(subtract(same_positions(window, size), 1), window.stride)
    return largest(0, subtract(add(last, window.extent), size))


def static_pads(pads: Sequence[Pads | None]) -> list[Pads] | None:
    """Return the pads of all axes, or None if some are unknown."""
    known = [pad for pad in pads if pad is not None]
    return known if len(known) == len(pads) else None
