"""keep-nchwc: keep tensors between convolutions in onnxruntime's blocked layout.

The CPU provider runs convolutions with constant weights in blocks (NCHWc), and with them Add, Mul, Sum, some
activations, pools and an upsampling, if all their operands are blocked. A single other operand, a scalar, a
Clip, a Sub or a mean takes its neighbours out: each crossing is a ReorderOutput or a ReorderInput. Equivalent
ops stay blocked:

* a depthwise 1 x 1 convolution for a factor, a negation, a difference from a constant, a bound (fused);
* two steps for the mask of a Clip, a global pool for a mean, an upsampling for a factor per channel;
* the same convolution with ones, which is exact, for a plain operand.

`Crossings` counts them by size for the current and the equivalent ops; a group of ops is rewritten if that
saves some. Only static shapes: onnxruntime compares shapes when it decides.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import Rewriter

from dialects.onnx.values import constant_of
from dialects.support.shapes import static_shape
from passes.builder.op_builder import OpBuilder
from passes.builder.rewriting import functions, replace
from passes.layout.nchwc_forms import (
    ABSORBED,
    Form,
    blocked_shape,
    form_of,
    kernel_of,
    scale_channels,
    stays,
)
from passes.onnxruntime.fusions import folded_ops
from passes.onnxruntime.optimizer_model import DIRECT
from passes.targets.target import TargetPass

ENTER = 2.0
"""Passes over a tensor that enters: a reorder and a convolution with ones. A crossing is one."""

LEAST_SAVED = 0.1
"""Fraction of its crossings that a group has to save."""

FOLDED = "folded"
"""Kind of an op that onnxruntime folds into a convolution."""

SWEEPS = 4
"""Number of rounds in which each op may switch sides."""


@dataclass(frozen=True)
class KeepNchwcPass(TargetPass):
    name = "keep-nchwc"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not self.env.spec.prefers_nchwc:
            return
        for function in functions(op):
            for block in function.body.blocks:
                keep_blocked(block)


def keep_blocked(block: Block) -> None:
    fixed = {op: kind for op in block.ops if (kind := kernel_of(op)) is not None}
    if not fixed:
        return
    fixed |= dict.fromkeys(folded_ops(fixed), FOLDED)
    forms = {op: form for op in block.ops if op not in fixed and (form := form_of(op)) is not None}
    if not forms:
        return
    crossings = Crossings(forms, fixed)
    for group in _groups(forms):
        chosen = crossings.best_subset(group)
        if chosen:
            _write(block, {op: forms[op] for op in chosen}, fixed)


def _groups(forms: Mapping[Operation, Form]) -> list[list[Operation]]:
    """Group ops that read each other's results, or the same tensor."""
    parent = {op: op for op in forms}

    def root(op: Operation) -> Operation:
        while parent[op] is not op:
            parent[op] = parent[parent[op]]
            op = parent[op]
        return op

    first: dict[SSAValue, Operation] = {}
    for op, form in forms.items():
        for value in (*form.operands, *op.results):
            parent[root(op)] = root(first.setdefault(value, op))
    groups: dict[Operation, list[Operation]] = {}
    for op in forms:
        groups.setdefault(root(op), []).append(op)
    return list(groups.values())


@dataclass
class Crossings:
    """Cost of a set of blocked ops, in elements moved."""

    forms: Mapping[Operation, Form]
    fixed: Mapping[Operation, str]
    sizes: dict[SSAValue, int] = field(default_factory=dict)

    def best_subset(self, group: list[Operation]) -> set[Operation]:
        """Return the ops of a group to rewrite as blocked; empty if that saves little."""
        now = self._now(group)
        before = self._cost(group, now)
        chosen = set(group)
        for _ in range(SWEEPS):
            moved = [op for op in group if self._moves(op, chosen)]
            if not moved:
                break
        after = self._cost(group, chosen)
        return chosen if after < (1 - LEAST_SAVED) * before else set()

    def _moves(self, op: Operation, chosen: set[Operation]) -> bool:
        """Switch an op's side if that is cheaper; return whether it was switched."""
        values = (*self.forms[op].operands, *self.forms[op].inner, *op.operands, *op.results)
        before = self._values_cost(values, chosen) + self._extra(op, chosen)
        chosen ^= {op}
        if self._values_cost(values, chosen) + self._extra(op, chosen) < before:
            return True
        chosen ^= {op}
        return False

    def _now(self, group: list[Operation]) -> set[Operation]:
        """Return the ops that onnxruntime already keeps blocked."""
        found: set[Operation] = set()
        for op in group:
            inside = all(self._is_inside(value, found) for value in self.forms[op].operands)
            if inside and stays(op, self.forms[op]):
                found.add(op)
        return found

    def _cost(self, group: Iterable[Operation], inside: set[Operation]) -> float:
        values = {v: None for op in group for v in (*self.forms[op].operands, *op.operands, *op.results)}
        return self._values_cost(values, inside) + sum(self._extra(op, inside) for op in group)

    def _extra(self, op: Operation, inside: set[Operation]) -> float:
        return self.forms[op].extra * self._size(op.results[0]) if op in inside else 0.0

    def _values_cost(self, values: Iterable[SSAValue], inside: set[Operation]) -> float:
        return sum(self._value_cost(value, inside) for value in dict.fromkeys(values))

    def _value_cost(self, value: SSAValue, inside: set[Operation]) -> float:
        if blocked_shape(value) is None or constant_of(value) is not None:
            return 0.0
        plain = fixed = free = False
        for use in value.uses:
            user = use.operation
            if user in inside:
                free = free or value in self.forms[user].operands
            elif self.fixed.get(user) not in (None, DIRECT):
                fixed = fixed or not use.index
            else:
                plain = plain or not self._is_unread(user, inside)
        free = free or any(True for _ in _reads_inside(value, inside, self.forms))
        if self._is_inside(value, inside):
            return plain * self._size(value)
        return (ENTER if free else float(fixed)) * self._size(value)

    def _is_unread(self, user: Operation, inside: set[Operation]) -> bool:
        """Return whether the op will be dead, as only blocked forms that absorb it read it."""
        if not isinstance(user, ABSORBED):
            return False
        return all(use.operation in inside for use in user.results[0].uses)

    def _is_inside(self, value: SSAValue, inside: set[Operation]) -> bool:
        owner = value.owner
        return isinstance(owner, Operation) and (owner in inside or owner in self.fixed)

    def _size(self, value: SSAValue) -> int:
        if value not in self.sizes:
            self.sizes[value] = math.prod(blocked_shape(value) or (0,))
        return self.sizes[value]


def _reads_inside(
    value: SSAValue, inside: set[Operation], forms: Mapping[Operation, Form]
) -> Iterable[Operation]:
    """Yield the blocked ops that read a value through an absorbed op."""
    for use in value.uses:
        if isinstance(use.operation, ABSORBED):
            for reader in use.operation.results[0].uses:
                if reader.operation in inside and value in forms[reader.operation].operands:
                    yield reader.operation


def _write(block: Block, chosen: Mapping[Operation, Form], fixed: Mapping[Operation, str]) -> None:
    entered: dict[SSAValue, SSAValue] = {}
    blocked = {result for op in (*chosen, *fixed) for result in op.results}
    renamed: dict[SSAValue, SSAValue] = {}
    for op in [op for op in block.ops if op in chosen]:
        form, given = chosen[op], list[SSAValue]()
        for value in form.operands:
            now = renamed.get(value, value)
            given.append(now if value in blocked else _enter(block, now, entered))
        emit = OpBuilder()
        value = form.write(emit, given)
        old, read = op.results[0], op.operands[0].owner
        replace(op, PatternRewriter(op), emit, [value])
        renamed[old] = value
        if isinstance(read, ABSORBED) and read.results[0].first_use is None:
            Rewriter.erase_op(read)
    for value, inner in entered.items():
        for use in [u for u in value.uses if fixed.get(u.operation) not in (None, DIRECT) and not u.index]:
            use.operation.operands[0] = inner


def _enter(block: Block, value: SSAValue, entered: dict[SSAValue, SSAValue]) -> SSAValue:
    if value in entered:
        return entered[value]
    shape, emit = static_shape(value), OpBuilder()
    assert shape is not None
    inner = scale_channels(emit, value, np.ones(shape[1]), None)
    if isinstance(value.owner, Operation):
        block.insert_ops_after(emit.ops, value.owner)
    else:
        first = block.first_op
        assert first is not None
        block.insert_ops_before(emit.ops, first)
    entered[value] = inner
    return inner
