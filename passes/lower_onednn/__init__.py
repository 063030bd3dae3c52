"""lower-onednn: convert oneDNN's ops to canonical gradients.

ConvolutionBackwardData (OIX):
1. static size: `grad.conv_backward_data` with its pads and residue.
2. dynamic size: the gradient over the full extent, and its window given by pads and size; pads of `same_*`
   are computed in the graph.

ConvTransposeBackwardData (IOX):
3. static pads: `grad.conv_transpose_backward_data`.
4. `same_*` with a dynamic size: padded in the graph, then case 3 without pads. With `strict_ieee` no padding
   is multiplied by weights: a gradient of stride 1 at every position of the window that overlaps the data
   (case 3), and every s-th position of it.

InterpolateBackward:
5. `grad.resize_backward` on the spatial axes, or its dynamic counterpart for dynamic sizes.

Elementwise ops and reductions:
6. plain ONNX, by `passes/lower_onednn/op_specs.py`.

The data layout is unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass


@dataclass(frozen=True)
class LowerOneDNNPass(ModulePass):
    name = "lower-onednn"

    strict_ieee: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not any(inner.name.startswith("onednn.") for inner in op.walk()):
            return
        from passes.lower_onednn.patterns import lower  # the patterns of 87 kinds take long to import

        lower(op, self.strict_ieee)
