"""Diagnostics for values whose gradient is zero or misses some paths."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from dialects.grad.stop_gradient import StopGradientOp
from dialects.onnx import ops as onnx
from dialects.support.diagnostics import (
    Diagnostic,
    GradcError,
    UnsupportedError,
    kind_of,
    name_of,
    position_of,
    sentence,
    several,
    usage,
)
from dialects.support.option_names import advice, option
from passes.autodiff.activity.active_values import find_active_values, operands_and_captures
from passes.autodiff.activity.blocked_paths import blocking_ops, partly_blocking_ops
from passes.autodiff.activity.non_differentiable import reason_to_stop
from passes.autodiff.activity.straight_through_patterns import feed_estimates
from passes.autodiff.rules.quantize import QUANTIZING

_ON_CODES = (onnx.ConvIntegerOp, onnx.MatMulIntegerOp, onnx.QLinearConvOp, onnx.QLinearMatMulOp)
"""Ops that pass gradients as if their integer operands were floats, on request."""


def no_gradient_error(
    name: str, value: SSAValue, of: Mapping[str, SSAValue], ops: Sequence[Operation]
) -> GradcError:
    """Return the error for a missing gradient: no dependence, or only through zero derivatives."""
    targets = " and ".join(of)
    cuts = blocking_ops(value, of.values(), ops)
    hint = advice("allow_unused", "gives zeros", True)
    if cuts is None:
        verb = "does not depend" if len(of) == 1 else "do not depend"
        return usage(f"{targets} {verb} on {name}", hint=hint)
    what = f"the gradient of {targets} by {name} is zero"
    what = f"{what}: {_with_reasons(cuts)}" if cuts else what
    hint = ", ".join(filter(None, (_remedy(cuts, ops), hint)))
    return UnsupportedError(Diagnostic("error", sentence(what, hint=hint)))


def unused_remarks(
    values: Mapping[str, SSAValue], of: Mapping[str, SSAValue], ops: Sequence[Operation]
) -> list[Diagnostic]:
    """Return a remark on values without gradient that a pattern matched."""
    if not values:
        return []
    targets = " and ".join(of)
    by_rule = [name for name, value in values.items() if blocking_ops(value, of.values(), ops) is not None]
    verb = "does not depend" if len(of) == 1 else "do not depend"
    independent = [name for name in values if name not in by_rule]
    reasons = (
        f"{targets} {verb} on {several(independent)}" if independent else "",
        f"the gradient of {targets} by {several(by_rule)} is zero" if by_rule else "",
    )
    hint = advice("allow_unused", "gives zeros", True)
    what = f"{' and '.join(filter(None, reasons))}: matched by a pattern and left out"
    return [Diagnostic("remark", sentence(what, hint=hint))]


def partly_zero_remarks(
    wrt: Iterable[SSAValue], of: Mapping[str, SSAValue], ops: Sequence[Operation]
) -> list[Diagnostic]:
    """Return a remark on paths from `wrt` to `of` that carry no gradient, if others do. Stops are no news."""
    blocking = partly_blocking_ops(wrt, of.values(), ops)
    cuts = [op for op in blocking if not isinstance(op, StopGradientOp)]
    if not cuts:
        return []
    what = f"part of the gradient of {' and '.join(of)} is zero: {_with_reasons(cuts)}"
    return [Diagnostic("remark", sentence(what, hint=_remedy(cuts, ops)), position=position_of(cuts[0]))]


def idle_stop_remarks(
    stopped: Sequence[str], wrt: Collection[SSAValue], of: Mapping[str, SSAValue], ops: Sequence[Operation]
) -> list[Diagnostic]:
    """Return a remark if no stopped value is on a path from `wrt` to `of`."""
    active, needed = find_active_values(ops, wrt), set(of.values())
    for op in reversed(ops):
        if needed.isdisjoint(op.results):
            continue
        if isinstance(op, StopGradientOp) and op.value in active:
            return []
        needed.update(operands_and_captures(op))
    if not stopped:
        return []
    what = f"{option('stop_gradient')} {several(list(stopped))}"
    verb = "is" if len(stopped) == 1 else "are"
    return [Diagnostic("remark", f"{what} {verb} without effect: no gradient would flow through it")]


def _remedy(cuts: Sequence[Operation], ops: Sequence[Operation]) -> str:
    """Return a hint on straight-through estimates if rounding blocks the gradient."""
    if not any(isinstance(op, (*QUANTIZING, *_ON_CODES)) for op in cuts) and not feed_estimates(cuts, ops):
        return ""
    return advice("straight_through", "passes it on as if nothing were rounded", True)


def _with_reasons(ops: Sequence[Operation]) -> str:
    """List the ops, grouped by type, each type with its reason."""
    by_kind: dict[str, list[Operation]] = {}
    for op in ops:
        by_kind.setdefault(kind_of(op), []).append(op)
    return several(
        [
            f"{kind} {name_of(same[0])}".strip()
            + (f" and {len(same) - 1} more" if same[1:] else "")
            + f" ({reason_to_stop(same[0])})"
            for kind, same in by_kind.items()
        ]
    )
