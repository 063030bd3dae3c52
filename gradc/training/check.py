"""Check of the updates of a step: one run against the gradients and the numpy reference of the optimizer."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dialects.support.diagnostics import Diagnostic, GradcError
from gradc.compiler.compiled import Compiled
from gradc.runtime.session import check_provider, ep_of
from gradc.training import reference
from gradc.training.options import TrainRequest
from gradc.verification.gradient_spec import CheckError
from gradc.verification.samples import random_inputs
from passes.training.write_optimizer import LR, NEW, WriteOptimizerPass

STEP_NUMBER, RATE = 3, 0.01
"""The step and the learning rate of the run."""

WORST = 1e-2
"""Largest error of an update relative to it, apart from the rounding of the parameter: gradients in float32
may differ between two models of the same function."""


def check_updates(
    step: Compiled, gradients: Compiled, optimizer: WriteOptimizerPass, user_request: TrainRequest
) -> list[Diagnostic]:
    """Run a step on drawn data, and compare its updates with the reference for the gradients of the other
    model; return a remark if that is not possible. Raises CheckError for a wrong update."""
    try:
        check_provider(ep_of(step.options.resolve_target().name))
        drawn = random_inputs(gradients.source, 0)
        found = gradients.run(drawn)
    except GradcError as error:
        return [_not_checked(error.diagnostic.message)]
    parameters = {name: drawn[name] for name in optimizer.gradients}
    states = _draw_states(optimizer.initial(parameters))
    try:
        expected, new_states = reference.train_step(
            parameters,
            {name: found[result] for name, result in optimizer.gradients.items()},
            states,
            optimizer=user_request.given_optimizer,
            lr=RATE if user_request.lr is None else user_request.lr,
            step=STEP_NUMBER,
            groups=user_request.all_groups,
            clip=user_request.clip,
            ema=user_request.ema,
        )
    except NotImplementedError as error:
        return [_not_checked(str(error))]
    scalars = {LR: np.array(RATE, np.float32), "step": np.array(STEP_NUMBER)}
    given = {**drawn, **states, **scalars}
    got = step.run({info.name: given[info.name] for info in step.inputs})
    for name, value in {**expected, **new_states}.items():
        _compare(name, {**parameters, **states}[name], got[NEW + name], value)
    return []


def _not_checked(why: str) -> Diagnostic:
    return Diagnostic("remark", f"the updates are not checked: {why}")


def _draw_states(initial: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return positive states near the initial ones, as second moments are positive."""
    rng = np.random.default_rng(1)
    return {
        name: (array + 0.1 * rng.uniform(0.5, 1.5, array.shape)).astype(array.dtype)
        for name, array in initial.items()
    }


def _compare(name: str, before: np.ndarray, got: np.ndarray, expected: np.ndarray) -> None:
    old, new = (array.astype(np.float64) for array in (before, got))
    if not np.isfinite(expected).all():
        return
    rounding = 4 * float(np.finfo(before.dtype).eps) if before.dtype.kind == "f" else 0.04
    bound = WORST * np.linalg.norm(expected - old) + rounding * np.linalg.norm(expected)
    error = np.linalg.norm(new - expected)
    if not error <= bound:
        text = f"the compiled step is wrong: new_{name} is off by {error:.2g}, of {bound:.2g} allowed"
        raise CheckError(Diagnostic("error", text))
