"""Checks of the parts of a gradient that no single op decides: its values, its first cotangents, its sums."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from dialects.support.diagnostics import Diagnostic, diagnostic_at
from gradc.verification.adjoint_identities import BOUND
from gradc.verification.compiled_model import distance, is_rounding_effect
from gradc.verification.gradient_spec import CheckError, Claim
from gradc.verification.kernels import Kernels
from gradc.verification.point import Outcome
from gradc.verification.point_plan import Plan
from gradc.verification.primal import values_of

VALUES = 1e-6
"""Largest relative difference between `of` in the differentiated and in the original function."""


def judge_values(claim: Claim, outcome: Outcome, inputs: Mapping[str, Any], kernel: Kernels | None) -> None:
    """Compare the values of `of` with those of the source function."""
    names = [name for name, value in outcome.of.items() if isinstance(value, np.ndarray)]

    def source_values(given: Mapping[str, Any]) -> dict[str, np.ndarray]:
        by = list(claim.differentiated.wrt)
        return values_of(claim.primal, names, given, by, claim.straight_through, kernel)

    expected = source_values(inputs)
    for name in names:
        off = distance(outcome.of[name], expected[name])
        if off > VALUES and not is_rounding_effect(off, name, expected, inputs, source_values):
            text = f"{name} is off by {off:.3g} of its size where it is differentiated"
            raise CheckError(Diagnostic("error", f"{text}; simplifying the function changed it"))


def judge_seeds(claim: Claim, outcome: Outcome) -> None:
    """Compare the cotangents at the start of the walk with those of the request."""
    given = claim.differentiated
    expected: dict[SSAValue, Any] = {}
    for name, value in given.of.items():
        array = outcome.of[name]
        if not isinstance(array, np.ndarray):
            continue
        share = 1 / max(np.size(array), 1) if claim.reduce == "mean" else 1.0
        own = outcome.cotangents[name] if given.cotangents else np.full(np.shape(array), share)
        expected[value] = own if value not in expected else expected[value] + own
    for value, want in expected.items():
        seeds = outcome.seeds.get(value)
        if seeds is None or distance(np.asarray(sum(seeds)), want) > BOUND:
            text = f"the cotangent of {value.name_hint or 'a result'} that the gradient begins with is wrong"
            raise CheckError(Diagnostic("error", text))


def judge_sums(claim: Claim, plan: Plan, outcome: Outcome, seed: int) -> None:
    """Compare each complete cotangent with the sum of the contributions to it."""
    stepped = {value for step in plan.steps for value in step.cotangents}
    for value, (total, added) in outcome.sums.items():
        scale = max(total.norm, added.norm)
        if value not in claim.differentiated.record.totals:
            if abs(added.total) > BOUND * scale and isinstance(value.owner, Operation):
                raise _missing(value, added.total, seed)
            continue
        off = abs(total.total - added.total)
        if off > BOUND * max(scale, abs(total.total)):
            raise _wrong_sum(value, total.total, added.total, seed)
        owner = value.owner
        passes = isinstance(owner, Operation) and owner in plan.carries
        passes = passes and value not in stepped and value not in plan.differentiated.wrt.values()
        if passes and scale and abs(total.total) > BOUND * scale:
            raise _missing(value, total.total, seed)


def _wrong_sum(value: SSAValue, total: float, added: float, seed: int) -> CheckError:
    numbers = f"along a direction drawn from seed {seed} it is {total:.6g}, its terms add up to {added:.6g}"
    text = f"the cotangent of {value.name_hint or 'a value'} is wrong: {numbers}"
    diagnostic = Diagnostic("error", f"{text}; every op is right alone, so their sum is not")
    owner = value.owner
    if isinstance(owner, Operation):
        diagnostic = diagnostic_at(owner, "error", diagnostic.message)
    return CheckError(diagnostic)


def _missing(value: SSAValue, total: float, seed: int) -> CheckError:
    assert isinstance(value.owner, Operation)
    numbers = f"along a direction drawn from seed {seed} {total:.6g} of it does not"
    text = f"the cotangent of its result does not reach its operands: {numbers}; this op is to blame"
    return CheckError(diagnostic_at(value.owner, "error", text))
