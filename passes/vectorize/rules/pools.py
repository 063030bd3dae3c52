"""Batching rules of ops that select the maximum of windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from types import MappingProxyType

from dialects.grad.avg_pool import avg_pool_backward
from dialects.grad.geometry import ConvAxis, Window
from dialects.onnx import ops as onnx
from dialects.support.shapes import static, static_shape
from passes.vectorize.batch import Batch, BatchingRule, OpCall, Operand, Result
from passes.vectorize.rules.folded import fold_at, fold_batch


def max_pool(f: OpCall, b: Batch) -> Sequence[Result] | None:
    """Fold; the second result has indices into the whole tensor, which would be others."""
    return None if any(result.first_use for result in f.op.results[1:]) else fold_batch(f, b)


def max_pool_gradient(f: OpCall, b: Batch) -> Sequence[Result] | None:
    """Find the maxima once if no two windows share an element, and select among repeated cotangents there."""
    src, dst = f.present
    axes = None if src.batched else _disjoint_axes(f, src, dst)
    if axes is None:
        return fold_at(f, b, {0: 0, 1: 0})
    ones = b.e.scalar(1, dst.value).apply(onnx.ExpandOp, b.row_sizes(dst)).assume_shape(dst.shape)
    maxima = f.again(b, [src.value, ones])[0] > 0
    residue = [max(rest, 0) for _, rest in axes]
    windows = [axis for axis, _ in axes]
    shares = b.e(b.e.emit(avg_pool_backward(b.fold(dst.value).value, windows, residue, "NCX")))
    repeated = shares * float(prod(axis.window.kernel for axis in windows))
    return [b.e.keep(b.unfold(repeated, b.sizes(dst.value)[1]), maxima)]


def _disjoint_axes(f: OpCall, src: Operand, dst: Operand) -> list[tuple[ConvAxis, int]] | None:
    """Return the window of each axis, with the number of elements behind the last one; None if windows share
    elements or the sizes are dynamic."""
    x, y = static(src.shape[2:]), static(dst.shape[2:])
    if x is None or y is None or f.value("layout", "NCX") != "NCX":
        return None
    lists = (f.value(name, ()) for name in ("kernel", "strides", "dilations", "pads_begin"))
    found: list[tuple[ConvAxis, int]] = []
    for size, count, kernel, stride, dilation, begin in zip(x, y, *lists, strict=True):
        window = Window(kernel, stride, dilation)
        rest = size + begin - window.full_size(count)
        if window.extent > stride or rest >= stride:
            return None
        found.append((ConvAxis(window, begin, max(-rest, 0)), rest))
    return found


def max_unpool(f: OpCall, b: Batch) -> Sequence[Result] | None:
    """Fold; indices are into all of the result, so those of a row begin behind the rows before."""
    data, indices, *others = f.present
    size = static_shape(f.op.results[0])
    if others or size is None:
        return None
    column = b.reshape(b.numbers() * float(prod(size)), [b.size, *[1] * indices.rank])
    whole = Operand(b.expand(indices) + column, True, indices.row)
    return fold_at(OpCall(f.op, [data, whole]), b, {0: 0, 1: 0})


RULES: Mapping[str, BatchingRule] = MappingProxyType(
    {"MaxPool": max_pool, "MaxUnpool": max_unpool, "grad.max_pool_backward": max_pool_gradient}
)
