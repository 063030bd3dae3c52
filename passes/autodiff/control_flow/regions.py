"""The interface of rules for ops with regions, and the writer of gradient regions.

A gradient region first recomputes the ops of the original one, since their values are local to it; unused
ones are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue, SSAValues
from xdsl.rewriter import Rewriter
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from dialects.onnx import ops as onnx
from dialects.onnx.attributes import to_attribute
from dialects.onnx.base import OnnxOp
from dialects.onnx.control import YieldOp
from dialects.onnx.node import NodeOp
from dialects.support.interfaces import InfersTypes, refine_results
from dialects.support.shapes import (
    Dim,
    Shape,
    element_type_of,
    has_rank,
    is_static,
    merge,
    shape_of,
    tensor_type,
)
from passes.autodiff.common.dynamic_axes import reshape_as
from passes.autodiff.common.primal import refusal
from passes.builder.captured_values import uses_by
from passes.builder.pattern_driver import ops_within
from passes.builder.values import Builder, Value

Gradients: TypeAlias = Mapping[SSAValue, Value]
Seeds: TypeAlias = Iterable[tuple[SSAValue, Value]]
RegionWalk: TypeAlias = Callable[[Builder, Sequence[Operation], Collection[SSAValue], Seeds], Gradients]
"""Walk of some ops: returns the gradients of the seeded values by other values."""


@dataclass(frozen=True)
class RegionPrimal:
    """A primal op with regions.

    `active_values`: the active operands and captured values. `walk`: the outer walk, for the ops of a region.
    """

    op: OnnxOp
    active_values: Collection[SSAValue]
    walk: RegionWalk

    def keep(self, value: SSAValue, shape: Shape, count: Dim) -> SSAValue:
        """Stack the values of a body value in all `count` steps as a new result of a Loop or Scan."""
        last = self.op.regions[0].block.last_op
        assert isinstance(last, YieldOp)
        Rewriter.replace_op(last, YieldOp(*last.operands, value))
        for name in ("scan_output_axes", "scan_output_directions"):
            if name in self.op.properties:
                before: Any = self.op.onnx_attributes()[name]
                self.op.properties[name] = to_attribute([*before, 0], "INTS")
        type_ = tensor_type(element_type_of(value), (count, *shape))
        result = OpResult(type_, self.op, len(self.op.results))
        self.op.results = SSAValues((*self.op.results, result))
        return result

    def active_captures(self) -> list[SSAValue]:
        """Return the active values that the regions capture, each once."""
        read = (use.operation.operands[use.index] for use in uses_by(self.op) if use.operation is not self.op)
        return [value for value in dict.fromkeys(read) if value in self.active_values]

    def check_is_repeatable(self) -> None:
        """Raise UnsupportedError for regions whose recomputation may give other values."""
        for op in (op for region in self.op.regions for op in ops_within(region)):
            if isinstance(op, NodeOp) or (isinstance(op, OnnxOp) and not op.is_deterministic()):
                what = f"{op.name} within: the gradient executes it once more"
                raise refusal(what, expected="an op that makes the same again")


def is_dynamic(value: SSAValue) -> bool:
    return not has_rank(value) or not is_static(shape_of(value))


RegionRule: TypeAlias = Callable[
    [RegionPrimal, Mapping[int, Value], Builder], Sequence[tuple[SSAValue, Value]]
]
"""rule(primal, cotangents of the used results, e) -> gradients of values that the op reads."""


@dataclass
class Writer:
    """Builder of a region: the ops of another region with new inputs, then further ops."""

    around: RegionPrimal
    e: Builder
    block: Block = field(default_factory=Block)
    ops: list[Operation] = field(default_factory=list)
    values: dict[SSAValue, SSAValue] = field(default_factory=dict)

    def copy(self, block: Block, inputs: Mapping[SSAValue, SSAValue]) -> None:
        """Clone the ops of a region's block with other inputs."""
        self.values |= inputs
        self.ops = [op.clone(self.values) for op in block.ops if not isinstance(op, YieldOp)]
        for op in self.ops:
            if isinstance(op, InfersTypes) and any(map(is_dynamic, op.results)):
                refine_results(op)
        self.e.emit.ops.extend(self.ops)

    def copy_of(self, value: SSAValue) -> SSAValue:
        """Return the copy of a value of the original block."""
        return self.values.get(value, value)

    def pull(self, cotangents: Seeds, wanted: Collection[SSAValue]) -> Gradients:
        """Return the gradients of values of the original block, for given cotangents, by `wanted` inner
        values."""
        pairs = [(self.copy_of(value), self.e(cotangent.value)) for value, cotangent in cotangents]
        seeds = [(value, self._refine_type(cotangent, value)) for value, cotangent in pairs]
        return self.around.walk(self.e, self.ops, wanted, seeds)

    def _refine_type(self, cotangent: Value, value: SSAValue) -> Value:
        """Return a cotangent with the shape that is known of its value in the region."""
        if not has_rank(value):
            return cotangent
        given = cotangent.value
        if has_rank(given) and len(shape_of(given)) != len(shape_of(value)):
            return reshape_as(cotangent, self.e(value)).assume_shape(shape_of(value))
        if has_rank(given) and merge(shape_of(value), shape_of(given)) == shape_of(given):
            return cotangent
        return cotangent.apply(onnx.IdentityOp).assume_shape(shape_of(value))

    def input(self, type_: Attribute) -> BlockArgument:
        return self.block.insert_arg(type_, len(self.block.args))

    def region(self, outputs: Sequence[Value]) -> Region:
        """Return the region with these outputs."""
        return region_of(self.block, self.e, outputs, self.around.op)


def drop_dead(e: Builder, outputs: Sequence[Value]) -> None:
    """Remove the ops collected by `e` that `outputs` do not depend on."""
    wanted, kept = {output.value for output in outputs}, list[Operation]()
    for op in reversed(e.emit.ops):
        if wanted.isdisjoint(op.results) and is_trivially_dead(op):
            op.drop_all_references()
        else:
            kept.append(op)
    e.emit.ops[:] = reversed(kept)


def region_of(block: Block, e: Builder, outputs: Sequence[Value], source: Operation) -> Region:
    """Return a region with the ops collected by `e` and these outputs; locations come from `source`."""
    last = YieldOp(*(output.value for output in outputs))
    kept: list[Operation] = [last]
    for op in reversed(e.emit.ops):
        if is_trivially_dead(op):
            op.drop_all_references()
        else:
            kept.append(op)
    for op in kept:
        if isinstance(op.location, UnknownLoc):
            op.location = source.location
    block.add_ops(reversed(kept))
    return Region(block)
