"""VJP rules of Fourier transforms; their adjoints are transforms, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from dialects.onnx import ops as onnx
from dialects.onnx.call import axis_of
from dialects.onnx.values import constant_of
from passes.autodiff.common.dynamic_axes import AxisView, reshape_as
from passes.autodiff.common.gather_adjoint import iota
from passes.autodiff.common.primal import ZERO, Gradient, Primal, Rule
from passes.autodiff.common.slice_adjoint import pad_zeros, size_of, size_vector
from passes.builder.values import Builder, Value
from passes.decompositions.sampling.stft import Size, scalar_of, transform


def dft(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    given, rank = f.operand(2), f.x.rank
    known = None if given is None else constant_of(given.value)
    if given is not None and known is None:
        view = AxisView(given, rank, kept=1)
        return (reshape_as(_adjoint(f, view.of(f.x), view.of(g[0]), 1), f.x), ZERO, ZERO)
    axis = axis_of(-2 if known is None else int(known.reshape(())), rank)
    return (_adjoint(f, f.x, g[0], axis), ZERO, ZERO)


def _adjoint(f: Primal, x: Value, g: Value, axis: int) -> Value:
    """Return the gradient by x of its transform along an axis."""
    e, length = f.e, scalar_of(f, 1)
    inverse, onesided = bool(f.value("inverse", 0)), bool(f.value("onesided", 0))
    if inverse and onesided:
        return _crop_or_pad(_of_real_signal(g, axis, e), x, axis)
    whole = size_of(x, axis) if length is None else length
    value = _with_size(g, axis, whole) if onesided else g
    scale = _number(whole, g)
    back = transform(value, axis, e, inverse=int(not inverse))
    found = back / scale if inverse else back * scale
    if x.shape[-1] != 2:
        parts = size_vector(size_of(x, x.rank - 1), e)
        found = found.apply(onnx.SliceOp, e.ints([0]), parts, e.ints([found.rank - 1]))
    return _crop_or_pad(found, x, axis)


def _of_real_signal(g: Value, axis: int, e: Builder) -> Value:
    """Return the adjoint of the inverse of half a spectrum: all bins but the first, and the last of an even
    number, count twice."""
    size = size_of(g, axis)
    half = transform(g, axis, e, onesided=1)
    twice = iota(size_of(half, axis), g) * e.ints([2])
    ends = (twice.equals(e.ints([0]))).apply(onnx.OrOp, twice.equals(size_vector(size, e)))
    weights = 2 - ends.cast(g.dtype)
    column = [i for i in range(g.rank) if i != axis]
    return half * weights.unsqueeze(column) / _number(size, g)


def _number(size: Size, like: Value) -> Value | float:
    return size.cast(like.dtype) if isinstance(size, Value) else float(size)


def _crop_or_pad(x: Value, like: Value, axis: int) -> Value:
    """Crop or zero-pad the end of an axis to the size of `like`."""
    return _with_size(x, axis, size_of(like, axis)).assume_shape(like.shape)


def _with_size(x: Value, axis: int, size: Size) -> Value:
    e, given = x.e, size_of(x, axis)
    known = isinstance(size, int) and isinstance(given, int)
    more = size - given if known else size_vector(size, e) - size_vector(given, e)
    return pad_zeros(x, [0] * x.rank, [more if i == axis else 0 for i in range(x.rank)])


RULES: Mapping[str, Rule] = MappingProxyType({"DFT": dft})
"""ONNX op -> its rule."""
