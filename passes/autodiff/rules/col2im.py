"""VJP of Col2Im: im2col."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from dialects.onnx import ops as onnx
from dialects.onnx.values import constant_of
from passes.autodiff.common.gather_adjoint import iota
from passes.autodiff.common.primal import ZERO, Gradient, Primal, Rule
from passes.autodiff.common.slice_adjoint import pad_zeros, size_of
from passes.autodiff.rules.shape import reshape_as
from passes.builder.values import Builder, Value


def col2im(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of Col2Im: the im2col of the cotangent."""
    image, block = f.operand(1), f.operand(2)
    assert image is not None
    assert block is not None
    n = g[0].rank - 2
    ones, zeros = (1,) * n, (0,) * 2 * n
    strides, dilations = (tuple(f.value(name) or ones) for name in ("strides", "dilations"))
    pads = tuple(f.value("pads") or zeros)
    around = ([0, 0, *sides] for sides in (pads[:n], pads[n:]))
    value = columns_of(pad_zeros(g[0], *around), block, strides, dilations)
    return (reshape_as(value, f.x), ZERO, ZERO)


def columns_of(x: Value, block: Value, strides: Sequence[int], dilations: Sequence[int]) -> Value:
    """im2col: (N, C, X...) to (N, C, K..., P...), for taps K and block positions P."""
    e, n = x.e, x.rank - 2
    known = constant_of(block.value)
    for i, (stride, dilation) in enumerate(zip(strides, dilations, strict=True)):
        axis = 2 + 2 * i
        kernel = int(known[i]) if known is not None else block.apply(onnx.GatherOp, e.ints([i]), axis=0)
        rest = size_of(x, axis) - (kernel - 1) * dilation - 1
        if isinstance(rest, Value):
            # a quotient is rounded towards 0, and below 0 there is no position
            count = ((rest + stride).apply(onnx.DivOp, e.ints([stride]))).at_least(0)
        else:
            count = max(rest // stride + 1, 0)
        taps = (iota(kernel, x) * e.ints([dilation])).unsqueeze([1])
        x = x.apply(onnx.GatherOp, taps + iota(count, x) * e.ints([stride]), axis=axis)
    taps, positions = range(2, 2 + 2 * n, 2), range(3, 3 + 2 * n, 2)
    return x.transpose([0, 1, *taps, *positions])


RULES: Mapping[str, Rule] = MappingProxyType({"Col2Im": col2im})
"""ONNX op -> its rule."""
