"""What the mutators write: the words that the inputs know, and values at the edge of what is legal."""

from __future__ import annotations

from functools import cache

from dialects import DIALECTS, source_ops
from dialects.support.attributes import documented_attributes
from gradc.importers.onednn.document import WORDS
from gradc.importers.onednn.op_kinds import PUBLIC_KINDS
from passes.strategies import by_name

INTEGERS = (
    0, 1, -1, 2, 3, 4, 5, 7, 8, 16, 127, 128, 255, 256, 1000, 2**15, 2**31 - 1, 2**31, -(2**31), 2**32,
    2**53, 2**53 + 1, 2**62, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64, 10**30, -(10**30), 10**400,
)  # fmt: skip

FLOATS = (
    0.0, -0.0, 0.5, 1.0, 1.5, 2.0, -1.0, 0.1, 1 / 3, 1e-3, 1e-30, 1e-45, 5e-324, 3.4e38, 3.5e38, 1e308,
)  # fmt: skip

JSON_NUMBERS = (
    "1e999", "-1e999", "1E5", "1e2", "2.0", "-0", "-0.0", "01", "+1", ".5", "1.", "0x10", "NaN", "nan",
    "-nan", "Infinity", "-Infinity", "inf", "-inf", "1_000", "1" * 5000, "1e-400", "0." + "1" * 2000,
)  # fmt: skip
"""Tokens, some of which are no JSON."""

STRINGS = (
    "", " ", "a", "0", "t0", "t1", "None", "null", "same_upper ", "NCX\n", "x" * 300, "a b", '"', "\\", "/",
    "../x", "\x00", "\x1b[31m", "\n", "\t", "é", "ß", "ſ", "K", "İ", "日本", "\u202e", "\u2028", "\ufeff",
    "\U0001f600", "%s", "{0}", "${x}", "[red]", "\ud800", "\udfff\ud800",
)  # fmt: skip
"""The last two are half of a character: JSON can spell them, UTF-8 cannot."""

DTYPES = (
    "f32", "f16", "bf16", "f64", "s32", "s64", "s8", "u8", "boolean", "undef", "F32", "float32", "f8_e4m3",
    "",
)  # fmt: skip

TAGS = ("s64", "s64[]", "f32", "f32[]", "string", "bool", "s32", "")


@cache
def kinds() -> tuple[str, ...]:
    """Mostly those that are compiled."""
    compiled = tuple(source_ops())
    return (*compiled * 3, *PUBLIC_KINDS[::10], "End", "convolutionbackwarddata", "Nonsense")


@cache
def attribute_names() -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for op in source_ops().values() for name in documented_attributes(op)))


@cache
def attribute_words() -> tuple[str, ...]:
    """The words of string attributes, and those that a document may hold elsewhere."""
    specs = [a.spec for op in source_ops().values() for a in documented_attributes(op).values()]
    documented = [word for spec in specs for word in spec.words or ()]
    return tuple(dict.fromkeys((*documented, *(word for words in WORDS.values() for word in words))))


@cache
def op_names() -> tuple[str, ...]:
    """Source and canonical ops, a few of the onnx dialect, and frame ops."""
    names = [op.name for name in ("onednn", "cann", "grad") for op in DIALECTS[name]().operations]
    return (
        *names,
        "onnx.Constant",
        "onnx.Cast",
        "onnx.Add",
        "onnx.Transpose",
        "onnx.Identity",
        "arith.constant",
    )


@cache
def strategy_names() -> tuple[str, ...]:
    return tuple(by_name())
