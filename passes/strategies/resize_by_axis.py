"""resize-by-axis: on every axis of a resize the form that is cheapest there.

The axes of a resize may differ: a short one is multiplied whole, a long one in bands, a periodic one in
blocks. See `support.axis_forms`; prices are those of `passes.cost`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from xdsl.ir import SSAValue

from dialects.grad.resize import ResizeBackwardOp
from dialects.grad.sampling import AxisSampling
from passes.cost import price_ops
from passes.strategies.base import Strategy, no_kernel
from passes.support import budget
from passes.support.axis_forms import (
    AxisForm,
    Bands,
    Blocks,
    Dense,
    GatheredBands,
    Gathers,
    Sums,
    Tables,
    axes_to_write,
)
from passes.support.axis_forms.base import MATRIX_MIXES
from passes.support.budget import Built
from passes.support.rewriting import Emitter
from passes.target import Target

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
"""Of equal price, the first is taken."""

STRICT_FORMS: tuple[AxisForm, ...] = (*FORMS, Tables())
"""Those to choose from for a target that is strict about IEEE numbers, if they do not mix."""


class ResizeByAxis(Strategy):
    """The cheapest form of each axis."""

    name: ClassVar[str] = "resize-by-axis"
    ops: ClassVar = (ResizeBackwardOp,)

    def builds(self, op: ResizeBackwardOp) -> Built:
        """The most of what the form of each axis may be, of those that are within the limits."""
        return sum((_most(sampling) for sampling in op.samplings), Built())

    def refuses(self, op: ResizeBackwardOp, target: Target) -> str | None:
        if reason := no_kernel(target, op.diff_dst, *Dense.needs):
            return reason
        if len(op.samplings) < 2:
            return "one axis has one form, which is a strategy of its own"
        return None

    def mixes(self, op: ResizeBackwardOp, target: Target) -> str | None:
        exact = (
            any(fits(form, sampling) and not form.mixes(sampling) for form in STRICT_FORMS)
            for sampling in op.samplings
        )
        return None if all(exact) else MATRIX_MIXES

    def emit(self, op: ResizeBackwardOp, target: Target, emit: Emitter) -> SSAValue:
        value: SSAValue = op.diff_dst
        forms = STRICT_FORMS if target.strict_ieee else FORMS
        for axis, sampling in axes_to_write(op):
            value = _cheapest(emit, value, axis, _fitting(forms, value, sampling, target), sampling, target)
        return value


def fits(form: AxisForm, sampling: AxisSampling) -> bool:
    return budget.is_modest(form.builds(sampling), sampling.x + sampling.y) and not form.refuses(sampling)


def _most(sampling: AxisSampling) -> Built:
    modest = [form.builds(sampling) for form in FORMS if fits(form, sampling)]
    return max(modest or [Dense().builds(sampling)], key=lambda built: built.constants)


def _fitting(
    forms: Sequence[AxisForm], value: SSAValue, sampling: AxisSampling, target: Target
) -> Iterator[AxisForm]:
    for form in forms:
        if not fits(form, sampling) or no_kernel(target, value, *form.needs):
            continue
        if not target.strict_ieee or not form.mixes(sampling):
            yield form


def _cheapest(
    emit: Emitter,
    value: SSAValue,
    axis: int,
    forms: Iterable[AxisForm],
    sampling: AxisSampling,
    target: Target,
) -> SSAValue:
    best, result, least = Emitter(), value, float("inf")
    for form in forms:
        trial = Emitter()
        written = form.write(trial, value, axis, sampling)
        price = price_ops(trial.ops, target, [written])
        dropped = best if price < least else trial
        if price < least:
            best, result, least = trial, written, price
        for op in reversed(dropped.ops):
            op.drop_all_references()
    emit.ops.extend(best.ops)
    return result
