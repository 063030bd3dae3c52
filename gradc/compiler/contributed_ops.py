"""Remarks on ops outside the standard ONNX domain: missing on the target, or misspelt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from xdsl.dialects.builtin import ModuleOp, StringAttr

from dialects.onnx.node import WHY, NodeOp
from dialects.support.diagnostics import (
    Diagnostic,
    UnsupportedError,
    diagnostic_at,
    sentence,
    several,
    suggest,
)
from gradc.model.exported_domains import is_of_onnx
from gradc.runtime.session import ops_in_registry
from passes.targets.target import Target

OF_RUNTIME = "com.microsoft"
"""Prefix of onnxruntime's domains."""


def nonstandard_remarks(module: ModuleOp, target: Target) -> tuple[Diagnostic, ...]:
    """Return one remark that names the ops of other domains in a portable model, if it has any."""
    found = [op.title for op in module.walk() if isinstance(op, NodeOp) and is_nonstandard(op, target)]
    if not found:
        return ()
    text = f"{several(list(dict.fromkeys(found)))}: not in the standard ONNX domain and not decomposed"
    return (Diagnostic("remark", f"{text}; other runtimes than onnxruntime may lack it"),)


def is_nonstandard(op: NodeOp, target: Target) -> bool:
    """Return whether the target needs ops of the standard domain and the op is none."""
    return target.spec.standard_ops_only and not is_of_onnx(op)


def misspelt_remarks(module: ModuleOp) -> tuple[Diagnostic, ...]:
    """Return a remark on the first node of each op that its onnxruntime domain does not have."""
    found: dict[str, Diagnostic] = {}
    for op, why in _misspelt(module):
        found.setdefault(op.title, diagnostic_at(op, "remark", why))
    return tuple(found.values())


def explain_misspelt(module: ModuleOp) -> None:
    """Record in each node of a misspelt op why it has no derivative."""
    for op, why in _misspelt(module):
        op.attributes[WHY] = StringAttr(why)


def _misspelt(module: ModuleOp) -> Iterator[tuple[NodeOp, str]]:
    for op in module.walk():
        if isinstance(op, NodeOp) and op.domain.data.startswith(OF_RUNTIME):
            known, name = _runtime_ops().get(op.domain.data, ()), op.op_type.data
            if known and name not in known:
                yield (
                    op,
                    sentence(f"the installed onnxruntime has no op {op.title}", hint=suggest(name, known)),
                )


@cache
def _runtime_ops() -> Mapping[str, Sequence[str]]:
    """Return the ops of each domain of the installed onnxruntime, if any."""
    try:
        return ops_in_registry()
    except UnsupportedError:
        return {}
