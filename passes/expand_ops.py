"""expand-ops: an op without a kernel on the target, or in a form that the opset does not have, as ops that
the target has, where there are such.

At opset 19 and newer the CUDA provider has no Pad: a Concat with zeros stands for it. What no other ops
stand for is left to the final contract, which says so; so is what runs in a wider type.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from dialects.onnx.base import OnnxOp
from passes.emit.rewriting import Emitter, replace, rewrite, simplify
from passes.kernels.expansions import EXPANSIONS
from passes.kernels.older_forms import OLDER_FORMS, OlderForm
from passes.kernels.target import Target, TargetPass


@dataclass(frozen=True)
class ExpandOpsPass(TargetPass):
    name = "expand-ops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if rewrite(op, [Expand(self.env)], (*EXPANSIONS, *OLDER_FORMS)):
            simplify(ctx, op)


@dataclass
class Expand(RewritePattern):
    target: Target

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, OnnxOp):
            return
        write, emit = self._writer(op), Emitter()
        values = None if write is None else write(emit, op)
        if values is not None:
            replace(op, rewriter, emit, values)

    def _writer(self, op: OnnxOp) -> OlderForm | None:
        if type(op) in OLDER_FORMS and not self.target.has_form(op):
            return OLDER_FORMS[type(op)]
        return EXPANSIONS[type(op)].write if self.target.expands(op) else None
