"""Values that enter and leave the bodies of Loop and Scan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from xdsl.ir import BlockArgument, Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.support.shapes import Shape, shape_of

Looping = onnx.LoopOp | onnx.ScanOp


@dataclass(frozen=True)
class Carried:
    """A loop-carried value: the index of its initial operand, the argument and the index of the yielded
    operand of the body, and the result."""

    operand: int
    argument: BlockArgument
    yielded: int
    result: SSAValue


@dataclass(frozen=True)
class Scanned:
    """An operand of Scan whose slices along an axis are an argument of the body."""

    operand: int
    argument: BlockArgument
    axis: int

    def slice_shape(self, shape: Shape) -> Shape:
        axis = self.axis % len(shape)
        return shape[:axis] + shape[axis + 1 :]


@dataclass(frozen=True)
class Stacked:
    """A result that stacks a yielded operand of all steps along an axis."""

    yielded: int
    result: SSAValue
    axis: int

    def shape(self, slices: Shape) -> Shape:
        """Return the shape of the result for that of a step."""
        axis = self.axis % (len(slices) + 1)
        return (*slices[:axis], shape_of(self.result)[axis], *slices[axis:])


def carried_values(op: Looping) -> Iterator[Carried]:
    block, states = op.regions[0].block, _states(op)
    is_loop = isinstance(op, onnx.LoopOp)
    first = len(op.operands) - states if is_loop else 0
    for index in range(states):
        argument = block.args[index + 2 * is_loop]
        yield Carried(first + index, argument, index + is_loop, op.results[index])


def scanned_values(op: Looping) -> Iterator[Scanned]:
    states = _states(op)
    if isinstance(op, onnx.ScanOp):
        axes = _axes(op, "scan_input_axes", len(op.operands) - states)
        for index, axis in enumerate(axes, states):
            yield Scanned(index, op.regions[0].block.args[index], axis)


def stacked_values(op: Looping) -> Iterator[Stacked]:
    states, is_loop = _states(op), isinstance(op, onnx.LoopOp)
    for index, axis in enumerate(_axes(op, "scan_output_axes", len(op.results) - states), states):
        yield Stacked(index + is_loop, op.results[index], axis)


def _states(op: Looping) -> int:
    if isinstance(op, onnx.LoopOp):
        return len(op.v_initial)
    return len(op.operands) - op.num_scan_inputs.value.data


def _axes(op: Operation, name: str, count: int) -> list[int]:
    attributes: Any = op.onnx_attributes() if hasattr(op, "onnx_attributes") else {}  # pyright: ignore
    return [int(axis) for axis in attributes.get(name) or (0,) * count]
