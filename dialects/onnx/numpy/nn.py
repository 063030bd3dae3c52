# pyright: standard
# (numpy in comprehensions and lambdas, whose elements its stubs do not know)
"""numpy semantics of products, pools and quantisation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dialects.onnx.call import Call, Tensor, axis_of
from dialects.onnx.infer.nn import pool as pool_shape
from dialects.onnx.infer.spatial import window, with_explicit_pads
from dialects.onnx.numpy.reductions import mean_of
from dialects.onnx.numpy.spatial import conv
from dialects.onnx.operands import optional, sizes, value
from dialects.support.columns import Windows
from dialects.support.diagnostics import UnsupportedError, violation
from dialects.support.dtypes import UI8, limits_of, of_mlir, of_numpy
from dialects.support.shapes import show, static
from dialects.support.taps import taps_of

Kernel = Callable[[Call], Sequence[np.ndarray]]


def matmul(call: Call) -> list[np.ndarray]:
    a, b = value(call, 0), value(call, 1)
    if a.ndim > 2 and b.ndim == 2 and a.shape[-1] == b.shape[0]:  # one product in place of one per matrix
        rows = math.prod(a.shape[:-1])
        return [(a.reshape(rows, a.shape[-1]) @ b).reshape(*a.shape[:-1], b.shape[1])]
    return [np.matmul(a, b)]


def gemm(call: Call) -> list[np.ndarray]:
    a, b, c = value(call, 0), value(call, 1), optional(call, 2)
    product = (a.T if call.attribute("transA", 0) else a) @ (b.T if call.attribute("transB", 0) else b)
    alpha, beta = call.attribute("alpha", 1.0), call.attribute("beta", 1.0)
    scaled = product if alpha == 1 else alpha * product
    if c is None:
        return [scaled]
    return [scaled + (c if beta == 1 else beta * c)]


# Quantised products


def matmul_integer(call: Call) -> list[np.ndarray]:
    a, b = (_subtract_zero_point(call, i, 2 + i, -2 if i == 0 else -1) for i in (0, 1))
    return [a @ b]


def _subtract_zero_point(call: Call, index: int, zero: int, axis: int) -> np.ndarray:
    """Return an operand as int64 minus its zero point, which is a scalar or a vector along an axis."""
    data, point = value(call, index).astype(np.int64), optional(call, zero)
    if point is None:
        return data
    return data - (_along(point, data, axis) if point.ndim == 1 else point).astype(np.int64)


def _along(vector: np.ndarray, data: np.ndarray, axis: int) -> np.ndarray:
    shape = [1] * data.ndim
    shape[axis] = vector.size
    return vector.reshape(shape if vector.size > 1 else [])


def conv_integer(call: Call) -> list[np.ndarray]:
    x, w = (_subtract_zero_point(call, i, 2 + i, 0) for i in (0, 1))
    return conv(_with_values(call, x, w))


def _with_values(call: Call, *arrays: np.ndarray) -> Call:
    return replace(call, operands=tuple(Tensor(array.shape, array) for array in arrays))


def _dequantize_operand(call: Call, index: int, axis: int) -> np.ndarray:
    """Dequantize an operand that is followed by its scale and zero point."""
    scale = value(call, index + 1)
    centred = _subtract_zero_point(call, index, index + 2, axis)
    return centred * (_along(scale, centred, axis) if scale.ndim == 1 else scale)


def _quantize_result(call: Call, real: np.ndarray, index: int) -> np.ndarray:
    scale, zero = value(call, index), call.operand(index + 1).value
    assert zero is not None
    limits = np.iinfo(zero.dtype)
    return np.clip(np.rint(real / scale) + zero.astype(np.int64), limits.min, limits.max)


def qlinear_matmul(call: Call) -> list[np.ndarray]:
    return [_quantize_result(call, _dequantize_operand(call, 0, -2) @ _dequantize_operand(call, 3, -1), 6)]


def qlinear_conv(call: Call) -> list[np.ndarray]:
    x, w, bias = _dequantize_operand(call, 0, 0), _dequantize_operand(call, 3, 0), optional(call, 8)
    (product,) = conv(_with_values(call, x, w))
    if bias is not None:
        product = product + (bias * value(call, 1) * value(call, 4)).reshape(-1, *[1] * (x.ndim - 2))
    return [_quantize_result(call, product, 6)]


def quantize(call: Call) -> list[np.ndarray]:
    """Compute round(x / scale) + zero point, to nearest even, clipped to the type's range."""
    data, zero = value(call, 0), call.optional(2)
    if zero is not None and zero.value is not None:
        dtype = of_numpy(zero.value.dtype)
    else:
        dtype = of_mlir(call.attribute("output_dtype", UI8))
    if dtype is None or dtype.name == "f8_e8m0":
        raise _attribute_error(call, "output_dtype")
    scale = _spread(call, 1, data)
    low, high = limits_of(dtype)
    if dtype.name.startswith("f"):
        real = data / scale
        return [np.clip(real, low, high) if call.attribute("saturate", 1) else real]
    point = 0 if zero is None else _spread(call, 2, data)
    return [np.clip(np.rint(data / scale) + point, low, high)]


def dequantize(call: Call) -> list[np.ndarray]:
    data = value(call, 0)
    data = data.astype(np.float64)
    point = _spread(call, 2, data) if call.optional(2) is not None else 0
    return [(data - point) * _spread(call, 1, data)]


def _spread(call: Call, index: int, data: np.ndarray) -> np.ndarray:
    """Broadcast a scale or zero point to the data: a scalar, a vector along an axis, or blocked."""
    given = value(call, index).astype(np.float64)
    if given.size == 1 and given.ndim < 2:
        return given.reshape(())
    axis, block = axis_of(call.attribute("axis", 1), data.ndim), call.attribute("block_size", 0)
    if given.ndim == 1 and not block:
        return _along(given, data, axis)
    return np.repeat(given, block, axis).take(range(data.shape[axis]), axis)


def dynamic_quantize(call: Call) -> list[np.ndarray]:
    data = call.operand(0).value
    assert data is not None
    real = data.dtype.type
    low, high = (f(real(0), real(g(data))) for f, g in ((min, np.min), (max, np.max)))
    scale = (high - low) / real(255)
    if scale == 0:
        return [np.zeros(data.shape), np.ones((), real), np.zeros(())]
    zero = np.clip(np.rint(-low / scale), 0, 255)
    return [np.clip(np.rint(data / scale) + zero, 0, 255), np.asarray(scale), np.asarray(zero)]


def _attribute_error(call: Call, attribute: str) -> UnsupportedError:
    given = call.attribute(attribute)
    return UnsupportedError(violation(f"{attribute} of {call.name}", given=given).diagnostic)


# Pools


def max_pool(call: Call) -> list[np.ndarray]:
    """Return the maximum of each window, and its index in the tensor; the first of equal ones."""
    data = call.operand(0).value
    assert data is not None
    windows, counts = _windows(call, data)
    least = -np.inf if data.dtype.kind not in "biu" else np.iinfo(data.dtype).min
    best = np.full((*data.shape[:2], *counts), np.asarray(least, data.dtype))
    chosen, has_nan = np.full(best.shape, -1, np.int32), bool(np.isnan(data).any())
    for number, (tap, positions) in enumerate(_tap_indices(windows, data, counts)):
        seen, before, numbers = data[tap], best[positions], chosen[positions]
        better = (seen > before) | (numbers < 0)
        if has_nan:  # a NaN stays if it is the first element, a later NaN is not larger
            np.copyto(before, seen, where=better)
        else:
            np.maximum(before, seen, out=before)
        np.maximum(numbers, better * np.int32(number), out=numbers)
    places = _flat_indices(windows, chosen, data.shape)
    if call.attribute("storage_order", 0):
        places = _column_major(places, data.shape)
    return [best, places]


def _windows(call: Call, data: np.ndarray) -> tuple[Windows, tuple[int, ...]]:
    """Return the windows of a pool, and how many there are along each axis."""
    view = with_explicit_pads(window(call, call.attribute("kernel_shape")), data.shape[2:])
    shape, kernel = static(pool_shape(call)[0] or ()), static(view.kernel)
    assert shape is not None
    assert kernel is not None
    return Windows(kernel, view.strides, view.dilations, view.begin), shape[2:]


Index = tuple[Any, ...]


def _tap_indices(windows: Windows, data: np.ndarray, counts: Sequence[int]) -> Iterator[tuple[Index, Index]]:
    """Yield, for each tap, the indices of the elements it reads and of the windows that read them."""
    for tap in taps_of(windows.kernel, math.prod(counts)):
        places, positions = windows.tap_slices(tap, data.shape[2:], counts)
        yield (..., *places), (..., *positions)


def _flat_indices(windows: Windows, chosen: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Return flat indices of the chosen taps in a tensor of this shape; -1 for none."""
    rank = len(windows.kernel)
    starts = np.arange(math.prod(chosen.shape[:2])).reshape(*chosen.shape[:2], *[1] * rank)
    of_tap = np.zeros(windows.kernel, np.int64)
    for i, size in enumerate(shape[2:]):
        along = [-1 if axis == i else 1 for axis in range(rank)]
        first = np.arange(chosen.shape[2 + i]) * windows.strides[i] - windows.begin[i]
        starts = starts * size + first.reshape(along)
        of_tap = of_tap * size + (np.arange(windows.kernel[i]) * windows.dilations[i]).reshape(along)
    found = np.take(of_tap.reshape(-1), chosen, mode="wrap")
    found += starts
    np.copyto(found, -1, where=chosen < 0)
    return found


def _column_major(places: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Convert row-major indices within an image to column-major ones."""
    image = math.prod(shape[2:])
    before, within = places // image, places % image
    parts = np.unravel_index(within, shape[2:])
    return before * image + np.ravel_multi_index(parts[::-1], shape[2:][::-1])


def lp_pool(call: Call) -> list[np.ndarray]:
    data, p = value(call, 0), call.attribute("p", 2)
    windows, counts = _windows(call, data)
    total = np.zeros((*data.shape[:2], *counts))
    for tap, positions in _tap_indices(windows, data, counts):
        seen = np.abs(data[tap])
        seen **= p
        total[positions] += seen
    return [np.power(total, 1 / p, out=total)]


def global_pool(function: Callable[[Call, np.ndarray], np.ndarray]) -> Kernel:
    def kernel(call: Call) -> list[np.ndarray]:
        data = value(call, 0)
        found = function(call, data.reshape(*data.shape[:2], int(np.prod(data.shape[2:]))))
        return [found.reshape(*data.shape[:2], *(1,) * (data.ndim - 2))]

    return kernel


def _lp(call: Call, data: np.ndarray) -> np.ndarray:
    p = call.attribute("p", 2)
    return np.sum(np.abs(data) ** p, axis=2) ** (1 / p)


def max_unpool(call: Call) -> list[np.ndarray]:
    data, places = value(call, 0), value(call, 1)
    if places.shape != data.shape:
        raise violation("indices of MaxUnpool", given=show(places.shape), expected=show(data.shape))
    given = sizes(call, 2, ())
    kernel = call.attribute("kernel_shape")
    rank = len(kernel)
    strides, pads = call.attribute("strides", [1] * rank), call.attribute("pads", [0] * 2 * rank)
    inner = [
        (n - 1) * strides[i] + kernel[i] - pads[i] - pads[rank + i] for i, n in enumerate(data.shape[2:])
    ]
    # indices refer to the tensor that was pooled, which may be smaller than the requested one
    small = np.zeros(math.prod((*data.shape[:2], *inner)))
    small[places.reshape(-1)] = data.reshape(-1)
    small = small.reshape(*data.shape[:2], *inner)
    if not given:
        return [small]
    result = np.zeros(given)
    result[tuple(map(slice, small.shape))] = small
    return [result]


KERNELS: dict[str, Kernel] = {
    "ConvInteger": conv_integer,
    "DequantizeLinear": dequantize,
    "DynamicQuantizeLinear": dynamic_quantize,
    "Gemm": gemm,
    "GlobalAveragePool": global_pool(lambda call, data: mean_of(data, (2,))[..., 0]),
    "GlobalLpPool": global_pool(_lp),
    "GlobalMaxPool": global_pool(lambda call, data: data.max(2)),
    "LpPool": lp_pool,
    "MatMul": matmul,
    "MatMulInteger": matmul_integer,
    "MaxPool": max_pool,
    "MaxUnpool": max_unpool,
    "QLinearConv": qlinear_conv,
    "QLinearMatMul": qlinear_matmul,
    "QuantizeLinear": quantize,
}
