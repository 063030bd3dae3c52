"""Sums of zero-padded parts that do not overlap, as one Concat.

Such sums are the derivative of several slices of a value, for example of queries, keys and values that one
product computes. A Concat copies each element once; Pads and Adds pass over the whole result for each part
(3 parts of 64 x 128 columns: 6 times as fast; 64 numbers: 1.4 times; onnxruntime 1.32, one thread).

x + 0 is x but for the sign of a zero, so the pattern is not for strict IEEE numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from dialects.onnx import ops as onnx
from dialects.onnx.values import constant_of
from dialects.support.shapes import has_rank, shape_of
from passes.builder.op_builder import OpBuilder
from passes.builder.rewriting import replace


class SumOfDisjointParts(RewritePattern):
    """Concatenate the terms of a sum that are adjacent parts of one axis, with zeros elsewhere."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.AddOp, rewriter: PatternRewriter, /) -> None:
        if not has_rank(op.C) or None in shape_of(op.C) or _is_in_sum(op):
            return
        adds, terms = _sum(op)
        parts = [part for term in terms if (part := _part(term, op.C)) is not None]
        runs = [run for run in _runs(parts) if len(run) > 1] if len(parts) > 1 else []
        if not runs:
            return
        emit = OpBuilder()
        replaced = {part.pad.output for run in runs for part in run}
        total: SSAValue | None = None
        for value in (*(term for term in terms if term not in replaced), *(_concat(emit, r) for r in runs)):
            total = value if total is None else emit(onnx.AddOp(total, value))
        assert total is not None
        replace(op, rewriter, emit, [total])
        for unread in (*adds, *(part.pad for run in runs for part in run)):
            rewriter.erase(unread)


def _is_in_sum(op: onnx.AddOp) -> bool:
    """Return whether only another sum of the same type reads a sum: the pattern matches the whole one."""
    reader = next(iter(op.C.uses)).operation if op.C.has_one_use() else None
    return isinstance(reader, onnx.AddOp) and reader.C.type == op.C.type


def _sum(op: onnx.AddOp) -> tuple[list[onnx.AddOp], list[SSAValue]]:
    """Return the sums within a sum, readers first, and its terms."""
    adds, terms, waiting = list[onnx.AddOp](), list[SSAValue](), [op.B, op.A]
    while waiting:
        value = waiting.pop()
        if isinstance(value.owner, onnx.AddOp) and value.has_one_use() and value.type == op.C.type:
            adds.append(value.owner)
            waiting += (value.owner.B, value.owner.A)
        else:
            terms.append(value)
    return adds, terms


@dataclass(frozen=True)
class _Part:
    """A Pad with zeros: positions [before, before + size) of a result of sizes before + size + behind."""

    pad: onnx.PadOp
    before: tuple[int, ...]
    behind: tuple[int, ...]

    def axis_behind(self, other: _Part) -> int | None:
        """Return the axis on which the other part follows this one, if both are alike on all others."""
        own, its = (list(zip(part.before, part.behind, strict=True)) for part in (self, other))
        axes = [axis for axis, (mine, yours) in enumerate(zip(own, its, strict=True)) if mine != yours]
        if len(axes) != 1:
            return None
        size = shape_of(self.pad.data)[axes[0]]
        is_next = isinstance(size, int) and other.before[axes[0]] == self.before[axes[0]] + size
        return axes[0] if is_next else None


def _part(term: SSAValue, total: SSAValue) -> _Part | None:
    """Return a zero-padded tensor of the type of the sum that nothing else reads, or None."""
    pad = term.owner
    if not isinstance(pad, onnx.PadOp) or not term.has_one_use() or term.type != total.type:
        return None
    if pad.axes is not None or pad.onnx_attributes().get("mode", "constant") != "constant":
        return None
    amounts, number = constant_of(pad.pads), pad.constant_value
    fill = None if number is None else constant_of(number)
    if amounts is None or amounts.min(initial=0) < 0 or (number is not None and (fill is None or fill.any())):
        return None
    rank = len(shape_of(term))
    return _Part(pad, tuple(map(int, amounts[:rank])), tuple(map(int, amounts[rank:])))


def _runs(parts: Sequence[_Part]) -> Iterator[list[_Part]]:
    """Yield parts that follow each other on one axis, each in one run."""
    left = sorted(parts, key=lambda part: part.before)
    while left:
        run, axis = [left.pop(0)], None
        while (found := _next(run[-1], left, axis)) is not None:
            part, axis = found
            left.remove(part)
            run.append(part)
        yield run


def _next(last: _Part, others: Sequence[_Part], axis: int | None) -> tuple[_Part, int] | None:
    """Return a part behind the last one, on the given axis if there is one, and the axis."""
    for other in others:
        found = last.axis_behind(other)
        if found is not None and axis in (None, found):
            return other, found
    return None


def _concat(emit: OpBuilder, run: Sequence[_Part]) -> SSAValue:
    """Return the parts of a run side by side, with zeros around them."""
    first, last = run[0], run[-1]
    axis = first.axis_behind(run[1])
    assert axis is not None
    whole = emit(onnx.ConcatOp([part.pad.data for part in run], axis=axis))
    behind = [*first.behind]
    behind[axis] = last.behind[axis]
    if not any((*first.before, *behind)):
        return whole
    return emit(onnx.PadOp(whole, emit.ints([*first.before, *behind])))
