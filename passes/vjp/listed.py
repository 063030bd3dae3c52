"""The ops without a derivative, each with its reason: nobody forgot them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

STEPS = "it is constant between jumps"
TRUTH = "a truth value has no derivative"
BITS = "it works on bits"
TEXT = "it works on strings"

_BY_REASON = {
    STEPS: ("Ceil", "Floor", "Round", "Sign"),
    TRUTH: (
        *("And", "Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual"),
        *("Not", "Or", "Xor"),
    ),
    BITS: ("BitCast", "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor"),
    TEXT: ("RegexFullMatch", "StringConcat", "StringSplit"),
}

REASONS: Mapping[str, str] = MappingProxyType(
    {name: reason for reason, names in _BY_REASON.items() for name in names}
)
"""ONNX op -> why its derivative is 0 wherever it has one."""
