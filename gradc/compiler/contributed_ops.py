"""Ops outside the standard ONNX domain, in models for a target that promises standard ops only."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from dialects.onnx.node import NodeOp
from dialects.support.diagnostics import Diagnostic, several
from gradc.model.exported_domains import is_of_onnx
from passes.kernels.target import Target


def lacked_remarks(module: ModuleOp, target: Target) -> tuple[Diagnostic, ...]:
    """Return one remark that names the ops of other domains in a portable model, if it has any."""
    found = [op.title for op in module.walk() if isinstance(op, NodeOp) and is_lacked(op, target)]
    if not found:
        return ()
    text = f"{several(list(dict.fromkeys(found)))}: not in the standard ONNX domain and not decomposed"
    return (Diagnostic("remark", f"{text}; other runtimes than onnxruntime may lack it"),)


def is_lacked(op: NodeOp, target: Target) -> bool:
    """Whether the target is portable and an op is none of the standard domain."""
    return target.name == "portable" and not is_of_onnx(op)
