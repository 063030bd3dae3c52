"""What kind each ONNX op is, by its name: the one place that says so, for inference, layouts, prices, pages.

Each set is a statement about what an op computes. Who needs a subset, such as the ops that may move through a
Transpose, says which of these it is made of.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.irdl import traits_def
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, Pure, RecursiveMemoryEffect

# fmt: off

# Pointwise: an element of the result depends on the elements at its place alone, and operands broadcast.

FUNCTIONS = frozenset((
    "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Celu", "Cos", "Cosh", "Elu", "Erf",
    "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Log", "Mish", "Neg", "Reciprocal",
    "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt",
    "Swish", "Tan", "Tanh", "ThresholdedRelu",
))
"""Of one number, a number of the same type."""

BITWISE_FUNCTIONS = frozenset(("BitwiseNot", "Not"))
TESTS = frozenset(("IsInf", "IsNaN"))
"""Of one number, a truth value."""

CONVERSIONS = frozenset(("BitCast", "Cast", "CastLike"))
"""Of one number, the same in another type, or its bits as one."""

ARITHMETIC = frozenset(("Add", "Div", "Max", "Mean", "Min", "Mod", "Mul", "PRelu", "Pow", "Sub", "Sum"))
"""Of two numbers or more, a number of the type of the first."""

COMPARISONS = frozenset(("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"))
LOGICAL = frozenset(("And", "Or", "Xor"))
BITWISE = frozenset(("BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor"))
CHOICES = frozenset(("Where",))
STRINGWISE = frozenset(("RegexFullMatch", "StringConcat"))

UNARY = FUNCTIONS | BITWISE_FUNCTIONS | TESTS | CONVERSIONS
"""Pointwise, and of one operand; that of others tells a type only."""

BROADCASTING = ARITHMETIC | COMPARISONS | LOGICAL | BITWISE | CHOICES | frozenset(("StringConcat",))
"""Pointwise, of several operands of any shapes that broadcast."""

BOUNDED = frozenset(("Clip",))
"""Pointwise, of one operand, with scalars beside it."""

POINTWISE = UNARY | BROADCASTING | BOUNDED | STRINGWISE

# Reductions

REDUCTIONS = frozenset((
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
    "ReduceProd", "ReduceSum", "ReduceSumSquare",
))
"""Along the axes of the second operand."""

INDEX_REDUCTIONS = frozenset(("ArgMax", "ArgMin"))
SCANS = frozenset(("CumProd", "CumSum"))
ALONG_AN_AXIS = frozenset(("Hardmax", "LogSoftmax", "LpNormalization", "Softmax"))
"""Of the shape of the operand; what an element is depends on all along an axis."""

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

# Elements in other places

VIEWS = frozenset(("Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"))
"""The elements of the operand in the same order, so that the memory can be shared."""

MOVES = frozenset((
    "CenterCropPad", "Compress", "Concat", "DepthToSpace", "Expand", "Gather", "GatherElements", "GatherND",
    "Pad", "ReverseSequence", "Slice", "SpaceToDepth", "Split", "Tile", "Transpose", "Trilu",
))
"""Elements of the operand and constants in other places; nothing is computed."""

SCATTERS = frozenset(("ScatterElements", "ScatterND", "TensorScatter"))

CREATIONS = frozenset(("Constant", "ConstantOfShape", "EyeLike", "Range"))
SIZES = frozenset(("Shape", "Size"))
"""They look at the shape of what they read, not at its elements."""

QUANTIZATION = frozenset(("DequantizeLinear", "DynamicQuantizeLinear", "QuantizeLinear"))
"""Between numbers of few bits and others, by scales and zero points."""

SAMPLINGS = frozenset(("AffineGrid", "GridSample", "MaxRoiPool", "Resize", "RoiAlign"))
"""Of a grid of values, those between or around its places; or the places."""

RECURRENT = frozenset(("GRU", "LSTM", "RNN"))
ATTENTION = frozenset(("Attention", "CausalConvWithState", "LinearAttention", "RotaryEmbedding", "SwiGLU"))
"""What a layer of a transformer is made of."""

SPECTRA = frozenset(("BlackmanWindow", "DFT", "HammingWindow", "HannWindow", "MelWeightMatrix", "STFT"))
LOSSES = frozenset(("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"))
SELECTIONS = frozenset(("NonMaxSuppression", "NonZero", "TopK", "Unique"))
"""Elements, or their places, that a comparison with others chooses."""

WORDS = frozenset(("StringNormalizer", "StringSplit", "TfIdfVectorizer"))
CONTAINERS = frozenset((
    "ConcatFromSequence", "Optional", "OptionalGetElement", "OptionalHasElement", "SequenceAt",
    "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength",
    "SplitToSequence",
))
"""On sequences and optionals."""

# What holds other graphs, and what is no function of its operands

CONTROL = frozenset(("If", "Loop", "Scan", "SequenceMap"))

RANDOM = frozenset((
    "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
))
"""Two of them with equal operands give different results, also with a seed: a run changes the generator."""

RANDOM_IN_TRAINING = frozenset(("Dropout",))
"""Random unless the operand `training_mode` is absent or false."""

# All of them

KINDS: tuple[frozenset[str], ...] = (
    FUNCTIONS, BITWISE_FUNCTIONS, TESTS, CONVERSIONS, ARITHMETIC, COMPARISONS, LOGICAL, BITWISE, CHOICES,
    STRINGWISE, BOUNDED, REDUCTIONS, INDEX_REDUCTIONS, SCANS, ALONG_AN_AXIS, NORMALIZATIONS, POOLS,
    GLOBAL_POOLS, PRODUCTS, VIEWS, MOVES, SCATTERS, CREATIONS, SIZES, QUANTIZATION, SAMPLINGS, RECURRENT,
    ATTENTION, SPECTRA, LOSSES, SELECTIONS, WORDS, CONTAINERS, CONTROL, RANDOM, RANDOM_IN_TRAINING,
)
"""An op is of one of these, or stands below."""

OF_NO_KIND: Mapping[str, str] = {
    "Col2Im": "adds up what it moves: neither a move nor a scatter by indices",
    "Det": "a number of each matrix",
    "ImageDecoder": "reads a file format",
    "MaxUnpool": "moves to places that are data, without the addition of a scatter",
    "OneHot": "makes a tensor of an operand's values, at places that are data",
}
"""Op -> why no other op is like it."""
# fmt: on


class NonDeterministic(MemoryEffect):
    """The op's results are new whenever it runs: unread it may go, but no other op stands for it."""

    @classmethod
    def get_effects(cls, op: Any) -> set[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.ALLOC, result) for result in op.results}


_OF_KIND: Mapping[frozenset[str], Any] = {
    RANDOM | RANDOM_IN_TRAINING: NonDeterministic,
    CONTROL: RecursiveMemoryEffect,
}


def traits_of(name: str) -> Any:
    """The xDSL traits of the class of an op: what passes may do with it."""
    kinds = [trait for names, trait in _OF_KIND.items() if name in names]
    return traits_def(*(kind() for kind in kinds or [Pure]))
