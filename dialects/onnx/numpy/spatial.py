"""numpy semantics of ops with spatial axes, from their definitions, by loops over kernel taps.

All arithmetic is in float64; the caller rounds once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dialects.onnx.call import Call
from dialects.onnx.infer.spatial import Window, window, with_explicit_pads, with_pads_for
from dialects.onnx.infer.spatial import average_pool as average_pool_shape
from dialects.onnx.infer.spatial import col2im as col2im_shape
from dialects.onnx.infer.spatial import conv as conv_shape
from dialects.onnx.infer.spatial import conv_transpose as conv_transpose_shape
from dialects.support.columns import Windows, gather, scatter
from dialects.support.shapes import Shape, static
from dialects.support.taps import taps_of

Ints = tuple[int, ...]


def _array(call: Call, index: int) -> np.ndarray:
    found = call.operand(index).value
    assert found is not None
    return found.astype(np.float64, copy=False)


def _window(call: Call, kernel: Sequence[int]) -> Window:
    """Return the window over the spatial sizes of the first operand."""
    return with_explicit_pads(window(call, kernel), _ints(call.operand(0).shape)[2:])


def _ints(shape: Shape) -> Ints:
    found = static(shape)
    assert found is not None
    return found


def _tap_slices(view: Window, tap: Ints, counts: Ints) -> tuple[slice, ...]:
    """Return the slices of the padded data that a tap reads: s p + d tap for each position p."""
    starts = [d * t for d, t in zip(view.dilations, tap, strict=True)]
    steps = zip(starts, view.strides, counts, strict=True)
    return tuple(slice(start, start + step * count, step) for start, step, count in steps)


def _pad(data: np.ndarray, view: Window, more: Sequence[int] = ()) -> np.ndarray:
    """Pad the spatial axes with zeros, plus `more` at each end for windows that reach beyond."""
    extra = more or (0,) * view.rank
    if not any((*view.begin, *view.end, *extra)):
        return data
    spatial = [(b, e + x) for b, e, x in zip(view.begin, view.end, extra, strict=True)]
    return np.pad(data, [(0, 0), (0, 0), *spatial])


def _by_group(data: np.ndarray, group: int, axis: int) -> np.ndarray:
    """Split an axis of channels into groups and channels per group."""
    shape = data.shape
    return data.reshape(*shape[:axis], group, shape[axis] // group, *shape[axis + 1 :])


def conv(call: Call) -> list[np.ndarray]:
    """Compute Y[n, g, o, p] = B + sum over c, tap of X[n, g, c, s p + d tap - pad] W[g, o, c, tap]."""
    data, weights, group = _array(call, 0), _array(call, 1), call.attribute("group", 1)
    windows = _windows(_window(call, weights.shape[2:]))
    shape = _ints(conv_shape(call)[0])
    padded = windows.crop_frame(_by_group(data, group, 1), shape[2:])
    result = gather(padded, _by_group(weights, group, 0), windows.on_frame(), shape[2:])
    return [_add_bias(call, result.reshape(shape))]


def conv_transpose(call: Call) -> list[np.ndarray]:
    """Compute Y[n, g, o, s x + d tap - pad] += X[n, g, c, x] W[g, c, o, tap]."""
    data, weights, group = _array(call, 0), _array(call, 1), call.attribute("group", 1)
    shape = _ints(conv_transpose_shape(call)[0])
    view = window(call, weights.shape[2:])
    if call.attribute("output_shape") is not None or view.auto_pad.startswith("SAME"):
        extra = call.attribute("output_padding", (0,) * view.rank)
        view = with_pads_for(view, data.shape[2:], shape[2:], extra)
    result = scatter(_by_group(data, group, 1), _by_group(weights, group, 0), _windows(view), shape[2:])
    return [_add_bias(call, result.reshape(shape))]


def _windows(view: Window) -> Windows:
    return Windows(_ints(view.kernel), view.strides, view.dilations, view.begin)


def _add_bias(call: Call, result: np.ndarray) -> np.ndarray:
    if call.optional(2) is None:
        return result
    return np.add(result, _array(call, 2).reshape(-1, *[1] * (result.ndim - 2)), out=result)


def average_pool(call: Call) -> list[np.ndarray]:
    """Return the mean of each window, without padding unless `count_include_pad` is set."""
    data = _array(call, 0)
    view = _window(call, call.attribute("kernel_shape"))
    shape = _ints(average_pool_shape(call)[0])
    inside = np.ones((1, 1, *data.shape[2:]))
    more = [_overhang(view, i, size, shape[2 + i]) for i, size in enumerate(data.shape[2:])]
    counted = _pad(inside, view, more)
    if call.attribute("count_include_pad", 0):
        # positions beyond the padding, due to ceil_mode, do not count
        counted = np.pad(
            np.ones((1, 1, *(s + view.pads(i) for i, s in enumerate(data.shape[2:])))),
            [(0, 0), (0, 0), *((0, x) for x in more)],
        )
    padded = _pad(data, view, more)
    total, count = np.zeros(shape), np.zeros((1, 1, *shape[2:]))
    for tap in taps_of(call.attribute("kernel_shape"), total.size):
        at = (..., *_tap_slices(view, tap, shape[2:]))
        total += padded[at]
        count += counted[at]
    return [np.divide(total, count, out=total)]


def _overhang(view: Window, i: int, size: int, count: int) -> int:
    """Return how far the last window reaches beyond the padded data."""
    extent = view.extent(i)
    assert extent is not None
    return max(0, (count - 1) * view.strides[i] + extent - size - view.pads(i))


def col2im(call: Call) -> list[np.ndarray]:
    """Compute image[n, c, s p + d tap - pad] += data[n, c, tap, p]."""
    data = _array(call, 0)
    block = [int(x) for x in _array(call, 2)]
    view, shape = window(call, block), _ints(col2im_shape(call)[0])
    sizes = [size + view.pads(i) for i, size in enumerate(shape[2:])]
    extents = [(k - 1) * d + 1 for k, d in zip(block, view.dilations, strict=True)]
    spans = zip(sizes, extents, view.strides, strict=True)
    counts = tuple((size - extent) // stride + 1 for size, extent, stride in spans)
    columns = data.reshape(*shape[:2], *block, *counts)
    image = np.zeros((*shape[:2], *sizes))
    for tap in taps_of(block, columns.size // max(1, math.prod(block))):
        image[(..., *_tap_slices(view, tap, counts))] += columns[(slice(None), slice(None), *tap)]
    kept = tuple(slice(b, b + size) for b, size in zip(view.begin, shape[2:], strict=True))
    return [image[(..., *kept)]]


def depth_to_space(call: Call) -> list[np.ndarray]:
    found = call.operand(0).value
    assert found is not None
    batch, channels, height, width = found.shape
    block = call.attribute("blocksize")
    depth = channels // (block * block)
    if call.attribute("mode", "DCR") == "DCR":
        split = found.reshape(batch, block, block, depth, height, width).transpose(0, 3, 4, 1, 5, 2)
    else:
        split = found.reshape(batch, depth, block, block, height, width).transpose(0, 1, 4, 2, 5, 3)
    return [split.reshape(batch, depth, height * block, width * block)]
