"""fold-affine: constant factors and offsets beside a product of constant weights become part of the weights.

A model has them after and before its products: a BatchNormalization at inference behind a convolution, scale
and shift of a LayerNormalization before a MatMul, a layer's scale, the halves and square roots of a GELU.
onnxruntime folds some of that itself. A gradient multiplies by each factor once more, on a tensor of its own,
and that no runtime can fold: the weights are there twice by then. So it is done before a graph is
differentiated; what is wanted (`kept`) stays as it is.

A LayerNormalization without scale and shift gives rows of mean 0. Weights that read only these lose nothing
when their own mean is taken away, and the cotangents of the rows have mean 0 then: `CENTRED` tells the rule.

Weights that something else reads, or that are not constants, stay. The numbers are rounded once more.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from passes.emit.affine_folding import fold_affine


@dataclass(frozen=True)
class FoldAffinePass(ModulePass):
    name = "fold-affine"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        fold_affine(op)
