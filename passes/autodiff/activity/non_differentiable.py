"""Non-differentiable ops with their reasons, and ops whose rule is not implemented."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Operation

from dialects.grad.stop_gradient import StopGradientOp
from dialects.onnx.base import OnnxOp
from dialects.onnx.node import NodeOp
from passes.autodiff.rules.quantize import CONSTANT_RANGE

STEPS = "it is constant between jumps"
TRUTH = "a truth value has no derivative"
BITS = "it works on bits"
TEXT = "it works on strings"
INDICES = "indices have no derivative"
SIZES = "it reads sizes, not elements"
RANDOM = "it draws numbers"
INTEGERS = "it works on integers"
STOPPED = "no gradient flows through it"

_BY_REASON = {
    STEPS: ("Ceil", "Floor", "Hardmax", "QuantizeLinear", "Round", "Sign"),
    TRUTH: (
        *("And", "Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual"),
        *("Not", "OptionalHasElement", "Or", "Xor"),
    ),
    BITS: ("BitCast", "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "ImageDecoder"),
    TEXT: (
        *("RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit"),
        "TfIdfVectorizer",
    ),
    INDICES: ("ArgMax", "ArgMin", "NonMaxSuppression", "NonZero"),
    SIZES: (
        *("BlackmanWindow", "Constant", "ConstantOfShape", "EyeLike", "HammingWindow", "HannWindow"),
        *("MelWeightMatrix", "SequenceEmpty", "SequenceLength", "Shape", "Size"),
    ),
    RANDOM: (
        *("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform"),
        "RandomUniformLike",
    ),
    INTEGERS: ("ConvInteger", "MatMulInteger", "QLinearConv", "QLinearMatMul"),
}

ZERO_BY_DEFINITION: Mapping[str, str] = MappingProxyType(
    {name: reason for reason, names in _BY_REASON.items() for name in names}
)
"""ONNX op -> the reason why its derivative is 0 wherever it exists."""

PARTLY: Mapping[str, str] = MappingProxyType({"DynamicQuantizeLinear": STEPS})
"""ONNX op -> the reason why some of its results, not all, have derivative 0."""

_SEQUENCES = "the contents of a sequence or an optional are known at run time only"

OF_OTHER_DOMAINS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                *("ai.onnx.ml.Binarizer", "ai.onnx.ml.TreeEnsemble", "ai.onnx.ml.TreeEnsembleClassifier"),
                "ai.onnx.ml.TreeEnsembleRegressor",
            ),
            STEPS,
        ),
        **dict.fromkeys(
            (
                *("ai.onnx.ml.LabelEncoder", "ai.onnx.ml.OneHotEncoder", "com.microsoft.BeamSearch"),
                *("com.microsoft.BifurcationDetector", "com.microsoft.DynamicTimeWarping"),
                *("com.microsoft.GreedySearch", "com.microsoft.Sampling"),
                "com.microsoft.WhisperBeamSearch",
            ),
            INDICES,
        ),
        **dict.fromkeys(
            (
                *("com.microsoft.GatherPacked", "com.microsoft.MatMulInteger16"),
                *("com.microsoft.NGramHashMapping", "com.microsoft.VarlenNGramHashMapping"),
            ),
            INTEGERS,
        ),
        "com.microsoft.MurmurHash3": BITS,
        "com.microsoft.Tokenizer": TEXT,
    }
)
"""Op of another domain -> the reason why its derivative is 0 wherever it exists."""

REFUSED: Mapping[str, str] = MappingProxyType(
    {
        "MaxRoiPool": "its regions are rounded to indices, which the specification leaves ambiguous",
        **dict.fromkeys(
            (*("Optional", "OptionalGetElement"),),
            _SEQUENCES,
        ),
    }
)
"""ONNX op -> the reason why its derivative exists but is not supported."""

MISSING: frozenset[str] = frozenset()
"""Ops whose rule is not implemented."""


NO_TYPE = "an operand has an unknown type"
"""Start of errors caused by unknown result types of ops of other domains."""

USER_RULE = "gradc.ruled"
"""Attribute of an op with a user-defined rule, which is never zero by definition."""


def mark_ruled(module: ModuleOp, rules: Collection[str]) -> None:
    for op in module.walk() if rules else ():
        if title_of(op) in rules:
            op.attributes[USER_RULE] = UnitAttr()


def unmark_ruled(module: ModuleOp) -> None:
    for op in module.walk():
        op.attributes.pop(USER_RULE, None)


def title_of(op: Operation) -> str | None:
    """Return the op type, qualified by a non-standard domain; None for non-ONNX ops."""
    if isinstance(op, NodeOp):
        return op.title
    return op.onnx_name() if isinstance(op, OnnxOp) else None


def is_partly_zero(op: Operation) -> bool:
    """Return whether gradients flow through some results of an op only."""
    return USER_RULE not in op.attributes and isinstance(op, OnnxOp) and op.onnx_name() in PARTLY


def reason_to_stop(op: Operation) -> str:
    """Return why a gradient stops at an active op."""
    partly = PARTLY.get(op.onnx_name()) if isinstance(op, OnnxOp) else None
    return zero_reason(op) or partly or "no gradient flows through what it reads"


def zero_reason(op: Operation) -> str | None:
    """Return why no gradient flows through an op; None if one may."""
    if USER_RULE in op.attributes:
        return None
    if CONSTANT_RANGE in op.attributes:
        return STEPS
    if isinstance(op, StopGradientOp):
        return STOPPED
    if isinstance(op, NodeOp):
        return OF_OTHER_DOMAINS.get(op.title)
    return ZERO_BY_DEFINITION.get(op.onnx_name()) if isinstance(op, OnnxOp) else None
