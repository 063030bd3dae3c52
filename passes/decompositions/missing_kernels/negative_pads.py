"""Rewrite a Pad with negative pads to a Slice and a Pad."""

from __future__ import annotations

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.call import axes_of
from dialects.onnx.dims import ints
from dialects.support.shapes import has_rank, shape_of
from passes.autodiff.common.primal import Primal
from passes.builder.values import Builder
from passes.decompositions.registry import Results

LAST = 2**31 - 1
"""The end of an axis of any size."""


def has_negative_pads(op: OnnxOp) -> bool:
    """Return whether a Pad of constant mode has known negative pads."""
    return _negative_pads(op) is not None


def without_negative_pads(f: Primal, e: Builder) -> Results | None:
    op, emit = f.op, e.emit
    found = _negative_pads(op)
    if found is None:
        return None
    assert isinstance(op, onnx.PadOp)
    axes, pads = found
    count, value = len(axes), op.data
    cut = {axis: (-min(0, pads[i]), min(0, pads[count + i]) or LAST) for i, axis in enumerate(axes)}
    cut = {axis: ends for axis, ends in cut.items() if ends != (0, LAST)}
    begins, ends = ([ends[side] for ends in cut.values()] for side in (0, 1))
    value = emit(onnx.SliceOp(value, emit.ints(begins), emit.ints(ends), emit.ints([*cut])))
    added = [max(0, pad) for pad in pads]
    if not any(added):
        return [value]
    if op.axes is None:
        return [emit(onnx.PadOp(value, emit.ints(added), op.constant_value))]
    return [emit(onnx.PadOp(value, emit.ints(added), op.constant_value, op.axes))]


def _negative_pads(op: OnnxOp) -> tuple[list[int], list[int]] | None:
    """Return the axes and their pads, if some of these are negative."""
    assert isinstance(op, onnx.PadOp)
    call = op.call()
    pads, given = ints(call.operand(1).dims), call.optional(3)
    if pads is None or min(pads, default=0) >= 0 or call.attribute("mode", "constant") != "constant":
        return None
    if not has_rank(op.data):
        return None
    rank = len(shape_of(op.data))
    listed = [*range(rank)] if given is None else ints(given.dims)
    return None if listed is None else (axes_of(listed, rank), pads)
