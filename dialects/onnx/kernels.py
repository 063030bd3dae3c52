"""numpy semantics of every op, slow and obvious, one function per op.

A kernel takes the `Call` with the operands' shapes and values and returns the results. Floats are
computed in float64 and rounded once to the result's dtype; integers in their own dtype, which wraps.
The kernels of the spatial ops are in `kernels_spatial`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import ml_dtypes
import numpy as np

from dialects.onnx.call import Call, Tensor, axes_of
from dialects.onnx.dims import slice_bounds
from dialects.onnx.infer import infer, shape_bounds
from dialects.onnx.kernels_spatial import (
    average_pool,
    col2im,
    conv,
    conv_transpose,
    depth_to_space,
    resize,
)
from dialects.support.diagnostics import UnsupportedError, violation
from dialects.support.dtypes import of_mlir

Kernel = Callable[[Call], Sequence[np.ndarray]]


def evaluate(
    call: Call, operands: Sequence[np.ndarray | None], dtypes: Sequence[np.dtype]
) -> list[np.ndarray]:
    """The results of `call`'s op and attributes for these operands, with the given dtypes.

    Raises GradcError where the op has no meaning for them, UnsupportedError for a form that is not
    implemented here (auto_pad, output_shape, antialias, tf_crop_and_resize).
    """
    tensors = tuple(None if array is None else tensor_of(array) for array in operands)
    call = Call(call.name, tensors, call.attributes, call.results)
    shapes = infer(call)
    with np.errstate(all="ignore"):
        results = [round_to(r, d) for r, d in zip(KERNELS[call.name](call), dtypes, strict=True)]
    assert [result.shape for result in results] == list(shapes), (call.name, shapes)
    return results


def tensor_of(array: np.ndarray) -> Tensor:
    dims = None
    if array.ndim < 2 and array.dtype in (np.int64, np.int32):
        dims = tuple(int(x) for x in array.reshape(-1))
    return Tensor(array.shape, array, dims)


def round_to(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The array in another dtype, floats rounded to nearest even, once."""
    array = np.asarray(array)
    if array.dtype == np.float64 and dtype == ml_dtypes.bfloat16:
        return np.asarray(_to_odd(array)).astype(dtype)
    return array.astype(dtype)


def _to_odd(array: np.ndarray) -> np.ndarray:
    """float64 to float32, an inexact value to its neighbour with an odd significand.

    bfloat16 is reached by way of float32. To nearest on both steps would round a value just off a tie
    to the tie first; an odd last bit keeps it off.
    """
    near = array.astype(np.float32)
    exact = (near == array) | ~np.isfinite(near)
    bits = near.view(np.uint32)
    toward_zero = np.where(np.abs(near) > np.abs(array), bits - np.uint32(1), bits)
    return np.where(exact, bits, toward_zero | np.uint32(1)).view(np.float32)


def value(call: Call, index: int) -> np.ndarray:
    """An operand's value; floats as float64."""
    found = call.operand(index).value
    assert found is not None
    return wide(found)


def wide(array: np.ndarray) -> np.ndarray:
    return array if array.dtype.kind in "biu" else array.astype(np.float64)


def values(call: Call) -> list[np.ndarray]:
    return [value(call, i) for i in range(len(call.operands))]


def sizes(call: Call, index: int, default: Sequence[int]) -> list[int]:
    """The elements of an optional vector operand."""
    given = call.optional(index)
    if given is None:
        return list(default)
    assert given.value is not None
    return [int(x) for x in given.value]


# Elementwise


def elementwise(function: Callable[..., np.ndarray]) -> Kernel:
    return lambda call: [function(*values(call))]


def divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a / b; an integer quotient is truncated."""
    if a.dtype.kind == "f":
        return a / b
    _refuse_zero(b)
    floor = a // b
    return floor + ((a % b != 0) & ((a < 0) != (b < 0))).astype(a.dtype)


def modulo(call: Call) -> list[np.ndarray]:
    """The remainder of a division that rounds down, or with fmod=1 toward zero."""
    a, b = values(call)
    if a.dtype.kind != "f":
        _refuse_zero(b)
    return [np.fmod(a, b) if call.attribute("fmod", 0) else np.mod(a, b)]


def _refuse_zero(divisor: np.ndarray) -> None:
    if not np.all(divisor):
        raise violation("integer division by zero")


def clip(call: Call) -> list[np.ndarray]:
    result = value(call, 0)
    if call.optional(1) is not None:
        result = np.maximum(result, value(call, 1))
    if call.optional(2) is not None:
        result = np.minimum(result, value(call, 2))
    return [result]


def variadic(function: Callable[..., np.ndarray]) -> Kernel:
    def kernel(call: Call) -> list[np.ndarray]:
        first, *rest = values(call)
        for other in rest:
            first = function(first, other)
        return [first]

    return kernel


def cast(call: Call) -> list[np.ndarray]:
    """A float goes to an integer by truncation; out of range the result is undefined."""
    data, target = value(call, 0), of_mlir(call.attribute("to"))
    if target is None:
        raise violation("to", given=call.attribute("to"))
    if target.numpy.kind == "b":
        return [data != 0]
    to_integer = data.dtype.kind == "f" and target.numpy.kind in "iu"
    return [np.trunc(data) if to_integer else data]


def matmul(call: Call) -> list[np.ndarray]:
    return [np.matmul(value(call, 0), value(call, 1))]


# Contents


def constant(call: Call) -> list[np.ndarray]:
    return [call.attribute("value")]


def constant_of_shape(call: Call) -> list[np.ndarray]:
    fill = call.attribute("value", np.zeros(1, np.float32))
    return [np.full(sizes(call, 0, ()), fill.reshape(()))]


def range_(call: Call) -> list[np.ndarray]:
    start, _, delta = values(call)
    ((count,),) = infer(call)
    assert isinstance(count, int)
    return [start + np.arange(count).astype(start.dtype) * delta]


def shape(call: Call) -> list[np.ndarray]:
    start, end = shape_bounds(call)
    return [np.array(call.operand(0).shape[start:end], np.int64)]


# Structure


def identity(call: Call) -> list[np.ndarray]:
    return [value(call, 0)]


def shaped(call: Call) -> list[np.ndarray]:
    """Reshape, Squeeze, Unsqueeze: the same elements in the result's shape."""
    (result,) = infer(call)
    return [value(call, 0).reshape([dim for dim in result if isinstance(dim, int)])]


def concat(call: Call) -> list[np.ndarray]:
    return [np.concatenate(values(call), axis=call.attribute("axis"))]


def expand(call: Call) -> list[np.ndarray]:
    data, target = value(call, 0), sizes(call, 1, ())
    return [np.broadcast_to(data, np.broadcast_shapes(data.shape, tuple(target)))]


def gather(call: Call) -> list[np.ndarray]:
    data, axis = value(call, 0), call.attribute("axis", 0)
    return [np.take(data, _inside(value(call, 1), data.shape[axis]), axis=axis)]


def gather_elements(call: Call) -> list[np.ndarray]:
    data, indices, axis = value(call, 0), value(call, 1), call.attribute("axis", 0)
    grid = list(np.indices(indices.shape))
    grid[axis] = _inside(indices, data.shape[axis])
    return [data[tuple(grid)]]


def _inside(indices: np.ndarray, size: int) -> np.ndarray:
    if indices.size and (indices.min() < -size or indices.max() >= size):
        raise violation("indices", expected=f"[{-size}, {size - 1}]")
    return indices


def pad(call: Call) -> list[np.ndarray]:
    data, pads = value(call, 0), sizes(call, 1, ())
    axes = axes_of(sizes(call, 3, range(data.ndim)), data.ndim)
    begin, end = [0] * data.ndim, [0] * data.ndim
    for i, axis in enumerate(axes):
        begin[axis], end[axis] = pads[i], pads[i + len(axes)]
    return [_cropped(_padded(call, data, begin, end), begin, end)]


def _padded(call: Call, data: np.ndarray, begin: list[int], end: list[int]) -> np.ndarray:
    mode = call.attribute("mode", "constant")
    widths = [(max(b, 0), max(e, 0)) for b, e in zip(begin, end, strict=True)]
    if mode != "constant":
        return np.pad(data, widths, mode=mode)
    fill = value(call, 2).reshape(()) if call.optional(2) is not None else np.zeros((), data.dtype)
    return np.pad(data, widths, constant_values=fill)


def _cropped(data: np.ndarray, begin: list[int], end: list[int]) -> np.ndarray:
    """Negative pads cut."""
    bounds = zip(begin, end, data.shape, strict=True)
    return data[tuple(slice(max(-b, 0), size - max(-e, 0)) for b, e, size in bounds)]


def reduce_sum(call: Call) -> list[np.ndarray]:
    data, axes = value(call, 0), sizes(call, 1, ())
    if not axes and call.attribute("noop_with_empty_axes", 0):
        return [data]
    over = tuple(axes) or None
    return [np.sum(data, axis=over, dtype=data.dtype, keepdims=bool(call.attribute("keepdims", 1)))]


def slice_(call: Call) -> list[np.ndarray]:
    data, starts, ends = value(call, 0), sizes(call, 1, ()), sizes(call, 2, ())
    axes = axes_of(sizes(call, 3, range(len(starts))), data.ndim)
    steps = sizes(call, 4, [1] * len(starts))
    for axis, *bounds in zip(axes, starts, ends, steps, strict=True):
        taken = list(range(*slice_bounds(data.shape[axis], *bounds)))
        data = np.take(data, taken, axis=axis)
    return [data]


def split(call: Call) -> list[np.ndarray]:
    axis = call.attribute("axis", 0)
    parts = [shape[axis] for shape in infer(call)]
    ends = np.cumsum([part for part in parts if isinstance(part, int)])
    return np.split(value(call, 0), ends[:-1], axis=axis)


def tile(call: Call) -> list[np.ndarray]:
    return [np.tile(value(call, 0), sizes(call, 1, ()))]


def transpose(call: Call) -> list[np.ndarray]:
    return [value(call, 0).transpose(call.attribute("perm"))]


def scatter_nd(call: Call) -> list[np.ndarray]:
    """Updates in turn, so that of two at one place without a reduction the later one stays."""
    result, indices, updates = value(call, 0).copy(), value(call, 1), value(call, 2)
    merge = _REDUCTIONS.get(call.attribute("reduction", "none"))
    if merge is None:
        raise UnsupportedError(violation("reduction", given=call.attribute("reduction")).diagnostic)
    for place in np.ndindex(indices.shape[:-1]):
        at = tuple(int(i) for i in indices[place])
        result[at] = merge(result[at], updates[place])
    return [result]


_REDUCTIONS: dict[str, Callable[..., np.ndarray]] = {
    "none": lambda old, new: new,
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}

KERNELS: dict[str, Kernel] = {
    "Abs": elementwise(np.abs),
    "Add": elementwise(np.add),
    "And": elementwise(np.logical_and),
    "AveragePool": average_pool,
    "Cast": cast,
    "Ceil": elementwise(np.ceil),
    "Clip": clip,
    "Col2Im": col2im,
    "Concat": concat,
    "Constant": constant,
    "ConstantOfShape": constant_of_shape,
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "DepthToSpace": depth_to_space,
    "Div": elementwise(divide),
    "Equal": elementwise(np.equal),
    "Expand": expand,
    "Floor": elementwise(np.floor),
    "Gather": gather,
    "GatherElements": gather_elements,
    "GreaterOrEqual": elementwise(np.greater_equal),
    "Identity": identity,
    "Less": elementwise(np.less),
    "MatMul": matmul,
    "Max": variadic(np.maximum),
    "Min": variadic(np.minimum),
    "Mod": modulo,
    "Mul": elementwise(np.multiply),
    "Neg": elementwise(np.negative),
    "Not": elementwise(np.logical_not),
    "Or": elementwise(np.logical_or),
    "Pad": pad,
    "Range": range_,
    "ReduceSum": reduce_sum,
    "Reshape": shaped,
    "Resize": resize,
    "ScatterND": scatter_nd,
    "Shape": shape,
    "Slice": slice_,
    "Split": split,
    "Squeeze": shaped,
    "Sub": elementwise(np.subtract),
    "Tile": tile,
    "Transpose": transpose,
    "Unsqueeze": shaped,
    "Where": elementwise(np.where),
}
