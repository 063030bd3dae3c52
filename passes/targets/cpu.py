"""Target `cpu`: onnxruntime's CPU provider."""

from __future__ import annotations

from importlib import import_module

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.support.dtypes import name_of
from dialects.support.shapes import element_type_of
from passes.autodiff.common.primal import Primal
from passes.builder.values import Builder
from passes.decompositions.registry import Reason, Results, decomposition_of
from passes.onnxruntime.quirks import CPU_QUIRKS
from passes.targets.spec import FormQuirk, FormQuirks, TargetSpec


def _may_reduce_no_booleans(op: OnnxOp) -> bool:
    """Return whether a boolean op may have an empty axis; other types import no decomposition."""
    if name_of(element_type_of(op.operands[0])) != "boolean":
        return False
    return import_module("passes.decompositions.portable.ops").may_reduce_nothing(op)


def _in_integers(f: Primal, e: Builder) -> Results | None:
    found = decomposition_of(f.op.onnx_name(), Reason.OLDER_OPSET)
    return None if found is None else found.body(f, e)


BOOLEAN_EXTREME = FormQuirk(
    "booleans along axes that may be empty",
    "onnxruntime fails on an empty axis",  # quirk boolean-extreme-of-nothing
    _may_reduce_no_booleans,
    _in_integers,
)
WRONG_FORMS: FormQuirks = dict.fromkeys((onnx.ReduceMaxOp, onnx.ReduceMinOp), (BOOLEAN_EXTREME,))
"""Forms that the provider rejects at run time; `portable` avoids them too."""

TARGET = TargetSpec(
    name="cpu",
    summary="onnxruntime's CPU provider",
    provider="cpu",
    form_quirks=WRONG_FORMS,
    kernel_quirks=CPU_QUIRKS,
    crops_by_pad=True,
    empty_resize=True,
    skips_excluded_windows=True,
    nchwc_kernels=True,
    prefers_nchwc=True,
    peepholes=True,
)
