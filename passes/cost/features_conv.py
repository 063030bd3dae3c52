"""Features of convolutions and pools."""

from __future__ import annotations

import math
from dataclasses import dataclass

from passes.cost.features_matmul import gemm
from passes.cost.graph import Step
from passes.cost.vector import ALONE, NEAR, Features, add, traffic
from passes.onnxruntime import optimizer_model

OUTPUTS = 6
"""Neighbouring results that a blocked kernel accumulates in registers."""

FILTERS = 64
"""Output channels that a blocked kernel computes at a time: four blocks."""

DEEP = 128
"""Input channels that a pointwise kernel accumulates before it writes."""


def conv(step: Step) -> Features:
    """Count an unblocked Conv: im2col, unless windows have one position, and a product."""
    data, weights, result = step.operand(0), step.operand(1), step.result
    groups = step.int("group", 1)
    out, per_group, *kernel = weights.shape
    batch, positions, taps = result.shape[0], math.prod(result.shape[2:]), math.prod(kernel)
    found = gemm(out // groups, positions, per_group * taps, batch * groups, itemsize=result.itemsize)
    strides = step.ints("strides", [1] * len(kernel))
    if taps > 1 or any(s > 1 for s in strides) or any(step.ints("pads", [0])):
        unrolled = float(batch * data.shape[1] * taps * positions)
        name = "Unroll.strided" if strides[-1] > 1 else "Unroll"
        add(found, {f"{name}.elements": unrolled, "Unroll.runs": unrolled / result.shape[-1]})
    add(found, traffic("Conv", data.bytes + result.bytes))
    found["Conv.weights"] = float(0 if weights.constant else weights.bytes)
    return found


def conv_transpose(step: Step) -> Features:
    """Count a product to columns per image and group, and their accumulation into the result."""
    data, weights, result = step.operand(0), step.operand(1), step.result
    groups = step.int("group", 1)
    rows, per_group, *kernel = weights.shape
    products, positions, taps = data.shape[0] * groups, math.prod(data.shape[2:]), math.prod(kernel)
    columns = per_group * taps * positions
    turned, itemsize = not weights.constant, result.itemsize
    found = gemm(per_group * taps, positions, rows // groups, products, turned=turned, itemsize=itemsize)
    add(found, traffic("ConvTranspose", result.bytes))
    found["ConvTranspose.weights"] = float(0 if weights.constant else weights.bytes)
    # one buffer of columns is reused for all products
    found["ConvTranspose.columns_far"] = float(products * max(0, columns * result.itemsize - NEAR))
    add(found, _accumulation("ConvTranspose", step, products * columns, data.shape[-1]))
    return found


def col2im(step: Step) -> Features:
    data, result = step.operand(0), step.result
    strides = step.ints("strides", [1] * (len(result.shape) - 2))
    # kernel sizes are not known here: estimate the width from the last axis and its stride
    width = max(1, result.shape[-1] // strides[-1])
    found = _accumulation("Col2Im", step, data.elements, width)
    add(found, traffic("Col2Im", data.bytes + result.bytes))
    return found


def _accumulation(name: str, step: Step, elements: int, width: int) -> Features:
    """Count the accumulation of columns, in rows of `width`; padding is tested for each element."""
    rank = len(step.result.shape) - 2
    if rank != 2:
        return {f"{name}.{'line' if rank == 1 else 'volume'}": float(elements)}
    unit = all(s == 1 for s in step.ints("strides", [1]))
    padded = any(step.ints("pads", [0])) or any(d > 1 for d in step.ints("dilations", [1]))
    word = ("padded_" if padded else "") + ("dense" if unit else "strided")
    return {f"{name}.{word}": float(elements), f"{name}.{word}_runs": elements / max(1, width)}


def average_pool(step: Step) -> Features:
    """Count an unblocked AveragePool. The rows of a volume may be as short as a pixel's channels. A window
    wider than two is pooled element by element on the last axis."""
    kernel = step.ints("kernel_shape", [])
    name = {1: "AveragePool.line", 2: "AveragePool.image"}.get(len(kernel), "AveragePool.volume")
    found = traffic(name, step.operand(0).bytes + step.result.bytes) | {
        f"{name}.taps": float(step.result.elements * math.prod(kernel)),
        f"{name}.results": float(step.result.elements),
    }
    if kernel and kernel[-1] > 2:
        found[f"{name}.across"] = float(step.result.elements * kernel[-1])
    rows = {f"{name}.rows": float(math.prod(step.result.shape[:-1]))}
    return found | rows if len(kernel) == 3 else found


def blocked_kernel(step: Step) -> Features:
    """Count a kernel on blocks of 16 channels. One call computes a row of results of up to four blocks from
    one block of input channels, OUTPUTS positions at a time, padded ends one by one. Taps in the padding are
    skipped. Threads share rows of results; a single row is computed by one thread alone."""
    batch, out, height, width = step.result.shape
    rows = height
    out = math.ceil(out / optimizer_model.BLOCK) * optimizer_model.BLOCK
    depthwise = step.kind in (optimizer_model.DEPTHWISE, optimizer_model.POOL)
    if step.kind == optimizer_model.POINTWISE and _has_unit_strides(step):
        height, width = 1, height * width
        down, across = Taps(1, 1, 0), Taps(width, width, 0)
    else:
        kernel = (
            step.ints("kernel_shape", []) if step.kind == optimizer_model.POOL else step.operand(1).shape[2:]
        )
        down, across = (_taps(step, axis, kernel[axis]) for axis in range(2))
    name = {optimizer_model.DEPTHWISE: "Depthwise", optimizer_model.POOL: "Pool"}.get(step.kind, step.kind)
    # a whole row of tiles, weighted by the number of rows of taps
    tiles = math.ceil(across.inner / across.per_result / OUTPUTS) * across.per_result + across.edge
    if depthwise:
        return {
            f"{name}.taps": float(batch * out * down.all * across.all),
            f"{name}.tiles": float(batch * out * down.all * tiles),
            f"{name}.results": float(batch * out * height * width),
            f"{name}.calls": batch * height * out / optimizer_model.BLOCK,
        }
    per_group = step.operand(1).shape[1]
    if step.kind != optimizer_model.DIRECT:
        per_group = math.ceil(per_group / optimizer_model.BLOCK) * optimizer_model.BLOCK
    groups = step.int("group", 1)
    sets = groups * math.ceil(out / groups / FILTERS)
    passes = math.ceil(
        per_group / (DEEP if step.kind == optimizer_model.POINTWISE else optimizer_model.BLOCK)
    )
    if batch * sets * rows == 1:
        name = ALONE + name
    return {
        f"{name}.flops": float(batch * out * per_group * down.all * across.all),
        f"{name}.sets": float(batch * sets * optimizer_model.BLOCK * per_group * down.all * across.all),
        f"{name}.tiles": float(batch * out * per_group * down.all * tiles),
        f"{name}.rows": float(batch * out * per_group * down.all * across.per_result),
        f"{name}.sums": float(batch * height * width * out * passes),
        f"{name}.calls": float(batch * height * sets * passes),
    }


@dataclass(frozen=True)
class Taps:
    """Pairs of a result and a tap within the data, along one axis: `inner` of results whose windows lie
    within the data, `edge` of the others."""

    per_result: int
    inner: int
    edge: int

    @property
    def all(self) -> int:
        return self.inner + self.edge


def _taps(step: Step, axis: int, kernel: int) -> Taps:
    size, results = step.operand(0).shape[2 + axis], step.result.shape[2 + axis]
    stride, dilation = (step.ints(name, [1, 1])[axis] for name in ("strides", "dilations"))
    begin = step.ints("pads", [0] * 4)[axis]
    extent = (kernel - 1) * dilation + 1
    first = math.ceil(begin / stride)
    last = (size + begin - extent) // stride
    whole = max(0, min(results - 1, last) - first + 1)
    edges = (*range(min(first, results)), *range(max(first, last + 1), results))
    inside = sum(_inside(y * stride - begin, kernel, dilation, size) for y in edges)
    return Taps(kernel, whole * kernel, inside)


def _inside(start: int, kernel: int, dilation: int, size: int) -> int:
    """Return how many of start, start + dilation, .. lie in [0, size)."""
    first = max(0, math.ceil(-start / dilation))
    last = min(kernel - 1, (size - 1 - start) // dilation)
    return max(0, last - first + 1)


def _has_unit_strides(step: Step) -> bool:
    return all(s == 1 for s in step.ints("strides", [1, 1]))
