"""Every op is of one kind and has a shape rule and a meaning, and whatever passes write has a price."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import passes
from dialects.onnx import containers, interpreter, numpy, ops, traits
from dialects.onnx.infer import rules
from passes.cost.features import rule_of

FOLDER = Path(passes.__file__).parent

UNPRICED = {
    "Compress": "the older form of an op writes it, of which there is no other form",
    "Constant": "no node: a weight",
    "CumSum": "where a part of an axis begins, of sizes that only run time knows",
    "DFT": "the same, for runtimes other than onnxruntime",
    "DequantizeLinear": "a Cast of integers of four bits on CUDA, of which there is no other form",
    "DynamicQuantizeLinear": "an op of com.microsoft is it and others, of which there is no other form",
    "Einsum": "a rule of its own derivative writes it, of which there is no other form",
    "GatherND": "the older form of an op writes it, of which there is no other form",
    "GlobalAveragePool": "what stays in blocks is chosen by what crosses their border",
    "If": "a rule of its own derivative writes it, of which there is no other form",
    "Loop": "a Loop of the source is written once more, with other results",
    "LinearAttention": "an op of com.microsoft is the same",
    "LpPool": "the older form of an op writes it, of which there is no other form",
    "NonMaxSuppression": "its form with all operands, of which there is no other",
    "LayerNormalization": "the conversion of one op writes it, of which there is no other form",
    "QuantizeLinear": "ops on codes are ops on floats between it and DequantizeLinear",
    "ReduceMax": "the same, and rules of what has sizes at run time",
    "ReduceMean": "the same",
    "ReduceMin": "the same",
    "ReduceProd": "the older form of an op writes it, of which there is no other form",
    "ScatterND": "the older form of an op writes it, of which there is no other form",
    "Size": "the same",
    "Scan": "rules of ops that go step by step write it, of which there is no other form",
    "TopK": "an op of com.microsoft that chooses experts writes it, of which there is no other form",
    "LSTM": "it stands for one of codes, of which there is no other form",
    "SequenceErase": "rules of sequences write it, of which there is no other form",
    "SequenceMap": "the same",
    "Unique": "an op of com.microsoft is the same",
    "SequenceAt": "a gradient of a Loop reads what is kept of a step, of which there is no other form",
    "SequenceEmpty": "the same, before the first step",
    "SequenceInsert": "the same, of each step; and what both branches of an If append, behind it",
}
"""Ops that passes write and of which no price is asked -> why."""


def test_each_op_is_classified_once() -> None:
    found = Counter(name for kind in (*traits.KINDS, traits.OF_NO_KIND) for name in kind)
    assert {name for name, count in found.items() if count > 1} == set()
    missing = sorted(set(ops.op_names()) - set(found))
    assert not missing, f"missing: {', '.join(missing)} in RULES of a file in dialects/onnx/infer/"
    assert set(found) == set(ops.op_names())


def test_each_op_has_a_shape_rule() -> None:
    """An op with regions has the shapes of its regions' results."""
    missing = sorted({*ops.op_names()} - {*rules.RULES, *containers.RULES, *traits.CONTROL})
    assert not missing, f"missing: {', '.join(missing)} in RULES of a file in dialects/onnx/infer/"


def test_shape_rules_are_entered_under_a_known_kind_and_once() -> None:
    kinds = {name for name, value in vars(traits).items() if isinstance(value, frozenset)}
    assert {kind for table in traits.SHAPE_RULES for kind in table} <= kinds
    entered = Counter(op for table in traits.SHAPE_RULES for known in table.values() for op in known)
    assert {op for op, count in entered.items() if count > 1} == set()
    for kind in {kind for table in traits.SHAPE_RULES for kind in table}:
        assert traits.of_kind(kind) <= getattr(traits, kind), kind


NOT_EXECUTED = {"ImageDecoder", "MaxRoiPool", "TfIdfVectorizer"} | traits.RANDOM
"""Ops that numpy does not execute: they do not fold, and only a runtime runs them."""


def test_each_op_has_a_meaning() -> None:
    known = {*numpy.KERNELS, *interpreter.control.MEANINGS, *interpreter.containers.MEANINGS}
    missing = sorted({*ops.op_names()} - known - NOT_EXECUTED)
    assert not missing, f"missing: {', '.join(missing)} in KERNELS of a file in dialects/onnx/numpy/"
    assert not known & NOT_EXECUTED


def test_all_kinds_are_listed() -> None:
    """Each set of the file is one of the kinds, or made of them."""
    sets = {name: value for name, value in vars(traits).items() if isinstance(value, frozenset)}
    apart = {name for name, value in sets.items() if value not in traits.KINDS}
    assert apart == {"UNARY", "BROADCASTING", "POINTWISE", "OF_NO_KIND"}


def written(path: Path) -> Iterator[str]:
    """The ops that a file makes: `onnx.AddOp(...)`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        made = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if made and node.func.attr.endswith("Op") and node.func.attr[:-2] in ops.op_names():
            yield node.func.attr[:-2]


def places() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in sorted(FOLDER.rglob("*.py")):
        for name in written(path):
            found.setdefault(name, []).append(path.relative_to(FOLDER).as_posix())
    return found


@pytest.mark.sweep
@pytest.mark.parametrize("name", sorted(places()))
def test_what_passes_write_has_a_price(name: str) -> None:
    priced = rule_of(name) is not None or name in traits.VIEWS
    assert priced is not (name in UNPRICED), places()[name]


def test_nothing_else_has_one() -> None:
    assert rule_of("NonMaxSuppression") is None
