"""Check of a compiled gradient against its specification, with a remark on parts not checked."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits
from xdsl.dialects.builtin import ModuleOp

from dialects.support import limits
from dialects.support.diagnostics import Diagnostic, GradcError, UnsupportedError
from dialects.support.limits import using
from gradc.compiler.driver import load
from gradc.compiler.runtime_kernels import runtime_kernel
from gradc.crash_reports.crash import reproducer
from gradc.crash_reports.recipes import CHECK, Recipe
from gradc.graph.printing import module_text
from gradc.model.exporter import export_parts
from gradc.runtime.session import Session, check_provider, ep_of
from gradc.verification.compiled_model import Model
from gradc.verification.gradient_spec import CheckError, Claim, Written, remark
from gradc.verification.kernels import Kernels
from gradc.verification.proof import Proof
from gradc.verification.prove import Prover, proof_of
from gradc.verification.widening import has_halves

if TYPE_CHECKING:
    from gradc.compiler.compiled import Compiled
    from gradc.derivatives.request import GradientRequest

UNLIMITED = 2**62
"""Elements of a tensor; the check limits memory separately."""

REQUEST = ("of", "wrt", "straight_through", "stop_gradient")
"""The options of a gradient in the recipe of its check."""

SECONDS = 30.0
"""Default limit of the CPU time of a check."""


def check(
    claims: Sequence[Claim], compiled: Compiled, written: Written, user_request: GradientRequest
) -> tuple[Proof, Sequence[Diagnostic]]:
    """Check the claims, the last of which is the compiled one. Raises CheckError for a wrong gradient."""
    begun = time.thread_time()
    seconds = np.inf if user_request.check else user_request.check_seconds or SECONDS
    kernel = Kernels(user_request.kernels, runtime_kernel)
    opset = max(each.version for each in compiled.parts.proto.opset_import if not each.domain)
    runs = partial(_runs, claims[-1].primal, opset)
    provers = [Prover(claim, kernel, begun + seconds, runs) for claim in claims]
    model = _read_back(compiled, written, kernel, claims[0].primal)
    with (
        threadpool_limits(1, "blas"),
        using(replace(limits.current(), tensor_elements=UNLIMITED)),
        np.errstate(all="ignore"),
    ):
        reasons = [_run(prover, model if prover is provers[-1] else None, user_request) for prover in provers]
    runtime = compiled.options.resolve_target().name if model.ran else ""
    reason = next(filter(None, (*reasons, model.reason)), "")
    proof = proof_of(provers, reason, runtime, time.thread_time() - begun)
    return proof, [] if proof.status == "proved" else [
        remark(f"the check of the gradient is incomplete: {proof}")
    ]


def _run(prover: Prover, model: Model | None, user_request: GradientRequest) -> str:
    """Run a prover; an exception of gradc's leaves a reproducer, unless functions of the user take part."""
    if user_request.rules or user_request.kernels:
        return prover.run(model)
    claim, wrt = prover.claim, list(prover.claim.differentiated.wrt)
    values = (list(claim.differentiated.of), wrt, claim.straight_through, list(claim.stopped))
    recipe = Recipe(CHECK, "the check of the gradient", options=dict(zip(REQUEST, values, strict=True)))
    with reproducer(recipe, lambda: module_text(claim.primal)):
        return prover.run(model)


def _read_back(compiled: Compiled, written: Written, kernel: Kernels, primal: ModuleOp) -> Model:
    try:
        module = load(compiled.parts.whole(), for_gradients=())
    except GradcError as error:
        text = f"the compiled model is wrong: it is not valid: {error.diagnostic.message}"
        raise CheckError(Diagnostic("error", text)) from error
    weights = compiled.required_weights
    infos = {info.name: info for info in compiled.inputs}

    def run(inputs: dict[str, Any]) -> Mapping[str, np.ndarray]:
        return compiled.run({**weights, **inputs})

    more = has_halves(module) and not has_halves(primal)
    here = run if _runs_here(compiled.options.resolve_target().name) else None
    return Model(module, written, infos, here, kernel, more, compiled.weights)


def _runs(primal: ModuleOp, opset: int, inputs: Mapping[str, Any]) -> bool:
    """Return whether onnxruntime evaluates a function at some inputs, also where numpy is more lenient."""
    try:
        parts = export_parts(primal.clone(), opset=opset, metadata={})
        Session(parts, ep="cpu", threads=1).run(inputs)
    except Exception:  # onnxruntime has its own classes for what it refuses
        return False
    return True


def _runs_here(target: str) -> bool:
    """Return whether the installed onnxruntime has the execution provider of a target."""
    try:
        check_provider(ep_of(target))
    except UnsupportedError:
        return False
    return True
