"""Categories of ONNX ops by name, for inference, layouts, costs and documentation.

Each set states what its ops compute. An op with a shape rule of its own is entered once, with its kind and
its rule, in `infer`; an op whose kind determines the rule is entered here. Users of a subset, such as the ops
that commute with Transpose, compose it from these sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.irdl import traits_def
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, Pure, RecursiveMemoryEffect

from dialects.onnx.infer import arrays, index, nn, reductions

SHAPE_RULES = (arrays.RULES, index.RULES, nn.RULES, reductions.RULES)
"""Tables of kind -> op -> shape rule."""


def of_kind(kind: str) -> frozenset[str]:
    """Return the ops of a kind that have shape rules of their own."""
    return frozenset(op for table in SHAPE_RULES for op in table.get(kind, ()))


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

ARITHMETIC = of_kind("ARITHMETIC") | frozenset((
    "Add", "Div", "Max", "Mean", "Min", "Mod", "Mul", "Pow", "Sub", "Sum",
))
"""Arithmetic on two or more operands, in the type of the first."""

COMPARISONS = frozenset(("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"))
LOGICAL = frozenset(("And", "Or", "Xor"))
BITWISE = frozenset(("BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor"))
CHOICES = frozenset(("Where",))
STRINGWISE = of_kind("STRINGWISE")

UNARY = FUNCTIONS | BITWISE_FUNCTIONS | TESTS | CONVERSIONS
"""Pointwise on one operand; further ones only give a type."""

BROADCASTING = ARITHMETIC | COMPARISONS | LOGICAL | BITWISE | CHOICES | frozenset(("StringConcat",))
"""Pointwise on several operands that broadcast."""

BOUNDED = of_kind("BOUNDED")
"""Pointwise on one operand, with scalar bounds."""

POINTWISE = UNARY | BROADCASTING | BOUNDED | STRINGWISE

# Reductions

REDUCTIONS = frozenset((
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
    "ReduceProd", "ReduceSum", "ReduceSumSquare",
))
"""Reductions along the axes of the second operand."""

INDEX_REDUCTIONS = of_kind("INDEX_REDUCTIONS")
SCANS = of_kind("SCANS")
ALONG_AN_AXIS = of_kind("ALONG_AN_AXIS")
"""Ops that keep the shape; each element depends on all along an axis."""

NORMALIZATIONS = of_kind("NORMALIZATIONS")
POOLS = of_kind("POOLS")
GLOBAL_POOLS = of_kind("GLOBAL_POOLS")
PRODUCTS = of_kind("PRODUCTS")

# Data movement

VIEWS = of_kind("VIEWS")
"""The elements of the operand in the same order, so that the memory can be shared."""

MOVES = of_kind("MOVES")
"""Rearrangements of elements of the operand and constants, without arithmetic."""

SCATTERS = of_kind("SCATTERS")

CREATIONS = of_kind("CREATIONS")
SIZES = of_kind("SIZES")
"""Ops that read the shape of the operand, not its elements."""

QUANTIZATION = of_kind("QUANTIZATION")
"""Conversions to and from low precision, by scales and zero points."""

SAMPLINGS = of_kind("SAMPLINGS")
"""Sampling of a grid at or between its points, and generation of the points."""

RECURRENT = of_kind("RECURRENT")
ATTENTION = of_kind("ATTENTION")
"""Components of transformer layers."""

SPECTRA = of_kind("SPECTRA")
LOSSES = of_kind("LOSSES")
SELECTIONS = of_kind("SELECTIONS")
"""Selection of elements or indices by comparison."""

WORDS = of_kind("WORDS")
CONTAINERS = frozenset((
    "ConcatFromSequence", "Optional", "OptionalGetElement", "OptionalHasElement", "SequenceAt",
    "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength",
    "SplitToSequence",
))
"""Ops on sequences and optionals."""

# Ops with regions, and ops that are not functions of their operands

CONTROL = frozenset(("If", "Loop", "Scan", "SequenceMap"))

RANDOM = of_kind("RANDOM")
"""Equal operands give different results, even with a seed: a run advances the generator."""

RANDOM_IN_TRAINING = of_kind("RANDOM_IN_TRAINING")
"""Random unless the operand `training_mode` is absent or false."""

# All of them

KINDS: tuple[frozenset[str], ...] = (
    FUNCTIONS, BITWISE_FUNCTIONS, TESTS, CONVERSIONS, ARITHMETIC, COMPARISONS, LOGICAL, BITWISE, CHOICES,
    STRINGWISE, BOUNDED, REDUCTIONS, INDEX_REDUCTIONS, SCANS, ALONG_AN_AXIS, NORMALIZATIONS, POOLS,
    GLOBAL_POOLS, PRODUCTS, VIEWS, MOVES, SCATTERS, CREATIONS, SIZES, QUANTIZATION, SAMPLINGS, RECURRENT,
    ATTENTION, SPECTRA, LOSSES, SELECTIONS, WORDS, CONTAINERS, CONTROL, RANDOM, RANDOM_IN_TRAINING,
)
"""A partition of the ops, except those below."""

OF_NO_KIND = of_kind("OF_NO_KIND")
"""Ops in a category of one; comments at their shape rules state why."""
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
