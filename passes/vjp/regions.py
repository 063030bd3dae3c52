"""What rules of ops with regions are told, and what they write: a region's gradient is a region, too.

It begins with the ops of the region once more, since nobody outside sees what they make; those that no
gradient needs are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.control import YieldOp
from dialects.onnx.node import NodeOp
from dialects.support.shapes import has_rank, merge, shape_of
from passes.emit.captured import uses_by
from passes.emit.expressions import Expr, Operators
from passes.emit.walking import ops_within
from passes.vjp.forward import refusal

Gradients: TypeAlias = Mapping[SSAValue, Expr]
Seeds: TypeAlias = Iterable[tuple[SSAValue, Expr]]
WalkThrough: TypeAlias = Callable[[Operators, Sequence[Operation], Collection[SSAValue], Seeds], Gradients]
"""The gradients of the seeded values of some ops by other values."""


@dataclass(frozen=True)
class Around:
    """An op with regions.

    `flows` are the values, operands or from around, through which a gradient may flow to what is asked for,
    `walk` is a walk as the one that asks.
    """

    op: OnnxOp
    flows: Collection[SSAValue]
    walk: WalkThrough

    def captured(self) -> list[SSAValue]:
        """Of the values from around that the regions read, those that a gradient may flow to, each once."""
        read = (use.operation.operands[use.index] for use in uses_by(self.op) if use.operation is not self.op)
        return [value for value in dict.fromkeys(read) if value in self.flows]

    def check_is_repeatable(self) -> None:
        """Raise for regions that may make something else when they are executed once more."""
        for op in (op for region in self.op.regions for op in ops_within(region)):
            if isinstance(op, NodeOp) or (isinstance(op, OnnxOp) and not op.is_deterministic()):
                what = f"{op.name} within: the gradient executes it once more"
                raise refusal(what, expected="an op that makes the same again")


RegionRule: TypeAlias = Callable[[Around, Mapping[int, Expr], Operators], Sequence[tuple[SSAValue, Expr]]]
"""rule(around, cotangents of the results that are read, e) -> gradients of values that the op reads."""


@dataclass
class Writer:
    """Writes a region: the ops of another one in terms of its own inputs, then what is made of them."""

    around: Around
    e: Operators
    block: Block = field(default_factory=Block)
    ops: list[Operation] = field(default_factory=list)

    def copy(self, block: Block, inputs: Mapping[SSAValue, SSAValue]) -> list[SSAValue]:
        """What a region's block yields, computed from other inputs."""
        last = block.last_op
        assert isinstance(last, YieldOp)
        values = dict(inputs)
        self.ops = [op.clone(values) for op in block.ops if op is not last]
        self.e.emit.ops.extend(self.ops)
        return [values.get(value, value) for value in last.operands]

    def pull(self, outputs: Sequence[tuple[SSAValue, Expr]], wanted: Collection[SSAValue]) -> Gradients:
        """The gradients of values that the copy makes by others, of which it may read some."""
        seeds = [(value, self._typed(self.e(cotangent.value), value)) for value, cotangent in outputs]
        return self.around.walk(self.e, self.ops, wanted, seeds)

    def _typed(self, cotangent: Expr, value: SSAValue) -> Expr:
        """A cotangent with all that is known in the region of the shape of its value."""
        if not has_rank(value):
            return cotangent
        given = cotangent.value
        if has_rank(given) and merge(shape_of(value), shape_of(given)) == shape_of(given):
            return cotangent
        return cotangent.apply(onnx.IdentityOp).assumed(shape_of(value))

    def region(self, outputs: Sequence[Expr]) -> Region:
        """The region that yields these."""
        last = YieldOp(*(output.value for output in outputs))
        kept: list[Operation] = [last]
        for op in reversed(self.e.emit.ops):
            if is_trivially_dead(op):
                op.drop_all_references()
            else:
                kept.append(op)
        for op in kept:
            if isinstance(op.location, UnknownLoc):
                op.location = self.around.op.location
        self.block.add_ops(reversed(kept))
        return Region(self.block)
