"""VJP rules of If, Loop, Scan and SequenceMap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType, UnrankedTensorType
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.types import SequenceType
from dialects.onnx.values import constant_of
from dialects.support.shapes import compatible, element_type_of, has_rank, merge, shape_of, tensor_type
from passes.autodiff.common.primal import refusal
from passes.autodiff.control_flow.loop_checkpoints import CHANGING, has_changing_shapes, reverse_by_sequences
from passes.autodiff.control_flow.loop_shapes import carried_types, shapes_in_each_step
from passes.autodiff.control_flow.regions import (
    Gradients,
    RegionPrimal,
    RegionRule,
    Writer,
    is_dynamic,
    region_of,
)
from passes.autodiff.control_flow.sequences import is_sequence, zeros_like
from passes.autodiff.control_flow.steps import Carried, Stacked, Steps, reverse
from passes.builder.values import SUM, Builder, Value

Pairs = Sequence[tuple[SSAValue, Value]]


# If


def _if(f: RegionPrimal, g: Mapping[int, Value], e: Builder) -> Pairs:
    """Return an If of the branches' gradients; values that only the other branch reads get zeros."""
    branches = [_Branch(f, region, g, e) for region in f.op.regions]
    wanted = [value for value in f.active_captures() if any(value in branch.found for branch in branches)]
    if not wanted:
        return []
    then_branch, else_branch = (branch.region(wanted) for branch in branches)
    types = [value.type for value in wanted]
    (condition,) = f.op.operands
    new = onnx.IfOp(condition, then_branch=then_branch, else_branch=else_branch, result_types=types)
    return list(zip(wanted, map(e, e.emit.all(new)), strict=True))


class _Branch:
    """The gradient of one branch with respect to the values that it captures."""

    found: Gradients

    def __init__(self, f: RegionPrimal, region: Region, g: Mapping[int, Value], e: Builder):
        self.writer = Writer(f, Builder(strict_ieee=e.strict_ieee))
        self.writer.copy(region.block, {})
        outputs = yield_operands(region)
        self.found = self.writer.pull([(outputs[i], one) for i, one in g.items()], f.active_captures())

    def region(self, wanted: Sequence[SSAValue]) -> Region:
        e = self.writer.e
        return self.writer.region(
            [self.found[value] if value in self.found else zeros_like(e, value) for value in wanted]
        )


def yield_operands(region: Region) -> Sequence[SSAValue]:
    last = region.block.last_op
    assert last is not None
    return last.operands


# Scan


def _scan(f: RegionPrimal, g: Mapping[int, Value], e: Builder) -> Pairs:
    attributes: Any = f.op.onnx_attributes()
    (region,), operands = f.op.regions, f.op.operands
    slices: int = attributes["num_scan_inputs"]
    states = len(operands) - slices
    arguments, outputs = region.block.args, yield_operands(region)
    made = len(outputs) - states
    inputs = zip(
        operands[states:],
        attributes.get("scan_input_axes", [0] * slices),
        attributes.get("scan_input_directions", [0] * slices),
        strict=True,
    )
    stacked: Iterable[tuple[int, int]] = zip(
        attributes.get("scan_output_axes", [0] * made),
        attributes.get("scan_output_directions", [0] * made),
        strict=True,
    )
    scanned = dict(zip(arguments[states:], (Stacked(*one) for one in inputs), strict=True))
    first = scanned[arguments[states]]
    steps = Steps(
        f,
        count=shape_of(first.value)[first.axis] if has_rank(first.value) else None,
        carried=[
            Carried(argument, _carried_type(argument, operand), operand, output, g.get(i))
            for i, (argument, operand, output) in enumerate(
                zip(arguments[:states], operands[:states], outputs[:states], strict=True)
            )
        ],
        scanned=scanned,
        made=[
            (outputs[states + i], Stacked(g[states + i].value, *places))
            for i, places in enumerate(stacked)
            if states + i in g
        ],
        known={},
    )
    found = reverse(steps, e)
    return [*((one.initial, gradient) for one, gradient in found.carried), *found.others]


def _carried_type(argument: BlockArgument, initial: SSAValue) -> TensorType:
    """Return the type of a loop-carried value, whose shape is the same in each step."""
    given = [shape_of(value) for value in (argument, initial) if has_rank(value)]
    if not given or not compatible(given[0], given[-1]):
        raise refusal("rank of a carried value", given="unknown", expected="known")
    return tensor_type(element_type_of(initial), merge(given[0], given[-1]))


# Loop


def _loop(f: RegionPrimal, g: Mapping[int, Value], e: Builder) -> Pairs:
    """Return a Scan over the steps in reverse, or a Loop if shapes change; nothing if no step runs."""
    assert isinstance(f.op, onnx.LoopOp)
    (region,) = f.op.regions
    index, going, *arguments = region.block.args
    goes_on, *made = yield_operands(region)
    initial, states = f.op.v_initial, len(f.op.v_initial)
    is_ever, always = _is_true(f.op.cond), goes_on is going or _is_true(goes_on)
    most = constant_of(f.op.M) if f.op.M is not None else None
    count = int(most.reshape(())) if most is not None and is_ever and always else None
    at_least_once = is_ever and (f.op.M is None or (most is not None and most > 0))
    types = carried_types(region.block, arguments, initial, made[:states])
    shapes = shapes_in_each_step(region.block, arguments[:states], initial, made[:states], made[:states])
    carried = [
        Carried(
            argument,
            kept.type,
            value,
            made[i],
            g.get(i),
            kept.changes or _may_change(f.op, argument),
            ends=not argument.uses and shape is not None and None not in shape,
        )
        for i, (argument, kept, value, shape) in enumerate(
            zip(arguments, types, initial, shapes, strict=True)
        )
    ]
    scanned: dict[BlockArgument, Stacked] = {}
    if index.uses or not at_least_once:
        scanned[index] = Stacked(f.keep(index, (), count))
    stacked = [(made[i], Stacked(one.value)) for i, one in g.items() if i >= states]
    steps = Steps(f, count, carried, scanned, stacked, {going: True})
    if has_changing_shapes(steps):
        if index not in scanned:
            scanned[index] = Stacked(f.keep(index, (), count))
        found = reverse_by_sequences(steps, e(scanned[index].value), e)
        return [*((one.initial, gradient) for one, gradient in found.carried), *found.others]
    if at_least_once:
        found = reverse(steps, e)
        return [*((one.initial, gradient) for one, gradient in found.carried), *found.others]
    return _if_any(steps, e(scanned[index].value), e)


def _may_change(op: Operation, argument: BlockArgument) -> str:
    """Return a reason if `argument` is the cotangent of a value of changing size, else ""."""
    return "a cotangent of one that changes" if CHANGING in op.attributes and is_dynamic(argument) else ""


# SequenceMap


def _sequence_map(f: RegionPrimal, g: Mapping[int, Value], e: Builder) -> Pairs:
    """Map the body's gradient over elements and cotangents; captured values get the sum."""
    (region,), operands = f.op.regions, f.op.operands
    if SUM in f.op.attributes:
        return [(operand, g[0]) for operand in operands if operand in f.active_values]
    writer = Writer(f, Builder(strict_ieee=e.strict_ieee))
    inputs: dict[SSAValue, SSAValue] = {one: writer.input(one.type) for one in region.block.args}
    made = yield_operands(region)
    arrived = [(made[i], writer.e(writer.input(made[i].type))) for i in g]
    writer.copy(region.block, inputs)
    own = dict(zip(inputs.values(), operands, strict=True))
    active = {at for at, x in own.items() if x in f.active_values}
    found = writer.pull(arrived, active | set(f.active_captures()))
    if not found:
        return []
    block_operands = [*operands, *(one.value for one in g.values())]
    types = [SequenceType(UnrankedTensorType(one.dtype)) for one in found.values()]
    new = onnx.SequenceMapOp(
        block_operands[0],
        block_operands[1:],
        body=writer.region(list(found.values())),
        result_types=types,
    )
    results = map(e, e.emit.all(new))
    pairs = [(own.get(value, value), result) for value, result in zip(found, results, strict=True)]
    return [(value, one if is_sequence(value) else _sum_elements(one, value)) for value, one in pairs]


def _sum_elements(sequence: Value, like: SSAValue) -> Value:
    """Return the sum of the elements of a sequence."""
    e = sequence.e
    stack = sequence.apply(onnx.ConcatFromSequenceOp, axis=0, new_axis=1)
    stack = stack.assume_shape((None, *shape_of(like)))
    return stack.apply(onnx.ReduceSumOp, e.ints([0]), keepdims=0).assume_shape(shape_of(like))


def _is_true(condition: SSAValue | None) -> bool:
    """Return whether a condition always holds; an absent one does."""
    known = np.array(True) if condition is None else constant_of(condition)
    return known is not None and bool(known.all())


def _if_any(steps: Steps, indices: Value, e: Builder) -> Pairs:
    """Guard `reverse` against zero steps, which Scan does not support: cotangents then pass unchanged."""
    some, none = (Builder(strict_ieee=e.strict_ieee) for _ in range(2))
    found = reverse(steps, some)
    values = [*(one.initial for one, _ in found.carried), *(value for value, _ in found.others)]
    if not values:
        return []
    gradients = [gradient for _, gradient in (*found.carried, *found.others)]
    finals = [one.final for one, _ in found.carried] + [None] * len(found.others)
    as_they_are = [
        none.fill_like(0, none(value)) if final is None else final
        for value, final in zip(values, finals, strict=True)
    ]
    new = onnx.IfOp(
        (indices.apply(onnx.SizeOp) > 0).value,
        then_branch=region_of(Block(), some, gradients, steps.f.op),
        else_branch=region_of(Block(), none, as_they_are, steps.f.op),
        result_types=[value.type for value in values],
    )
    return list(zip(values, map(e, e.emit.all(new)), strict=True))


RULES: Mapping[str, RegionRule] = MappingProxyType(
    {"If": _if, "Loop": _loop, "Scan": _scan, "SequenceMap": _sequence_map}
)
