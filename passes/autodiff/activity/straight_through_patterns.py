"""Straight-through estimators as exporters write them: z + (q - z), where q is z rounded or looked up.

Frameworks detach the difference: the gradient goes to z only. The file does not record that, so that the two
paths to z cancel. Marked sums pass the cotangent to q alone, which is exact and lets diagnostics name the
blocking op; on request to z alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.support import shapes
from passes.autodiff.activity.active_values import has_no_gradient, is_size, may_be_active
from passes.autodiff.activity.non_differentiable import INDICES, STEPS, zero_reason
from passes.autodiff.activity.straight_through_marks import ESTIMATE, PASSED, ROUNDED, match_estimate
from passes.builder.captured_values import values_read_by


def mark_estimates(module: ModuleOp, *, straight_through: bool) -> None:
    for op in module.walk():
        pair = match_estimate(op)
        if pair is not None and _is_rounded(*pair):
            op.attributes[ESTIMATE] = PASSED if straight_through else ROUNDED


def unmark_estimates(module: ModuleOp) -> None:
    for op in module.walk():
        op.attributes.pop(ESTIMATE, None)


def feed_estimates(cuts: Iterable[Operation], ops: Sequence[Operation]) -> bool:
    """Return whether an op that blocks gradients makes the q of a sum that takes its cotangent."""
    made = set(cuts)
    rounded = [op for op in ops if op.attributes.get(ESTIMATE) == ROUNDED]
    pairs = [pair for op in rounded if (pair := match_estimate(op)) is not None]
    return any(value.owner in made for q, _ in pairs for value in _dependencies(q, _read))


def _is_rounded(q: SSAValue, z: SSAValue) -> bool:
    """Return whether q depends on z, or on a source of z, through non-differentiable ops: through at least
    one rounding or index op if there are other paths, such as a measured step; else through these only."""
    if q is z or not (shapes.has_rank(q) and shapes.has_rank(z)):
        return False
    if not shapes.compatible(shapes.shape_of(q), shapes.shape_of(z)):
        return False
    sources, made = _dependencies(z, _active_operands), _dependencies(q, _read)
    if sources.isdisjoint(made) or sources.isdisjoint(_dependencies(q, _active_operands)):
        return not sources.isdisjoint(made)
    return any(_rounds(value.owner) and not sources.isdisjoint(_dependencies(value, _read)) for value in made)


def _rounds(made: Operation | Block) -> bool:
    return isinstance(made, Operation) and zero_reason(made) in (STEPS, INDICES)


def _dependencies(end: SSAValue, read: Callable[[Operation], Iterable[SSAValue]]) -> set[SSAValue]:
    """Return the non-constant values that `end` depends on, itself included."""
    found, waiting = {end}, [end]
    while waiting:
        op = waiting.pop().owner
        values = read(op) if isinstance(op, Operation) else ()
        new = [x for x in values if x not in found and not isinstance(x.owner, onnx.ConstantOp)]
        found.update(new)
        waiting += new
    return found


def _read(op: Operation) -> list[SSAValue]:
    return [] if is_size(op) else list(values_read_by(op))


def _active_operands(op: Operation) -> list[SSAValue]:
    """Return the operands through which a gradient may flow."""
    return [] if has_no_gradient(op) else list(filter(may_be_active, _read(op)))
