"""resize-by-axis: the cheapest form for each axis of a resize.

The axes of a resize may differ: a short one is multiplied whole, a long one in bands, a periodic one in
blocks. See `resize.axis_forms`; prices are those of `passes.cost`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.ir import Operation, SSAValue

from dialects.grad.resize import ResizeBackwardOp
from dialects.grad.sampling import AxisSampling
from dialects.support.shapes import static_shape
from passes.builder import budget
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.cost import exceeds, price_ops
from passes.cost.graph import tensor
from passes.cost.work import Sizes, Work, static_sizes
from passes.resize.axis_forms import (
    AxisForm,
    Bands,
    Blocks,
    Dense,
    GatheredBands,
    Gathers,
    Sums,
    Tables,
    axes_to_write,
    axes_with_sizes,
)
from passes.resize.axis_forms.base import MATRIX_SPREADS_NONFINITE
from passes.strategies.base import Strategy, no_kernel
from passes.targets.target import Target

FORMS: tuple[AxisForm, ...] = (
    Dense(),
    Blocks(),
    Bands(24),
    Bands(40),
    Bands(64),
    GatheredBands(),
    Sums(),
    Gathers(),
)
"""Forms in order of preference at equal prices."""

STRICT_FORMS: tuple[AxisForm, ...] = (*FORMS, Tables())
"""Forms for targets with strict IEEE numbers; only those that do not mix are used."""


class ResizeByAxis(Strategy):
    """The cheapest form of each axis."""

    name: ClassVar[str] = "resize-by-axis"
    ops: ClassVar = (ResizeBackwardOp,)

    def compile_time_cost(self, op: ResizeBackwardOp) -> CompileTimeCost:
        """Return the largest cost of the admissible forms of each axis."""
        return sum((_most(sampling) for sampling in op.samplings), CompileTimeCost())

    def refuses(self, op: ResizeBackwardOp, target: Target) -> str | None:
        if len(op.samplings) < 2:
            return "a single axis has one form, which is a separate strategy"
        return no_form(op, target)

    def spreads_nonfinite(self, op: ResizeBackwardOp, target: Target) -> str | None:
        every = [_forms(sampling, op.diff_dst, target) for sampling in op.samplings]
        exact = all(
            any(not form.spreads_nonfinite(sampling) for form in forms)
            for forms, sampling in zip(every, op.samplings, strict=True)
        )
        return None if exact else MATRIX_SPREADS_NONFINITE

    def least_price(self, op: Operation, target: Target) -> float:
        assert isinstance(op, ResizeBackwardOp)
        if static_sizes(op.diff_dst) is None:
            return 0.0
        return sum(
            min(
                _least(form, op.diff_dst, sizes, axis, sampling, target)
                for form in _exact(sampling, op.diff_dst, target)
            )
            for sizes, axis, sampling in axes_with_sizes(op)
        )

    def emit(self, op: ResizeBackwardOp, target: Target, emit: OpBuilder) -> SSAValue:
        value: SSAValue = op.diff_dst
        for axis, sampling in axes_to_write(op):
            best = _cheapest(value, axis, sampling, _exact(sampling, value, target), target)
            emit.ops.extend(best.emit.ops)
            value = best.value
        return value


def no_form(op: ResizeBackwardOp, target: Target) -> str | None:
    """Return why an axis has no form on the target, or None: the reason of the dense product, which fits any
    axis."""
    for sampling in op.samplings:
        if not _forms(sampling, op.diff_dst, target):
            return _refusal(FORMS[0], sampling, op.diff_dst, target)
    return None


def _all_forms(target: Target) -> tuple[AxisForm, ...]:
    return STRICT_FORMS if target.strict_ieee else FORMS


def _forms(sampling: AxisSampling, value: SSAValue, target: Target) -> list[AxisForm]:
    """Return the forms for an axis of the value on the target, mixing or not."""
    return [form for form in _all_forms(target) if not _refusal(form, sampling, value, target)]


def _exact(sampling: AxisSampling, value: SSAValue, target: Target) -> list[AxisForm]:
    """Return the `_forms` that do not mix, or all if the target is not strict."""
    forms = _forms(sampling, value, target)
    return [form for form in forms if not form.spreads_nonfinite(sampling)] if target.strict_ieee else forms


def _refusal(form: AxisForm, sampling: AxisSampling, value: SSAValue, target: Target) -> str | None:
    return _unfit(form, sampling) or no_kernel(target, value, *form.needs)


def _unfit(form: AxisForm, sampling: AxisSampling) -> str | None:
    if not budget.is_within_budget(form.compile_time_cost(sampling), sampling.x + sampling.y):
        return f"{type(form).__name__} would build too much"
    return form.refuses(sampling)


def _most(sampling: AxisSampling) -> CompileTimeCost:
    modest = [form.compile_time_cost(sampling) for form in FORMS if not _unfit(form, sampling)]
    return max(modest or [Dense().compile_time_cost(sampling)], key=lambda built: built.constants)


@dataclass(frozen=True)
class Trial:
    """An axis lowered in one form, not yet in the graph, and its price."""

    emit: OpBuilder
    value: SSAValue
    price: float

    @classmethod
    def of(cls, form: AxisForm, value: SSAValue, axis: int, sampling: AxisSampling, target: Target) -> Trial:
        emit = OpBuilder()
        written = form.write(emit, value, axis, sampling)
        return cls(emit, written, price_ops(emit.ops, target, [written]))


def _cheapest(
    value: SSAValue, axis: int, sampling: AxisSampling, forms: Sequence[AxisForm], target: Target
) -> Trial:
    """Return the first of the cheapest forms. Forms whose bound exceeds the best price are not lowered."""
    data = static_shape(value)
    bounds = [(_least(form, value, data, axis, sampling, target), i) for i, form in enumerate(forms)]
    best: tuple[float, int, Trial] | None = None
    for bound, index in sorted(bounds):
        if best is not None and exceeds(bound, best[0]):
            break
        trial = Trial.of(forms[index], value, axis, sampling, target)
        if best is None or (trial.price, index) < best[:2]:
            best, trial = (trial.price, index, trial), best and best[2]
        for op in reversed(trial.emit.ops if trial else ()):
            op.drop_all_references()
    assert best is not None
    return best[2]


def _least(
    form: AxisForm, value: SSAValue, data: Sizes | None, axis: int, sampling: AxisSampling, target: Target
) -> float:
    if data is None or not all(data):
        return 0.0
    work = Work(tensor(value).itemsize)
    form.works(work, data, axis, sampling)
    return work.least_price(target)
