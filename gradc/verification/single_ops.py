"""Adjoint identities of single ops with random cotangents, for gradients that are too expensive as a whole.

The forward ops run once. After an op, cotangents are drawn at random, and only the ops that the reverse-mode
walk emitted for it are evaluated. An op is skipped if an equal one was proved at operands of the same shapes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from dialects.lifetimes import region_operands
from dialects.onnx.base import OnnxOp
from dialects.onnx.interpreter.pairs import value_of
from dialects.support.diagnostics import GradcError
from gradc.verification.adjoint_identities import Balance, InnerProducts, add_open
from gradc.verification.evaluation import Evaluation, NotComputed, shapes_of, wide_of
from gradc.verification.kernels import Kernels
from gradc.verification.point import Arrays, Point
from gradc.verification.point_plan import Plan
from gradc.verification.straight_through import estimate_operands
from passes.fold_affine.affine_ops import CENTRED

LEAST = 0.1
"""Smallest of the positive random operands."""


@dataclass(frozen=True)
class _Closure:
    """The emitted ops that compute the contributions of a step.

    leaves: forward values that they read. drawn: forward values with their random cotangents.
    """

    ops: Sequence[Operation]
    leaves: Sequence[SSAValue]
    drawn: Sequence[tuple[SSAValue, SSAValue]]


class LocalPoint(Point):
    """Checks steps of a gradient at one point, one by one, until a deadline: all of them, or those of
    `only`."""

    def __init__(
        self,
        plan: Plan,
        inputs: Arrays,
        seed: int,
        deadline: float,
        kernel: Kernels | None = None,
        only: Collection[int] | None = None,
    ):
        super().__init__(plan, inputs, seed, kernel, deadline=deadline)
        self._kernel, self._only = kernel, only
        self._closures = [self._closure(index) for index in range(len(plan.steps))]
        self._at = self._places()
        self._ends = self._last_reads()
        self._by_op: dict[Operation, list[int]] = defaultdict(list)
        self._known: set[Hashable] = set()
        for index, op in enumerate(self._at):
            self._by_op[op].append(index)

    def balances(self) -> Iterator[tuple[int, Balance]]:
        """Yield each step with its balance. Raises OutOfTime after the deadline."""
        self._set_arguments()
        wrt = set(self.plan.differentiated.wrt.values())
        for op in self.plan.forward:
            self._check_time()
            self._forward(op, wrt)
            for index in self._by_op.get(op, ()):
                key = self._signature(self.plan.steps[index].op)
                if key in self._known if self._only is None else index not in self._only:
                    continue
                try:
                    self._step(index)
                except NotComputed:  # it reads values that only the whole walk computes
                    continue
                balance = self._balances[index]
                if balance.verdict() == "idle":
                    balance = self._balance_if_right(index) or balance
                if balance.verdict() == "right":
                    self._known.add(key)
                yield index, balance
            for value in self._ends.get(op, ()):
                self.values.forget(value)
                self._tangents.pop(value, None)

    def _forget(self, op: Operation) -> None:
        """Keep the values; `balances` forgets them after the last step that reads them."""

    def _signature(self, op: Operation) -> Hashable:
        shapes = tuple(shapes_of(value_of(self.values[value])) for value in op.operands if not op.regions)
        return (op.name, tuple(sorted(op.properties.items(), key=lambda item: item[0])), shapes)

    def _step(self, index: int) -> None:
        closure, within = self._closures[index], self._walk_region(index)
        for result, cotangent in closure.drawn:
            within[cotangent] = self._drawn(result.owner, value_of(wide_of(self.values[result])))
        for op in closure.ops:
            within.run(op)
        step = self.plan.steps[index]
        for result, cotangent in step.cotangents.items():
            self._pass(index, result, InnerProducts(value_of(wide_of(within[cotangent]))))
        for operand, contribution in step.contributions:
            self._contribute(index, operand, InnerProducts(value_of(wide_of(within[contribution]))))

    def _walk_region(self, index: int) -> Evaluation:
        """Return an evaluation of emitted ops with the forward values that a step reads."""
        found = Evaluation(self.plan.differentiated.module, (), self._kernel)
        for value in self._closures[index].leaves:
            found[value] = value_of(self.values[value])
        return found

    def _balance_if_right(self, index: int) -> Balance | None:
        """Return the balance at random operands, or else at positive ones, if it is right; a rule that relies
        on earlier ops may fail there."""
        for positive in (False, True):
            try:
                found = self._at_random_operands(index, positive)
            except (GradcError, NotComputed):
                continue
            if found is None or found.open or found.verdict() not in ("right", "idle"):
                continue
            if not found.norm:  # both sides are 0 at random operands: the op is constant
                found.contributes = False
            if found.verdict() == "right":
                return found
        return None

    def _at_random_operands(self, index: int, positive: bool) -> Balance | None:
        """Return the balance of a step at random operands; None if its emitted ops read other values."""
        step, closure = self.plan.steps[index], self._closures[index]
        op, moved = step.op, {value for value, _ in step.contributions}
        own = {*op.operands, *op.results}
        if any(value not in own for value, _ in closure.drawn):
            return None
        if op.regions or CENTRED in op.attributes or not own.issuperset(closure.leaves):
            return None
        values = [value_of(wide_of(self.values[value])) for value in op.operands]
        if not moved.issubset(op.operands) or any(isinstance(value, list) for value in values):
            return None
        drawn = {value: self._draw_operand(np.shape(self._tangent(value)), positive) for value in moved}
        tangents = {value: self.rng.standard_normal(drawn[value].shape) for value in moved}
        for value, array in zip(op.operands, values, strict=True):
            if value not in drawn and array.dtype == np.float64 and array.ndim > 1:
                drawn[value] = self._draw_operand(array.shape, positive)
        values = [drawn.get(v, array) for v, array in zip(op.operands, values, strict=True)]
        results = self.values.numbers(op, values)
        moving = [tangents.get(value) for value in op.operands]
        found = self.values.jvp(op, values, moving, results)
        return self._balance(
            index,
            dict(zip((*op.operands, *op.results), (*values, *results), strict=True)),
            tangents,
            dict(zip(op.results, found, strict=True)),
        )

    def _draw_operand(self, shape: tuple[int, ...], positive: bool) -> np.ndarray:
        numbers = self.rng.standard_normal(shape)
        return np.abs(numbers) + LEAST if positive else numbers

    def _balance(
        self,
        index: int,
        known: Mapping[SSAValue, Any],
        moved: Mapping[SSAValue, Any],
        found: Mapping[SSAValue, Any],
    ) -> Balance:
        step, closure, balance = (
            self.plan.steps[index],
            self._closures[index],
            Balance(contributes=True, moved=True),
        )
        within = Evaluation(self.plan.differentiated.module, (), self._kernel)
        for value, array in known.items():
            within[value] = array
        for result, cotangent in closure.drawn:
            within[cotangent] = self._drawn(result.owner, known[result])
        for op in closure.ops:
            within.run(op)
        for result, cotangent in step.cotangents.items():
            balance.passed.add(within[cotangent], None if found[result] is None else found[result].found)
            add_open(balance, within[cotangent], found[result])
        for operand, contribution in step.contributions:
            balance.contributed.add(value_of(wide_of(within[contribution])), moved[operand])
        return balance

    def _drawn(self, op: Any, value: Any) -> Any:
        """Draw a cotangent; for a normalization marked CENTRED with mean 0 along its axes."""
        if isinstance(value, list):
            return [self._drawn(op, element) for element in value]
        cotangent = self.rng.standard_normal(np.shape(value))
        if not isinstance(op, OnnxOp) or CENTRED not in op.attributes:
            return cotangent
        axis: Any = op.onnx_attributes().get("axis", -1)
        return cotangent - cotangent.mean(
            axis=tuple(range(axis % np.ndim(value), np.ndim(value))), keepdims=True
        )

    def _closure(self, index: int) -> _Closure:
        """Return the closure of a step for its own cotangents, or, if it reads others, for the nearest ones.

        A constant cotangent, such as the 1 of the result, is not drawn: rules may share it, as in 1 - y y.
        """
        step = self.plan.steps[index]
        own = {c: result for result, c in step.cotangents.items() if not _is_constant(c)}
        wanted = [contribution for _, contribution in step.contributions]
        wanted += [c for c in step.cotangents.values() if _is_constant(c)]
        found = self._back(wanted, own)
        others = {c: result for c, result in self._all_cotangents.items() if c not in own}
        computed = {result for op in found.ops for result in op.results}.difference(wanted)
        is_own = all(
            value in own or (self._is_forward(value) and not self._is_later(value, step.op))
            for value in found.leaves
        )
        if is_own and computed.isdisjoint(others):
            return found
        return self._independent([*wanted, *own], others)

    def _independent(self, wanted: list[SSAValue], given: dict[SSAValue, SSAValue]) -> _Closure:
        """Return the closure of values in which no drawn cotangent is computed from another."""
        while True:
            found = self._back(wanted, given)
            drawn = {cotangent for _, cotangent in found.drawn}
            made = [c for c in drawn if self._reads_any(c, drawn - {c}, given)]
            if not made:
                return found
            given = {c: result for c, result in given.items() if c not in made}

    def _reads_any(
        self, cotangent: SSAValue, others: Collection[SSAValue], given: Mapping[SSAValue, SSAValue]
    ) -> bool:
        behind = {c: result for c, result in given.items() if c is not cotangent}
        return any(c in others for _, c in self._back([cotangent], behind).drawn)

    def _is_later(self, value: SSAValue, op: Operation) -> bool:
        """Return whether a forward value is computed after an op. A rule that reads such a value, as of a
        Where, relies on cotangents that are 0 elsewhere."""
        order = self._order
        return value.owner is not op and order.get(value.owner, -1) > order.get(op, len(order))

    def _is_forward(self, value: SSAValue) -> bool:
        return value not in self.plan.differentiated.cotangents.values()

    def _back(self, wanted: list[SSAValue], given: Mapping[SSAValue, SSAValue]) -> _Closure:
        found: dict[Operation, None] = {}
        leaves: dict[SSAValue, None] = {}
        drawn: dict[SSAValue, SSAValue] = {}
        waiting, emitted = list(wanted), self._emitted_order
        while waiting:
            value = waiting.pop()
            op = value.owner
            if value in given:
                drawn[given[value]] = value
            elif not isinstance(op, Operation) or op not in emitted:
                leaves[value] = None
            elif op not in found:
                found[op] = None
                waiting += [*op.operands, *region_operands(op)]
        inner = [each for op in found for each in op.walk()]
        own = {result for op in inner for result in op.results}
        own |= {a for op in inner for r in op.regions for block in r.blocks for a in block.args}
        ordered = sorted(found, key=emitted.__getitem__)
        return _Closure(ordered, [v for v in leaves if v not in own], list(drawn.items()))

    @cached_property
    def _all_cotangents(self) -> dict[SSAValue, SSAValue]:
        """Cotangent -> its value, without constant cotangents."""
        found = ((c, result) for step in self.plan.steps for result, c in step.cotangents.items())
        return {c: result for c, result in found if not _is_constant(c)}

    @cached_property
    def _emitted_order(self) -> dict[Operation, int]:
        """Emitted op -> its position."""
        return {op: place for place, op in enumerate(self.plan.emitted)}

    @cached_property
    def _order(self) -> dict[Any, int]:
        """Forward op -> its position."""
        return {op: place for place, op in enumerate(self.plan.forward)}

    def _places(self) -> list[Operation]:
        """Return, for each step, the forward op after which all its inputs are known."""
        order, found = self._order, list[Operation]()
        for step, closure in zip(self.plan.steps, self._closures, strict=True):
            values = [*(value for value, _ in closure.drawn), *closure.leaves]
            ops = [step.op, *(v.owner for v in values if isinstance(v.owner, Operation))]
            found.append(max((op for op in ops if op in order), key=order.__getitem__, default=step.op))
        return found

    def _last_reads(self) -> dict[Operation, list[SSAValue]]:
        last: dict[SSAValue, Operation] = {}
        leaves: dict[Operation, list[Any]] = defaultdict(list)
        for at, step, closure in zip(self._at, self.plan.steps, self._closures, strict=True):
            drawn = (value for value, _ in closure.drawn)
            moved = (value for value, _ in step.contributions)
            leaves[at] += [*closure.leaves, *drawn, *moved, *step.cotangents]
        for op in self.plan.forward:
            for value in (
                *op.operands,
                *region_operands(op),
                *estimate_operands(op),
                *op.results,
                *leaves[op],
            ):
                last[value] = op
        found: dict[Operation, list[SSAValue]] = defaultdict(list)
        for value, op in last.items():
            found[op].append(value)
        return found


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and value.owner.name == "onnx.Constant"
