"""VJP of Loop and Scan: a Scan over the steps in reverse.

Its states are the cotangents of the carried values, and running sums for the values that the body captures.
The original op gets a new result for each carried value, its checkpoints at the beginning of all steps; a
gradient step recomputes what it needs of the original step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.types import type_text
from dialects.support.shapes import Dim, Shape, element_type_of, has_rank, shape_of, tensor_type
from passes.autodiff.activity.active_values import find_active_values, may_be_active
from passes.autodiff.common.primal import refusal
from passes.autodiff.control_flow.regions import Gradients, RegionPrimal, Writer
from passes.builder.values import Builder, Value


@dataclass(frozen=True)
class Stacked:
    """A tensor with a slice for each step: `axis` and `direction` as in Scan."""

    value: SSAValue
    axis: int = 0
    direction: int = 0

    def type_of(self, value: SSAValue) -> Attribute:
        """Return the type of a slice, refining that of `value`."""
        if has_rank(value) or not has_rank(self.value):
            return value.type
        shape = list(shape_of(self.value))
        del shape[self.axis]
        return tensor_type(element_type_of(value), shape)


@dataclass(frozen=True)
class Carried:
    """A loop-carried value: an argument of the body, whose `type` holds in each step.

    `final` is the cotangent of its last value, if there is one. `changes` describes how its shape changes:
    then it has no stacked checkpoints. One that `ends` is read by no step: its last value is a result of the
    last step, of one shape in all steps, whatever the initial shape was.
    """

    argument: BlockArgument
    type: Attribute
    initial: SSAValue
    following: SSAValue
    final: Value | None
    changes: str = ""
    ends: bool = False

    @property
    def cotangent_type(self) -> Attribute:
        return self.following.type if self.ends else self.type

    def shape(self) -> Shape:
        """Return the shape. Raises UnsupportedError unless it is the same in each step."""
        if self.changes:
            raise refusal("shape of a carried value", given=self.changes, expected="the same in each step")
        if not isinstance(self.type, TensorType):
            raise refusal(
                "shape of a carried value", given=type_text(self.type), expected="a tensor of known rank"
            )
        return shape_of(self.type)


@dataclass(frozen=True)
class Steps:
    """A Loop or a Scan.

    `scanned`: arguments of the body that are slices. `made`: body values that are stacked, with their
    cotangents. `known`: arguments that are the same in each step.
    """

    f: RegionPrimal
    count: Dim
    carried: Sequence[Carried]
    scanned: Mapping[BlockArgument, Stacked]
    made: Sequence[tuple[SSAValue, Stacked]]
    known: Mapping[BlockArgument, bool]

    @property
    def block(self) -> Block:
        return self.f.op.regions[0].block

    def varied(self) -> list[Carried]:
        """Return the active carried values."""
        active_values = self.f.active_values
        wrt: set[SSAValue] = {one.argument for one in self.carried if one.initial in active_values}
        wrt |= {argument for argument, of in self.scanned.items() if of.value in active_values}
        wrt |= {*self.f.active_captures()}
        ops, reached = list(self.block.ops), wrt
        while reached:
            after = find_active_values(ops, wrt)
            reached = {one.argument for one in self.carried if one.following in after} - wrt
            wrt |= reached
        carrying = [one for one in self.carried if one.argument in wrt and may_be_active(one.argument)]
        return [one for one in carrying if one.argument.uses or one.final is not None]


Pair = tuple[SSAValue, Value]


@dataclass(frozen=True)
class Reversed:
    """Gradients of the carried values, then of other values that the steps read."""

    carried: Sequence[tuple[Carried, Value]]
    others: Sequence[Pair]


def reverse(steps: Steps, e: Builder) -> Reversed:
    """Emit the Scan over the steps in reverse."""
    return _Reverse(steps, e).write()


class _Reverse:
    def __init__(self, steps: Steps, e: Builder):
        self.steps, self.e = steps, e
        self.writer = Writer(steps.f, Builder(strict_ieee=e.strict_ieee))
        self.varied = steps.varied()
        for one in self.varied:
            if not one.ends:
                one.shape()  # raises if the shape changes
        self.cotangents = [self.writer.input(one.cotangent_type) for one in self.varied]
        self.inputs: dict[SSAValue, BlockArgument] = {}
        self.inputs |= {
            argument: self.writer.input(of.type_of(argument)) for argument, of in steps.scanned.items()
        }
        self.inputs |= {one.argument: self.writer.input(one.type) for one in steps.carried}
        self.arrived = [self.writer.input(of.type_of(value)) for value, of in steps.made]
        self.found = self._pull(self.cotangents)
        self.around = [value for value in steps.f.active_captures() if value in self.found]
        self.scanned = [
            (argument, of)
            for argument, of in steps.scanned.items()
            if of.value in steps.f.active_values and self.inputs[argument] in self.found
        ]

    def _pull(self, cotangents: Sequence[BlockArgument]) -> Gradients:
        """Return the gradients of one step."""
        steps, writer = self.steps, self.writer
        known = {
            argument: writer.e.emit.constant(np.full([1] * len(shape_of(argument)), value))
            for argument, value in steps.known.items()
        }
        writer.copy(steps.block, {**self.inputs, **known})
        seeds = [
            (one.following, writer.e(cotangent))
            for one, cotangent in zip(self.varied, cotangents, strict=True)
        ]
        seeds += [(value, writer.e(one)) for (value, _), one in zip(steps.made, self.arrived, strict=True)]
        flowing = [argument for argument, of in steps.scanned.items() if of.value in steps.f.active_values]
        inner = [self.inputs[argument] for argument in (*(one.argument for one in self.varied), *flowing)]
        return writer.pull(seeds, {*inner, *steps.f.active_captures()})

    def write(self) -> Reversed:
        region = self._region()
        slices = self._slices(region.block)
        states = [(one.initial, one.final) for one in self.varied]
        states += [(value, None) for value in self.around]
        operands = [self.e.fill_like(0, self.e(value)) if g is None else g for value, g in states]
        made = [of for _, of in self.scanned]
        types = [*(one.following.type if one.ends else one.initial.type for one in self.varied)]
        types += [*(value.type for value in self.around), *(of.value.type for of in made)]
        new = onnx.ScanOp(
            [*(operand.value for operand in operands), *(of.value for of in slices)],
            num_scan_inputs=len(slices),
            scan_input_axes=[of.axis for of in slices],
            scan_input_directions=[1 - of.direction for of in slices],
            scan_output_axes=[of.axis for of in made] or None,
            scan_output_directions=[1 - of.direction for of in made] or None,
            body=region,
            result_types=types,
        )
        results = list(map(self.e, self.e.emit.all(new)))
        count = len(self.varied)
        others = [*self.around, *(of.value for of in made)]
        carried = [
            self.e.fill_like(0, self.e(one.initial)) if one.ends else result
            for one, result in zip(self.varied, results, strict=False)
        ]
        return Reversed(
            list(zip(self.varied, carried, strict=True)), list(zip(others, results[count:], strict=True))
        )

    def _region(self) -> Region:
        """Return the body: cotangents and sums, then the gradients of the slices."""
        e, count = self.writer.e, len(self.varied)
        before = [
            cotangent if one.ends else self.inputs[one.argument]
            for one, cotangent in zip(self.varied, self.cotangents, strict=True)
        ]
        block = self.writer.block
        sums = [block.insert_arg(value.type, count + i) for i, value in enumerate(self.around)]
        return self.writer.region(
            [
                *(self.found[value] if value in self.found else e.fill_like(0, e(value)) for value in before),
                *(e(one) + self.found[value] for one, value in zip(sums, self.around, strict=True)),
                *(self.found[self.inputs[argument]] for argument, _ in self.scanned),
            ]
        )

    def _slices(self, block: Block) -> list[Stacked]:
        """Return the stacked values that the body reads; at least one, since it sets the trip count."""
        steps = self.steps
        sources: list[tuple[BlockArgument, Stacked | Carried]] = [
            *((self.inputs[argument], of) for argument, of in steps.scanned.items()),
            *((self.inputs[one.argument], one) for one in steps.carried),
            *((argument, of) for argument, (_, of) in zip(self.arrived, steps.made, strict=True)),
        ]
        read = [pair for pair in sources if pair[0].uses] or sources[:1]
        kept = {argument for argument, _ in read}
        for argument, _ in sources:
            if argument not in kept:
                block.erase_arg(argument)
        return [of if isinstance(of, Stacked) else self._kept(of) for _, of in read]

    def _kept(self, one: Carried) -> Stacked:
        f = self.steps.f
        return Stacked(f.keep(one.argument, one.shape(), self.steps.count))
