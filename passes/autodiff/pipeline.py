"""The passes of a differentiation, in order: normal forms, requested values, simplification, reverse pass."""

from __future__ import annotations

from collections.abc import Iterator
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
from passes.autodiff.pin_values import PinValuesPass
from passes.autodiff.session import Session, SessionPass, in_session
from passes.autodiff.stable_forms import use_stable_forms
from passes.autodiff.unpin_values import UnpinValuesPass
from passes.autodiff.vjp_pass import VjpPass
from passes.builder.rewriting import differentiated_by, inner_wrt, simplify
from passes.decompositions.contrib.qdq_to_float import compute_with_floats
from passes.fold_affine import FoldAffinePass
from passes.infer_types import infer_types
from passes.name_sizes import NameSizesPass
from passes.simplify import SimplifyPass
from passes.unpack_sequences import UnpackSequencesPass


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
class QdqToFloatPass(ModulePass):
    """Compute with floats what a model computes with quantized integers, for straight-through gradients."""

    name = "qdq-to-float"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        compute_with_floats(op)


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


def vjp_passes(values: PinValuesPass, vjp: VjpPass, session: Session) -> Iterator[ModulePass]:
    """Yield the passes that replace a function of ONNX ops by its gradient."""
    yield UnpackSequencesPass()
    yield NormalizeLoopsPass()
    yield NormalizeSequencesPass()
    if vjp.straight_through:
        yield QdqToFloatPass()
    yield NormalizeBranchesPass((*values.of, *values.keep, *values.wrt))
    yield in_session(values, session)

    yield NameSizesPass()
    yield SimplifyPass()
    yield UnpackSequencesPass(simplify=True)  # positions may be constant now
    yield in_session(StableFormsPass(), session)
    if not vjp.strict_ieee:
        yield FoldAffinePass()
    yield NameSizesPass()

    yield UnpackSequencesPass()
    yield NormalizeLoopsPass()  # branches may be known now
    yield ScanOutputsPass()
    yield NameSizesPass()
    yield GuardMaskedBranchesPass()

    yield in_session(vjp, session)
    yield UnpinValuesPass()
