"""Rules of com.microsoft ops without a decomposition, and reasons why others have none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from dialects.onnx import ops as onnx
from passes.emit.expressions import Expr, Operators
from passes.vjp.common.forward import Forward, Gradient, Rule

DOMAIN = "com.microsoft"


def inverse(f: Forward, g: Sequence[Expr], e: Operators) -> Sequence[Gradient]:
    """VJP of Y = X^-1: -Y^T g Y^T."""
    *batch, row, column = range(f.x.rank)
    turned = f.y.apply(onnx.TransposeOp, perm=[*batch, column, row])
    return [-turned.apply(onnx.MatMulOp, g[0]).apply(onnx.MatMulOp, turned)]


RULES: Mapping[str, Rule] = MappingProxyType({f"{DOMAIN}.Inverse": inverse})
"""Qualified op -> its rule; the op itself stays in the gradient."""

REFUSED: Mapping[str, str] = MappingProxyType(
    {
        f"{DOMAIN}.{name}": why
        for name, why in {
            "AttnLSTM": "its steps attend to a memory; an LSTM and an Attention apart have one",
            "GatedDeltaNet": "run time knows which rows are one sequence; LinearAttention has one",
            "MatMulFpQ4": "its weights lie as onnxruntime's kernel likes them; MatMulNBits has one",
            "MaxpoolWithMask": "onnxruntime says that it is for internal use",
            "MoEGroupRouter": "which groups it chooses from only run time knows",
            "NGramRepeatBlock": "which words it forbids only the op knows",
            "SparseAttention": "run-time tables say which blocks a query sees; GroupQueryAttention has one",
            "SparseToDenseMatMul": "a sparse tensor has no gradient here; MatMul has one",
            "VarlenCausalConvWithState": "run time knows which rows are one sequence",
            "WordConvEmbedding": "how long a word is only run time knows",
        }.items()
    }
)
"""Qualified op -> the reason why its derivative exists but is not supported."""
