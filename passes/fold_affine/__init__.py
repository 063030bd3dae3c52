"""fold-affine: fold constant factors and offsets next to products into their constant weights.

Models have them before and after products: a BatchNormalization at inference after a convolution, scale and
shift of a LayerNormalization before a MatMul, a layer scale, the halves and square roots of a GELU.
onnxruntime folds some of them itself. A gradient multiplies by each factor again, on another tensor, and no
runtime can fold that, as the weights then have two readers. So the pass runs before differentiation;
requested values (`kept`) are unchanged.

A LayerNormalization without scale and shift yields rows of mean 0. Subtracting the mean of the weights that
read only these changes nothing, and makes the cotangents of the rows have mean 0: `CENTRED` marks that.

Weights with other readers and dynamic weights are unchanged. Folding rounds the weights once more.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from passes.builder.rewriting import differentiated_by, inner_wrt
from passes.fold_affine.folding import fold_affine


@dataclass(frozen=True)
class FoldAffinePass(ModulePass):
    name = "fold-affine"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        fold_affine(op, inner_wrt(op), differentiated_by(op))
