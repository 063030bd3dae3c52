"""The ops and values of a gradient that a point evaluates and compares."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects import func
from xdsl.ir import Block, Operation, SSAValue

from dialects.grad.stop_gradient import StopGradientOp
from dialects.lifetimes import region_operands
from dialects.onnx.ops import ConstantOp
from dialects.support import entry
from gradc.verification.straight_through import estimate_operands
from passes.autodiff.record import Differentiated, Step


@dataclass
class Plan:
    """The ops that a point evaluates, and the inner products of each value."""

    differentiated: Differentiated

    @cached_property
    def block(self) -> Block:
        return entry.entry_function(self.differentiated.module).body.block

    @cached_property
    def forward(self) -> list[Operation]:
        """Forward ops that `of` or the gradient depends on."""
        return [op for op in self._ops if op in self._live_ops and op in self._first]

    @cached_property
    def emitted(self) -> list[Operation]:
        """Used ops that the reverse-mode walk emitted."""
        return [op for op in self._ops if op in self._live_ops and op not in self._first]

    @cached_property
    def _first(self) -> set[Operation]:
        """Primal ops, and emitted ones that they read, such as checkpoints that begin before a Loop."""
        primal = self.differentiated.primal
        read = (value for op in primal for value in (*op.operands, *region_operands(op)))
        return self._leading_to([*read, *(result for op in primal for result in op.results)])

    @cached_property
    def carries(self) -> Collection[Operation]:
        """Ops that `of` depends on."""
        return self._leading_to(self.differentiated.of.values())

    @cached_property
    def steps(self) -> Sequence[Step]:
        return self.differentiated.record.steps

    @cached_property
    def covered(self) -> list[list[Operation]]:
        """For each step its op, and the ops before it without a step, which the walk differentiated
        together."""
        stepped = {step.op for step in self.steps}
        return [self._ops_of_step(step, stepped) for step in self.steps]

    def within(self, index: int) -> Collection[Operation]:
        """Return the ops between the op of a step and the values to which it contributes."""
        ops = self._ops_of_step(self.steps[index], ())[1:]
        return [op for op in ops if not isinstance(op, ConstantOp)]

    def _ops_of_step(self, step: Step, stepped: Collection[Operation]) -> list[Operation]:
        reached = {value for value, _ in step.contributions}
        found, waiting = {step.op: None}, [step.op] if reached else []
        while waiting:
            for value in waiting.pop().operands:
                op = value.owner
                if value in reached or not isinstance(op, Operation) or op in stepped or op in found:
                    continue
                if op in self.carries and not isinstance(op, StopGradientOp):
                    found[op] = None
                    waiting.append(op)
        return list(found)

    @cached_property
    def contributions(self) -> dict[SSAValue, list[tuple[int, SSAValue]]]:
        """Emitted value -> the steps that contribute it, with the operands to which they do."""
        found: dict[SSAValue, list[tuple[int, SSAValue]]] = defaultdict(list)
        for index, step in enumerate(self.steps):
            for value, contribution in step.contributions:
                found[contribution].append((index, value))
        return found

    @cached_property
    def cotangents(self) -> dict[SSAValue, list[tuple[int, SSAValue]]]:
        """Emitted value -> the steps and results of which it is the cotangent."""
        found: dict[SSAValue, list[tuple[int, SSAValue]]] = defaultdict(list)
        for index, step in enumerate(self.steps):
            for value, cotangent in step.cotangents.items():
                found[cotangent].append((index, value))
        return found

    @cached_property
    def totals(self) -> dict[SSAValue, list[SSAValue]]:
        """Emitted value -> the values of which it is the complete cotangent."""
        found: dict[SSAValue, list[SSAValue]] = defaultdict(list)
        for value, total in self.differentiated.record.totals.items():
            found[total].append(value)
        return found

    @cached_property
    def seeds(self) -> dict[SSAValue, list[SSAValue]]:
        found: dict[SSAValue, list[SSAValue]] = defaultdict(list)
        for value, seed in self.differentiated.record.seeds:
            found[seed].append(value)
        return found

    @property
    def observed_values(self) -> set[SSAValue]:
        """Values in inner products."""
        return {*self.contributions, *self.cotangents, *self.totals, *self.seeds}

    def step_of_emitted(self, op: Operation) -> Step | None:
        """Return the first step of the walk whose contributions depend on an emitted op."""
        for step in self.steps:
            if op in self._leading_to([value for _, value in step.contributions]):
                return step
        return None

    @cached_property
    def last_reads(self) -> dict[Operation, list[SSAValue]]:
        """Op -> the values that no later op reads."""
        last: dict[SSAValue, Operation] = {}
        for op in (*self.forward, *self.emitted):
            for value in (*op.operands, *region_operands(op), *estimate_operands(op), *op.results):
                last[value] = op
        found: dict[Operation, list[SSAValue]] = defaultdict(list)
        for value, op in last.items():
            found[op].append(value)
        return found

    @cached_property
    def _ops(self) -> list[Operation]:
        return [op for op in self.block.ops if not isinstance(op, func.ReturnOp)]

    @cached_property
    def _live_ops(self) -> set[Operation]:
        record = self.differentiated.record
        moved = {value for step in self.steps for value, _ in step.contributions}
        roots = (*self.differentiated.of.values(), *self.differentiated.wrt.values(), *moved)
        return self._leading_to((*roots, *self.observed_values, *record.totals))

    def _leading_to(self, values: Collection[SSAValue]) -> set[Operation]:
        wanted, found = set(values), set[Operation]()
        for op in reversed(self._ops):
            if not wanted.isdisjoint(op.results):
                found.add(op)
                wanted.update(op.operands, region_operands(op))
        return found
