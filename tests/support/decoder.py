"""The example of several ops, written the same whatever the prices are."""

from __future__ import annotations

from pathlib import Path

from xdsl.dialects.builtin import ModuleOp, StringAttr

from dialects.onednn.interpolate_backward import InterpolateBackwardOp
from dialects.support.documented_op import CHOICE
from gradc.compiler.driver import load

DECODER = Path(__file__).resolve().parents[2] / "examples" / "decoder_backward.json"


def decoder() -> ModuleOp:
    """The resize as products with two matrices."""
    module = load(DECODER)
    (resize,) = (op for op in module.walk() if isinstance(op, InterpolateBackwardOp))
    resize.attributes[CHOICE] = StringAttr("resize-to-matmul")
    return module
