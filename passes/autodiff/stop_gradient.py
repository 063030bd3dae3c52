"""stop-gradient: insert `grad.stop_gradient` after the named values, before all that reads them.

The ops stay in the gradient, so that no gradient of a gradient flows through the values either;
`erase-stop-gradients` removes them before lowering.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.grad.stop_gradient import StopGradientOp
from dialects.support.diagnostics import location, position_of
from dialects.support.entry import entry_function
from passes.autodiff.named_values import values_by_name
from passes.autodiff.request import resolve_floats
from passes.autodiff.session import SessionPass
from passes.builder.captured_values import dependents
from passes.builder.operands import replace_uses

STOPPED = "gradc.stopped"
"""Attribute of an op that the pass inserts: the name of its operand in the request."""


@dataclass(frozen=True)
class StopGradientPass(SessionPass):
    """Insert `grad.stop_gradient` after values.

    `values`: names of float tensors.
    """

    name = "stop-gradient"

    values: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        function = entry_function(op)
        self.session.stopped = self.values
        if self.values:
            found = resolve_floats("stop_gradient", self.values, values_by_name(function))
            for name, value in found.items():
                _stop(function, name, value)


def values_before_stops(values: Mapping[str, SSAValue]) -> dict[str, SSAValue]:
    """Return the values by name; a stopped one as it is before the stop, where a gradient arrives."""
    return {name: _before(value) for name, value in values.items()}


def values_after_stops(values: Mapping[str, SSAValue]) -> dict[str, SSAValue]:
    """Return the values by name; a stopped one as it is after the stop, where it is read."""
    return {name: _after(value) for name, value in values.items()}


def drop_constant_stops(function: FuncOp) -> None:
    """Erase the stops of values that depend on no argument, so that constants fold."""
    _, depends = dependents(function.body.block.ops, function.body.block.args)
    for op in list(function.body.block.ops):
        if isinstance(op, StopGradientOp) and op.value not in depends:
            replace_uses(op.result, op.value)
            Rewriter.erase_op(op)


def _stop(function: FuncOp, name: str, value: SSAValue) -> None:
    stop = StopGradientOp(value)
    stop.attributes[STOPPED] = StringAttr(name)
    stop.location = location(name, position_of(value.op) if isinstance(value, OpResult) else None)
    first = function.body.block.first_op
    assert first is not None
    at = InsertPoint.after(value.op) if isinstance(value, OpResult) else InsertPoint.before(first)
    replace_uses(value, stop.result, but_of=stop)
    Rewriter.insert_op(stop, at)


def _before(value: SSAValue) -> SSAValue:
    op = value.owner
    return op.value if isinstance(op, StopGradientOp) and STOPPED in op.attributes else value


def _after(value: SSAValue) -> SSAValue:
    stops = (use.operation for use in value.uses)
    found = (stop for stop in stops if isinstance(stop, StopGradientOp) and STOPPED in stop.attributes)
    return next((stop.result for stop in found), value)
