"""Tangents of the source function of a gradient in which stopped values are constants.

They do not depend on the ops that the gradient has for the stops.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from dialects.onnx.interpreter.pairs import pair_with, tangent_of, value_of
from dialects.support import entry
from dialects.support.constants import constant_attribute
from dialects.support.diagnostics import Diagnostic, several
from dialects.support.option_names import option
from gradc.verification.compiled_model import distance
from gradc.verification.evaluation import Evaluation, open_elements, wide_of
from gradc.verification.gradient_spec import CheckError, Claim
from gradc.verification.kernels import Kernels
from gradc.verification.point import Outcome
from gradc.verification.primal import named_values
from gradc.verification.widening import wide, widen
from passes.autodiff.activity.active_values import operands_and_captures
from passes.autodiff.activity.straight_through_marks import ESTIMATE
from passes.autodiff.activity.straight_through_patterns import mark_estimates

OFF = 1e-3
"""Largest relative difference of two tangents that are equal: both are finite differences."""


def judge_stops(
    claim: Claim, inputs: Mapping[str, Any], outcome: Outcome, kernel: Kernels | None = None
) -> None:
    """Raise CheckError if the tangents of `of` are not those of the source function with constants for the
    stopped values."""
    if not claim.stopped:
        return
    expected = tangents_with_stops(claim, inputs, outcome.directions, kernel)
    wrong = wrong_result(outcome.tangents_of, expected)
    if wrong is not None:
        stopped = f"{option('stop_gradient')} {several(list(claim.stopped))}"
        text = (
            f"the gradient of {wrong} is wrong: it is not that of the function with constants for {stopped}"
        )
        raise CheckError(Diagnostic("error", text))


def tangents_with_stops(
    claim: Claim, inputs: Mapping[str, Any], directions: Mapping[str, Any], kernel: Kernels | None = None
) -> dict[str, Any]:
    """Return the tangents of `of` by name, along the directions of `wrt`. Empty if an element is at a kink,
    or for straight-through estimates. Raises NotComputed."""
    module, names = claim.primal.clone(), list(claim.differentiated.of)
    mark_estimates(module, straight_through=claim.straight_through)
    if claim.straight_through or any(ESTIMATE in op.attributes for op in module.walk()):
        return {}
    function, values = named_values(module, names, [*directions, *claim.stopped])
    widen(module)
    of = [values[name] for name in names]
    moves = {values[name]: direction for name, direction in directions.items()}
    ops = _leading_to(of, function)
    evaluation = Evaluation(module, set(ops), kernel)
    stopped = {values[name] for name in claim.stopped}
    for name, argument in zip(entry.input_names(function), function.args, strict=True):
        evaluation[argument] = wide(inputs[name])
        _move(evaluation, argument, moves, stopped)
    for op in ops:
        evaluation.run(op)
        for result in op.results:
            if open_elements(evaluation.tangents.get(result)):
                return {}
            _move(evaluation, result, moves, stopped)
    return {name: tangent_of(evaluation[value]) for name, value in zip(names, of, strict=True)}


def wrong_result(found: Mapping[str, Any], expected: Mapping[str, Any]) -> str | None:
    """Return the name of a result whose tangent differs from the expected one."""
    for name, want in expected.items():
        got = found[name]
        if (want is None and got is None) or isinstance(got, list) or isinstance(want, list):
            continue
        pair = [np.zeros(np.shape(got if want is None else want)) if t is None else t for t in (got, want)]
        if all(np.isfinite(tangent).all() for tangent in pair) and distance(*pair) > OFF:
            return name
    return None


def _leading_to(values: Iterable[SSAValue], function: FuncOp) -> list[Operation]:
    needed, found = set(values), list[Operation]()
    for op in reversed(list(function.body.block.ops)):
        if not isinstance(op, ReturnOp) and not needed.isdisjoint(op.results):
            needed.update(op.operands, operands_and_captures(op))
            found.append(op)
    return found[::-1]


def _move(
    evaluation: Evaluation, value: SSAValue, moves: Mapping[SSAValue, Any], stopped: Collection[SSAValue]
) -> None:
    """Add the direction of a value to its tangent, or remove it from a stopped one."""
    if value not in moves and value not in stopped:
        return
    if value not in evaluation and constant_attribute(value) is None:
        return
    given = wide_of(evaluation[value])
    own, before = moves.get(value), tangent_of(given)
    total = before if own is None else own if before is None else before + own
    evaluation[value] = pair_with(value_of(given), None if value in stopped else total)
