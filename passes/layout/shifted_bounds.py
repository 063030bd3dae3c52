"""Bounds of 0 and 1 on what a convolution gives: around 0 both are one bound, on the square.

`keep-blocked` writes Clip(x, 0, 1) as a HardSigmoid, and the mask of its derivative, 0 <= x <= 1, as the
product of two steps. Where a convolution's bias gives x - 1/2 instead, the mask is one step of a square.
"""

from __future__ import annotations

import numpy as np
from xdsl.ir import Block, Operation
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.onnx import ops as onnx
from dialects.onnx.values import constant_of
from passes.emit.operands import replace_uses
from passes.emit.steep_lines import Line, line_from

UNIT: Line = (1.0, 0.0)
"""Of a Clip between 0 and 1."""


def shift_bounds(block: Block) -> None:
    """Do so for each convolution of a block that is read by nothing else."""
    for op in [op for op in block.ops if isinstance(op, onnx.ConvOp)]:
        found = _readers(op)
        if found is not None:
            _shift(op, *found)


def _readers(op: onnx.ConvOp) -> tuple[Operation, Operation] | None:
    """The bounded result, and the mask, of a convolution with a constant bias."""
    readers = [use.operation for use in op.Y.uses]
    if len(readers) != 3 or op.B is None or constant_of(op.B) is None:
        return None
    by_line = {line_of(reader): reader for reader in readers}
    bounded = by_line.pop(UNIT, None)
    if bounded is None or set(by_line) != set(_steps()):
        return None
    masks = {reader.results[0].get_user_of_unique_use() for reader in by_line.values()}
    mask = masks.pop()
    return (bounded, mask) if not masks and isinstance(mask, onnx.MulOp) else None


def line_of(op: Operation) -> Line | None:
    if not isinstance(op, onnx.HardSigmoidOp):
        return None
    return op.call().attribute("alpha", 0.2), op.call().attribute("beta", 0.5)


def _steps() -> tuple[Line, Line]:
    """0 <= x, x <= 1."""
    low, high = line_from(0.0), line_from(-1.0)
    assert low is not None
    assert high is not None
    return _rounded(low), (-high[0], high[1])


def _rounded(line: Line) -> Line:
    """As an attribute has it."""
    return float(np.float32(line[0])), float(np.float32(line[1]))


def _shift(op: onnx.ConvOp, bounded: Operation, mask: Operation) -> None:
    assert op.B is not None
    bias, line = constant_of(op.B), line_from(-0.25)
    assert bias is not None
    assert line is not None
    moved = onnx.ConstantOp((bias - np.float32(0.5)).astype(bias.dtype))
    Rewriter.insert_op(moved, InsertPoint.before(op))
    op.operands[2] = moved.output
    _put(bounded, onnx.HardSigmoidOp(op.Y, alpha=UNIT[0], beta=0.5))
    steps = [value.owner for value in mask.operands]
    square = onnx.MulOp(op.Y, op.Y)
    square.location = mask.location
    Rewriter.insert_op(square, InsertPoint.before(mask))
    _put(mask, onnx.HardSigmoidOp(square.C, alpha=-line[0], beta=line[1]))
    for step in steps:
        assert isinstance(step, Operation)
        Rewriter.erase_op(step)


def _put(old: Operation, new: Operation) -> None:
    new.location = old.location
    Rewriter.insert_op(new, InsertPoint.before(old))
    replace_uses(old.results[0], new.results[0])
    Rewriter.erase_op(old)
