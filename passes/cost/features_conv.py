"""Convolutions and pools."""

from __future__ import annotations

import math

from passes.cost import rewrites
from passes.cost.features_matmul import gemm
from passes.cost.graph import Step
from passes.cost.vector import Features, add, traffic

OUTPUTS = 6
"""Neighbouring results that a blocked kernel holds in registers."""

FILTERS = 64
"""Output channels that it computes at a time: four blocks."""

DEEP = 128
"""Input channels that a pointwise kernel adds up before it writes."""


def conv(step: Step) -> Features:
    """Not blocked: the windows are unrolled into a matrix, but for those of one position."""
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
    found["Conv.weights"] = float(0 if weights.constant else weights.bytes)
    return found


def conv_transpose(step: Step) -> Features:
    """Per image and group a product to columns, which are then added into the result."""
    data, weights, result = step.operand(0), step.operand(1), step.result
    groups = step.int("group", 1)
    rows, per_group, *kernel = weights.shape
    batch, positions, taps = data.shape[0], math.prod(data.shape[2:]), math.prod(kernel)
    found = gemm(per_group * taps, positions, rows // groups, batch * groups, itemsize=result.itemsize)
    add(found, traffic("ConvTranspose", result.bytes))
    found["ConvTranspose.weights"] = float(0 if weights.constant else weights.bytes)
    add(found, _scattered("ConvTranspose", step, batch * groups * per_group * taps, data.shape[2:]))
    return found


def col2im(step: Step) -> Features:
    data, result = step.operand(0), step.result
    kernel = step.operand(2).known() or [1] * (len(result.shape) - 2)
    channels = result.shape[0] * result.shape[1]
    rows = channels * math.prod(kernel)
    strides = step.ints("strides", [1] * len(kernel))
    # the last of the windows' sizes is not written down: what the strides leave of the result's
    width = max(1, result.shape[-1] // strides[-1])
    positions = (data.shape[-1] // width, width)
    found = _scattered("Col2Im", step, rows, positions)
    add(found, traffic("Col2Im", result.bytes))
    return found


def _scattered(name: str, step: Step, rows: int, positions: tuple[int, ...]) -> Features:
    """Adding `rows` of columns, each of `positions`, into the result."""
    elements = rows * math.prod(positions)
    rank = len(step.result.shape) - 2
    if rank != 2:
        return {f"{name}.general": float(elements)}
    unit = all(v == 1 for key in ("strides", "dilations") for v in step.ints(key, [1]))
    word = "dense" if unit else "strided"
    return {f"{name}.{word}": float(elements), f"{name}.{word}_runs": elements / max(1, positions[-1])}


def average_pool(step: Step) -> Features:
    """Not blocked."""
    taps = math.prod(step.ints("kernel_shape", []))
    return traffic("AveragePool", step.operand(0).bytes + step.result.bytes) | {
        "AveragePool.taps": float(step.result.elements * taps),
        "AveragePool.results": float(step.result.elements),
    }


def blocked(step: Step) -> Features:
    """Kernels on blocks of 16 channels. One call computes a row of results of up to four blocks from one
    block of input channels; within it, OUTPUTS positions at a time, those at padded ends one by one."""
    result = step.result
    batch, out, height, width = result.shape
    out = math.ceil(out / rewrites.BLOCK) * rewrites.BLOCK
    kernel = step.ints("kernel_shape", []) if step.kind == rewrites.POOL else step.operand(1).shape[2:]
    taps = math.prod(kernel)
    single = min(width, _padded_positions(step, kernel[-1], width))
    tiles = math.ceil((width - single) / OUTPUTS) + single
    rows = float(batch * height)
    if step.kind in (rewrites.DEPTHWISE, rewrites.POOL):
        name = "Depthwise" if step.kind == rewrites.DEPTHWISE else "Pool"
        return {
            f"{name}.taps": rows * width * out * taps,
            f"{name}.tiles": rows * tiles * out * taps,
            f"{name}.results": rows * width * out,
            f"{name}.calls": rows * out / rewrites.BLOCK,
        }
    per_group = step.operand(1).shape[1]
    groups = step.int("group", 1)
    sets = groups * math.ceil(out / groups / FILTERS)
    name = step.kind
    deep = DEEP if step.kind == rewrites.POINTWISE else rewrites.BLOCK
    passes = math.ceil(per_group / deep)
    work = per_group * taps
    if step.kind == rewrites.POINTWISE and all(s == 1 for s in step.ints("strides", [1, 1])):
        tiles, rows, width = math.ceil(height * width / OUTPUTS), float(batch), height * width
    return {
        f"{name}.flops": rows * width * out * work,
        f"{name}.sets": rows * width * sets * work * rewrites.BLOCK,
        f"{name}.tiles": rows * tiles * out * work,
        f"{name}.rows": rows * out * work,
        f"{name}.sums": rows * width * out * passes,
        f"{name}.calls": rows * sets * passes,
    }


def _padded_positions(step: Step, kernel: int, width: int) -> int:
    """Results of a row whose windows reach beyond the data."""
    pads, stride = step.ints("pads", [0] * 4), step.ints("strides", [1, 1])[-1]
    extent = (kernel - 1) * step.ints("dilations", [1, 1])[-1] + 1
    size = step.operand(0).shape[-1]
    begin = math.ceil(pads[1] / stride)
    last = (size + pads[1] - extent) // stride
    return begin + max(0, width - 1 - last)
