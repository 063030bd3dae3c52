"""resolve-auto-pad: make all static sizes and pads explicit.

1. A ConvolutionBackwardData of static size loses its `dst_shape` (input and attribute): the result type
   implies it.
2. `auto_pad` of a convolution of static sizes becomes pads_begin and pads_end.
3. `output_padding` of a gradient is removed: sizes and pads imply it.

Dynamic cases are left to the conversion to `grad`, which computes them in the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from dialects.grad.geometry import Pads
from dialects.support.attributes import INTS
from dialects.support.interfaces import refine_results
from passes.builder.rewriting import refresh_function_types

if TYPE_CHECKING:
    from dialects.onednn.base import WindowedOp
    from dialects.onednn.conv import ConvTransposeForwardOp
    from dialects.onednn.conv_backward_data import ConvolutionBackwardDataOp


@dataclass(frozen=True)
class ResolveAutoPadPass(ModulePass):
    name = "resolve-auto-pad"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in op.walk():
            if inner.name.startswith("onednn."):
                _resolve(inner)
        refresh_function_types(op)


def _resolve(op: Operation) -> None:
    """Resolve the pads of a oneDNN op. The dialect's classes are imported for graphs that have its ops."""
    from dialects.onednn.conv import ConvTransposeForwardOp, ForwardConvOp
    from dialects.onednn.conv_backward_data import ConvolutionBackwardDataOp
    from dialects.onednn.conv_transpose_backward_data import ConvTransposeBackwardDataOp
    from dialects.onednn.pool import PoolingOp

    if isinstance(op, ConvolutionBackwardDataOp):
        _resolve_backward(op)
    elif isinstance(op, ConvTransposeBackwardDataOp):
        _resolve_pads(op, op.problem().pads, "output_padding")
    elif isinstance(op, ConvTransposeForwardOp):
        _resolve_transposed(op)
    elif isinstance(op, ForwardConvOp):
        _resolve_pads(op, op.problem().pads)
    elif isinstance(op, PoolingOp) and not (op.is_same and op.rounding_type == "ceil"):
        _resolve_pads(op, op.pads())


def _resolve_backward(op: ConvolutionBackwardDataOp) -> None:
    if op.has_runtime_shape:
        return
    refine_results(op)
    pads = op.problem().pads
    op.operands = op.operands[:2]
    op.properties.pop("dst_shape", None)
    _resolve_pads(op, pads, "output_padding")


def _resolve_transposed(op: ConvTransposeForwardOp) -> None:
    """Resolve a transposed convolution; its declared size beyond the windows is output_padding."""
    added = op.output_pads
    _resolve_pads(op, op.problem().pads)
    if any(added):
        op.properties["output_padding"] = INTS.encode(added)


def _resolve_pads(op: WindowedOp, pads: Sequence[Pads | None], *implied: str) -> None:
    """Set explicit pads if static; `implied` are further attributes that sizes and pads imply."""
    from dialects.onednn.windows import static_pads

    known = static_pads(pads)
    if known is None:
        return
    for name in ("auto_pad", "auto_pad_rule", *implied):
        op.properties.pop(name, None)
    op.properties["pads_begin"] = INTS.encode([begin for begin, _ in known])
    op.properties["pads_end"] = INTS.encode([end for _, end in known])
