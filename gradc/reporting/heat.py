"""Heat maps of gradients.

One channel is shown with signs, several by their largest magnitude. Colors end at the percentile `PERCENTILE`
of the magnitudes, so that a few outliers do not darken the rest.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from io import BytesIO

import numpy as np

from dialects.support import layouts
from dialects.support.diagnostics import Diagnostic, UsageError
from gradc.util.extras import install

PERCENTILE = 99.5
SMALLEST = 4
"""Minimum values along an axis of an image."""

LARGEST = 512
"""Maximum pixels along an axis; a pixel of a larger image is the largest of several values."""

MOST_ROWS = 64
"""Channels of a signal that are shown as one row each."""

MAGNITUDES = "#440154 #472d7b #3b528b #2c728e #21918c #28ae80 #5ec962 #addc30 #fde725"
ERRORS = "#000004 #210c4a #57106e #8a226a #bc3754 #e45a31 #f98e09 #f9cb35 #fcffa4"
SIGNED = "#053061 #2166ac #4393c3 #92c5de #f7f7f7 #f4a582 #d6604d #b2182b #67001f"
NOT_FINITE = "#ff00ff"
LEVELS = 255
"""Colors of a map; the 256th is NOT_FINITE."""


@dataclass(frozen=True)
class HeatMap:
    """`image` is a PNG data URI of width x height pixels, to be scaled without smoothing.

    Colors range from `low` to `high`, as the CSS gradient `colours`; `largest` is the largest finite
    magnitude. `caption` describes the shown part of the array, `note` its defects, if any.
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
    """Reason why an array has no heat map."""

    reason: str


def check_available() -> None:
    """Raise UsageError without Pillow."""
    _pillow()


def heat_map(array: np.ndarray, layout: str = "NCX") -> HeatMap | NoMap:
    """Return the heat map of a float gradient in `layout` NCX or NXC with 1 to 3 spatial axes.

    It shows the first batch item; of a volume, the middle slice of the first spatial axis.
    """
    return _map(array, layout, None)


def error_map(got: np.ndarray, reference: np.ndarray, layout: str = "NCX") -> HeatMap | NoMap:
    """Return the heat map of |got - reference|, 0 where both are the same inf or both NaN."""
    if got.shape != reference.shape:
        return NoMap(f"the shapes differ: {_sizes(got.shape)} and {_sizes(reference.shape)}")
    one, other = (array.astype(np.float64) for array in (got, reference))
    with np.errstate(invalid="ignore"):
        difference = np.abs(one - other)
    alike = (one == other) | (np.isnan(one) & np.isnan(other))
    return _map(np.where(alike, 0.0, difference), layout, ERRORS)


@dataclass(frozen=True)
class _Plane:
    """Values by row and column, whether they are signed, and their description."""

    values: np.ndarray
    signed: bool
    words: tuple[str, ...]


def _map(array: np.ndarray, layout: str, colours: str | None) -> HeatMap | NoMap:
    reason = _why_no_map(array, layout)
    if reason:
        return NoMap(reason)
    whole = _plane(array, layout)
    plane = _pool(whole)
    if len(whole.values) == 1:
        plane = replace(plane, values=plane.values.repeat(_height(whole.values.shape[1]), axis=0))
    signed = plane.signed and colours is None
    finite = np.abs(plane.values[np.isfinite(plane.values)])
    high = _bound(finite)
    low = -high if signed and high else 0.0
    stops = (colours or (SIGNED if signed else MAGNITUDES)).split()
    return HeatMap(
        image=_png(plane.values, low, high, stops),
        width=plane.values.shape[1],
        height=plane.values.shape[0],
        low=low,
        high=high,
        largest=float(finite.max(initial=0.0)),
        colours=f"linear-gradient(to right, {', '.join(stops)})",
        caption=", ".join(plane.words),
        note=_note(array),
    )


def _why_no_map(array: np.ndarray, layout: str) -> str:
    if not 3 <= array.ndim <= 5:
        return f"not an image: {array.ndim} axes, expected a batch, channels and 1 to 3 spatial axes"
    if array.size == 0:
        return "it has no elements"
    sizes = [array.shape[axis] for axis in layouts.spatial_axes(layout, array.ndim - 2)]
    if min(sizes[-2:]) < SMALLEST:
        return f"too small for an image: {_sizes(sizes)}, expected {SMALLEST} or more along each axis"
    return ""


def _sizes(shape: Sequence[int]) -> str:
    return "×".join(map(str, shape))


def _plane(array: np.ndarray, layout: str) -> _Plane:
    perm = layouts.permutation(layout, "NCX", array.ndim - 2)
    item = np.transpose(array, perm)[0]
    words = [f"item 1 of {array.shape[0]}"] if array.shape[0] > 1 else []
    if item.ndim == 4:
        middle = item.shape[1] // 2
        words.append(f"slice {middle + 1} of {item.shape[1]}")
        item = item[:, middle]
    values = item.astype(np.float64)
    channels = len(values)
    if values.ndim == 2 and 1 < channels <= MOST_ROWS:
        return _Plane(values, True, (*words, f"{channels} channels, a row each"))
    if channels == 1:
        return _Plane(np.atleast_2d(values[0]), True, (*words, "1 channel"))
    magnitude = np.max(np.abs(values), axis=0)
    return _Plane(np.atleast_2d(magnitude), False, (*words, f"largest magnitude of {channels} channels"))


def _height(length: int) -> int:
    """Return the number of equal rows in which a signal is visible."""
    return max(1, min(length, LARGEST) // 16)


def _pool(plane: _Plane) -> _Plane:
    """Reduce to at most LARGEST rows and columns: the value of largest magnitude per block."""
    rows, columns = plane.values.shape
    down, across = -(-rows // LARGEST), -(-columns // LARGEST)
    if down == across == 1:
        return plane
    padding = ((0, -rows % down), (0, -columns % across))
    padded = np.pad(plane.values, padding, mode="edge")
    blocks = padded.reshape(padded.shape[0] // down, down, padded.shape[1] // across, across)
    flat = blocks.swapaxes(1, 2).reshape(*blocks.shape[0:3:2], down * across)
    where = np.argmax(np.where(np.isnan(flat), np.inf, np.abs(flat)), axis=-1)
    values = np.take_along_axis(flat, where[..., None], axis=-1)[..., 0]
    return _Plane(values, plane.signed, (*plane.words, f"each pixel the largest of {down}×{across} values"))


def _bound(magnitudes: np.ndarray) -> float:
    """Return the end of the color scale: the percentile, or the maximum if that is 0."""
    if not magnitudes.size:
        return 0.0
    return float(np.percentile(magnitudes, PERCENTILE, method="higher")) or float(magnitudes.max())


def _note(array: np.ndarray) -> str:
    count = int(array.size - np.count_nonzero(np.isfinite(array)))
    return f"{count:,} of {array.size:,} values are not finite, shown in magenta" if count else ""


def _png(values: np.ndarray, low: float, high: float, stops: Sequence[str]) -> str:
    image = _pillow().frombytes("P", values.shape[::-1], _indices(values, low, high).tobytes())
    image.putpalette(_palette(stops))
    buffer = BytesIO()
    image.save(buffer, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def _indices(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return the palette index of each value."""
    finite = np.isfinite(values)
    clipped = np.clip(np.where(finite, values, low), low, high)
    scaled = (clipped - low) / (high - low) if high > low else np.zeros_like(clipped)
    return np.where(finite, np.rint(scaled * (LEVELS - 1)), LEVELS).astype(np.uint8)


def _palette(stops: Sequence[str]) -> bytes:
    anchors = np.array([_rgb(stop) for stop in stops], np.float64)
    positions = np.linspace(0, len(stops) - 1, LEVELS)
    levels = [np.interp(positions, range(len(stops)), anchors[:, channel]) for channel in range(3)]
    return np.rint(np.stack(levels, axis=-1)).astype(np.uint8).tobytes() + bytes(_rgb(NOT_FINITE))


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _pillow():
    try:
        return import_module("PIL.Image")
    except ImportError:
        text = f"a heat map needs Pillow; {install('report')}"
        raise UsageError(Diagnostic("error", text)) from None
