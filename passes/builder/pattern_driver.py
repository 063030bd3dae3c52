"""Worklist walk that applies rewrite patterns to the ops of a module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr, ModuleOp, UnknownLoc
from xdsl.ir import Operation, OpResult, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint
from xdsl.utils.worklist import Worklist

from passes.builder.operands import replace_uses

PatternsOf = Callable[[type[Operation]], Sequence[RewritePattern]]
"""Op class -> its patterns, in order of application."""


class _Rewriter(PatternRewriter):
    """PatternRewriter that replaces operands of wide ops in constant time."""

    def replace_all_uses_with(
        self, from_value: SSAValue, to_value: SSAValue | None, safe_erase: bool = True
    ) -> None:
        if to_value is None or to_value is from_value:
            super().replace_all_uses_with(from_value, to_value, safe_erase)
            return
        readers = [use.operation for use in from_value.uses]
        replace_uses(from_value, to_value)
        self.has_done_action |= bool(readers)
        for op in readers:
            self.handle_operation_modification(op)


class Walker:
    """Applies the first matching pattern of its class to each op, new and neighbouring ops included.

    The order is that of xDSL's PatternRewriteWalker, which spends half of a walk on ops without a pattern.
    Inserted ops get the location of the matched op. Errors propagate unchanged: xDSL would attach the printed
    module, weights included.
    """

    def __init__(self, patterns_of: PatternsOf):
        self.patterns_of = cache(patterns_of)
        self.worklist = Worklist[Operation]()
        self.location: LocationAttr = UNKNOWN_LOC

    def walk(self, module: ModuleOp) -> bool:
        """Visit all ops once; return whether anything changed."""
        for op in reversed(ops_within(module.body)):
            self._push(op)
        rewriter = self._rewriter(module)
        changed = False
        while self.worklist:
            op = self.worklist.pop()
            rewriter.insertion_point = InsertPoint.before(op)
            rewriter.has_done_action = False
            self._offer(op, rewriter)
            changed |= rewriter.has_done_action
        return changed

    def _offer(self, op: Operation, rewriter: PatternRewriter) -> None:
        self.location = op.location
        for pattern in self.patterns_of(type(op)):
            pattern.match_and_rewrite(op, rewriter)
            if rewriter.has_done_action:
                return

    def _rewriter(self, module: ModuleOp) -> PatternRewriter:
        rewriter = _Rewriter(InsertPoint.at_end(module.body.block))
        rewriter.operation_insertion_handler.append(self._on_insert)
        rewriter.operation_removal_handler.append(self._on_removal)
        rewriter.operation_modification_handler.append(self._push)
        rewriter.operation_replacement_handler.append(self._on_replacement)
        return rewriter

    def _push(self, op: Operation) -> None:
        if self.patterns_of(type(op)):
            self.worklist.push(op)

    def _on_insert(self, op: Operation) -> None:
        if isinstance(op.location, UnknownLoc):
            op.location = self.location
        self._push(op)

    def _on_removal(self, op: Operation) -> None:
        """Requeue the operands' ops that become dead, or have one reader left."""
        for operand in op.operands:
            if operand.has_one_use() and isinstance(operand, OpResult):
                self._push(operand.op)
        for inner in (op, *(inner for region in op.regions for inner in ops_within(region))):
            self.worklist.remove(inner)

    def _on_replacement(self, op: Operation, results: Sequence[SSAValue | None]) -> None:
        del results
        for result in op.results:
            for use in result.uses:
                self._push(use.operation)


def ops_within(region: Region) -> list[Operation]:
    """Return all ops of a region in preorder, in a third of the time of xDSL's `walk`."""
    found: list[Operation] = []
    waiting = _ops_of(region)
    while waiting:
        op = waiting.pop()
        found.append(op)
        for inner in reversed(op.regions):
            waiting += _ops_of(inner)
    return found


def _ops_of(region: Region) -> list[Operation]:
    """Return the ops directly in a region, in reverse order."""
    return [op for block in reversed(region.blocks) for op in reversed(block.ops)]
