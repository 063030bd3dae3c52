"""The forward ops, written from their definitions and independently of gradc, in float64.

A gradient B of a linear op F is right iff <dy, F x> == <B dy, x> for all dy and x.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

SPATIAL = "xyz"


def _taps(outer: int, inner: int, kernel: int, stride: int, dilation: int, pad: int) -> np.ndarray:
    """T[o, k, i] = 1 where window o, tap k lies on position i: i = o stride - pad + k dilation."""
    o, k, i = np.ogrid[:outer, :kernel, :inner]
    return (i == o * stride - pad + k * dilation).astype(np.float64)


def to_first(array: np.ndarray, layout: str, first: str) -> np.ndarray:
    """From a layout such as NXC or XIO to the order of `first`, X being all spatial axes."""
    n = array.ndim - 2
    places = {letter: layout.replace("X", SPATIAL[:n]).index(letter) for letter in first if letter != "X"}
    begin = layout.index("X")
    order = []
    for letter in first:
        order += range(begin, begin + n) if letter == "X" else [places[letter]]
    return array.transpose(order)


def from_first(array: np.ndarray, layout: str) -> np.ndarray:
    """From NCX to the layout."""
    return array if layout == "NCX" else np.moveaxis(array, 1, -1)


@dataclass(frozen=True)
class Convolution:
    """The forward op of ConvolutionBackwardData: src -> dst. Pads are those at the begin."""

    strides: Sequence[int]
    dilations: Sequence[int]
    pads: Sequence[int]
    groups: int
    dst: tuple[int, ...]
    """Spatial sizes of the output."""
    data: str
    weights: str

    def __call__(self, src: np.ndarray, weights: np.ndarray) -> np.ndarray:
        x = to_first(src.astype(np.float64), self.data, "NCX")
        w = to_first(weights.astype(np.float64), self.weights, "OIX")
        g = self.groups
        x = x.reshape(x.shape[0], g, x.shape[1] // g, *x.shape[2:])
        w = w.reshape(g, -1, *w.shape[1:])
        # x: n g c X.., w: g o c K.., taps: Y K X per axis
        terms: list = [x, [0, 1, 2, *_axes(3, x.ndim - 3)], w, [1, 9, 2, *_axes(13, x.ndim - 3)]]
        for i, y in enumerate(self.dst):
            window = (w.shape[3 + i], self.strides[i], self.dilations[i], self.pads[i])
            terms += [_taps(y, x.shape[3 + i], *window), [23 + i, 13 + i, 3 + i]]
        out = np.einsum(*terms, [0, 1, 9, *_axes(23, x.ndim - 3)], optimize=True)
        return from_first(out.reshape(out.shape[0], g * out.shape[2], *out.shape[3:]), self.data)


@dataclass(frozen=True)
class ConvTranspose:
    """The forward op of ConvTransposeBackwardData: src -> dst."""

    strides: Sequence[int]
    dilations: Sequence[int]
    pads: Sequence[int]
    groups: int
    dst: tuple[int, ...]
    data: str
    weights: str
    documented: bool
    """Weights are (C / groups, O, ...), as the page has it."""

    def __call__(self, src: np.ndarray, weights: np.ndarray) -> np.ndarray:
        x = to_first(src.astype(np.float64), self.data, "NCX")
        w = to_first(weights.astype(np.float64), self.weights, "IOX")
        g = self.groups
        x = x.reshape(x.shape[0], g, x.shape[1] // g, *x.shape[2:])
        w = np.stack(np.split(w, g, axis=1 if self.documented else 0))
        # x: n g c X.., w: g c o K.., taps: X K Y per axis
        terms: list = [x, [0, 1, 2, *_axes(3, x.ndim - 3)], w, [1, 2, 9, *_axes(13, x.ndim - 3)]]
        for i, y in enumerate(self.dst):
            window = (w.shape[3 + i], self.strides[i], self.dilations[i], self.pads[i])
            terms += [_taps(x.shape[3 + i], y, *window), [3 + i, 13 + i, 23 + i]]
        out = np.einsum(*terms, [0, 1, 9, *_axes(23, x.ndim - 3)], optimize=True)
        return from_first(out.reshape(out.shape[0], g * out.shape[2], *out.shape[3:]), self.data)


def _axes(start: int, count: int) -> range:
    return range(start, start + count)


@dataclass(frozen=True)
class ResizeAxis:
    """How an axis of x positions is sampled at y. `scale` is the user's, 0 where sizes decide."""

    x: int
    y: int
    interpolation: str
    """linear, half_up, half_down or floor."""
    coordinate: str
    """half_pixel, align_corners or asymmetric."""
    scale: float = 0.0

    def position(self, y: int) -> Fraction:
        if self.coordinate == "align_corners":
            return Fraction(y * (self.x - 1), self.y - 1) if self.y > 1 else Fraction(0)
        step = 1 / Fraction(self.scale) if self.scale > 0 else Fraction(self.x, self.y)
        half = Fraction(1, 2)
        return (y + half) * step - half if self.coordinate == "half_pixel" else y * step

    def matrix(self) -> np.ndarray:
        """M (Y, X)."""
        matrix = np.zeros((self.y, self.x))
        for y in range(self.y):
            t = self.position(y)
            if self.interpolation == "linear":
                t = max(t, Fraction(0))
                lower = min(math.floor(t), self.x - 1)
                weight = min(max(t - lower, Fraction(0)), Fraction(1))
                matrix[y, lower] += float(1 - weight)
                matrix[y, min(lower + 1, self.x - 1)] += float(weight)
                continue
            half = Fraction(1, 2)
            if self.interpolation == "half_down":
                index = math.ceil(t - half)
            else:
                index = math.floor(t + half if self.interpolation == "half_up" else t)
            matrix[y, min(max(index, 0), self.x - 1)] = 1
        return matrix


@dataclass(frozen=True)
class Resize:
    """The forward op of the resize gradients: src -> dst, on named axes."""

    axes: dict[int, ResizeAxis]

    def __call__(self, src: np.ndarray) -> np.ndarray:
        value = src.astype(np.float64)
        for axis, sampling in self.axes.items():
            value = np.moveaxis(np.tensordot(sampling.matrix(), value, axes=(1, axis)), 0, axis)
        return value
