"""Separate checks of the ops that the walk differentiates together, to find the one to blame."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from xdsl.ir import Operation, SSAValue

from dialects.onnx.ops import ConstantOp
from dialects.support.diagnostics import GradcError
from dialects.support.entry import entry_function, input_names, output_names
from gradc.verification.evaluation import value_of, wide_of
from gradc.verification.gradient_spec import Claim
from gradc.verification.isolate_op import inputs_of, isolated
from gradc.verification.kernels import Kernels
from gradc.verification.point import Point
from gradc.verification.point_plan import Plan
from passes.autodiff.activity.active_values import is_float
from passes.differentiate import Request, differentiate


class _OperandsPoint(Point):
    """A point that keeps the operands of `kept`, by name in the op's isolated module."""

    def __init__(self, kept: Collection[Operation], *given: Any):
        super().__init__(*given)
        self._kept = kept
        self.found: dict[Operation, dict[str, Any]] = {}

    def _forward(self, op: Operation, wrt: Collection[SSAValue]) -> None:
        if op in self._kept:
            arrays = [value_of(wide_of(self.values[value])) for value in inputs_of(op)]
            self.found[op] = {f"operand{i}": array for i, array in enumerate(arrays)}
        super()._forward(op, wrt)


def claims_within(
    plan: Plan, index: int, inputs: Mapping[str, Any], seed: int, kernel: Kernels | None
) -> Iterator[tuple[Claim, Mapping[str, Any]]]:
    """Yield a claim for each op of a step that covers several, with the operands at a point."""
    ops = [op for op in plan.covered[index] if not isinstance(op, ConstantOp)]
    if len(ops) == 1:
        return
    point = _OperandsPoint(ops, plan, inputs, seed, kernel)
    point.run()
    for op in ops:
        claim = _claim_of(op)
        if claim is not None:
            yield claim, point.found[op]


def _claim_of(op: Operation) -> Claim | None:
    """Return the claim of the gradient of one op, None if it has none alone."""
    module = isolated(op, verify=False)
    function = entry_function(module)
    for argument, value in zip(function.args, inputs_of(op), strict=True):
        argument.name_hint = value.name_hint
    wrt = [name for name, value in zip(input_names(function), function.args, strict=True) if is_float(value)]
    request = Request(output_names(function), wrt, cotangents=True, allow_unused=True)
    primal = module.clone()
    try:
        found = differentiate(module, request, record=True).differentiated
    except GradcError:
        return None
    return None if found is None else Claim(primal, found)
