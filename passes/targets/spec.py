"""Declaration of a target: what its runtimes lack, compute wrongly, or run fast. Passes ask these fields, and
never a target's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module

from dialects.onnx.base import OnnxOp
from dialects.support.diagnostics import usage
from dialects.support.shapes import UnknownRank
from passes.decompositions.registry import Body
from passes.onnxruntime.quirks import Quirk
from passes.targets import TARGETS


@dataclass(frozen=True)
class FormQuirk:
    """A form of an op that a runtime computes wrongly or rejects.

    `what` names the form, `why` the runtime and its behavior, `holds` tests an op. `body` writes it as other
    ops; without it the op is an error.
    """

    what: str
    why: str
    holds: Callable[[OnnxOp], bool]
    body: Body | None = None

    def because(self, why: str) -> FormQuirk:
        """Return the form with another reason."""
        return replace(self, why=why)


FormQuirks = Mapping[type[OnnxOp], tuple[FormQuirk, ...]]
"""Op -> its forms; the first match counts."""


def unite(first: FormQuirks, second: FormQuirks) -> FormQuirks:
    """Return the forms of both tables; a form that is in both has both reasons."""
    return {op: _unite(first.get(op, ()), second.get(op, ())) for op in (*first, *second)}


def _unite(first: Sequence[FormQuirk], second: Sequence[FormQuirk]) -> tuple[FormQuirk, ...]:
    found = {quirk.what: quirk for quirk in first}
    for quirk in second:
        known = found.get(quirk.what)
        found[quirk.what] = quirk if known is None else known.because(f"{known.why}; {quirk.why}")
    return tuple(found.values())


def _no_reasons() -> dict[str, str]:
    return {}


@dataclass(frozen=True, kw_only=True)
class TargetSpec:
    """A target and its capabilities. A field that gives a reason is None for a target without the limit.

    name, summary: the word for `--target`, and a phrase for its documentation.
    provider: onnxruntime's execution provider whose kernel table and prices hold for the target, and which
        `gradc run` uses.
    restricts: the target whose ops this one restricts; a remedy for an op that only that one has.
    excluded_ops: op -> why the target avoids it although the provider has it.
    excluded_dtypes: dtype -> why no op may have a tensor of it; half types are widened where possible.
    form_quirks: forms of ops that the target avoids.
    kernel_quirks: forms that the provider's kernels get wrong.
    decomposed_domains: domains of onnxruntime's own ops of which the target has no kernels.
    standard_ops_only: ops of other domains than ONNX's may be missing.
    symmetric_pads: why a ConvTranspose must have equal pads at both ends of an axis.
    narrow_integers: why size arithmetic must stay within 31 bits.
    spreads_nonfinite: why a convolution may spread an inf to results that do not depend on it.
    f32_accumulating: half types whose convolutions accumulate in f32.
    crops_by_pad: a Pad with negative pads is a fast way to crop.
    empty_resize: Resize accepts a tensor that is empty at run time.
    skips_excluded_windows: pools leave out windows that start in the padding after the data, from the opset
        on at which onnxruntime does.
    nchwc_kernels: convolutions read the blocked layout (NCHWc).
    prefers_nchwc: ops between convolutions are written so that they stay in the blocked layout.
    peepholes: the rewrites of `onnxruntime-peepholes` that depend on measured kernels are faster.
    """

    name: str
    summary: str
    provider: str = "cpu"
    restricts: str | None = None
    excluded_ops: Mapping[str, str] = field(default_factory=_no_reasons)
    excluded_dtypes: Mapping[str, str] = field(default_factory=_no_reasons)
    form_quirks: FormQuirks = field(default_factory=dict[type[OnnxOp], tuple[FormQuirk, ...]])
    kernel_quirks: Mapping[type[OnnxOp], Sequence[Quirk]] = field(
        default_factory=dict[type[OnnxOp], Sequence[Quirk]]
    )
    decomposed_domains: tuple[str, ...] = ()
    standard_ops_only: bool = False
    symmetric_pads: str | None = None
    narrow_integers: str | None = None
    spreads_nonfinite: str | None = None
    f32_accumulating: tuple[str, ...] = ()
    crops_by_pad: bool = False
    empty_resize: bool = False
    skips_excluded_windows: bool = False
    nchwc_kernels: bool = False
    prefers_nchwc: bool = False
    peepholes: bool = False

    def form_quirk(self, op: OnnxOp) -> FormQuirk | None:
        """Return the form of an op that the target avoids, or None."""
        forms = self.form_quirks.get(type(op), ())
        try:
            return next((form for form in forms if form.holds(op)), None)
        except UnknownRank:
            return None

    def kernel_quirk(self, op: OnnxOp) -> str | None:
        """Return the form of an op that the provider's kernel gets wrong, or None."""
        quirks = self.kernel_quirks.get(type(op), ())
        return next((quirk.what for quirk in quirks if quirk.holds is not None and quirk.holds(op)), None)


@cache
def spec_of(name: str) -> TargetSpec:
    """Return the declaration of a target. Raises UsageError for an unknown name."""
    if name not in TARGETS:
        raise usage("target", name, f"one of {', '.join(TARGETS)}")
    return import_module(f"passes.targets.{name}").TARGET
