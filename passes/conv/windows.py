"""Reads of padded diff_dst by the taps of a convolution."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from dialects.grad.geometry import ConvAxis
from dialects.onnx import ops as onnx
from dialects.support.shapes import shape_of
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import product, reshape, size_of
from passes.conv.phases import Phase

Taps = Sequence[tuple[int, int]]
"""Taps of one axis in ascending order, each with the padded position that it reads for position 0."""


def phase_taps(phase: Phase, pad: int) -> Taps:
    return sorted((tap, pad + phase.first + i * phase.step) for i, tap in enumerate(phase.taps))


def forward_taps(axis: ConvAxis) -> Taps:
    """Return the reads of tap k: position x reads x s - pb + k d."""
    return [(k, k * axis.window.dilation) for k in range(axis.window.kernel)]


def tap_numbers(taps: Sequence[Taps]) -> list[list[int]]:
    """Return the tap indices of every axis."""
    return [[tap for tap, _ in axis] for axis in taps]


def pad_spatial(
    emit: OpBuilder, data: SSAValue, axis: int, begin: Sequence[int], end: Sequence[int]
) -> SSAValue:
    """Zero-pad the spatial axes, the first of which is `axis`; negative pads crop."""
    if not any((*begin, *end)):
        return data
    rest = [0] * (len(shape_of(data)) - axis - len(begin))
    return emit(onnx.PadOp(data, emit.ints([*[0] * axis, *begin, *rest, *[0] * axis, *end, *rest])))


def gather_taps(
    emit: OpBuilder,
    data: SSAValue,
    axis: int,
    taps: Sequence[Taps],
    counts: Sequence[int],
    steps: Sequence[int],
) -> SSAValue:
    """Gather channels-last data (.., Y.., O) to (.., counts.., T O): for each position, the rows of O
    channels that its taps read. `axis` is the first axis of Y."""
    sizes = [size for size in shape_of(data)[axis:-1] if isinstance(size, int)]
    outer, channels = [size_of(emit, data, i) for i in range(axis)], size_of(emit, data, axis + len(sizes))
    rows = _read_positions(sizes, taps, counts, steps)
    all_in_order = np.array_equal(rows.reshape(-1), np.arange(math.prod(sizes)))
    if all_in_order and rows.shape == (*sizes, 1):
        return data
    if not all_in_order:
        data = reshape(emit, data, [*outer, math.prod(sizes), channels])
        data = emit(onnx.GatherOp(data, emit.constant(rows), axis=axis))
    return reshape(emit, data, [*outer, *counts, product(emit, [rows.shape[-1], channels])])


def _read_positions(
    sizes: Sequence[int], taps: Sequence[Taps], counts: Sequence[int], steps: Sequence[int]
) -> np.ndarray:
    """Return the flat positions that the taps read, as an array (counts.., T)."""
    n = len(sizes)
    places = np.zeros((1,) * 2 * n, np.int64)
    for i, (read, count, step) in enumerate(zip(taps, counts, steps, strict=True)):
        reads = step * np.arange(count)[:, None] + np.array([first for _, first in read])
        shape = [1] * 2 * n
        shape[i], shape[n + i] = reads.shape
        places = places * sizes[i] + reads.reshape(shape)
    return places.reshape(*counts, -1)
