"""VJP of a Loop with carried values of changing size, checkpointed in sequences.

The original Loop carries the sequences. The gradient is a Loop, too: unlike a Scan it may carry cotangents of
changing size.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import TensorType, UnitAttr, UnrankedTensorType, i1, i64
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue, SSAValues
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.onnx import ops as onnx
from dialects.onnx.attributes import SEGMENTS
from dialects.onnx.construction import segments
from dialects.onnx.control import YieldOp
from dialects.onnx.types import SequenceType
from dialects.support.shapes import Shape, element_type_of, shape_of
from passes.autodiff.common.primal import refusal
from passes.autodiff.control_flow.regions import RegionPrimal, Writer, drop_dead, region_of
from passes.autodiff.control_flow.sequences import add_values, is_sequence, zeros_like
from passes.autodiff.control_flow.steps import Carried, Reversed, Stacked, Steps
from passes.builder.values import Builder, Value

CHANGING = "gradc.changing"
"""Attribute of a Loop that carries cotangents of changing size."""


def has_changing_shapes(steps: Steps) -> bool:
    """Return whether an active value is a sequence or has a size that changes from step to step."""
    changes = ((one.changes and not one.ends) or is_sequence(one.argument) for one in steps.varied())
    return any(changes) or any(map(is_sequence, steps.f.active_captures()))


def reverse_by_sequences(steps: Steps, indices: Value, e: Builder) -> Reversed:
    """Emit the Loop over the steps in reverse; `indices` has one element per step. With no steps, the
    cotangents pass unchanged."""
    return _Reverse(steps, indices, e).write()


class _Reverse:
    def __init__(self, steps: Steps, indices: Value, e: Builder):
        self.steps, self.e = steps, e
        self.writer = Writer(steps.f, Builder(strict_ieee=e.strict_ieee))
        self.count = indices.apply(onnx.SizeOp)
        self.varied = steps.varied()
        for one in self.varied:
            if not is_sequence(one.argument):
                _rank_of(one)
        self.index, _ = self.writer.input(TensorType(i64, [])), self.writer.input(TensorType(i1, []))
        self.cotangents = [self.writer.input(one.type) for one in self.varied]

    def write(self) -> Reversed:
        steps, writer = self.steps, self.writer
        read = self._inputs()
        arrived = [(value, of, writer.input(of.type_of(value))) for value, of in steps.made]
        inputs: dict[SSAValue, SSAValue] = {argument: at for argument, (at, _) in read.items()}
        known = {a: writer.e.emit.constant(np.array(value)) for a, value in steps.known.items()}
        writer.copy(steps.block, {**inputs, **known})
        seeds = [(one.following, writer.e(g)) for one, g in zip(self.varied, self.cotangents, strict=True)]
        seeds += [(value, writer.e(at)) for value, _, at in arrived]
        states = [inputs[one.argument] for one in self.varied]
        found = writer.pull(seeds, {*states, *steps.f.active_captures()})
        around = [value for value in steps.f.active_captures() if value in found]
        sums = [writer.input(value.type) for value in around]
        e = writer.e
        going = e(e.emit.constant(np.array(True)))
        given = [found[state] if state in found else zeros_like(e, state) for state in states]
        totals = [add_values(e(total), found[value]) for total, value in zip(sums, around, strict=True)]
        outputs = [going, *given, *totals]
        drop_dead(e, outputs)
        self._read([*read.values(), *((at, of) for _, of, at in arrived)])
        region = region_of(writer.block, e, outputs, steps.f.op)
        values = [*(one.initial for one in self.varied), *around]
        finals = [self._final(one) for one in self.varied]
        zeros = [zeros_like(self.e, value) for value in around]
        new = onnx.LoopOp(
            self.count.value,
            None,
            [one.value for one in (*finals, *zeros)],
            body=region,
            result_types=[value.type for value in values],
        )
        new.attributes[CHANGING] = UnitAttr()
        results = list(map(self.e, self.e.emit.all(new)))
        split = len(self.varied)
        return Reversed(
            list(zip(self.varied, results[:split], strict=True)),
            list(zip(around, results[split:], strict=True)),
        )

    def _inputs(self) -> dict[BlockArgument, tuple[BlockArgument, Stacked | Carried]]:
        """Add the body's inputs as arguments, before it is known which are needed."""
        steps, writer = self.steps, self.writer
        found: dict[BlockArgument, tuple[BlockArgument, Stacked | Carried]] = {}
        for argument, of in steps.scanned.items():
            found[argument] = (writer.input(of.type_of(argument)), of)
        for one in steps.carried:
            found[one.argument] = (writer.input(one.type), one)
        return found

    def _read(self, read: list[tuple[BlockArgument, Stacked | Carried]]) -> None:
        """Replace the arguments by reads of the checkpoints, at the beginning of the region."""
        inner, block = self.writer.e, self.writer.block
        head = Builder(strict_ieee=inner.strict_ieee)
        place = head(self.count.value) - 1 - head(self.index)
        for argument, of in read:
            if argument.uses:
                argument.replace_all_uses_with(self._at(place, of).value)
            block.erase_arg(argument)
        inner.emit.ops[:0] = head.emit.ops

    def _at(self, place: Value, of: Stacked | Carried) -> Value:
        e = place.e
        if isinstance(of, Stacked):
            return e(of.value).apply(onnx.GatherOp, place, axis=0)
        if is_sequence(of.argument):
            what = "elements of a sequence that is carried"
            raise refusal(what, given="read in each step", expected="read after the loop, or not carried")
        if not of.changes:
            stack = self.steps.f.keep(of.argument, of.shape(), self.steps.count)
            return e(stack).apply(onnx.GatherOp, place, axis=0)
        kept = _checkpoint_in_sequence(self.steps.f, of.argument, _rank_of(of), self.e)
        return e(e.emit(onnx.SequenceAtOp(kept, place.value))).assume_shape(_rank_of(of))

    def _final(self, one: Carried) -> Value:
        """Return the cotangent of a carried value after the last step."""
        if one.final is not None:
            return one.final
        index = [other.argument for other in self.steps.carried].index(one.argument)
        return zeros_like(self.e, self.steps.f.op.results[index])


def _rank_of(one: Carried) -> Shape:
    """Return the shape of a value in each step; None for sizes that may change."""
    if not isinstance(one.type, TensorType):
        raise refusal("shape of a carried value", given=one.changes, expected="one of known rank")
    return shape_of(one.type)


def _checkpoint_in_sequence(f: RegionPrimal, value: SSAValue, shape: Shape, e: Builder) -> SSAValue:
    """Checkpoint a body value in a sequence that the Loop carries, and return the sequence."""
    loop, block = f.op, f.op.regions[0].block
    assert isinstance(loop, onnx.LoopOp)
    last = block.last_op
    assert isinstance(last, YieldOp)
    states, dtype = len(loop.v_initial), element_type_of(value)
    type_ = SequenceType(UnrankedTensorType(dtype))
    empty = onnx.SequenceEmptyOp(dtype=dtype)
    empty.location = loop.location
    _insert_before(loop, empty, e)
    groups = [loop.M is not None, loop.cond is not None, states + 1]
    loop.operands = [*loop.operands, empty.results[0]]
    loop.properties[SEGMENTS] = segments(tuple(map(int, groups)))
    argument = block.insert_arg(type_, len(block.args))
    longer = onnx.SequenceInsertOp(argument, value, result_types=[type_])
    longer.location = loop.location
    Rewriter.insert_op(longer, InsertPoint.before(last))
    made = last.operands
    Rewriter.replace_op(last, YieldOp(*made[: 1 + states], longer.results[0], *made[1 + states :]))
    result = OpResult(type_, loop, states)
    for other in loop.results[states:]:
        other.index += 1
    loop.results = SSAValues((*loop.results[:states], result, *loop.results[states:]))
    return result


def _insert_before(op: Operation, new: Operation, e: Builder) -> None:
    if op.parent is not None:
        Rewriter.insert_op(new, InsertPoint.before(op))
        return
    e.emit.ops.insert(e.emit.ops.index(op), new)  # not inserted into its region yet
