"""A gradient as a heat map: where on the image it is large.

One channel is shown with its signs, several by the largest magnitude among them. Colours end at the
percentile `PERCENTILE` of the magnitudes, so that a few outliers do not make all the rest dark.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO

import numpy as np

from dialects.support import layouts
from dialects.support.diagnostics import Diagnostic, UsageError

PERCENTILE = 99.5
SMALLEST = 4
"""Values along an axis that make an image."""

LARGEST = 512
"""Pixels along an axis; of a larger image, each pixel is the largest of several values."""

MOST_ROWS = 64
"""Channels of a signal that are shown as a row each."""

MAGNITUDES = ("#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725")
ERRORS = ("#000004", "#210c4a", "#57106e", "#8a226a", "#bc3754", "#e45a31", "#f98e09", "#f9cb35", "#fcffa4")
SIGNED = ("#053061", "#2166ac", "#4393c3", "#92c5de", "#f7f7f7", "#f4a582", "#d6604d", "#b2182b", "#67001f")
NOT_FINITE = "#ff00ff"
LEVELS = 255
"""Colours of a map; the 256th is NOT_FINITE."""


@dataclass(frozen=True)
class HeatMap:
    """`image` is a PNG as a data URI of width x height pixels, to be scaled without smoothing.

    Colours go from `low` to `high`, as the CSS gradient `colours` does; `largest` is the largest finite
    magnitude. `caption` says what of the array is shown, `note` what is wrong with it, or nothing.
    """

    image: str
    width: int
    height: int
    low: float
    high: float
    largest: float
    colours: str
    caption: str
    note: str


@dataclass(frozen=True)
class NoMap:
    """Why an array has no heat map."""

    reason: str


def check_available() -> None:
    """Raises UsageError without Pillow."""
    _pillow()


def heat_map(array: np.ndarray, layout: str = "NCX") -> HeatMap | NoMap:
    """The map of a gradient of `layout` NCX or NXC with 1 to 3 spatial axes, of any float dtype.

    Of the first item of the batch; of a volume, the slice in the middle of its first spatial axis.
    """
    return _map(array, layout, None)


def error_map(got: np.ndarray, reference: np.ndarray, layout: str = "NCX") -> HeatMap | NoMap:
    """The map of |got - reference|, two arrays of one shape. Where both are inf or NaN alike, it is 0."""
    if got.shape != reference.shape:
        return NoMap(f"the shapes differ: {_sizes(got.shape)} and {_sizes(reference.shape)}")
    one, other = (array.astype(np.float64) for array in (got, reference))
    with np.errstate(invalid="ignore"):
        difference = np.abs(one - other)
    alike = (one == other) | (np.isnan(one) & np.isnan(other))
    return _map(np.where(alike, 0.0, difference), layout, ERRORS)


def _map(array: np.ndarray, layout: str, stops: Sequence[str] | None) -> HeatMap | NoMap:
    reason = _refusal(array)
    if reason:
        return NoMap(reason)
    plane, words = _plane(array, layout)
    signed = stops is None and "magnitude" not in words[-1]
    plane, pooled = _pooled(plane)
    finite = np.abs(plane[np.isfinite(plane)])
    high, largest = _bound(finite), float(finite.max(initial=0.0))
    stops = stops or (SIGNED if signed else MAGNITUDES)
    return HeatMap(
        image=_png(plane, -high if signed else 0.0, high, stops),
        width=plane.shape[1],
        height=plane.shape[0],
        low=-high if signed else 0.0,
        high=high,
        largest=largest,
        colours=f"linear-gradient(to right, {', '.join(stops)})",
        caption=", ".join([*words, *pooled]),
        note=_note(plane),
    )


def _refusal(array: np.ndarray) -> str:
    if not 3 <= array.ndim <= 5:
        return f"not an image: {array.ndim} axes, expected a batch, channels and 1 to 3 spatial axes"
    if array.size == 0:
        return "it has no elements"
    return ""


def _plane(array: np.ndarray, layout: str) -> tuple[np.ndarray, list[str]] | NoMap:
    raise NotImplementedError
