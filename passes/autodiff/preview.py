"""ONNX's preview op Gradient, which requests derivatives within a model."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from passes.autodiff.activity.active_values import operands_and_captures
from passes.autodiff.vjp import Walk
from passes.builder.values import Builder


def expand_gradient_node(
    ops: Sequence[Operation],
    named: Sequence[SSAValue],
    given: Sequence[SSAValue],
    wrt: int,
    y: SSAValue,
) -> tuple[Sequence[Operation], Sequence[SSAValue]]:
    """Return new ops, and the derivatives of the sum of y by the first `wrt` values of `named`.

    `ops` precede the node; those from `named` to y are differentiated at `given`, and cloned if the two
    differ.
    """
    e = Builder()
    between = _between(ops, named, y)
    if list(named) != list(given):
        values = dict(zip(named, given, strict=True))
        between = [op.clone(values) for op in between]
        e.emit.ops.extend(between)
        y = values.get(y, y)
    starts = given[:wrt]
    found = Walk(e, between, set(starts)).gradients([(y, e.fill_like(1, e(y)))])
    return e.emit.ops, [
        found[value].value if value in found else e.fill_like(0, e(value)).value for value in starts
    ]


def _between(ops: Sequence[Operation], named: Sequence[SSAValue], y: SSAValue) -> list[Operation]:
    """Return the ops that y depends on, back to `named`."""
    needed, ends = {y}, set(named)
    found: list[Operation] = []
    for op in reversed(ops):
        if any(result in needed and result not in ends for result in op.results):
            found.append(op)
            needed.update(operands_and_captures(op))
    return found[::-1]
