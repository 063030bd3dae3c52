"""Canonicalization patterns of the ONNX ops. Each preserves the types of the results that it replaces.

Constants are folded by `OnnxOp.fold`, not by patterns.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from dialects.onnx import ops
from dialects.onnx.base import OnnxOp
from dialects.onnx.call import axes_of
from dialects.onnx.dims import ints
from dialects.onnx.identities import IDENTITIES, perm_of
from dialects.onnx.values import constant_of
from dialects.support import shapes
from dialects.support.dtypes import name_of
from dialects.support.interfaces import set_type
from passes.simplify.boxes import GatherOfBox, ScatterOfBox
from passes.simplify.casts import CancelMoveAcrossCasts
from passes.simplify.expanded_matrices import DropExpandOfMatrices
from passes.simplify.neutral import NEUTRAL, NeutralOperand
from passes.simplify.pads import PadOfAllAxes
from passes.simplify.recurrent import TimeMajor
from passes.simplify.reshapes import CanonicalizeReshape, replace_typed
from passes.simplify.signs import EvenPowerOfAbs, ProductOfAbs

# Ops that do nothing


class DropIdentity(RewritePattern):
    """Replace an op that returns its first operand unchanged, in the same type, by the operand."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, OnnxOp) or not op.operands or len(op.results) != 1:
            return
        if op.operands[0].type == op.results[0].type and IDENTITIES[op.name](op.call()):
            rewriter.replace(op, [], [op.operands[0]])


class DropInferenceDropout(RewritePattern):
    """Replace a Dropout outside training by its data, unless its mask is used."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ops.DropoutOp, rewriter: PatternRewriter, /) -> None:
        training = None if op.training_mode is None else constant_of(op.training_mode)
        trains = op.training_mode is not None and (training is None or training.any())
        is_read = any(result.first_use is not None for result in op.results[1:])
        if trains or is_read or op.data.type != op.results[0].type:
            return
        rewriter.replace(op, [], [op.data, *[None] * (len(op.results) - 1)])


class DropEmptyResizeOperands(RewritePattern):
    """Drop empty operands that mean absent ones: within a Loop, ONNX's inference takes both scales and sizes
    as given."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ops.ResizeOp, rewriter: PatternRewriter, /) -> None:
        given = (op.roi, op.scales, op.sizes)
        left = [None if value is None or shapes.static_shape(value) == (0,) else value for value in given]
        if all(one is other for one, other in zip(left, given, strict=True)):
            return
        new = ops.ResizeOp(op.X, *left, **op.onnx_attributes())
        set_type(new.results[0], op.results[0].type)
        rewriter.replace(op, [new])


# Pairs


class TransposeOfTranspose(RewritePattern):
    """z[j] = y[q[j]] of y[i] = x[p[i]] is z[j] = x[p[q[j]]]."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ops.TransposeOp, rewriter: PatternRewriter, /) -> None:
        inner = op.data.owner
        if not isinstance(inner, ops.TransposeOp):
            return
        first = perm_of(inner.call())
        perm = [first[axis] for axis in perm_of(op.call())]
        replace_typed(op, ops.TransposeOp(inner.data, perm=perm), rewriter)


class DropExpandOfOperand(RewritePattern):
    """Drop an Expand of an operand of arithmetic that broadcasts anyway."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, OnnxOp)
        for index, operand in enumerate(op.operands):
            if isinstance(operand.owner, ops.ExpandOp):
                values = list(op.operands)
                values[index] = operand.owner.input
                new = type(op)(*values)
                shape = shapes.shape_of(op.results[0])
                if None not in shape and shapes.shape_of(new.results[0]) == shape:
                    replace_typed(op, new, rewriter)
                    return
                new.drop_all_references()


class DropCastPair(RewritePattern):
    """Drop a Cast to a type that represents every value of the first one, and back."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ops.CastOp, rewriter: PatternRewriter, /) -> None:
        inner = op.input.owner
        if not isinstance(inner, ops.CastOp) or inner.input.type != op.output.type:
            return
        if represents(inner.to, shapes.element_type_of(inner.input)):
            rewriter.replace(op, [], [inner.input])


_REPRESENTED_BY: dict[str, tuple[str, ...]] = {
    "boolean": ("f32", "bf16", "f16", "f64", "s32", "s64", "s8", "u8"),
    "bf16": ("f32", "f64"),
    "f16": ("f32", "f64"),
    "f32": ("f64",),
    "s8": ("f32", "bf16", "f16", "f64", "s32", "s64"),
    "u8": ("f32", "bf16", "f16", "f64", "s32", "s64"),
    "s32": ("f64", "s64"),
}
"""Dtypes that represent all values of a dtype: bf16 has 8 significant bits, f16 11, f32 24, f64 53."""


def represents(wide: Attribute, narrow: Attribute) -> bool:
    """Return whether element type `wide` represents each value of `narrow`."""
    return name_of(wide) in _REPRESENTED_BY.get(name_of(narrow), ())


class SqueezeOfUnsqueeze(RewritePattern):
    """Drop unit axes that are added and removed again, or removed and added."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        opposite = _OPPOSITES.get(type(op))
        if opposite is None:
            return
        inner = op.operands[0].owner
        if not isinstance(inner, opposite) or inner.operands[0].type != op.results[0].type:
            return
        axes = _unit_axes(op)
        if axes is not None and axes == _unit_axes(inner):
            rewriter.replace(op, [], [inner.operands[0]])


_OPPOSITES: dict[type[Operation], type[Operation]] = {
    ops.SqueezeOp: ops.UnsqueezeOp,
    ops.UnsqueezeOp: ops.SqueezeOp,
}


def _unit_axes(op: Operation) -> list[int] | None:
    """Return the axes that a Squeeze or Unsqueeze removes or adds, sorted, if they are given."""
    assert isinstance(op, OnnxOp)
    given = op.call().optional(1)
    axes = ints(given.dims) if given is not None else None
    if axes is None:
        return None
    larger: SSAValue = op.operands[0] if isinstance(op, ops.SqueezeOp) else op.results[0]
    return sorted(axes_of(axes, len(shapes.shape_of(larger))))


class ConcatOfConcat(RewritePattern):
    """Merge a Concat along the same axis with a single use into its user; drop empty parts."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ops.ConcatOp, rewriter: PatternRewriter, /) -> None:
        parts = [part for operand in op.inputs for part in _parts(operand, _axis(op))]
        if parts and parts != list(op.inputs):
            replace_typed(op, ops.ConcatOp(parts, axis=_axis(op)), rewriter)


def _axis(op: ops.ConcatOp) -> int:
    return op.axis.value.data % len(shapes.shape_of(op.concat_result))


def _parts(operand: SSAValue, axis: int) -> Sequence[SSAValue]:
    """Return the parts that an operand contributes to a Concat along `axis`."""
    if shapes.shape_of(operand)[axis] == 0:
        return ()
    inner = operand.owner
    if isinstance(inner, ops.ConcatOp) and _axis(inner) == axis and operand.has_one_use():
        return inner.inputs
    return (operand,)


class ShapeOfTransposeOrCast(RewritePattern):
    """Compute the shape of a Transpose or Cast from its operand's, so that it need not be computed."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ops.ShapeOp, rewriter: PatternRewriter, /) -> None:
        inner = op.data.owner
        if isinstance(inner, ops.CastOp):
            replace_typed(
                op, ops.ShapeOp(inner.input, start=_int_or_none(op.start), end=_int_or_none(op.end)), rewriter
            )
        if not isinstance(inner, ops.TransposeOp):
            return
        taken = perm_of(inner.call())[slice(_int_or_none(op.start), _int_or_none(op.end))]
        sizes = ops.ShapeOp(inner.data)
        indices = ops.ConstantOp(np.array(taken, np.int64))
        replace_typed(op, ops.GatherOp(sizes, indices, axis=0), rewriter, sizes, indices)


def _int_or_none(attribute: IntegerAttr | None) -> int | None:
    return None if attribute is None else attribute.value.data


class GatherOfGather(RewritePattern):
    """Compose two Gathers from a vector with constant indices."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ops.GatherOp, rewriter: PatternRewriter, /) -> None:
        inner = op.data.owner
        if not isinstance(inner, ops.GatherOp) or len(shapes.shape_of(inner.data)) != 1:
            return
        first, then = (constant_of(gather.indices) for gather in (inner, op))
        if first is None or then is None or first.ndim != 1:
            return
        indices = ops.ConstantOp(np.asarray(first[then]))
        replace_typed(op, ops.GatherOp(inner.data, indices, axis=0), rewriter, indices)


class SliceOfGather(RewritePattern):
    """Slice the constant indices of a Gather from a vector."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ops.SliceOp, rewriter: PatternRewriter, /) -> None:
        inner = op.data.owner
        if not isinstance(inner, ops.GatherOp) or len(shapes.shape_of(inner.data)) != 1:
            return
        indices = constant_of(inner.indices)
        parts = [None if part is None else constant_of(part) for part in (op.starts, op.ends, op.steps)]
        start, end, step = (None if part is None else int(part[0]) for part in parts)
        if indices is None or indices.ndim != 1 or start is None or end is None:
            return
        if op.steps is not None and (step is None or step < 1):
            return
        taken = ops.ConstantOp(np.asarray(indices[start:end:step]))
        replace_typed(op, ops.GatherOp(inner.data, taken, axis=0), rewriter, taken)


class InlineConstantIf(RewritePattern):
    """Inline the branch of an If with constant condition."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ops.IfOp, rewriter: PatternRewriter, /) -> None:
        condition = constant_of(op.cond)
        if condition is None:
            return
        block = (op.then_branch if condition.all() else op.else_branch).block
        last = block.last_op
        assert last is not None
        values = list(last.operands)
        rewriter.erase(last)
        rewriter.inline_block(block, InsertPoint.before(op))
        rewriter.replace(op, [], values)


_PAIRS: dict[str, RewritePattern] = {
    "onnx.Add": DropExpandOfOperand(),
    "onnx.Cast": DropCastPair(),
    "onnx.Concat": ConcatOfConcat(),
    "onnx.Div": DropExpandOfOperand(),
    "onnx.Dropout": DropInferenceDropout(),
    "onnx.GRU": TimeMajor(),
    "onnx.Gather": GatherOfGather(),
    "onnx.GatherND": GatherOfBox(),
    "onnx.If": InlineConstantIf(),
    "onnx.LSTM": TimeMajor(),
    "onnx.MatMul": DropExpandOfMatrices(),
    "onnx.Mul": DropExpandOfOperand(),
    "onnx.Pad": PadOfAllAxes(),
    "onnx.RNN": TimeMajor(),
    "onnx.Reshape": CanonicalizeReshape(),
    "onnx.Resize": DropEmptyResizeOperands(),
    "onnx.ScatterND": ScatterOfBox(),
    "onnx.Shape": ShapeOfTransposeOrCast(),
    "onnx.Slice": SliceOfGather(),
    "onnx.Squeeze": SqueezeOfUnsqueeze(),
    "onnx.Sub": DropExpandOfOperand(),
    "onnx.Transpose": TransposeOfTranspose(),
    "onnx.Unsqueeze": SqueezeOfUnsqueeze(),
}


_SIGNS: dict[str, RewritePattern] = {"onnx.Mul": ProductOfAbs(), "onnx.Pow": EvenPowerOfAbs()}

_MOVES = frozenset(("onnx.Reshape", "onnx.Squeeze", "onnx.Transpose", "onnx.Unsqueeze"))


class SkipUnknownRanks(RewritePattern):
    """A pattern that does not match where a rank that it needs is unknown."""

    def __init__(self, pattern: RewritePattern):
        self.pattern = pattern

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        with suppress(shapes.UnknownRank):
            self.pattern.match_and_rewrite(op, rewriter)


def patterns_of(name: str) -> tuple[RewritePattern, ...]:
    """Return the canonicalization patterns of the op of that name."""
    forward = (DropIdentity(),) if name in IDENTITIES else ()
    pair = (_PAIRS[name],) if name in _PAIRS else ()
    undone = (CancelMoveAcrossCasts(),) if name in _MOVES else ()
    neutral = (NeutralOperand(),) if name in NEUTRAL else ()
    signs = (_SIGNS[name],) if name in _SIGNS else ()
    return tuple(map(SkipUnknownRanks, (*forward, *neutral, *signs, *pair, *undone)))
