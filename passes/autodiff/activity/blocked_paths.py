"""Ops that pass a value on but not its gradient: piecewise-constant and integer ops."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue

from dialects.support.shapes import element_type_of, has_rank
from passes.autodiff.activity.active_values import (
    has_no_gradient,
    is_size,
    may_be_active,
    operands_and_captures,
)
from passes.autodiff.activity.non_differentiable import is_partly_zero
from passes.autodiff.rules.quantize import is_passed_over


@dataclass
class _Paths:
    """Values that depend on `starts`, and the ops on the way that stop gradients."""

    starts: Collection[SSAValue]
    reached: set[SSAValue] = field(default_factory=set)
    cuts: list[Operation] = field(default_factory=list)
    around: list[Operation] = field(default_factory=list)
    """Ops with regions, within which gradients may stop."""

    def follow(self, ops: Sequence[Operation]) -> _Paths:
        self.reached = set(self.starts)
        active = set(self.starts)
        for op in ops:
            read = operands_and_captures(op)
            if is_size(op) or self.reached.isdisjoint(read):
                continue
            self.reached.update(op.results)
            self.around += [op] if op.regions else []
            if active.isdisjoint(read):
                continue
            passes = [] if has_no_gradient(op) else list(filter(may_be_active, op.results))
            active.update(passes)
            stops = not passes or is_partly_zero(op)
            self.cuts += [op] if stops and not is_passed_over(op) else []
        return self


def blocking_ops(
    start: SSAValue, ends: Iterable[SSAValue], ops: Sequence[Operation]
) -> list[Operation] | None:
    """Return the ops that block the gradient from `ends` to `start`; None if they are independent."""
    ways = _Paths([start]).follow(ops)
    return None if ways.reached.isdisjoint(ends) else ways.cuts or ways.around


def partly_blocking_ops(
    starts: Iterable[SSAValue], ends: Iterable[SSAValue], ops: Sequence[Operation]
) -> list[Operation]:
    """Return the ops between `starts` and `ends` that block gradients. Booleans do not count: they select
    between paths that carry the gradient."""
    ways, needed = _Paths(set(starts)).follow(ops), set(ends)
    for op in reversed(ops):
        if not is_size(op) and not needed.isdisjoint(op.results):
            needed.update(operands_and_captures(op))
    return [op for op in ways.cuts if any(x in needed and not _is_truth(x) for x in _inactive_results(op))]


def _inactive_results(op: Operation) -> Sequence[SSAValue]:
    return [x for x in op.results if has_no_gradient(op) or not may_be_active(x)]


def _is_truth(value: SSAValue) -> bool:
    return has_rank(value) and element_type_of(value) == i1
