"""Walk over a function whose batch is a size that occurs nowhere else: finds the ops whose constants repeat
the batch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import TensorType, UnrankedTensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.control import YieldOp
from dialects.onnx.types import OptionalType, SequenceType
from dialects.onnx.values import dims_of
from dialects.support import entry
from dialects.support.diagnostics import GradcError, UnsupportedError, error_at
from dialects.support.interfaces import InfersTypes, refine_results, set_type
from dialects.support.shapes import DimLike, Shape, element_type_of, has_rank, shape_of, tensor_type
from gradc.graph.batch_axes import PROBE, batch_axes, is_batch, obstacle
from gradc.graph.batch_bodies import Carried, Looping, carried_values, scanned_values, stacked_values
from gradc.graph.batch_preparation import Folded, fold_sizes, unfold_sizes
from gradc.graph.batch_repairs import Batch, Repair, Repeat, ShapeEntry, ints_of, may_repeat
from passes.builder.captured_values import ancestor_in_block, dependents, values_read_by

STATES = ("sequence_lens", "initial_h", "initial_c")
RECURRENT = (onnx.GRUOp, onnx.LSTMOp, onnx.RNNOp)


Initial = tuple[int, int]
"""A loop-carried value: the index of its op in the walk, and the operand of its initial value."""


class NeedsBatch(Exception):
    """The initial value of a loop-carried value has to be repeated along an axis, because the body adds the
    batch to it."""

    def __init__(self, initial: Initial, axis: int) -> None:
        super().__init__(initial, axis)
        self.initial, self.axis = initial, axis


@dataclass
class Probe:
    """Walk over a function whose batch is PROBE.

    arguments: indices of the inputs with the batch. what: the start of refusals. before: the former batch.
    initial: loop-carried values whose initial values are repeated, with the axis.
    """

    function: FuncOp
    arguments: Sequence[int]
    what: str
    before: int
    initial: Mapping[Initial, int]
    old: dict[SSAValue, Shape] = field(default_factory=dict)
    inner: dict[SSAValue, int] = field(default_factory=dict)
    """The number of elements before the batch within its axis, where other dims are merged into it."""
    ops: list[Operation] = field(default_factory=list)
    """The ops of the function, without those that repairs insert."""
    repairs: dict[int, list[Repair]] = field(default_factory=dict)
    """Index of an op in `ops` -> its repairs."""

    def run(self) -> None:
        """Collect the repairs. Raises UnsupportedError at an op that prevents another batch; NeedsBatch."""
        self.ops = list(self.function.walk())
        self._rejected: Operation | None = None
        self._folded: list[Folded] = []
        self._index = {op: index for index, op in enumerate(self.ops)}
        self.old = shapes_by_value(self.function)
        set_leading_dims(self.function, self.arguments, PROBE)
        self._walk(self.function.body.block)
        unfold_sizes(self._folded)

    def _walk(self, block: Block) -> None:
        for op in list(block.ops):
            is_end = isinstance(op, YieldOp) or op is entry.return_op(self.function)
            if not is_end and any(map(batch_axes, values_read_by(op))):
                self._visit(op)
            self._folded += fold_sizes(op)

    def _visit(self, op: Operation) -> None:
        if isinstance(op, onnx.IfOp):
            self._visit_branches(op)
        elif isinstance(op, Looping):
            self._visit_loop(op)
        else:
            self._record(op, self._repairs_of(op))

    def _record(self, op: Operation, repairs: Sequence[Repair]) -> None:
        if repairs:
            self.repairs.setdefault(self._index[op], []).extend(repairs)

    # Ops with bodies

    def _visit_branches(self, op: onnx.IfOp) -> None:
        if batch_axes(op.cond):
            raise self._reject(op, "its condition has the batch")
        ends: list[Operation] = []
        for region in op.regions:
            self._walk(region.block)
            assert region.block.last_op is not None
            ends.append(region.block.last_op)
        for index, result in enumerate(op.results):
            with_batch = next((e.operands[index] for e in ends if batch_axes(e.operands[index])), None)
            if with_batch is None:
                continue
            for end in ends:
                self._give_batch(op, end, index, with_batch)
            self._copy_batch(op, with_batch, shape_of(with_batch), result)

    def _visit_loop(self, op: Looping) -> None:
        block, carried = op.regions[0].block, list(carried_values(op))
        if isinstance(op, onnx.LoopOp) and any(batch_axes(v) for v in (op.M, op.cond) if v is not None):
            raise self._reject(op, "its condition or trip count has the batch")
        for one in carried:
            axis = self.initial.get((self._index[op], one.operand))
            if axis is not None:
                self._repeat(op, one.operand, axis)
            self._enter(op, op.operands[one.operand], one.argument)
        for one in scanned_values(op):
            value = op.operands[one.operand]
            if not batch_axes(value):
                continue
            shape = shape_of(value)
            if one.axis % len(shape) in batch_axes(value):
                raise self._reject(op, "it works along the batch")
            self._copy_batch(op, value, one.slice_shape(shape), one.argument)
        try:
            self._walk(block)
        except UnsupportedError:
            self._require_batch(op, carried)
            raise
        end = block.last_op
        assert end is not None
        if isinstance(op, onnx.LoopOp) and batch_axes(end.operands[0]):
            raise self._reject(op, "its condition has the batch")
        for one in carried:
            yielded = end.operands[one.yielded]
            if batch_axes(yielded) and not batch_axes(one.argument):
                axis = self._axis_of_repeats(op, op.operands[one.operand], yielded)
                raise NeedsBatch((self._index[op], one.operand), axis)
            if batch_axes(one.argument):
                self._give_batch(op, end, one.yielded, one.argument)
            self._enter(op, end.operands[one.yielded], one.result)
        for one in stacked_values(op):
            yielded = end.operands[one.yielded]
            if batch_axes(yielded):
                if not has_rank(one.result):
                    raise self._reject(op, "the rank of a result is unknown")
                self._copy_batch(op, yielded, one.shape(shape_of(yielded)), one.result)

    def _require_batch(self, op: Looping, carried: Sequence[Carried]) -> None:
        """Raise NeedsBatch for a state without the batch that the rejected op depends on, if any fits."""
        block = op.regions[0].block
        for one in carried:
            value = op.operands[one.operand]
            ops, _ = dependents(block.ops, [one.argument])
            shape = () if batch_axes(one.argument) else self.old.get(value, ())
            if self._rejected is None or ancestor_in_block(self._rejected, block) not in ops:
                continue
            for axis, dim in enumerate(shape if all(isinstance(dim, int) for dim in shape) else ()):
                if dim == self.before and may_repeat(value, axis, self.before):
                    raise NeedsBatch((self._index[op], one.operand), axis)

    def _give_batch(self, op: Operation, end: Operation, index: int, like: SSAValue) -> None:
        """Repeat an operand of a Yield that has the former batch, so that it has that of another value."""
        if not batch_axes(end.operands[index]):
            self._repeat(end, index, self._axis_of_repeats(op, end.operands[index], like))
        own, other = shape_of(end.operands[index]), shape_of(like)
        same = len(own) == len(other) and all(own[axis] == other[axis] for axis in batch_axes(like))
        if not same or batch_axes(end.operands[index]) != batch_axes(like):
            raise self._reject(op, "a value of its body has the batch in another place than before")

    def _axis_of_repeats(self, op: Operation, value: SSAValue, like: SSAValue) -> int:
        """Return the axis along which a value repeats one slice for each element of the batch."""
        axes, shape = batch_axes(like), self.old.get(value, ())
        is_static = all(isinstance(dim, int) for dim in shape) and len(shape) == len(shape_of(like))
        fits = len(axes) == 1 and is_static and shape_of(like)[axes[0]] == PROBE
        if not fits or shape[axes[0]] != self.before or not may_repeat(value, axes[0], self.before):
            raise self._reject(op, f"a value of its body fits a batch of {self.before}")
        return axes[0]

    def _repeat(self, op: Operation, index: int, axis: int) -> None:
        repair = Repeat(index, axis)
        self._apply(op, [repair])
        self._record(op, [repair])

    def _enter(self, op: Operation, source: SSAValue, target: SSAValue) -> None:
        if batch_axes(source):
            self._copy_batch(op, source, shape_of(source), target)

    def _copy_batch(self, op: Operation, source: SSAValue, shape: Shape, target: SSAValue) -> None:
        """Set the dims of a value that hold the batch in a shape of the same rank."""
        if not has_rank(target) or len(shape_of(target)) != len(shape):
            raise self._reject(op, "the rank of a value of its body is unknown")
        set_dims(target, {axis: dim for axis, dim in enumerate(shape) if is_batch(dim)})
        if source in self.inner:
            self.inner[target] = self.inner[source]

    # Other ops

    def _repairs_of(self, op: Operation) -> list[Repair]:
        if op.regions or not isinstance(op, InfersTypes):
            raise self._reject(op, "an op with subgraphs" if op.regions else "an op of unknown shapes")
        if (why := obstacle(op)) is not None:
            raise self._reject(op, why)
        if any(isinstance(result.type, SequenceType | OptionalType) for result in op.results):
            raise self._reject(op, "it puts the batch into a sequence or an optional value")
        repairs = list(self._reshape_repairs(op) if isinstance(op, onnx.ReshapeOp) else ())
        repairs += self._repeats(op) if isinstance(op, RECURRENT) else ()
        if not self._infers(op, repairs):
            repairs = list(self._repeats(op))
            if not self._infers(op, repairs):
                raise self._reject(op, f"its other sizes fit a batch of {self.before}")
        if any(isinstance(result.type, UnrankedTensorType) for result in op.results):
            raise self._reject(op, "the rank of its result is unknown")
        self._check_results(op)
        if not any(map(batch_axes, op.results)) and any(
            None in shape_of(r) for r in op.results if has_rank(r)
        ):
            raise self._reject(op, "a size of its result is unknown")
        self._propagate_inner(op)
        return repairs

    def _propagate_inner(self, op: Operation) -> None:
        """Copy the `inner` of operands to results whose batch axis has the same former size."""
        known = {value: self.inner[value] for value in op.operands if value in self.inner}
        for value, inner in known.items():
            size = self.old[value][batch_axes(value)[0]]
            for result in op.results:
                axes = batch_axes(result)
                known = result in self.old and result not in self.inner
                if axes and known and self.old[result][axes[0]] == size:
                    self.inner[result] = inner

    def _infers(self, op: Operation, repairs: Sequence[Repair]) -> bool:
        self._apply(op, repairs)
        forget_results(op)
        assert isinstance(op, InfersTypes)
        try:
            refine_results(op)
        except GradcError:
            return False
        return True

    def _apply(self, op: Operation, repairs: Sequence[Repair]) -> None:
        """Apply repairs to an op of the probe, and infer the types of the new ops."""
        if not repairs:
            return
        batch, block = Batch(PROBE, self.before, self.old), op.parent_block()
        assert block is not None
        known = set(block.ops)
        for repair in repairs:
            repair.apply(op, batch)
        for new in block.ops:
            if new not in known and isinstance(new, InfersTypes):
                refine_results(new)

    def _reshape_repairs(self, op: onnx.ReshapeOp) -> Iterator[Repair]:
        """Yield the entry of the shape to change; none if the shape already follows the data."""
        axes, shape = batch_axes(op.operands[0]), _shape_without_batch(op.operands[1])
        if shape is None:
            return
        if len(axes) != 1:
            raise self._reject(op, "its data has the batch on two axes")
        axis, data, target = axes[0], self.old[op.operands[0]], self.old.get(op.results[0], ())
        candidates = list(_entries_for(axis, self.inner.get(op.operands[0], 1), data, target, self.before))
        if not candidates:
            raise self._reject(op, f"its shape {shape} mixes the batch with other dims")
        found, self.inner[op.results[0]] = _best(candidates, data[axis + 1 :], target, self.before)
        if shape[found] == -1 or is_batch(shape[found]) or (shape[found] == 0 and found == axis):
            return
        if shape[found] % self.before or shape[found] <= 0:
            raise self._reject(op, f"its shape {shape} has no place for the batch")
        yield ShapeEntry(found, axis, tuple(shape))

    def _repeats(self, op: Operation) -> Iterator[Repair]:
        """Yield the operands that have the former batch where another operand has the new one."""
        states = [getattr(op, name, None) for name in STATES] if isinstance(op, RECURRENT) else []
        with_batch = next(value for value in op.operands if batch_axes(value))
        back = len(shape_of(with_batch)) - batch_axes(with_batch)[0]
        for index, value in enumerate(op.operands):
            shape = self.old.get(value, ())
            axis = len(shape) - back
            if isinstance(op, RECURRENT):
                axis = len(shape) // 3 if value in states else -1
            is_fixed = 0 <= axis < len(shape) and shape[axis] == self.before
            if batch_axes(value) or not is_fixed or not all(isinstance(n, int) for n in shape):
                continue
            if may_repeat(value, axis, self.before):
                yield Repeat(index, axis)

    def _check_results(self, op: Operation) -> None:
        """Check that each dim that changed is proportional to the batch."""
        for result in op.results:
            if not has_rank(result) or result not in self.old:
                continue
            for dim, before in zip(shape_of(result), self.old[result], strict=True):
                if not isinstance(dim, int) or not isinstance(before, int) or dim == before:
                    continue
                if dim * self.before != before * PROBE:
                    raise self._reject(op, "a size of its result is no multiple of the batch")

    def _reject(self, op: Operation, why: str) -> GradcError:
        self._rejected = op
        what = f"{self.what}: this op requires the batch {self.before}: {why}"
        return error_at(op, what, kind=UnsupportedError)


def shapes_by_value(function: FuncOp) -> dict[SSAValue, Shape]:
    """Return the shapes of all values of known rank."""
    return {value: shape_of(value) for value in _values(function) if has_rank(value)}


def _values(function: FuncOp) -> Iterator[SSAValue]:
    for op in function.walk():
        yield from op.results
        for region in op.regions:
            yield from region.block.args


def set_leading_dims(function: FuncOp, arguments: Sequence[int], size: int | str) -> None:
    """Set the leading dim of some arguments."""
    for index in arguments:
        set_dims(function.args[index], {0: size})


def set_dims(value: SSAValue, dims: Mapping[int, DimLike]) -> None:
    """Set some dims of a value."""
    found: list[DimLike] = [dims.get(axis, dim) for axis, dim in enumerate(shape_of(value))]
    set_type(value, tensor_type(element_type_of(value), found))


def forget_results(op: Operation) -> None:
    """Make the result dims of an op that infers types unknown; the ranks stay."""
    if not isinstance(op, InfersTypes) or isinstance(op, onnx.ConstantOp) or op.regions:
        return
    for result in op.results:
        if isinstance(result.type, TensorType):
            unknown = (None,) * len(shape_of(result))
            set_type(result, tensor_type(element_type_of(result), unknown))


def _shape_without_batch(value: SSAValue) -> list[int] | None:
    """Return the elements of a shape that does not depend on the batch, or None."""
    given, dims = ints_of(value), dims_of(value)
    if given is not None or dims is None:
        return given
    fixed = [dim for dim in dims if isinstance(dim, int) and not is_batch(dim)]
    return fixed if len(fixed) == len(dims) else None


def _entries_for(axis: int, inner: int, data: Shape, target: Shape, batch: int) -> Iterator[tuple[int, int]]:
    """Yield axes of a Reshape's result that may hold the batch, with the elements before it in the axis."""
    if axis == 0 and inner == 1 and target:
        yield 0, 1
        return
    before = _product(data[:axis])
    for j, dim in enumerate(target):
        start = _product(target[:j])
        if before is None or not start or not isinstance(dim, int) or before * inner % start:
            continue
        own = before * inner // start
        if dim % (own * batch) == 0:
            yield j, own


def _best(candidates: Sequence[tuple[int, int]], behind: Shape, target: Shape, batch: int) -> tuple[int, int]:
    """Return the best candidate: the batch ends its axis and the dims behind are unchanged or merged, else it
    fills its axis, else it begins its axis."""
    ends = [(j, own) for j, own in candidates if target[j] == own * batch]
    intact = [(j, own) for j, own in ends if target[j + 1 :] == behind]
    merged = [(j, own) for j, own in ends if _is_merged(behind, target[j + 1 :])]
    alone = [(j, own) for j, own in ends if own == 1]
    begins = [(j, own) for j, own in candidates if own == 1]
    return next(iter((*intact, *merged, *alone, *begins, *candidates)))


def _is_merged(dims: Shape, found: Shape) -> bool:
    """Return whether dims have become fewer of as many elements."""
    return len(found) < len(dims) and _product(found) == _product(dims) is not None


def _product(dims: Shape) -> int | None:
    known = [dim for dim in dims if isinstance(dim, int)]
    return math.prod(known) if len(known) == len(dims) else None
