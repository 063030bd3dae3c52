"""Ops that a graph may contain besides gradients: those of ONNX, by source format."""

from __future__ import annotations

from collections.abc import Mapping

from dialects import source_ops
from dialects.onnx.ops import op_class, op_names
from dialects.support.diagnostics import several
from gradc.importers.onednn.op_kinds import PUBLIC_KINDS

FORMS: Mapping[str, tuple[str, str, str]] = {
    "MLIR text": ("yes", "yes", "yes, as `onnx.*`"),
    "oneDNN Graph JSON": ("yes", "yes", "no; all of oneDNN's kinds but {others}"),
    "Python (`gradc.Graph`)": ("yes", "yes", "no, besides constants"),
}


def forms() -> str:
    """Return a row per source format: gradients, other oneDNN ops, and ONNX ops."""
    others = several([f"`{kind}`" for kind in sorted(set(PUBLIC_KINDS) - set(source_ops()) - {"End"})])
    rows = [f"| {form} | {' | '.join(cells).format(others=others)} |" for form, cells in FORMS.items()]
    head = ["| form | gradients | other ops of oneDNN | ops of ONNX |", "|---|---|---|---|"]
    return "\n".join([*head, *rows])


def newest_opset() -> int:
    """Return the newest opset that revised an op."""
    return max(op_class(name).REVISIONS[-1] for name in op_names())


def onnx_ops() -> str:
    """Return the list of ONNX's standard ops."""
    names = op_names()
    listed = ", ".join(f"`{name}`" for name in names)
    return f"{listed}.\n\nThese are {len(names)}, all of ONNX's standard domain up to opset {newest_opset()}."
