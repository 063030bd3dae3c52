"""Categories of ONNX ops by name, for inference, layouts, costs and documentation.

Each set states what its ops compute. Users of a subset, such as the ops that commute with Transpose, compose
it from these sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.irdl import traits_def
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, Pure, RecursiveMemoryEffect

# fmt: off

# Pointwise: an element of the result depends on the elements at its index alone, and operands broadcast.

FUNCTIONS = frozenset((
    "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Celu", "Cos", "Cosh", "Elu", "Erf",
    "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Log", "Mish", "Neg", "Reciprocal",
    "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt",
    "Swish", "Tan", "Tanh", "ThresholdedRelu",
))
"""Unary functions that keep the type."""

BITWISE_FUNCTIONS = frozenset(("BitwiseNot", "Not"))
TESTS = frozenset(("IsInf", "IsNaN"))
"""Unary predicates."""

CONVERSIONS = frozenset(("BitCast", "Cast", "CastLike"))
"""Conversions of type or reinterpretations of bits."""

ARITHMETIC = frozenset(("Add", "Div", "Max", "Mean", "Min", "Mod", "Mul", "PRelu", "Pow", "Sub", "Sum"))
"""Arithmetic on two or more operands, in the type of the first."""

COMPARISONS = frozenset(("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"))
LOGICAL = frozenset(("And", "Or", "Xor"))
BITWISE = frozenset(("BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor"))
CHOICES = frozenset(("Where",))
STRINGWISE = frozenset(("RegexFullMatch", "StringConcat"))

UNARY = FUNCTIONS | BITWISE_FUNCTIONS | TESTS | CONVERSIONS
"""Pointwise on one operand; further ones only give a type."""

BROADCASTING = ARITHMETIC | COMPARISONS | LOGICAL | BITWISE | CHOICES | frozenset(("StringConcat",))
"""Pointwise on several operands that broadcast."""

BOUNDED = frozenset(("Clip",))
"""Pointwise on one operand, with scalar bounds."""

POINTWISE = UNARY | BROADCASTING | BOUNDED | STRINGWISE

# Reductions

REDUCTIONS = frozenset((
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
    "ReduceProd", "ReduceSum", "ReduceSumSquare",
))
"""Reductions along the axes of the second operand."""

INDEX_REDUCTIONS = frozenset(("ArgMax", "ArgMin"))
SCANS = frozenset(("CumProd", "CumSum"))
ALONG_AN_AXIS = frozenset(("Hardmax", "LogSoftmax", "LpNormalization", "Softmax"))
"""Ops that keep the shape; each element depends on all along an axis."""

NORMALIZATIONS = frozenset((
    "BatchNormalization", "GroupNormalization", "InstanceNormalization", "LRN", "LayerNormalization",
    "MeanVarianceNormalization", "RMSNormalization",
))
POOLS = frozenset(("AveragePool", "LpPool", "MaxPool"))
GLOBAL_POOLS = frozenset(("GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool"))
PRODUCTS = frozenset((
    "Conv", "ConvInteger", "ConvTranspose", "DeformConv", "Einsum", "Gemm", "MatMul", "MatMulInteger",
    "QLinearConv", "QLinearMatMul",
))

# Data movement

VIEWS = frozenset(("Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"))
"""The elements of the operand in the same order, so that the memory can be shared."""

MOVES = frozenset((
    "CenterCropPad", "Compress", "Concat", "DepthToSpace", "Expand", "Gather", "GatherElements", "GatherND",
    "Pad", "ReverseSequence", "Slice", "SpaceToDepth", "Split", "Tile", "Transpose", "Trilu",
))
"""Rearrangements of elements of the operand and constants, without arithmetic."""

SCATTERS = frozenset(("ScatterElements", "ScatterND", "TensorScatter"))

CREATIONS = frozenset(("Constant", "ConstantOfShape", "EyeLike", "Range"))
SIZES = frozenset(("Shape", "Size"))
"""Ops that read the shape of the operand, not its elements."""

QUANTIZATION = frozenset(("DequantizeLinear", "DynamicQuantizeLinear", "QuantizeLinear"))
"""Conversions to and from low precision, by scales and zero points."""

SAMPLINGS = frozenset(("AffineGrid", "GridSample", "MaxRoiPool", "Resize", "RoiAlign"))
"""Sampling of a grid at or between its points, and generation of the points."""

RECURRENT = frozenset(("GRU", "LSTM", "RNN"))
ATTENTION = frozenset(("Attention", "CausalConvWithState", "LinearAttention", "RotaryEmbedding", "SwiGLU"))
"""Components of transformer layers."""

SPECTRA = frozenset(("BlackmanWindow", "DFT", "HammingWindow", "HannWindow", "MelWeightMatrix", "STFT"))
LOSSES = frozenset(("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"))
SELECTIONS = frozenset(("NonMaxSuppression", "NonZero", "TopK", "Unique"))
"""Selection of elements or indices by comparison."""

WORDS = frozenset(("StringNormalizer", "StringSplit", "TfIdfVectorizer"))
CONTAINERS = frozenset((
    "ConcatFromSequence", "Optional", "OptionalGetElement", "OptionalHasElement", "SequenceAt",
    "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength",
    "SplitToSequence",
))
"""Ops on sequences and optionals."""

# Ops with regions, and ops that are not functions of their operands

CONTROL = frozenset(("If", "Loop", "Scan", "SequenceMap"))

RANDOM = frozenset((
    "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
))
"""Equal operands give different results, even with a seed: a run advances the generator."""

RANDOM_IN_TRAINING = frozenset(("Dropout",))
"""Random unless the operand `training_mode` is absent or false."""

# All of them

KINDS: tuple[frozenset[str], ...] = (
    FUNCTIONS, BITWISE_FUNCTIONS, TESTS, CONVERSIONS, ARITHMETIC, COMPARISONS, LOGICAL, BITWISE, CHOICES,
    STRINGWISE, BOUNDED, REDUCTIONS, INDEX_REDUCTIONS, SCANS, ALONG_AN_AXIS, NORMALIZATIONS, POOLS,
    GLOBAL_POOLS, PRODUCTS, VIEWS, MOVES, SCATTERS, CREATIONS, SIZES, QUANTIZATION, SAMPLINGS, RECURRENT,
    ATTENTION, SPECTRA, LOSSES, SELECTIONS, WORDS, CONTAINERS, CONTROL, RANDOM, RANDOM_IN_TRAINING,
)
"""A partition of the ops, except those below."""

OF_NO_KIND: Mapping[str, str] = {
    "Col2Im": "adds up what it moves: neither a move nor a scatter by indices",
    "Det": "a number of each matrix",
    "ImageDecoder": "reads a file format",
    "MaxUnpool": "moves to indices that are data, without the addition of a scatter",
    "OneHot": "makes a tensor of an operand's values, at indices that are data",
}
"""Op -> why it is in a category of one."""
# fmt: on


class NonDeterministic(MemoryEffect):
    """Marks ops whose results differ per execution: removable if unused, but never merged."""

    @classmethod
    def get_effects(cls, op: Any) -> set[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.ALLOC, result) for result in op.results}


_OF_KIND: Mapping[frozenset[str], Any] = {
    RANDOM | RANDOM_IN_TRAINING: NonDeterministic,
    CONTROL: RecursiveMemoryEffect,
}


def traits_of(name: str) -> Any:
    """Return the xDSL traits of an op class, which determine what passes may do with it."""
    kinds = [trait for names, trait in _OF_KIND.items() if name in names]
    return traits_def(*(kind() for kind in kinds or [Pure]))
