"""Result types of com.microsoft ops that the model does not declare; upgrading the ops that read them needs
types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import TensorType, UnrankedTensorType
from xdsl.ir import Attribute

from dialects.support.dtypes import UI8
from dialects.support.shapes import shape_of, tensor_type

SHAPE, RANK, NOTHING = "shape", "rank", "nothing"
"""What the first result shares with the first operand."""

_POINTWISE = (
    "BiasAdd", "BiasDropout", "BiasGelu", "BiasSoftmax", "FastGelu", "Gelu", "GroupNorm", "Inverse",
    "QLinearLeakyRelu", "QLinearSigmoid", "QLinearSoftmax", "QuickGelu", "RotaryEmbedding", "SkipGroupNorm",
    "SkipLayerNormalization", "SkipSimplifiedLayerNormalization",
)  # fmt: skip

_OF_ONE_RANK = (
    "Attention", "FusedConv", "FusedGemm", "GroupQueryAttention", "MatMulBnb4", "MatMulNBits", "MoE",
    "NhwcConv", "NhwcFusedConv", "NhwcMaxPool", "QLinearAveragePool", "QLinearGlobalAveragePool", "QMoE",
)  # fmt: skip

_OF_ONE_DTYPE = (
    "DynamicQuantizeLSTM", "DynamicQuantizeMatMul", "FusedMatMul", "FusedMatMulActivation",
    "MultiHeadAttention", "QLinearAdd", "QLinearMul", "QLinearReduceMean", "TransposeMatMul",
)  # fmt: skip

RESULTS: Mapping[str, tuple[int, str]] = {
    **dict.fromkeys(_POINTWISE, (0, SHAPE)),
    **dict.fromkeys(_OF_ONE_RANK, (0, RANK)),
    **dict.fromkeys(_OF_ONE_DTYPE, (0, NOTHING)),
    "DequantizeLinear": (1, SHAPE),
    "GatherBlockQuantized": (2, NOTHING),
    "MatMulIntegerToFloat": (2, NOTHING),
    "QAttention": (2, RANK),
    "QLinearConcat": (1, NOTHING),
    "QLinearConv": (7, RANK),
    "QuantizeLinear": (2, SHAPE),
}
"""Op -> operand whose dtype the first result has, and what else it shares with the first operand."""


def complete_types(
    op_type: str, declared: Sequence[Attribute | None], operands: Sequence[Attribute | None]
) -> list[Attribute | None]:
    """Return the declared types, with an implied first one if that is undeclared or has no rank."""
    if not declared or op_type not in RESULTS or isinstance(declared[0], TensorType):
        return list(declared)
    return [_type(op_type, operands) or declared[0], *declared[1:]]


def _type(op_type: str, operands: Sequence[Attribute | None]) -> Attribute | None:
    index, shared = RESULTS[op_type]
    decider = operands[index] if index < len(operands) else None
    is_left_out = decider is None and op_type == "QuantizeLinear"
    dtype = UI8 if is_left_out else _dtype(decider)
    if dtype is None:
        return None
    first = operands[0]
    if shared == NOTHING or not isinstance(first, TensorType):
        return UnrankedTensorType(dtype)
    dims = shape_of(first)
    return tensor_type(dtype, dims if shared == SHAPE else [None] * len(dims))


def _dtype(type_: Attribute | None) -> Attribute | None:
    return type_.element_type if isinstance(type_, TensorType | UnrankedTensorType) else None
