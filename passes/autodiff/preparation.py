"""Passes that prepare a function of ONNX ops for its reverse pass: normal forms, and finite derivatives."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from dialects.support.entry import entry_function
from passes.autodiff.activity.active_values import find_active_values
from passes.autodiff.control_flow.branch_ranks import normalize_branches
from passes.autodiff.control_flow.loop_shapes import normalize_loops
from passes.autodiff.control_flow.scan_outputs import to_scan_outputs
from passes.autodiff.control_flow.sequence_element_rank import normalize_elements
from passes.autodiff.masked_branches import guard_masked_branches
from passes.autodiff.named_values import base_of, values_by_name
from passes.autodiff.session import SessionPass
from passes.autodiff.stable_forms import use_stable_forms
from passes.builder.rewriting import differentiated_by, inner_wrt
from passes.infer_types import infer_types
from passes.simplify import simplify


@dataclass(frozen=True)
class NormalizeLoopsPass(ModulePass):
    """Give loop-carried values the ranks that all steps preserve."""

    name = "normalize-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if normalize_loops(op):
            infer_types(op)


@dataclass(frozen=True)
class NormalizeSequencesPass(ModulePass):
    """Give the elements of sequences the rank that all of them have."""

    name = "normalize-sequences"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        normalize_elements(op)


@dataclass(frozen=True)
class NormalizeBranchesPass(ModulePass):
    """Move the readers of values that have another rank in each branch of an If into the branches."""

    name = "normalize-branches"

    kept: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        values = values_by_name(entry_function(op))
        names = [name if name in values else base_of(name) for name in self.kept]
        if normalize_branches(op, {values[name] for name in names if name in values}):
            infer_types(op)


@dataclass(frozen=True)
class StableFormsPass(SessionPass):
    """Replace compositions that overflow or cancel, but not across values that are differentiated by."""

    name = "stable-forms"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if use_stable_forms(op, inner_wrt(op), self.session.rules):
            simplify(op)


@dataclass(frozen=True)
class ScanOutputsPass(ModulePass):
    """Make loop-carried values that grow in each step scan outputs."""

    name = "scan-outputs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        to_scan_outputs(op)


@dataclass(frozen=True)
class GuardMaskedBranchesPass(ModulePass):
    """Guard operands of a Where that is not chosen against derivatives that are not finite."""

    name = "guard-masked-branches"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        body, wrt = entry_function(op).body.block, differentiated_by(op)
        active = find_active_values(list(body.ops), wrt)

        def is_active(value: SSAValue) -> bool:
            block = value.owner.parent if isinstance(value.owner, Operation) else value.owner
            return value in active or block is not body

        guard_masked_branches(op, wrt, is_active)
