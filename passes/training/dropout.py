"""hash-dropout: let every Dropout of the file drop elements, by a mask hashed from an input `seed`.

The mask is a function of the seed, an int64 scalar, of the Dropout's number in the file, and of the position
of the element. Kept elements are multiplied by 1 / (1 - ratio), as in PyTorch and ONNX. Runtimes give the
same mask for the same seed; a training step takes another one each time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, i1, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.onnx import ops as onnx
from dialects.onnx.values import constant_of
from dialects.support.diagnostics import (
    Diagnostic,
    UnsupportedError,
    error_at,
    location,
    name_of,
    sentence,
    usage,
)
from dialects.support.entry import (
    entry_function,
    input_names,
    output_names,
    return_op,
    set_names,
    set_new_names,
    update_function_type,
)
from dialects.support.option_names import advice
from dialects.support.shapes import has_rank, static
from passes.builder.locations import place_at
from passes.builder.operands import replace_uses
from passes.builder.values import Builder, Value
from passes.targets.target import DEFAULT_OPSET, Target
from passes.training.random_words import FORMS, WORD, Keys, Words

SEED = "seed"
"""Name of the new input."""

RATIO = 0.5
"""ONNX's default."""


@dataclass(frozen=True)
class HashDropoutPass(ModulePass):
    """Let every Dropout drop elements by a mask hashed from an input `seed`."""

    name = "hash-dropout"

    target: str = "cpu"
    opset: int = DEFAULT_OPSET

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        hash_dropout(entry_function(op), Target(self.target, self.opset, threads=1))


@dataclass(frozen=True)
class DropDropoutPass(ModulePass):
    """Replace every Dropout by its data."""

    name = "drop-dropout"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for dropout in dropouts(entry_function(op)):
            e = Builder()
            _replace(dropout, e, e(dropout.data), _all_kept(dropout, e))


def dropouts(function: FuncOp) -> list[onnx.DropoutOp]:
    return [op for op in function.walk() if isinstance(op, onnx.DropoutOp)]


def dropout_remarks(function: FuncOp) -> list[Diagnostic]:
    """Return a remark if the function has no Dropout that could drop elements."""
    if any(op.ratio is None or constant_of(op.ratio) is None or _ratio(op) for op in dropouts(function)):
        return []
    hint = "an export in evaluation mode has none"
    return [Diagnostic("remark", sentence("the file has no Dropout with a ratio above 0", hint=hint))]


def hash_dropout(function: FuncOp, target: Target) -> None:
    """Rewrite the Dropouts of a function with inferred types, in place.

    Raises UnsupportedError for a Dropout in a loop, for a ratio that is not constant, and if the target lacks
    integer ops; UsageError if the function has an input `seed`.
    """
    ops = [(stream, op) for stream, op in enumerate(dropouts(function)) if _ratio(op) > 0]
    if not ops:
        return
    for _, op in ops:
        _check_is_outside_loops(op)
    keys = _keys(function, _words(target))
    for stream, op in ops:
        e = Builder()
        own = Keys(keys.words, e(keys.first.value), e(keys.second.value))
        dropped = _drop_mask(own, e(op.data), stream, _ratio(op))
        kept = dropped.apply(onnx.NotOp) if op.results[1].first_use else None
        scaled = e(op.data) * (1 / (1 - _ratio(op)) if _ratio(op) < 1 else 0)
        _replace(op, e, dropped.where(e.scalar(0, scaled), scaled), kept)


def _keys(function: FuncOp, words: Words) -> Keys:
    """Add the input, and its keys at the start of the function."""
    names, block = list(input_names(function)), function.body.block
    if SEED in names or SEED in output_names(function):
        hint = advice("rename", f"gives it another name, as {SEED}=seed_of_model")
        raise usage("the model has a value named seed", hint=hint)
    outputs = output_names(function)
    set_names(function, names, outputs)
    argument = block.insert_arg(TensorType(i64, []), len(block.args))
    argument.name_hint = SEED
    set_new_names(function, [*names, SEED], outputs)
    update_function_type(function)
    e, first = Builder(), block.first_op or return_op(function)
    keys = Keys.of_seed(words, e(argument).apply(onnx.ReshapeOp, e.ints([1])))
    Rewriter.insert_op(e.emit.ops, InsertPoint.before(first))
    for op in e.emit.ops:
        op.location = location(SEED)
    return keys


def _drop_mask(keys: Keys, data: Value, stream: int, ratio: float) -> Value:
    """Return the mask of the dropped elements, in the shape of the data."""
    e = data.e
    zero, one = (e.constant(np.array(number, np.int64)) for number in (0, 1))
    count = _count(data)
    number = count if isinstance(count, Value) else e.constant(np.array(count, np.int64))
    indices = zero.apply(onnx.RangeOp, number, one)
    limit = min(round(ratio * WORD), WORD - 1)
    return keys.less(indices, stream, limit).apply(onnx.ReshapeOp, e.shape(data))


def _count(data: Value) -> int | Value:
    """Return the number of elements, a scalar."""
    if not has_rank(data.value):
        return data.apply(onnx.SizeOp)
    known = static(data.shape)
    return (
        data.apply(onnx.ShapeOp).apply(onnx.ReduceProdOp, keepdims=0) if known is None else math.prod(known)
    )


def _all_kept(op: onnx.DropoutOp, e: Builder) -> Value | None:
    if not op.results[1].first_use:
        return None
    return e.number(True, i1).apply(onnx.ExpandOp, e(op.data).apply(onnx.ShapeOp))


def _replace(op: onnx.DropoutOp, e: Builder, result: Value, mask: Value | None) -> None:
    place_at(e.emit.ops, op, "mask", result.value)
    Rewriter.insert_op(e.emit.ops, InsertPoint.before(op))
    values = [result.value, *([] if mask is None else [mask.value])]
    for old, value in zip(op.results, values, strict=False):
        replace_uses(old, value)
    Rewriter.erase_op(op)


def _ratio(op: onnx.DropoutOp) -> float:
    if op.ratio is None:
        return RATIO
    known = constant_of(op.ratio)
    if known is None:
        hint = advice("dropout", "drops none, as in inference", "off")
        raise UnsupportedError(
            error_at(
                op, f"ratio of Dropout {name_of(op)}".strip(), expected="a constant", hint=hint
            ).diagnostic
        )
    return float(known.reshape(-1)[0])


def _check_is_outside_loops(op: Operation) -> None:
    """Raise UnsupportedError for a Dropout in a Loop or Scan, each step of which would have one mask."""
    around = op.parent_op()
    while around is not None and not isinstance(around, FuncOp):
        if not isinstance(around, onnx.IfOp):
            what = f"Dropout {name_of(op)} within {around.name.removeprefix('onnx.')}"
            raise UnsupportedError(error_at(op, f"{what}: every step would have the same mask").diagnostic)
        around = around.parent_op()


def _words(target: Target) -> Words:
    """Return a form of the hash that a target can run. Raises UnsupportedError."""
    reasons: Sequence[str] = []
    for words in FORMS:
        lacking = [reason for op, dtype in words.OPS.items() if (reason := target.lacks(op, dtype))]
        if not lacking:
            return words
        reasons = reasons or lacking
    text = f"target {target.name} lacks ops of hashed dropout: {reasons[0]}"
    raise UnsupportedError(Diagnostic("error", text))
