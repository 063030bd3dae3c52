"""LRN by its formula, for runtimes that support only images and odd sizes."""

from __future__ import annotations

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.dims import TO_THE_END
from dialects.support.shapes import has_rank, shape_of
from passes.autodiff.common.primal import Primal
from passes.builder.tensors import sum_values
from passes.builder.values import Builder
from passes.decompositions.registry import Results


def is_unsupported_lrn(op: OnnxOp) -> bool:
    """Return whether the data is not 4D, or the window of channels is even: quirk lrn-of-even-size."""
    assert isinstance(op, onnx.LRNOp)
    size = op.call().attribute("size")
    is_even = isinstance(size, int) and size % 2 == 0
    return is_even or (has_rank(op.X) and len(shape_of(op.X)) != 4)


def lrn(f: Primal, e: Builder) -> Results | None:
    """x / (bias + alpha / n times the sum of squares over a window of n channels) ^ beta"""
    op, emit = f.op_as(onnx.LRNOp), e.emit
    if not has_rank(op.X):
        return None
    call, rank = op.call(), len(shape_of(op.X))
    x, size = e(op.X), call.attribute("size")
    ends = [[count if axis == 1 else 0 for axis in range(rank)] for count in ((size - 1) // 2, size // 2)]
    wide = x.square().apply(onnx.PadOp, e.ints([*ends[0], *ends[1]]))
    parts = [
        wide.apply(onnx.SliceOp, e.ints([first]), e.ints([first + 1 - size or TO_THE_END]), e.ints([1])).value
        for first in range(size)
    ]
    total = e(sum_values(emit, parts)).assume_shape(x.shape)
    scaled = total * (call.attribute("alpha", 1e-4) / size) + call.attribute("bias", 1.0)
    return [(x / scaled.apply(onnx.PowOp, call.attribute("beta", 0.75))).value]
