"""Elementwise ops on the inputs of a Scan, in an order in which OpenVINO does not overwrite a carried value.

Where the first operand of such an op is what a step is given, OpenVINO 2026.4 puts the result in its place,
and copies the next step's over it before it carries the result on.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, BlockArgument, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from passes.emit.rewriting import Emitter

COMMUTATIVE = (onnx.AddOp, onnx.MulOp)


def is_scanned_first(op: OnnxOp) -> bool:
    """Whether the first operand is an input of the Scan around, and the second is none."""
    first, second = op.operands
    return _is_scanned(first) and not _is_scanned(second)


def with_scanned_last(emit: Emitter, op: OnnxOp) -> Sequence[SSAValue] | None:
    first, second = op.operands
    if isinstance(op, onnx.SubOp):
        return [emit(onnx.AddOp(emit(onnx.NegOp(second)), first))]
    assert isinstance(op, onnx.AddOp | onnx.MulOp)
    return [emit(type(op)(second, first))]


def _is_scanned(value: SSAValue) -> bool:
    block = value.owner
    if not isinstance(value, BlockArgument) or not isinstance(block, Block):
        return False
    scan = block.parent_op()
    if not isinstance(scan, onnx.ScanOp):
        return False
    count = scan.call().attribute("num_scan_inputs", 0)
    return value.index >= len(block.args) - count
