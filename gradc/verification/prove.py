"""Check of a gradient: of every op, of the sum over the graph, and of the compiled model."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from xdsl.ir import Operation

from dialects.onnx import ops as onnx
from dialects.support import limits
from dialects.support.diagnostics import Diagnostic, GradcError, diagnostic_at, kind_of, name_of
from dialects.support.entry import entry_function
from dialects.support.shapes import has_rank, show, static_shape
from gradc.verification.adjoint_identities import BOUND, Balance
from gradc.verification.blame import claims_within
from gradc.verification.compiled_model import Model
from gradc.verification.cost_estimates import estimate_bytes, estimate_seconds
from gradc.verification.empty_batches import SECONDS_OF_A_POINT, at_empty_batch
from gradc.verification.evaluation import NotComputed, reason_of, shapes_of
from gradc.verification.gradient_spec import CheckError, Claim
from gradc.verification.kernels import Kernels
from gradc.verification.point import GradientFails, Outcome, OutOfTime, Point
from gradc.verification.point_plan import Plan
from gradc.verification.proof import Proof, Undecided
from gradc.verification.sample_points import SEEDS, guesses_of, in_words, sample_inputs
from gradc.verification.sample_regimes import vary_inputs
from gradc.verification.samples import Guess
from gradc.verification.scatters import has_duplicate_writes
from gradc.verification.single_ops import LocalPoint
from gradc.verification.stopped_values import judge_stops
from gradc.verification.whole_gradient import judge_seeds, judge_sums, judge_values
from gradc.verification.widening import widen

FOR_THE_WHOLE = 0.7
"""Fraction of the time limit after which single ops are checked instead of the whole."""

OTHER_SIZES = {"batch": 3, "size": 5, "step": 1}
"""Dynamic sizes of a second point."""

BRANCH_SAMPLES = 16
"""Maximum number of samples drawn for branches not reached."""

STILL = "its result does not move"

CONFIRMED = 2
"""Number of other directions that must confirm a wrong op."""

SHAKEN, EXPLAINED = 2, 8.0
"""Number of evaluations with errors within an op, and the multiple of their effect that is explained."""


@dataclass
class Prover:
    """Check of one claim, point by point.

    open: step that no point has decided -> the reason.
    """

    claim: Claim
    kernel: Kernels | None = None
    deadline: float = np.inf
    runs: Callable[[Mapping[str, Any]], bool] = lambda inputs: False
    """Return whether a runtime evaluates the function at some inputs."""

    worst: float = 0.0
    whole: bool = False
    """True if the identity of the whole graph was decided."""

    open: dict[int, str] = field(default_factory=dict[int, str])
    taken: dict[Operation, set[int]] = field(default_factory=dict[Operation, set[int]])
    off_codes: bool = False

    def __post_init__(self) -> None:
        widen(self.claim.differentiated.module)
        self.plan = Plan(self.claim.differentiated)
        self.open = dict.fromkeys(range(len(self.plan.steps)), STILL)
        self.guesses = guesses_of(self.claim.primal)
        self.points: list[tuple[int, Guess]] = []

    @property
    def ops(self) -> int:
        return len(self.plan.steps)

    def run(self, model: Model | None = None) -> str:
        """Decide as many steps as possible; return the reason for the rest. Raises CheckError for a wrong
        step."""
        self._judge_types()
        try:
            return self._points(model)
        except OutOfTime:
            return self._one_by_one()

    def _judge_types(self) -> None:
        for op, dtype in self.claim.differentiated.record.narrowed:
            text = f"its derivative rounds to {dtype}, which the op does not; this op is to blame"
            raise CheckError(diagnostic_at(op, "error", text))

    def _points(self, model: Model | None) -> str:
        begun, needed = time.thread_time(), estimate_bytes(self.plan)
        until = begun + FOR_THE_WHOLE * (self.deadline - begun)
        if begun + estimate_seconds(self.plan) > self.deadline or needed > limits.current().check_bytes:
            raise OutOfTime
        for seed in range(SEEDS):
            if self.points and 2 * time.thread_time() - begun > until:
                break
            try:
                outcome, why = self._sample(seed, until)
            except OutOfTime:
                if not self.points:
                    raise
                break
            if outcome is None:
                return "" if self.points else why
            self._judge_gradient(outcome, seed)
            if model is not None:
                model.judge(self.inputs, outcome)
            if time.thread_time() > until:
                return f"no time was left to compare {' and '.join(outcome.of)} with the function as given"
            try:
                judge_values(self.claim, outcome, self.inputs, self.kernel)
                judge_stops(self.claim, self.inputs, outcome, self.kernel)
            except CheckError:
                raise
            except (NotComputed, GradcError) as error:
                return in_words(error)
            self._give_cotangents(until)
            if not self.open and (seed or not self._is_dynamic()):
                break
        if self.open and self.claim.straight_through:
            self.off_codes = True
            self._judge_gradient(self._point(self.inputs, 0).run(), 0)
        self._look_for_branches(until)
        if model is None or len(self.points) * SECONDS_OF_A_POINT < time.thread_time() - begun:
            return ""
        return at_empty_batch(self.claim, model, self.points[0][1], self.kernel)

    def _give_cotangents(self, until: float) -> None:
        """Check the ops that no cotangent reaches, as before weights of 0, with random cotangents."""
        still = [index for index, why in self.open.items() if why == STILL]
        if still:
            point = LocalPoint(self.plan, self.inputs, self.points[-1][0], until, self.kernel, still)
            with contextlib.suppress(OutOfTime):
                for index, balance in point.balances():
                    self._judge_alone(index, balance, point)

    def _point(self, inputs: Mapping[str, Any], seed: int, **given: Any) -> Point:
        return Point(self.plan, inputs, seed, self.kernel, off_codes=self.off_codes, **given)

    def _look_for_branches(self, until: float) -> None:
        """Draw more samples while a branch is not reached."""
        start = self.inputs
        for number in range(BRANCH_SAMPLES):
            if not not_reached(self) or time.thread_time() > until:
                return
            self.inputs = vary_inputs(start, number)
            try:
                outcome = self._point(self.inputs, number, deadline=until).run()
            except (NotComputed, GradcError, GradientFails, OutOfTime):
                continue
            self._judge_gradient(outcome, number)

    def _one_by_one(self) -> str:
        """Check single ops in the remaining time."""
        self.open = dict.fromkeys(self.open, "an equal op is proved, or no time was left")
        try:
            self.inputs = sample_inputs(self.claim.primal, 0, self.guesses[0])
            point = LocalPoint(self.plan, self.inputs, 0, self.deadline, self.kernel)
            for index, balance in point.balances():
                self._judge_alone(index, balance, point)
        except OutOfTime:
            return "the whole takes more than the time or memory of the check"
        except CheckError:
            raise
        except (NotComputed, GradcError) as error:
            return in_words(error)
        return "the whole takes more than the time or memory of the check"

    def _judge_alone(self, index: int, balance: Balance, point: LocalPoint) -> None:
        kinks = point.open_in(index)
        match balance.verdict():
            case "wrong" if kinks:
                op, count = kinks[0]
                self.open[index] = f"{_title(op)} within has {_elements(count)} at a kink"
            case "right":
                self.open.pop(index, None)
                self.worst = max(self.worst, balance.error)
            case "wrong":
                raise self._wrong_step(index, None, balance, 0)
            case "undecided":
                self.open[index] = f"{_elements(balance.open)} at its kink"
            case _:
                self.open[index] = STILL

    def _is_dynamic(self) -> bool:
        arguments = entry_function(self.claim.primal).args
        return not all(has_rank(value) and static_shape(value) is not None for value in arguments)

    def _sample(self, seed: int, until: float) -> tuple[Outcome | None, str]:
        """Evaluate a point at valid sizes; guesses that fail are removed."""
        why = ""
        others = [replace(self.guesses[0], **OTHER_SIZES)] if seed and self._is_dynamic() else []
        for guess in (*others, *self.guesses):
            try:
                inputs = sample_inputs(self.claim.primal, seed, guess)
                self.inputs = inputs
                outcome = self._point(inputs, seed, deadline=until).run()
            except GradientFails as error:
                if self.runs(self.inputs):
                    raise self._failing_step(error) from error
                why = in_words(error.reason)
            except (NotComputed, GradcError) as error:
                why = in_words(error)
            else:
                if any(map(_has_numbers, outcome.of.values())):
                    self.points.append((seed, guess))
                    return outcome, ""
                why = "the results have no numbers at the sizes of a sample"
            if len(self.guesses) > 1 and guess in self.guesses:
                self.guesses.remove(guess)
        return None, why

    def _failing_step(self, failure: GradientFails) -> CheckError:
        """Return the error that blames the op whose derivative has no value where the function has one."""
        shown = ", ".join(f"{name} {show(shapes_of(array))}" for name, array in self.inputs.items())
        text = f"the derivative of this op has no value, which the function has, for {shown}"
        text = f"{text}: {reason_of(failure.reason)}; this op is to blame"
        step = self.plan.step_of_emitted(failure.op)
        return CheckError(
            Diagnostic("error", text) if step is None else diagnostic_at(step.op, "error", text)
        )

    def _judge_gradient(self, outcome: Outcome, seed: int) -> None:
        for op, indices in outcome.taken.items():
            self.taken.setdefault(op, set()).update(indices)
        for index, balance in enumerate(outcome.balances):
            self._judge_step(index, balance, outcome, seed)
        judge_seeds(self.claim, outcome)
        judge_sums(self.claim, self.plan, outcome, seed)
        self._judge_whole(outcome, seed)

    def _judge_step(self, index: int, balance: Balance, outcome: Outcome, seed: int) -> None:
        match self._verdict(index, balance, outcome):
            case "right":
                self.open.pop(index, None)
                self.worst = max(self.worst, balance.error)
            case "wrong":
                why = self._confirm(index, outcome, seed)
                if index in self.open:
                    self.open[index] = why
            case "undecided":
                if index in self.open:
                    self.open[index] = self._reason(index, balance, outcome)
            case _:
                pass

    def _verdict(self, index: int, balance: Balance, outcome: Outcome) -> str:
        found = balance.verdict()
        return "undecided" if found == "wrong" and index in outcome.open_within else found

    def _reason(self, index: int, balance: Balance, outcome: Outcome) -> str:
        if index in outcome.open_within:
            op, count = outcome.open_within[index]
            return f"{_title(op)} within has {_elements(count)} at a kink"
        if not np.isfinite(balance.difference):
            return "its values are not finite"
        return f"{_elements(balance.open)} at its kink"

    def _confirm(self, index: int, outcome: Outcome, seed: int) -> str:
        """Return the reason why a wrong-looking step may be right. Raises CheckError if there is none."""
        step = self.plan.steps[index]
        point, again = None, outcome
        for other in range(1, CONFIRMED + 1):
            point = self._point(self.inputs, seed + 100 * other, cotangents=outcome.cotangents, focus=index)
            again = point.run()
            if self._verdict(index, again.balances[index], again) != "wrong":
                return "differences along two directions disagree"
            has_inner = step.op.regions or self.plan.within(index)
            if has_inner and self._is_within_errors(index, again, seed + 100 * other):
                return "the errors of differences within it are as large"
        if point is not None and point.operands and has_duplicate_writes(step.op, point.operands):
            return "its indices write one element twice"
        self._judge_covered(index, seed)
        raise self._wrong_step(index, point, again.balances[index], seed)

    def _is_within_errors(self, index: int, outcome: Outcome, seed: int) -> bool:
        """Return whether the errors of the tangents within an op with regions explain the difference."""
        balance, effect = outcome.balances[index], 0.0
        for shaken in range(SHAKEN):
            point = self._point(self.inputs, seed, cotangents=outcome.cotangents, focus=index, shaken=shaken)
            effect = max(effect, abs(point.run().balances[index].passed.total - balance.passed.total))
        return abs(balance.difference) <= EXPLAINED * effect

    def _judge_covered(self, index: int, seed: int) -> None:
        """Check each op of a step of several ops alone. Raises CheckError for a wrong one."""
        for claim, inputs in claims_within(self.plan, index, self.inputs, seed, self.kernel):
            prover = Prover(claim, self.kernel)
            prover.inputs = inputs
            with contextlib.suppress(NotComputed, GradientFails):
                prover._judge_gradient(prover._point(inputs, seed).run(), seed)

    def _wrong_step(self, index: int, point: Point | None, balance: Balance, seed: int) -> CheckError:
        op = self.plan.steps[index].op
        apart = {} if point is None or self.plan.within(index) else point.by_operand
        wrong = {value: one for value, one in apart.items() if one.verdict() == "wrong"}
        what, shown = "the derivative of this op", balance
        if wrong:
            value, shown = max(wrong.items(), key=lambda item: item[1].error)
            index = list(op.operands).index(value)
            name = value.name_hint or f"operand {index}"
            what = f"its derivative by operand {index}" + (f", {name}," if value.name_hint else "")
        numbers = (
            f"along a direction drawn from seed {seed} it is {shown.contributed.total:.6g}, "
            f"by differences {shown.passed.total:.6g}"
        )
        return CheckError(diagnostic_at(op, "error", f"{what} is wrong: {numbers}; this op is to blame"))

    def _judge_whole(self, outcome: Outcome, seed: int) -> None:
        """Compare <gradients, tangents of wrt> with <seeds, tangents of `of`>, less the errors of single
        ops."""
        known = sum(one.difference for one in outcome.balances if np.isfinite(one.difference))
        off = outcome.by_reverse.total - outcome.by_tangents.total - known
        scale = max(outcome.by_reverse.norm, outcome.by_tangents.norm)
        noise = sum(one.noise for one in outcome.balances)
        undecided = any(self._verdict(i, b, outcome) == "undecided" for i, b in enumerate(outcome.balances))
        if not np.isfinite(off) or undecided:
            return
        self.whole = True
        if not scale:
            return
        self.worst = max(self.worst, abs(off) / scale)
        largest = max((one.norm for one in outcome.balances), default=0.0)
        if abs(off) > 10 * BOUND * max(scale, largest) + noise:
            numbers = f"{outcome.by_reverse.total:.6g}, by differences {outcome.by_tangents.total:.6g}"
            text = f"the gradient is wrong: along a direction drawn from seed {seed} it is {numbers}"
            raise CheckError(Diagnostic("error", f"{text}; every op is right alone, so their sum is not"))


def _has_numbers(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_has_numbers, value))
    return bool(np.isfinite(value).any())


def proof_of(provers: Sequence[Prover], reason: str, runtime: str, seconds: float) -> Proof:
    undecided = [
        Undecided(_title(prover.plan.steps[index].op), why)
        for prover in provers
        for index, why in sorted(prover.open.items())
    ]
    ops = sum(prover.ops for prover in provers)
    worst = max((prover.worst for prover in provers), default=0.0)
    unreached = tuple(name for prover in provers for name in not_reached(prover))
    ran = any(prover.points or len(prover.open) < prover.ops for prover in provers)
    return Proof(
        ops,
        ops - len(undecided),
        worst,
        tuple(undecided),
        runtime,
        unreached,
        reason,
        seconds,
        ran,
        all(prover.whole for prover in provers),
    )


def not_reached(prover: Prover) -> list[str]:
    """Return the branches of forward Ifs that no sample reached."""
    found = []
    for op in prover.plan.carries:
        for inner in op.walk():
            if not isinstance(inner, onnx.IfOp):
                continue
            taken = prover.taken.get(inner, set())
            for name in ("else branch", "then branch"):
                if _branch(inner, name) not in taken and inner in prover.taken:
                    found.append(f"{name} of {_title(inner)}")
    return found


def _branch(op: Any, name: str) -> int:
    key = name.replace(" ", "_")
    return list(op.regions).index(op.regions_by_name()[key])


def _title(op: Operation) -> str:
    return " ".join(filter(None, (kind_of(op).removeprefix("onnx."), name_of(op))))


def _elements(count: int) -> str:
    return "1 element" if count == 1 else f"{count} elements"
