# pyright: standard
# (numpy in comprehensions and lambdas, whose elements its stubs do not know)
"""numpy semantics of ops that sample a tensor between its elements."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from dialects.onnx.call import Call
from dialects.onnx.infer.spatial import window
from dialects.onnx.numpy.resizes import keys
from dialects.onnx.operands import optional, value
from dialects.support.diagnostics import UnsupportedError, violation

Kernel = Callable[[Call], Sequence[np.ndarray]]
Taps = list[tuple[np.ndarray, np.ndarray]]
"""Taps along one axis: indices, possibly outside, and their weights."""


def grid_sample(call: Call) -> list[np.ndarray]:
    """Sum the elements around each point of the grid times weights; x, the last axis, comes first."""
    x, grid = value(call, 0), value(call, 1)
    how, sizes = call.attribute("padding_mode", "zeros"), x.shape[2:]
    corners = bool(call.attribute("align_corners", 0))
    total = np.zeros((x.shape[0], *grid.shape[1:-1], x.shape[1]))
    if not total.size or not x.size:
        return [np.moveaxis(total, -1, 1)]
    per_axis = [
        _taps(call, _element_coordinate(grid[..., -1 - axis], size, corners), size, corners)
        for axis, size in enumerate(sizes)
    ]
    batch = np.arange(x.shape[0]).reshape(-1, *[1] * (grid.ndim - 2))
    for taps in itertools.product(*per_axis):
        weight, at = np.ones(grid.shape[:-1]), []
        for (place, share), size in zip(taps, sizes, strict=True):
            inside = (place >= 0) & (place < size)
            weight = weight * share * (inside if how == "zeros" else 1)
            at.append(_within(place, size, how, corners))
        total += np.moveaxis(x, 1, -1)[(batch, *at)] * weight[..., None]
    return [np.moveaxis(total, -1, 1)]


def _element_coordinate(t: np.ndarray, size: int, corners: bool) -> np.ndarray:
    """Convert coordinates in [-1, 1] to element indices."""
    return (t + 1) / 2 * (size - 1) if corners else ((t + 1) * size - 1) / 2


def _taps(call: Call, place: np.ndarray, size: int, corners: bool) -> Taps:
    mode, how = call.attribute("mode", "linear"), call.attribute("padding_mode", "zeros")
    if how not in ("zeros", "border", "reflection"):
        raise violation("padding_mode", given=how)
    if mode == "nearest":
        place = np.rint(place)
    low, high = (0, size - 1) if corners else (-0.5, size - 0.5)
    outside = (place < low) | (place > high)
    if how == "border" and mode != "cubic":
        place = np.where(outside, np.clip(place, 0, size - 1), place)
    elif how == "reflection":
        place = np.where(outside, reflect(place, low, high), place)
    if mode == "nearest":
        return [(place, np.ones(place.shape))]
    floor = np.floor(place)
    part = place - floor
    if mode == "linear":
        return [(floor, 1 - part), (floor + 1, part)]
    if mode != "cubic":
        raise UnsupportedError(violation("mode", given=mode).diagnostic)
    return [(floor + i, keys(np.abs(part - i), -0.75)) for i in range(-1, 3)]


def _within(place: np.ndarray, size: int, how: str, corners: bool) -> np.ndarray:
    if how == "reflection":
        place = reflect(place, *((0, size - 1) if corners else (-0.5, size - 0.5)))
    return np.clip(place, 0, size - 1).astype(np.int64)


def reflect(place: np.ndarray, low: float, high: float) -> np.ndarray:
    """Reflect coordinates between two mirrors."""
    length = high - low
    if not length:
        return np.full(place.shape, low)
    turn = np.mod(place - low, 2 * length)
    return low + length - np.abs(turn - length)


def roi_align(call: Call) -> list[np.ndarray]:
    """Return the mean, or the maximum summand, of samples in each bin of each region."""
    x, rois, batches = (value(call, i) for i in range(3))
    sizes = call.attribute("output_height", 1), call.attribute("output_width", 1)
    largest = call.attribute("mode", "avg") == "max"
    result = np.zeros((len(rois), x.shape[1], *sizes))
    for r, (left, top, right, bottom) in enumerate(rois):
        image = x[int(batches[r])]
        axes = [_roi_axis(call, *ends) for ends in ((top, bottom, sizes[0]), (left, right, sizes[1]))]
        for bin_ in np.ndindex(*sizes):
            points = itertools.product(*(axis[i] for axis, i in zip(axes, bin_, strict=True)))
            parts = [_roi_parts(image, point) for point in points]
            if parts:
                joined = np.concatenate(parts) if largest else np.sum(parts, axis=1)
                result[(r, slice(None), *bin_)] = joined.max(0) if largest else joined.mean(0)
    return [result]


def _roi_axis(call: Call, start: float, end: float, count: int) -> list[list[float]]:
    """Return the sample coordinates of each bin along an axis."""
    scale, half = call.attribute("spatial_scale", 1.0), 0.5
    shift = half if call.attribute("coordinate_transformation_mode", "half_pixel") == "half_pixel" else 0.0
    length = (end - start) * scale
    length = length if shift else max(length, 1.0)
    size = length / count
    samples = call.attribute("sampling_ratio", 0) or int(np.ceil(size))
    first = start * scale - shift
    return [[first + size * (i + (k + half) / samples) for k in range(samples)] for i in range(count)]


def _roi_parts(image: np.ndarray, point: tuple[float, ...]) -> np.ndarray:
    """Return the four elements around a point, times their weights."""
    taps = []
    for place, size in zip(point, image.shape[1:], strict=True):
        if not -1 <= place <= size:
            return np.zeros((4, image.shape[0]))
        place = min(max(place, 0), size - 1)
        low = int(place)
        taps.append([(low, 1 - place + low), (min(low + 1, size - 1), place - low)])
    return np.array([image[:, y, x] * (a * b) for (y, a), (x, b) in itertools.product(*taps)])


def deform_conv(call: Call) -> list[np.ndarray]:
    """Convolve with taps displaced by offsets and multiplied by a mask."""
    x, weights, offset = (value(call, i) for i in range(3))
    bias, mask = optional(call, 3), optional(call, 4)
    groups, sides = call.attribute("offset_group", 1), call.attribute("group", 1)
    kernel, n = weights.shape[2:], x.ndim - 2
    view = window(call, kernel)
    counts = offset.shape[2:]
    offset = offset.reshape(x.shape[0], groups, *kernel, n, *counts)
    per_group = x.shape[1] // groups
    columns = np.zeros((*x.shape[:2], *kernel, *counts))
    for batch, group, *rest in np.ndindex(x.shape[0], groups, *kernel, *counts):
        tap, at = rest[:n], rest[n:]
        place = [
            at[i] * view.strides[i]
            - view.begin[i]
            + tap[i] * view.dilations[i]
            + offset[(batch, group, *tap, i, *at)]
            for i in range(n)
        ]
        channels = slice(group * per_group, (group + 1) * per_group)
        found = _interpolate_at(x[batch, channels], place)
        if mask is not None:
            found = found * mask.reshape(x.shape[0], groups, *kernel, *counts)[(batch, group, *tap, *at)]
        columns[(batch, channels, *tap, *at)] = found
    taps = int(np.prod(weights.shape[1:]))
    columns = columns.reshape(x.shape[0], sides, taps, int(np.prod(counts)))
    rows = weights.reshape(sides, weights.shape[0] // sides, taps)
    result = np.einsum("gok,ngkp->ngop", rows, columns).reshape(x.shape[0], weights.shape[0], *counts)
    return [result if bias is None else result + bias.reshape(-1, *[1] * n)]


def _interpolate_at(image: np.ndarray, place: Sequence[float]) -> np.ndarray:
    """Interpolate the channels at a point; elements outside are zero."""
    total = np.zeros(image.shape[0])
    for corner in itertools.product((0, 1), repeat=len(place)):
        at = [int(np.floor(p)) + c for p, c in zip(place, corner, strict=True)]
        weight = np.prod([1 - abs(p - i) for p, i in zip(place, at, strict=True)])
        if all(0 <= i < size for i, size in zip(at, image.shape[1:], strict=True)):
            total += weight * image[(slice(None), *at)]
    return total


KERNELS: dict[str, Kernel] = {
    "DeformConv": deform_conv,
    "GridSample": grid_sample,
    "RoiAlign": roi_align,
}
