"""recompute: compute activations again in the backward pass (activation checkpointing).

    y = f(x); ...; dx = f'(y, dy)   becomes   y = f(x); ...; dx = f'(f(Where(late, x, x)), dy)

`late` is a boolean scalar that is false and depends on `dy`, the cotangent of the segment's end. It keeps
runtimes from merging the two f, and from computing the second one before the backward pass is there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue, Use
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.traits import RANDOM, RANDOM_IN_TRAINING, VIEWS
from dialects.support import entry
from dialects.support.dtypes import FLOATS, known_dtype
from dialects.support.shapes import element_type_of, has_rank
from passes.builder.captured_values import dependents, values_read_by
from passes.builder.operands import set_operand
from passes.builder.values import Builder, Value
from passes.cost.graph import tensor
from passes.targets.target import DEFAULT_OPSET, Target
from passes.training.checkpoints import Activation, choose_ends

SMALL = 4096
"""Bytes up to which an activation is kept."""


@dataclass(frozen=True)
class RecomputePass(ModulePass):
    """Compute activations again in the backward pass, if that lowers the peak memory.

    `batch`: inputs on which activations depend. `weights`: parameters and running statistics; only the
    optimizer reads other inputs. `results`: those of the forward pass; further ops that the other results
    need are the backward pass and the optimizer.
    """

    name = "recompute"

    batch: tuple[str, ...] = field(default=())
    weights: tuple[str, ...] = field(default=())
    results: tuple[str, ...] = field(default=())
    target: str = "cpu"
    opset: int = DEFAULT_OPSET

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        function = entry.entry_function(op)
        forward = _Forward(function, self.batch, self.weights, self.results)
        ends = choose_ends(list(forward.activations.values()), len(forward.ops))
        if not ends:
            return
        segments = _Segments(forward, ends, Target(self.target, self.opset, threads=1))
        for index in range(len(ends)):
            segments.recompute(index)
        _sort(function.body.block)


class _Forward:
    """The ops of the forward pass that depend on the batch, in order, and their activations."""

    def __init__(
        self,
        function: FuncOp,
        batch: Collection[str],
        weights: Collection[str],
        names: Collection[str],
    ) -> None:
        self.block = function.body.block
        results = list(zip(entry.output_names(function), entry.return_op(function).arguments, strict=True))
        self.results = {value for name, value in results if name in names}
        self.needed = _ancestors(self.block, self.results)
        inputs = list(zip(entry.input_names(function), function.args, strict=True))
        _, self.active = dependents(self.block.ops, (value for name, value in inputs if name in batch))
        states = (value for name, value in inputs if name not in batch and name not in weights)
        updated = (value for name, value in results if name not in names)
        self.updates = {*dependents(self.block.ops, states)[1], *updated}
        ops = (op for op in self.block.ops if op in self.needed)
        self.ops = [op for op in ops if not self.active.isdisjoint(op.results)]
        self.position = {op: index for index, op in enumerate(self.ops)}
        self.holder = self._holders()
        self.activations = {one.value: one for one in self._activations()}

    def backward_uses(self, value: SSAValue) -> list[Use]:
        """Return the uses of a value by ops of the backward pass."""
        return [use for use in value.uses if self.top(use.operation) not in self.needed]

    def backward_ops(self) -> Iterator[Operation]:
        """Yield the ops of the backward pass that depend on the batch, without those of the optimizer."""
        for op in self.block.ops:
            is_active = op not in self.needed and not self.active.isdisjoint(op.results)
            if is_active and self.updates.isdisjoint(op.results):
                yield op

    def _holders(self) -> dict[SSAValue, SSAValue]:
        """Return the value whose memory a value has, by value: views have that of their operand."""
        found = dict[SSAValue, SSAValue]()
        for op in self.ops:
            is_view = isinstance(op, OnnxOp) and op.onnx_name() in VIEWS
            for result in op.results:
                found[result] = found.get(op.operands[0], op.operands[0]) if is_view else result
        return found

    def _activations(self) -> Iterator[Activation]:
        aliases: dict[SSAValue, list[SSAValue]] = {}
        for value, holder in self.holder.items():
            aliases.setdefault(holder, []).append(value)
        for holder, values in aliases.items():
            if holder not in self.holder:
                continue
            readers = [self.top(use.operation) for value in values for use in value.uses]
            start = self.position[_maker(holder)]
            end = max((self.position[op] for op in readers if op in self.position), default=start)
            is_saved = any(op not in self.needed for op in readers) and can_repeat(_maker(holder))
            is_result = not self.results.isdisjoint(values)
            yield Activation(holder, size_of(holder), start, len(self.ops) if is_result else end, is_saved)

    def top(self, op: Operation) -> Operation:
        """Return an op of the block: the given one, or the one that has it in a region."""
        while op.parent_block() is not self.block:
            above = op.parent_op()
            assert above is not None
            op = above
        return op


class _Segments:
    """The segments of a forward pass, and the copies of their ops in the backward pass."""

    def __init__(self, forward: _Forward, ends: Sequence[int], target: Target) -> None:
        self.forward, self.target = forward, target
        bounds = zip((-1, *ends), (*ends, len(forward.ops) - 1), strict=True)
        self.segment = [index for index, (first, last) in enumerate(bounds) for _ in range(last - first)]
        self.last = len(ends)
        self.copied = self._copyable()
        self.level = self._levels()
        self.last_values = self._last_values()

    def recompute(self, index: int) -> None:
        """Let the backward pass read copies of the activations of a segment, which are computed after the
        cotangent of the segment's end."""
        values = [value for value, own in self.copied.items() if own == index]
        read = [value for value in values if self.forward.backward_uses(value)]
        before = self.last_values.get(index + 1)
        if not read or not before:
            return
        e = Builder()
        copies = self._copies(e, _late(e, before), dict.fromkeys(values), read)
        for value in read:
            for use in self.forward.backward_uses(value):
                set_operand(use.operation, use.index, copies[value])
        last = self.forward.block.last_op
        assert last is not None
        Rewriter.insert_op(e.emit.ops, InsertPoint.before(last))

    def _copyable(self) -> dict[SSAValue, int]:
        """Return the segments of the activations that can be computed again; checkpoints are not among them.

        An op needs an operand that is delayed, or computed again.
        """
        found = dict[SSAValue, int]()
        for op in self.forward.ops:
            index = self.segment[self.forward.position[op]]
            delayed = (found.get(value) == index or self._can_delay(value) for value in op.operands)
            if index < self.last and can_repeat(op) and any(delayed):
                found |= {result: index for result in op.results if not self._is_kept(result)}
        return found

    def _is_kept(self, value: SSAValue) -> bool:
        one = self.forward.activations.get(self.forward.holder[value])
        if one is None or one.size <= SMALL or one.end == len(self.segment):
            return True
        return self.segment[one.start] != self.segment[one.end]

    def _can_delay(self, value: SSAValue) -> bool:
        if value not in self.forward.active or not isinstance(value.type, TensorType):
            return False
        return self.target.lacks(onnx.WhereOp, known_dtype(value.type.element_type).name) is None

    def _levels(self) -> dict[Operation, int]:
        """Return the segments in whose backward pass the ops run: the first one whose activations they or ops
        before them read, or, if they read checkpoints only, the last one whose ops read them."""
        forward, level = self.forward, dict[Operation, int]()
        segments = {**self.copied}
        for op in forward.ops:
            if self.segment[forward.position[op]] == self.last:
                segments.update(dict.fromkeys(op.results, self.last))
        ops = list(forward.backward_ops())
        for op in ops:
            known = [segments[value] for value in values_read_by(op) if value in segments]
            if known:
                level[op] = min(known)
                segments.update(dict.fromkeys(op.results, level[op]))
        for op in reversed(ops):
            if op not in level:
                readers = {forward.top(use.operation) for result in op.results for use in result.uses}
                level[op] = max((level[one] for one in readers if one in level), default=-1)
        return level

    def _last_values(self) -> dict[int, list[SSAValue]]:
        """Return the results of the backward pass of each segment: gradients, and cotangents of the segment
        before it."""
        found: dict[int, list[SSAValue]] = {}
        for op, level in self.level.items():
            for result in op.results:
                readers = (self.forward.top(use.operation) for use in result.uses)
                if self._is_slicable(result) and all(self.level.get(one) != level for one in readers):
                    found.setdefault(level, []).append(result)
        return found

    def _is_slicable(self, value: SSAValue) -> bool:
        if not has_rank(value):
            return False
        dtype = known_dtype(element_type_of(value)).name
        return dtype in FLOATS and self.target.lacks(onnx.SliceOp, dtype) is None

    def _copies(
        self, e: Builder, late: Value, values: Collection[SSAValue], read: Iterable[SSAValue]
    ) -> dict[SSAValue, SSAValue]:
        """Create copies of the ops of a segment that the values `read` need, and return them by value."""
        needed = set(read)
        ops = list(dict.fromkeys(_maker(value) for value in values))
        for op in reversed(ops):
            if not needed.isdisjoint(op.results):
                needed.update(value for value in op.operands if value in values)
        found, delayed = dict[SSAValue, SSAValue](), dict[SSAValue, SSAValue]()

        def delay(value: SSAValue) -> None:
            if value not in delayed:
                delayed[value] = late.where(e(value), e(value)).value

        for op in ops:
            if needed.isdisjoint(op.results):
                continue
            rest = [value for value in op.operands if value not in values and self._can_delay(value)]
            for value in rest:
                if size_of(value) > SMALL:
                    delay(value)
            if not any(value in found or value in delayed for value in op.operands):
                delay(min(rest, key=size_of))
            copy = op.clone({**delayed, **found})
            e.emit.all(copy)
            found |= {old: new for old, new in zip(op.results, copy.results, strict=True) if old in values}
        return found


def can_repeat(op: Operation) -> bool:
    """Return whether a copy of an op gives the same tensors."""
    is_random = isinstance(op, OnnxOp) and op.onnx_name() in RANDOM | RANDOM_IN_TRAINING
    tensors = all(isinstance(result.type, TensorType) for result in op.results)
    return tensors and not is_random and not op.regions


def size_of(value: SSAValue) -> int:
    """Return the bytes of a tensor, for assumed dynamic sizes; 0 for other values."""
    return tensor(value).bytes if isinstance(value.type, TensorType) else 0


def _late(e: Builder, values: Iterable[SSAValue]) -> Value:
    """Return a boolean scalar that is false, x < x, for the sum x of the first elements of values."""
    firsts = [e(value)[tuple(slice(0, 1) for _ in e(value).shape)].cast(f32) for value in values]
    flat = [first.apply(onnx.ReshapeOp, e.ints([-1])) for first in firsts]
    total = e.concat(flat, 0).apply(onnx.ReduceSumOp, keepdims=0)
    return total < total


def _ancestors(block: Block, values: Iterable[SSAValue]) -> set[Operation]:
    """Return the ops of a block that compute values, and those that these need."""
    needed, found = set(values), set[Operation]()
    for op in reversed(block.ops):
        if not needed.isdisjoint(op.results):
            found.add(op)
            needed.update(values_read_by(op))
    return found


def _maker(value: SSAValue) -> Operation:
    assert isinstance(value.owner, Operation)
    return value.owner


def _sort(block: Block) -> None:
    """Put the ops of a block in a topological order that keeps the old one where possible."""
    ops = list(block.ops)
    place = {op: index for index, op in enumerate(ops)}
    readers: dict[Operation, list[Operation]] = {}
    left = dict[Operation, int]()
    for op in ops:
        makers = {value.owner for value in values_read_by(op)} & place.keys()
        left[op] = len(makers)
        for maker in makers:
            assert isinstance(maker, Operation)
            readers.setdefault(maker, []).append(op)
    ready = [place[op] for op in ops if not left[op]]
    while ready:
        op = ops[heappop(ready)]
        op.detach()
        block.add_op(op)
        for reader in readers.get(op, ()):
            left[reader] -= 1
            if not left[reader]:
                heappush(ready, place[reader])
