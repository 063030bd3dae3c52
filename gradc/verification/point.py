"""Adjoint identities of a gradient at one point: of each op, of each value, and of the whole."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.ir import Operation, SSAValue

from dialects.onnx import traits
from dialects.onnx.base import OnnxOp
from dialects.onnx.interpreter.pairs import Pair, tangent_of, value_of
from dialects.support import dense
from dialects.support.constants import constant_attribute
from dialects.support.diagnostics import GradcError, UnsupportedError
from gradc.verification.adjoint_identities import Balance, InnerProducts, Side, add_open, product
from gradc.verification.evaluation import Evaluation, NotComputed, open_elements, wide_of
from gradc.verification.kernels import Kernels
from gradc.verification.point_plan import Plan
from gradc.verification.straight_through import straight_through
from gradc.verification.tangent_errors import saturation_error
from gradc.verification.widening import wide

Arrays = Mapping[str, Any]


@dataclass
class Outcome:
    """The result of one point.

    balances: one per step.
    sums: value -> <complete cotangent, tangent>, and the sum of <contribution, tangent>.
    by_reverse, by_tangents: <gradients, tangents of wrt> and <seeds, tangents of `of`>.
    of, gradients: values by name.
    """

    balances: list[Balance]
    sums: dict[SSAValue, tuple[Side, Side]]
    by_reverse: Side
    by_tangents: Side
    of: dict[str, np.ndarray]
    tangents_of: dict[str, Any]
    gradients: dict[str, np.ndarray]
    directions: dict[str, np.ndarray]
    cotangents: dict[str, np.ndarray]
    seeds: dict[SSAValue, list[Any]]
    open_within: dict[int, tuple[Operation, int]] = field(default_factory=dict[int, tuple[Operation, int]])
    taken: dict[Operation, set[int]] = field(default_factory=dict[Operation, set[int]])


class OutOfTime(Exception):
    """The time limit of a check has passed."""


class GradientFails(Exception):
    """An op of a gradient has no value at inputs at which the function has one."""

    def __init__(self, op: Operation, reason: GradcError | NotComputed):
        super().__init__(str(reason))
        self.op, self.reason = op, reason


class Point:
    """Evaluation of a gradient with tangents, from inputs, cotangents by name and a seed for directions.

    For the step `focus`, the balance of each operand is formed, too. `off_codes` moves dequantised values
    slightly off their codes, many of which are at a kink. `shaken` adds the errors of tangents within ops
    with regions, and of the ops before the step `focus`, to show their effect.
    """

    def __init__(
        self,
        plan: Plan,
        inputs: Arrays,
        seed: int,
        kernel: Kernels | None = None,
        cotangents: Arrays | None = None,
        focus: int | None = None,
        deadline: float = np.inf,
        off_codes: bool = False,
        shaken: int | None = None,
    ) -> None:
        self.plan, self.inputs, self.given = plan, inputs, cotangents
        self.rng = np.random.default_rng([seed, 2])
        self.focus, self.deadline = focus, deadline
        self.by_operand: dict[SSAValue, Balance] = {}
        self.operands: list[Any] = []
        self._alone: dict[SSAValue, list[Any]] = {}
        rng = np.random.default_rng([seed, 3]) if off_codes else None
        marked = partial(straight_through, off_codes=rng)
        errors = None if shaken is None else np.random.default_rng([seed, 4, shaken])
        inner = () if focus is None or shaken is None else plan.within(focus)
        self.values = Evaluation(plan.differentiated.module, plan.carries, kernel, marked, errors, inner)
        self._tangents: dict[SSAValue, Any] = {}
        self._before: dict[SSAValue, Any] = {}
        self._balances = [Balance() for _ in plan.steps]
        self._sums: dict[SSAValue, tuple[Side, Side]] = defaultdict(lambda: (Side(), Side()))
        self._by_reverse, self._by_tangents = Side(), Side()
        self._gradients: dict[str, np.ndarray] = {}
        self._seeds: dict[SSAValue, list[Any]] = {}
        self._directions: dict[SSAValue, Any] = {}

    def run(self) -> Outcome:
        """Evaluate the point. Raises NotComputed if an op of the function has no value there, and
        GradientFails if only an op of the gradient has none."""
        differentiated = self.plan.differentiated
        self._set_arguments()
        wrt = set(differentiated.wrt.values())
        for op in self.plan.forward:
            self._check_time()
            self._forward(op, wrt)
        of = {name: wide_of(self.values[value]) for name, value in differentiated.of.items()}
        tangents_of = {name: self._tangent(value) for name, value in differentiated.of.items()}
        cotangents = self._set_cotangents(of)
        observed = self.plan.observed_values
        for value in observed:
            if value in self.values:
                self._observe(value)
        for op in self.plan.emitted:
            self._check_time()
            self._run_emitted(op)
            for value in op.results:
                if value in observed and constant_attribute(value) is None:
                    self._observe(value)
            self._forget(op)
        directions = {name: self._directions.get(value) for name, value in differentiated.wrt.items()}
        return Outcome(
            self._balances,
            dict(self._sums),
            self._by_reverse,
            self._by_tangents,
            {name: value_of(value) for name, value in of.items()},
            tangents_of,
            self._gradients,
            {name: direction for name, direction in directions.items() if direction is not None},
            cotangents,
            self._seeds,
            self._open_within(),
            self.values.taken,
        )

    def _run_emitted(self, op: Operation) -> None:
        try:
            self.values.run(op)
        except UnsupportedError:
            raise
        except (NotComputed, GradcError) as error:
            raise GradientFails(op, error) from error

    def _check_time(self) -> None:
        if time.thread_time() > self.deadline:
            raise OutOfTime

    def _set_arguments(self) -> None:
        differentiated, wrt = self.plan.differentiated, set(self.plan.differentiated.wrt.values())
        given = {value: wide(self.inputs[name]) for name, value in differentiated.inputs.items()}
        constants = {value: dense.to_numpy(array) for value, array in differentiated.weights.items()}
        for value, array in (constants | given).items():
            if value in wrt:
                self._directions[value] = self._direction(wide(array))
                array = _with_tangent(wide(array), self._directions[value])
            self.values[value] = array
            self._tangents[value] = tangent_of(array)

    def _direction(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._direction(element) for element in value]
        if value is None:
            return None
        size = float(np.sqrt(np.mean(np.square(value)))) if value.size else 0.0
        size = size if np.isfinite(size) and size else 1.0
        return self.rng.standard_normal(value.shape) * size

    def _forward(self, op: Operation, wrt: Collection[SSAValue]) -> None:
        if self.focus is not None and self.plan.steps[self.focus].op is op:
            self._push_operands_alone(op)
        self.values.run(op)
        for value in op.results:
            if value not in self.values:
                continue
            self._tangents[value] = tangent_of(self.values[value])
            if value in wrt:
                self._displace(value)
        self._forget(op)

    def _displace(self, value: SSAValue) -> None:
        """Add an independent tangent to an intermediate `wrt` value."""
        array = value_of(wide_of(self.values[value]))
        self._before[value] = self._tangents[value]
        direction = self._directions[value] = self._direction(array)
        own, before = direction, self._tangents[value]
        total = own if before is None else _sum(before, own)
        self.values[value] = _with_tangent(array, total)
        self._tangents[value] = total

    def _forget(self, op: Operation) -> None:
        kept = self.plan.differentiated
        for value in self.plan.last_reads.get(op, ()):
            if value not in kept.of.values():
                self.values.forget(value)

    def _set_cotangents(self, of: Mapping[str, Any]) -> dict[str, np.ndarray]:
        found: dict[str, np.ndarray] = {}
        for name, argument in self.plan.differentiated.cotangents.items():
            given = None if self.given is None else self.given.get(name)
            shape = np.shape(value_of(of[name]))
            found[name] = self._cotangent(shape) if given is None else wide(given)
            self.values[argument] = found[name]
        return found

    def _cotangent(self, shape: tuple[int, ...]) -> np.ndarray:
        """Draw numbers that f16 and bf16 represent exactly, as for the compiled gradient."""
        return wide(self.rng.standard_normal(shape).astype(ml_dtypes.bfloat16))

    def _tangent(self, value: SSAValue) -> Any:
        return self._tangents.get(value)

    def _observe(self, value: SSAValue) -> None:
        """Form the inner products of an emitted value."""
        plan, array = self.plan, value_of(wide_of(self.values[value]))
        products = InnerProducts(array)
        for index, result in plan.cotangents.get(value, ()):
            self._pass(index, result, products)
        for index, operand in plan.contributions.get(value, ()):
            self._contribute(index, operand, products)
        for whole in plan.totals.get(value, ()):
            self._sums[whole][0].add_side(products.along(self._tangent(whole)))
            self._gradient(whole, products)
        for seeded in plan.seeds.get(value, ()):
            self._seeds.setdefault(seeded, []).append(array)
            found = products.along(self._tangent(seeded))
            self._sums[seeded][1].add_side(found)
            self._by_tangents.add_side(found)

    def _pass(self, index: int, result: SSAValue, products: InnerProducts) -> None:
        balance, found = self._balances[index], self.values.tangents.get(result)
        cotangent, tangent = products.cotangent, self._before.get(result, self._tangent(result))
        balance.noise += self._roundings(index, cotangent)
        mask = self._mask(index)
        balance.passed.add_side(products.along(tangent, mask))
        if mask is not None:
            balance.open += int((~mask & (cotangent != 0)).sum())
            balance.excluded = True
        else:
            add_open(balance, cotangent, found)
        for operand, results in self._alone.items():
            if index == self.focus:
                place = self.plan.steps[index].op.results.index(result)
                self.by_operand[operand].passed.add(cotangent, results[place])

    def _roundings(self, index: int, cotangent: Any) -> float:
        """Return the rounding error of a saturated pointwise op's derivative, such as 1 - y y at y = 1."""
        op = self.plan.steps[index].op
        if not isinstance(cotangent, np.ndarray):
            return 0.0
        error = saturation_error(op, self._tangent(op.operands[0]) if op.operands else None, cotangent.shape)
        return 0.0 if error is None else float(np.linalg.norm(product(cotangent, error)))

    def _contribute(self, index: int, operand: SSAValue, products: InnerProducts) -> None:
        balance, tangent = self._balances[index], self._tangent(operand)
        balance.contributes = True
        balance.moved = balance.moved or tangent is not None
        balance.contributed.add_side(products.along(tangent, self._mask(index)))
        self._sums[operand][1].add_side(products.along(tangent))
        if index == self.focus and operand in self.by_operand:
            self.by_operand[operand].contributed.add_side(products.along(tangent))

    def _mask(self, index: int) -> np.ndarray | None:
        """Return the mask of elements of pointwise ops that are not at a kink; None if it is unknown."""
        mask = None
        for op in self.plan.covered[index]:
            if not isinstance(op, OnnxOp) or op.onnx_name() not in traits.POINTWISE:
                return None
            found = self.values.tangents.get(op.results[0])
            if found is None or isinstance(found, list) or found.open is None or not found.open.any():
                continue
            if mask is not None and mask.shape != found.open.shape:
                return None
            mask = ~found.open if mask is None else mask & ~found.open
        if mask is None:
            return None
        step = self.plan.steps[index]
        moved = [*step.cotangents, *(value for value, _ in step.contributions)]
        tangents = map(self._tangent, moved)
        return mask if all(t is None or np.shape(t) == mask.shape for t in tangents) else None

    def _gradient(self, value: SSAValue, products: InnerProducts) -> None:
        if value not in self._directions:
            return
        self._by_reverse.add_side(products.along(self._directions[value]))
        for name, by in self.plan.differentiated.wrt.items():
            if by is value:
                self._gradients[name] = products.cotangent

    def _push_operands_alone(self, op: Operation) -> None:
        """Compute the tangents of an op for each operand's tangent alone."""
        args = [wide_of(self.values[operand]) for operand in op.operands]
        values, tangents = [value_of(arg) for arg in args], [tangent_of(arg) for arg in args]
        if op.regions:
            return
        self.operands = values
        for operand in dict.fromkeys(op.operands):
            own = [t if v is operand else None for v, t in zip(op.operands, tangents, strict=True)]
            if all(tangent is None for tangent in own):
                continue
            found = self.values.jvp(op, values, own)
            self._alone[operand] = [_directional_derivative(tangent) for tangent in found]
            self.by_operand[operand] = Balance()

    def _open_within(self) -> dict[int, tuple[Operation, int]]:
        """Return step -> an inner op with undecided elements, and the number of all such elements."""
        found: dict[int, tuple[Operation, int]] = {}
        for index in range(len(self.plan.steps)):
            if ops := self.open_in(index):
                found[index] = ops[0][0], sum(count for _, count in ops)
        return found

    def open_in(self, index: int) -> list[tuple[Operation, int]]:
        """Return the ops of a step except its last one that have undecided elements, with their number."""
        ops = self.plan.covered[index][1:]
        counts = [(op, sum(open_elements(self.values.tangents.get(r)) for r in op.results)) for op in ops]
        within = self.values.open_within.get(self.plan.steps[index].op, ())
        return [*within, *((op, count) for op, count in counts if count)]


def _directional_derivative(tangent: Any) -> Any:
    if isinstance(tangent, list):
        return [_directional_derivative(each) for each in tangent]
    return None if tangent is None else tangent.found


def _with_tangent(value: Any, tangent: Any) -> Any:
    if isinstance(value, list):
        return [_with_tangent(v, t) for v, t in zip(value, tangent, strict=True)]
    return value if tangent is None else Pair(value, tangent)


def _sum(a: Any, b: Any) -> Any:
    if isinstance(a, list):
        return [_sum(x, y) for x, y in zip(a, b, strict=True)]
    return a + b
