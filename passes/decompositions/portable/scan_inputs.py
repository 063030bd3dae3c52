"""Reorder operands of elementwise ops on Scan inputs, for an OpenVINO bug.

If the first operand is an input slice, OpenVINO 2026.4 writes the result into its buffer, and copies the next
slice over it before the carried value is read.
"""

from __future__ import annotations

from xdsl.ir import Block, BlockArgument, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from passes.autodiff.common.primal import Primal
from passes.builder.values import Builder
from passes.decompositions.registry import Results


def is_scanned_first(op: OnnxOp) -> bool:
    """Return whether the first operand only is an input of the enclosing Scan."""
    first, second = op.operands
    return _is_scanned(first) and not _is_scanned(second)


def with_scanned_last(f: Primal, e: Builder) -> Results:
    op, emit = f.op, e.emit
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
