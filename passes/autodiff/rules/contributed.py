"""Rules of com.microsoft ops without a decomposition, and reasons why others have none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from dialects.onnx import ops as onnx
from passes.autodiff.common.primal import Gradient, Primal, Rule
from passes.builder.values import Builder, Value

DOMAIN = "com.microsoft"


def inverse(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of Y = X^-1: -Y^T g Y^T."""
    turned = f.y.swap_last_axes()
    return [-turned.apply(onnx.MatMulOp, g[0]).apply(onnx.MatMulOp, turned)]


RULES: Mapping[str, Rule] = MappingProxyType({f"{DOMAIN}.Inverse": inverse})
"""Qualified op -> its rule; the op itself stays in the gradient."""

REFUSED: Mapping[str, str] = MappingProxyType(
    {
        f"{DOMAIN}.{name}": why
        for name, why in {
            "AttnLSTM": "its steps attend to a memory; separate LSTM and Attention ops have one",
            "GatedDeltaNet": "sequence boundaries are known at run time only; LinearAttention has one",
            "MatMulFpQ4": "its weights have a kernel-specific layout; MatMulNBits has one",
            "MaxpoolWithMask": "onnxruntime documents it as internal",
            "MoEGroupRouter": "its groups are known at run time only",
            "NGramRepeatBlock": "its forbidden words are internal to the op",
            "SparseAttention": "its block mask is a run-time table; GroupQueryAttention has one",
            "SparseToDenseMatMul": "a sparse tensor has no gradient here; MatMul has one",
            "VarlenCausalConvWithState": "sequence boundaries are known at run time only",
            "WordConvEmbedding": "word lengths are known at run time only",
        }.items()
    }
)
"""Qualified op -> the reason why its derivative exists but is not supported."""
