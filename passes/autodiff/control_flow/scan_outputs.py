"""Rewrite loops that grow a tensor or sequence to loops with scan outputs.

`ys = Concat(ys, y)` and `ys = SequenceInsert(ys, y)` carry a value of changing shape, which a reverse Scan
cannot. If the body reads `ys` nowhere else and `y` has one shape in all steps, the loop returns all `y`
stacked, and the carried value is built after it. Concatenation implies that unknown sizes agree, except on
its axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp, UnrankedTensorType
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.onnx import ops as onnx
from dialects.onnx.control import YieldOp
from dialects.support.interfaces import set_type
from dialects.support.shapes import Shape, element_type_of, has_rank, shape_of, tensor_type
from passes.autodiff.control_flow.loop_shapes import shapes_in_each_step, without_symbols
from passes.builder.op_builder import OpBuilder
from passes.builder.operands import replace_uses, set_operand
from passes.infer_types import infer_types


def to_scan_outputs(module: ModuleOp) -> bool:
    """Rewrite such loops and all uses of their results; return whether there were any."""
    for op in [op for op in module.walk() if isinstance(op, onnx.IfOp)]:
        _append_behind(op)
    loops = [op for op in module.walk() if isinstance(op, onnx.LoopOp)]
    changed = [_stack(op) for op in loops]
    if not any(changed):
        return False
    infer_types(module)
    return True


def _append_behind(op: onnx.IfOp) -> None:
    """Move an append to one sequence, common to both branches, out of an If."""
    ends = [region.block.last_op for region in op.regions]
    for index, result in enumerate(op.results):
        adding = [end.operands[index].owner for end in ends if end is not None]
        appends = [one for one in adding if isinstance(one, onnx.SequenceInsertOp) and len(one.operands) == 2]
        sequences = {one.operands[0] for one in appends}
        if len(appends) != len(ends) or len(sequences) != 1 or not all(map(_is_yield_only, appends)):
            continue
        (sequence,), type_ = sequences, result.type
        if any(_block_of(sequence) is region.block for region in op.regions):
            continue
        added = [one.operands[1] for one in appends]
        for end, value in zip(ends, added, strict=True):
            assert end is not None
            set_operand(end, index, value)
        for one in appends:
            Rewriter.erase_op(one)
        alike = len({value.type for value in added}) == 1
        set_type(result, added[0].type if alike else UnrankedTensorType(element_type_of(added[0])))
        append = onnx.SequenceInsertOp(sequence, result, result_types=[type_])
        append.location = op.location
        replace_uses(result, append.results[0], but_of=append)
        Rewriter.insert_op(append, InsertPoint.after(op))


def _is_yield_only(op: Operation) -> bool:
    """Return whether only the end of a branch reads the result."""
    return op.results[0].has_one_use()


def _block_of(value: SSAValue) -> Block | None:
    return value.owner if isinstance(value.owner, Block) else value.owner.parent


@dataclass(frozen=True)
class _Accumulator:
    """The carried value of an index; `op` of the body appends `adds` to it in each step."""

    index: int
    op: onnx.ConcatOp | onnx.SequenceInsertOp
    adds: SSAValue


def _stack(op: onnx.LoopOp) -> bool:
    block = op.body.block
    last = block.last_op
    assert isinstance(last, YieldOp)
    found = [one for index in range(len(op.v_initial)) if (one := _accumulator(op, last, index)) is not None]
    made = last.operands[1 : 1 + len(op.v_initial)]
    shapes = shapes_in_each_step(block, block.args[2:], op.v_initial, made, [one.adds for one in found])
    rows = [
        (one, shape) for one, shape in zip(found, shapes, strict=True) if _has_fixed_shape(op, one, shape)
    ]
    if not rows:
        return False
    _rewrite(op, block, last, [one for one, _ in rows], [shape for _, shape in rows if shape is not None])
    return True


def _has_fixed_shape(op: onnx.LoopOp, one: _Accumulator, shape: Shape | None) -> bool:
    """Return whether the appended value has one shape in all steps, as far as joins do not imply it."""
    if shape is None:
        return False
    axes = map(_axis_that_grows, [one.op, *(use.operation for use in op.results[one.index].uses)])
    return all(axis is None or shape[axis % len(shape)] is not None for axis in axes)


def _axis_that_grows(join: Operation) -> int | None:
    """Return the axis along which joined parts may differ in size, or None."""
    if isinstance(join, onnx.ConcatOp):
        return join.axis.value.data
    if not isinstance(join, onnx.ConcatFromSequenceOp) or (
        join.new_axis is not None and join.new_axis.value.data
    ):
        return None
    return join.axis.value.data


def _accumulator(op: onnx.LoopOp, last: YieldOp, index: int) -> _Accumulator | None:
    """Return the carried value if a step only appends to it, else None."""
    argument, made = op.body.block.args[2 + index], last.operands[1 + index]
    adding = made.owner
    if not argument.has_one_use() or not made.has_one_use() or not _reads(adding, argument):
        return None
    match adding:
        case onnx.ConcatOp() if len(adding.operands) == 2 and adding.operands[0] is argument:
            initial = op.v_initial[index]
            return _Accumulator(index, adding, adding.operands[1]) if has_rank(initial) else None
        case onnx.SequenceInsertOp() if len(adding.operands) == 2 and _is_joined(op, index):
            return _Accumulator(index, adding, adding.operands[1])
        case _:
            return None


def _reads(owner: Operation | Block, value: SSAValue) -> bool:
    return isinstance(owner, Operation) and owner.parent is value.owner and value in owner.operands


def _is_joined(op: onnx.LoopOp, index: int) -> bool:
    """Return whether a sequence has known initial elements, and readers only concatenate it."""
    initial = op.v_initial[index].owner
    if not isinstance(initial, onnx.SequenceEmptyOp | onnx.SequenceConstructOp):
        return False
    return all(isinstance(use.operation, onnx.ConcatFromSequenceOp) for use in op.results[index].uses)


def _rewrite(
    op: onnx.LoopOp,
    block: Block,
    last: YieldOp,
    accumulators: Sequence[_Accumulator],
    shapes: Sequence[Shape],
) -> None:
    states, gone = len(op.v_initial), {one.index for one in accumulators}
    stays = [index for index in range(states) if index not in gone]
    goes_on, *made = last.operands
    kept = [made[i] for i in stays]
    outputs = [goes_on, *kept, *made[states:], *(one.adds for one in accumulators)]
    stacks = [
        without_symbols(tensor_type(element_type_of(one.adds), (None, *shape)))
        for one, shape in zip(accumulators, shapes, strict=True)
    ]
    others = [*(op.results[i] for i in stays), *op.results[states:]]
    Rewriter.insert_op(YieldOp(*outputs), InsertPoint.before(last))
    Rewriter.erase_op(last)
    for one in accumulators:
        Rewriter.erase_op(one.op)
    for index in sorted(gone, reverse=True):
        block.erase_arg(block.args[2 + index])
    region = op.detach_region(op.body)
    emit = OpBuilder()
    # a Loop has two inputs at least
    condition = emit.constant(np.array(True)) if op.cond is None and not stays else op.cond
    new = onnx.LoopOp(
        op.M,
        condition,
        [op.v_initial[i] for i in stays],
        body=region,
        result_types=[*(result.type for result in others), *stacks],
    )
    emit.all(new)
    for old, result in zip(others, new.results, strict=False):
        result.name_hint = old.name_hint
        old.replace_all_uses_with(result)
    for one, stack in zip(accumulators, new.results[len(others) :], strict=True):
        _join(op, one, stack, emit)
    for made_op in emit.ops:
        made_op.location = op.location
    Rewriter.insert_op(emit.ops, InsertPoint.before(op))
    Rewriter.erase_op(op)


def _join(op: onnx.LoopOp, one: _Accumulator, stack: OpResult, emit: OpBuilder) -> None:
    """Emit the final value from the initial value and all appended ones."""
    result, initial = op.results[one.index], op.v_initial[one.index]
    if isinstance(one.op, onnx.ConcatOp):
        axis = one.op.axis.value.data % len(shape_of(initial))
        sizes = emit(onnx.ShapeOp(initial))
        joined = emit(onnx.ConcatOp([initial, _flat(stack, axis, sizes, emit)], axis=axis))
        result.replace_all_uses_with(joined)
        return
    elements = list(initial.owner.operands) if isinstance(initial.owner, onnx.SequenceConstructOp) else []
    for use in list(result.uses):
        join = use.operation
        assert isinstance(join, onnx.ConcatFromSequenceOp)
        value = _emit_concat(join, stack, elements, emit)
        value = emit(onnx.IdentityOp(value)) if value is stack else value  # each join has a separate name
        value.name_hint = join.results[0].name_hint
        join.results[0].replace_all_uses_with(value)
        Rewriter.erase_op(join)


def _emit_concat(
    join: onnx.ConcatFromSequenceOp, stack: OpResult, elements: Sequence[SSAValue], emit: OpBuilder
) -> SSAValue:
    rank, given = len(shape_of(stack)), join.axis.value.data
    if join.new_axis is None or not join.new_axis.value.data:
        axis = given % (rank - 1)
        sizes = emit(onnx.ShapeOp(stack, start=1))
        parts = [*elements, _flat(stack, axis, sizes, emit)]
    else:
        axis = given % rank
        axes = emit.ints([axis])
        parts = [
            *(emit(onnx.UnsqueezeOp(part, axes)) for part in elements),
            _move_steps_axis(stack, axis, emit),
        ]
    return emit(onnx.ConcatOp(parts, axis=axis)) if elements else parts[0]


def _move_steps_axis(stack: SSAValue, axis: int, emit: OpBuilder) -> SSAValue:
    """Move the axis of steps from the front to `axis`."""
    if axis == 0:
        return stack
    perm = [*range(1, axis + 1), 0, *range(axis + 1, len(shape_of(stack)))]
    return emit(onnx.TransposeOp(stack, perm=perm))


def _flat(stack: SSAValue, axis: int, sizes: SSAValue, emit: OpBuilder) -> SSAValue:
    """Merge the axis of steps into `axis`; `sizes` has the other sizes, which a runtime cannot infer from
    zero steps."""
    rank = len(shape_of(stack)) - 1
    counts = emit(onnx.ShapeOp(stack))
    steps, each = (emit(onnx.GatherOp(counts, emit.ints([i]), axis=0)) for i in (0, axis + 1))
    parts = [emit(onnx.GatherOp(sizes, emit.ints([i]), axis=0)) for i in range(rank)]
    parts[axis] = emit(onnx.MulOp(steps, each))
    target = emit(onnx.ConcatOp(parts, axis=0))
    return emit(onnx.ReshapeOp(_move_steps_axis(stack, axis, emit), target, allowzero=1))
