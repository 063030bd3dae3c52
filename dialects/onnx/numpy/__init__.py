# pyright: standard
# (numpy in comprehensions and lambdas, whose elements its stubs do not know)
"""numpy semantics of every op, simple and slow, one function per op.

A kernel maps a `Call` with the operands' shapes and values to the results. Floats are computed in float64 and
rounded once to the result's dtype; integers in their own dtype, which wraps around.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import ml_dtypes
import numpy as np

from dialects.onnx.call import Call, Tensor, axes_of
from dialects.onnx.dims import slice_bounds
from dialects.onnx.infer.arrays import shape_bounds
from dialects.onnx.infer.rules import infer
from dialects.onnx.numpy import attention, index, nn, pointwise, recurrent, reductions, sampling, spectra
from dialects.onnx.numpy.index import inside
from dialects.onnx.numpy.resizes import resize
from dialects.onnx.numpy.spatial import (
    average_pool,
    col2im,
    conv,
    conv_transpose,
    depth_to_space,
)
from dialects.onnx.operands import sizes, value, values
from dialects.reference_cost.account import accounting
from dialects.reference_cost.onnx_ops import work
from dialects.support.diagnostics import UnsupportedError, violation
from dialects.support.dtypes import known_dtype, of_mlir, of_numpy
from dialects.support.shapes import Shape, compatible, show

Kernel = Callable[[Call], Sequence[np.ndarray]]


def evaluate(
    call: Call, operands: Sequence[np.ndarray | None], dtypes: Sequence[np.dtype]
) -> list[np.ndarray]:
    """Return the results of `call`'s op and attributes for these operands, in the given dtypes.

    Raises GradcError for invalid operands, UnsupportedError for a form without an implementation, LimitError
    if it takes too much time or memory.
    """
    tensors = tuple(None if array is None else tensor_of(array) for array in operands)
    call = Call(call.name, tensors, call.attributes, call.results)
    kernel = KERNELS.get(call.name)
    if kernel is None:
        raise UnsupportedError(violation(f"{call.name} has no numpy implementation").diagnostic)
    shapes = _infer(call)
    with accounting() as account, np.errstate(all="ignore"):
        account.spend(work(call, shapes))
        results = [round_to(r, d) for r, d in zip(_run_kernel(kernel, call), dtypes, strict=True)]
    for result, shape in zip(results, shapes, strict=True):
        if shape is not None and not compatible(result.shape, shape):
            raise violation(
                f"shape of a result of {call.name}", given=show(result.shape), expected=show(shape)
            )
    return results


OPERAND_ERRORS = (ArithmeticError, IndexError, TypeError, ValueError)
"""Exceptions of numpy for operands of wrong values, ranks or dtypes. Any other exception is a bug."""


def _infer(call: Call) -> Sequence[Shape | None]:
    try:
        return infer(call)
    except ZeroDivisionError as error:
        raise violation(f"operands of {call.name}: division by zero") from error


def _run_kernel(kernel: Kernel, call: Call) -> Sequence[np.ndarray]:
    try:
        return kernel(call)
    except ZeroDivisionError as error:
        raise violation(f"operands of {call.name}: division by zero") from error
    except OPERAND_ERRORS as error:
        raise violation(f"operands of {call.name}: {error}") from error


def tensor_of(array: np.ndarray) -> Tensor:
    dims = None
    if array.ndim < 2 and array.dtype.type in (np.int64, np.int32):
        dims = tuple(int(x) for x in array.reshape(-1))
    return Tensor(array.shape, array, dims)


def round_to(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Convert an array, rounding floats to nearest even, once. An array that has the dtype is returned as is,
    but copied if it is part of a larger one, which it would keep alive."""
    array = np.asarray(array)
    if array.dtype == dtype:
        return array.copy() if _is_part(array) else array
    if array.dtype == np.float64 and dtype.kind not in "biufc":
        return np.asarray(_to_odd(array)).astype(dtype)
    return array.astype(dtype)


def _is_part(array: np.ndarray) -> bool:
    return isinstance(array.base, np.ndarray) and array.base.nbytes != array.nbytes


def _to_odd(array: np.ndarray) -> np.ndarray:
    """Convert float64 to float32, an inexact value to its neighbour with an odd significand.

    bfloat16 and narrower types are rounded from float32. Rounding to nearest twice would move a value next to
    a tie to the tie first; an odd last bit prevents that.
    """
    near = array.astype(np.float32)
    exact = (near == array) | ~np.isfinite(near)
    bits = near.view(np.uint32)
    toward_zero = np.where(np.abs(near) > np.abs(array), bits - np.uint32(1), bits)
    return np.where(exact, bits, toward_zero | np.uint32(1)).view(np.float32)


# Types


def cast(call: Call) -> list[np.ndarray]:
    """Cast; floats are truncated to integers, undefined out of range."""
    data, target = value(call, 0), of_mlir(call.attribute("to"))
    if target is None:
        raise violation("to", given=call.attribute("to"))
    if target.numpy.kind == "b":
        return [data != 0]
    to_integer = data.dtype.kind == "f" and target.name[0] in "su" and target.name != "string"
    if target.name.startswith("f8_e8m0") or "string" in (target.name, _name(call.operand(0).value)):
        raise UnsupportedError(violation("to", given=target.name).diagnostic)
    if target.name.startswith("f8_") and call.attribute("saturate", 1):
        most = float(ml_dtypes.finfo(target.numpy).max)
        return [np.clip(data, -most, most)]
    return [np.trunc(data) if to_integer else data]


def _name(array: np.ndarray | None) -> str:
    dtype = None if array is None else of_numpy(array.dtype)
    return dtype.name if dtype else ""


def cast_like(call: Call) -> list[np.ndarray]:
    dtype = known_dtype(np.asarray(call.operand(1).value).dtype)
    return cast(replace(call, attributes={**call.attributes, "to": dtype.mlir}))


def bit_cast(call: Call) -> list[np.ndarray]:
    target, data = of_mlir(call.attribute("to")), call.operand(0).value
    assert data is not None
    if target is None or target.numpy.itemsize != data.dtype.itemsize:
        raise violation("to", given=call.attribute("to"), expected="a type of as many bits")
    return [np.ascontiguousarray(data).view(target.numpy).reshape(data.shape)]


# Contents


def constant(call: Call) -> list[np.ndarray]:
    return [call.attribute("value")]


def result_shape(call: Call) -> Shape:
    """Return the shape of the only result, whose rank is known."""
    (shape,) = infer(call)
    assert shape is not None
    return shape


def constant_of_shape(call: Call) -> list[np.ndarray]:
    fill = call.attribute("value", np.zeros(1, np.float32))
    return [np.full(sizes(call, 0, ()), fill.reshape(()))]


def range_(call: Call) -> list[np.ndarray]:
    start, _, delta = values(call)
    count = result_shape(call)[0]
    assert isinstance(count, int)
    return [start + np.arange(count).astype(start.dtype) * delta]


def shape(call: Call) -> list[np.ndarray]:
    start, end = shape_bounds(call)
    return [np.array(call.operand(0).shape[start:end], np.int64)]


# Structure


def identity(call: Call) -> list[np.ndarray]:
    return [value(call, 0)]


def reshape_to_result(call: Call) -> list[np.ndarray]:
    """Reshape, Squeeze or Unsqueeze: the same elements in the result's shape."""
    return [value(call, 0).reshape([dim for dim in result_shape(call) if isinstance(dim, int)])]


def concat(call: Call) -> list[np.ndarray]:
    return [np.concatenate(values(call), axis=call.attribute("axis"))]


def expand(call: Call) -> list[np.ndarray]:
    data, target = value(call, 0), sizes(call, 1, ())
    return [np.broadcast_to(data, np.broadcast_shapes(data.shape, tuple(target)))]


def gather(call: Call) -> list[np.ndarray]:
    data, axis = value(call, 0), call.attribute("axis", 0)
    return [np.take(data, inside(value(call, 1), data.shape[axis]), axis=axis)]


def gather_elements(call: Call) -> list[np.ndarray]:
    data, indices, axis = value(call, 0), value(call, 1), call.attribute("axis", 0)
    grid = list(np.indices(indices.shape))
    grid[axis] = inside(indices, data.shape[axis])
    return [data[tuple(grid)]]


def pad(call: Call) -> list[np.ndarray]:
    data, pads = value(call, 0), sizes(call, 1, ())
    axes = axes_of(sizes(call, 3, range(data.ndim)), data.ndim)
    begin, end = [0] * data.ndim, [0] * data.ndim
    for i, axis in enumerate(axes):
        begin[axis], end[axis] = pads[i], pads[i + len(axes)]
    if call.attribute("mode", "constant") == "constant":
        return [_crop(_pad_constant(call, data, begin, end), begin, end)]
    return [_pad_repeat(call, _crop(data, begin, end), begin, end)]


def _pad_constant(call: Call, data: np.ndarray, begin: list[int], end: list[int]) -> np.ndarray:
    fill = value(call, 2).reshape(()) if call.optional(2) is not None else np.zeros((), data.dtype)
    return np.pad(data, _widths(begin, end), constant_values=fill)


def _pad_repeat(call: Call, data: np.ndarray, begin: list[int], end: list[int]) -> np.ndarray:
    """Pad by repetition; elements cut by negative pads are not repeated, as in onnxruntime."""
    widths, mode = _widths(begin, end), call.attribute("mode", "reflect")
    for axis, (size, ends) in enumerate(zip(data.shape, widths, strict=True)):
        if size == 0 and any(ends):
            raise violation("pads", expected=f"elements to repeat along axis {axis} for mode {mode}")
    return np.pad(data, widths, mode=mode)


def _widths(begin: list[int], end: list[int]) -> list[tuple[int, int]]:
    return [(max(b, 0), max(e, 0)) for b, e in zip(begin, end, strict=True)]


def _crop(data: np.ndarray, begin: list[int], end: list[int]) -> np.ndarray:
    """Crop by negative pads."""
    bounds = zip(begin, end, data.shape, strict=True)
    return data[tuple(slice(max(-b, 0), max(size - max(-e, 0), 0)) for b, e, size in bounds)]


def slice_(call: Call) -> list[np.ndarray]:
    data, starts, ends = value(call, 0), sizes(call, 1, ()), sizes(call, 2, ())
    axes = axes_of(sizes(call, 3, range(len(starts))), data.ndim)
    steps = sizes(call, 4, [1] * len(starts))
    for axis, *bounds in zip(axes, starts, ends, steps, strict=True):
        taken = np.arange(*slice_bounds(data.shape[axis], *bounds))
        data = np.take(data, taken, axis=axis)
    return [data]


def split(call: Call) -> list[np.ndarray]:
    axis = call.attribute("axis", 0)
    parts = [shape[axis] for shape in infer(call) if shape is not None]
    ends = np.cumsum([part for part in parts if isinstance(part, int)])
    return np.split(value(call, 0), ends[:-1], axis=axis)


def tile(call: Call) -> list[np.ndarray]:
    return [np.tile(value(call, 0), sizes(call, 1, ()))]


def transpose(call: Call) -> list[np.ndarray]:
    return [value(call, 0).transpose(call.attribute("perm"))]


KERNELS: dict[str, Kernel] = {
    **attention.KERNELS,
    **index.KERNELS,
    **nn.KERNELS,
    **pointwise.KERNELS,
    **recurrent.KERNELS,
    **reductions.KERNELS,
    **sampling.KERNELS,
    **spectra.KERNELS,
    "AveragePool": average_pool,
    "BitCast": bit_cast,
    "Cast": cast,
    "CastLike": cast_like,
    "Col2Im": col2im,
    "Concat": concat,
    "Constant": constant,
    "ConstantOfShape": constant_of_shape,
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "DepthToSpace": depth_to_space,
    "Expand": expand,
    "Flatten": reshape_to_result,
    "Gather": gather,
    "GatherElements": gather_elements,
    "Identity": identity,
    "Pad": pad,
    "Range": range_,
    "Reshape": reshape_to_result,
    "Resize": resize,
    "Shape": shape,
    "Slice": slice_,
    "Split": split,
    "Squeeze": reshape_to_result,
    "Tile": tile,
    "Transpose": transpose,
    "Unsqueeze": reshape_to_result,
}
