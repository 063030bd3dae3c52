"""Batching rules of the gradient of a convolution by its weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from types import MappingProxyType

from dialects.grad.geometry import Window
from dialects.onnx import ops as onnx
from passes.autodiff.common.slice_adjoint import pad_zeros
from passes.builder.tensors import Size
from passes.builder.values import Value
from passes.vectorize.batch import Batch, BatchingRule, OpCall, Operand, Result
from passes.vectorize.rules.folded import to_channels


def weights_gradient(f: OpCall, b: Batch) -> Sequence[Result] | None:
    """Fold a number of rows into the channels of diff_dst, and into the groups if it is also one of src.

    The number of groups is a constant: with a dynamic number of rows, the gradient is a product with the
    columns of src.
    """
    src, dst = f.present
    if f.value("layout", "NCX") != "NCX" or not src.has_rank or not dst.has_rank:
        return None
    if not isinstance(b.size, int):
        return [_by_columns(f, b, src, dst)]
    groups = f.value("groups", 1)
    shared = not src.batched and groups == 1
    images = src.value if shared else to_channels(b, b.expand(src))
    changes = {} if shared else {"groups": groups * b.size}
    made = f.again(b, [images, to_channels(b, b.expand(dst))], **changes)[0]
    channels = dst.shape[1]
    assert isinstance(channels, int)
    return [b.unfold(made, channels)]


def _by_columns(f: OpCall, b: Batch, src: Operand, dst: Operand) -> Value:
    """Multiply diff_dst by the reads of all taps, one product for each row and group."""
    kernel, groups = f.value("kernel", []), f.value("groups", 1)
    images = b.fold(src.value) if src.batched else src.value
    pads = ([0, 0, *f.value(name, [0] * len(kernel))] for name in ("pads_begin", "pads_end"))
    ones = [1] * len(kernel)
    rows = zip(kernel, *(f.value(name, ones) for name in ("strides", "dilations")), strict=True)
    windows = [Window(*row) for row in rows]
    channels, outputs = src.shape[1], dst.shape[1]
    assert isinstance(channels, int)
    assert isinstance(outputs, int)
    batch, _, *positions = b.sizes(dst.value)[dst.batched :]
    reads = _reads(b, pad_zeros(images, *pads), windows, positions)
    count = b.product(positions)
    inner = channels // groups * prod(kernel)
    columns = _by_groups(b, reads, src.batched, [batch, groups, inner, count])
    gradient = _by_groups(b, dst.value, dst.batched, [batch, groups, outputs // groups, count])
    last = columns.rank - 1
    found = gradient @ columns.transpose([*range(last - 1), last, last - 1])
    return b.reshape(found, [b.size, outputs, channels // groups, *kernel])


def _reads(b: Batch, x: Value, windows: Sequence[Window], counts: Sequence[Size]) -> Value:
    """Return the elements that each tap reads: (N, C, X...) as (N, C, K..., Y...), by Slices."""
    for done, index in enumerate(reversed(range(len(windows)))):
        window = windows[index]
        if window.kernel == window.stride == 1:
            x = x.unsqueeze([2])
            continue
        stride, axis = b.e.ints([window.stride]), b.e.ints([2 + index + done])
        reach = b.product([counts[index], window.stride])
        taps: list[Value] = []
        for tap in range(window.kernel):
            first = tap * window.dilation
            end = b.e.ints([first + reach]) if isinstance(reach, int) else b.e(reach) + b.e.ints([first])
            taps.append(x.apply(onnx.SliceOp, b.e.ints([first]), end, axis, stride).unsqueeze([2]))
        x = b.e.concat(taps, 2)
    return x


def _by_groups(b: Batch, value: Value, batched: bool, sizes: Sequence[Size]) -> Value:
    """Return rows of (N, G, C, P) as (G, C, N * P)."""
    batch, groups, channels, count = sizes
    first = [b.size] if batched else []
    if batch == 1:
        return b.reshape(value, [*first, groups, channels, count])
    apart = b.reshape(value, [*first, batch, groups, channels, count])
    axes = [axis + batched for axis in (1, 2, 0, 3)]
    moved = apart.transpose([*range(batched), *axes])
    return b.reshape(moved, [*first, groups, channels, b.product([batch, count])])


RULES: Mapping[str, BatchingRule] = MappingProxyType({"grad.conv_backward_weights": weights_gradient})
