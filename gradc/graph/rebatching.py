"""Change of a fixed batch size.

The batch is the leading dim of the first input. A probe replaces it by a size that occurs nowhere else,
infers all types, and so finds the ops whose constants repeat the batch; they are rewritten for the new size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.shapes.forms import Size
from dialects.support import entry
from dialects.support.diagnostics import (
    Diagnostic,
    GradcError,
    UnsupportedError,
    UsageError,
    error_at,
    usage,
)
from dialects.support.interfaces import InfersTypes, refine_results, set_type
from dialects.support.option_names import option
from dialects.support.shapes import (
    Dim,
    DimLike,
    Shape,
    element_type_of,
    has_rank,
    shape_of,
    show,
    tensor_type,
)
from gradc.graph.batch_repairs import Batch, Repair, Repeat, ShapeEntry, attribute_of, ints_of, may_repeat
from passes.builder.captured_values import values_read_by
from passes.infer_types import infer_types

PROBE = 1_000_003
"""A prime that no model has as a size: dims that are multiples of it come from the batch."""

AXIS_OPS = (
    *(onnx.ArgMaxOp, onnx.ArgMinOp, onnx.ConcatOp, onnx.GatherElementsOp, onnx.GatherOp, onnx.HardmaxOp),
    *(onnx.LogSoftmaxOp, onnx.LpNormalizationOp, onnx.ScatterElementsOp, onnx.SoftmaxOp, onnx.SplitOp),
    onnx.TopKOp,
)
"""Ops that treat the elements of one axis differently."""

INDEXING_OPS = (onnx.CompressOp, onnx.GatherNDOp, onnx.NonZeroOp, onnx.ScatterNDOp, onnx.UniqueOp)
"""Ops that address elements of their first operand by index."""

STATES = ("sequence_lens", "initial_h", "initial_c")
RECURRENT = (onnx.GRUOp, onnx.LSTMOp, onnx.RNNOp)


def change_batch(module: ModuleOp, size: int | str) -> ModuleOp:
    """Change the batch of a module to a size, or to a named dynamic dim.

    Raises UsageError for a graph without a fixed batch, and UnsupportedError at an op that prevents it.
    """
    function = entry.entry_function(module)
    arguments, before = _batch_inputs(function, size)
    check_new_size(function, "rebatch", size)
    return set_batch(module, arguments, before, size, option("rebatch", size))


def set_batch(
    module: ModuleOp, arguments: Sequence[int], before: int, size: int | str, what: str
) -> ModuleOp:
    """Change the leading dim of some arguments of a module from one size to another.

    Raises UnsupportedError, which begins with `what`, at an op that prevents it.
    """
    function = entry.entry_function(module)
    probe = module.clone()
    repairs = _Probe(entry.entry_function(probe), arguments, what, before).repairs()
    batch = Batch(size, before, _shapes(function), function.args[arguments[0]])
    ops = list(function.body.block.ops)
    set_leading_dims(function, arguments, size)
    for index, op in enumerate(ops):
        for repair in repairs.get(index, ()):
            repair.apply(op, batch)
    infer_again(module)
    return module


def probe_batch(module: ModuleOp, arguments: Sequence[int], before: int, what: str) -> ModuleOp:
    """Return a copy of a module whose batch is PROBE instead of a fixed one; raises as `set_batch`."""
    probe = module.clone()
    _Probe(entry.entry_function(probe), arguments, what, before).repairs()
    return probe


def infer_again(module: ModuleOp) -> None:
    """Infer all types of a module from those of its arguments."""
    function = entry.entry_function(module)
    for op in function.walk():
        _forget_results(op)
    infer_types(module)
    entry.drop_declared_types(function)
    entry.update_function_type(function)


def _batch_inputs(function: FuncOp, size: int | str) -> tuple[list[int], int]:
    """Return the indices of the inputs whose leading dim is the batch, and the batch size."""
    named = zip(entry.input_names(function), function.args, strict=True)
    defaults = entry.defaults(function)
    leading = {
        index: shape_of(value)[0]
        for index, (name, value) in enumerate(named)
        if name not in defaults and has_rank(value) and shape_of(value)
    }
    what = option("rebatch", size)
    if not leading:
        raise UsageError(Diagnostic("error", f"{what}: no input has a leading dim"))
    first, before = next(iter(leading.items()))
    if not isinstance(before, int) or not before:
        name, shape = entry.input_names(function)[first], show(shape_of(function.args[first]))
        hint = f"{option('static_shapes')} alone gives a dynamic batch a size"
        raise usage(what, f"{name} {shape}", "an input with a fixed batch", hint)
    return [index for index, dim in leading.items() if dim == before], before


def check_new_size(function: FuncOp, what: str, size: int | str) -> None:
    """Raise UsageError if an option gives a new size the name of another dim."""
    dims = [str(dim) for value in function.args if has_rank(value) for dim in shape_of(value) if dim]
    if isinstance(size, str) and size in dims:
        given, expected = option(what, size), "a name that no other dim has"
        raise usage(given, expected=expected)


def set_leading_dims(function: FuncOp, arguments: Sequence[int], size: int | str) -> None:
    """Set the leading dim of some arguments."""
    for index in arguments:
        value = function.args[index]
        dims: list[DimLike] = [size, *shape_of(value)[1:]]
        set_type(value, tensor_type(element_type_of(value), dims))


def _shapes(function: FuncOp) -> dict[SSAValue, Shape]:
    values = [*function.args, *(result for op in function.walk() for result in op.results)]
    return {value: shape_of(value) for value in values if has_rank(value)}


def _forget_results(op: Operation) -> None:
    """Make the result dims of an op that infers types unknown; the ranks stay."""
    if not isinstance(op, InfersTypes) or isinstance(op, onnx.ConstantOp) or op.regions:
        return
    for result in op.results:
        if isinstance(result.type, TensorType):
            unknown = (None,) * len(shape_of(result))
            set_type(result, tensor_type(element_type_of(result), unknown))


@dataclass
class _Probe:
    """Walk over a function whose batch is PROBE."""

    function: FuncOp
    arguments: Sequence[int]
    what: str
    before: int
    old: dict[SSAValue, Shape] = field(default_factory=dict)
    inner: dict[SSAValue, int] = field(default_factory=dict)
    """The number of elements before the batch within its axis, where other dims are merged into it."""

    def repairs(self) -> dict[int, list[Repair]]:
        self.old = _shapes(self.function)
        set_leading_dims(self.function, self.arguments, PROBE)
        found: dict[int, list[Repair]] = {}
        for index, op in enumerate(list(self.function.body.block.ops)):
            if op is not entry.return_op(self.function) and any(map(batch_axes, values_read_by(op))):
                found[index] = self._repairs_of(op)
        return found

    def _repairs_of(self, op: Operation) -> list[Repair]:
        if op.regions or not isinstance(op, InfersTypes):
            raise self._reject(op, "an op with subgraphs" if op.regions else "an op of unknown shapes")
        if (why := obstacle(op)) is not None:
            raise self._reject(op, why)
        repairs = list(self._reshape_repairs(op) if isinstance(op, onnx.ReshapeOp) else ())
        repairs += self._repeats(op) if isinstance(op, RECURRENT) else ()
        if not self._infers(op, repairs):
            repairs = list(self._repeats(op))
            if not self._infers(op, repairs):
                raise self._reject(op, f"its other sizes fit a batch of {self.before}")
        self._check_results(op)
        self._propagate_inner(op)
        return repairs

    def _propagate_inner(self, op: Operation) -> None:
        """Copy the `inner` of operands to results whose batch axis has the same former size."""
        known = {value: self.inner[value] for value in op.operands if value in self.inner}
        for value, inner in known.items():
            size = self.old[value][batch_axes(value)[0]]
            for result in op.results:
                axes = batch_axes(result)
                if axes and result not in self.inner and self.old[result][axes[0]] == size:
                    self.inner[result] = inner

    def _infers(self, op: Operation, repairs: Sequence[Repair]) -> bool:
        batch, block = Batch(PROBE, self.before, self.old), self.function.body.block
        known = set(block.ops) if repairs else set[Operation]()
        for repair in repairs:
            repair.apply(op, batch)
        for new in block.ops if repairs else ():
            if new not in known and isinstance(new, InfersTypes):
                refine_results(new)
        _forget_results(op)
        assert isinstance(op, InfersTypes)
        try:
            refine_results(op)
        except GradcError:
            return False
        return True

    def _reshape_repairs(self, op: onnx.ReshapeOp) -> Iterator[Repair]:
        """Yield the entry of the shape to change; none if the shape already follows the data."""
        axes, shape = batch_axes(op.operands[0]), ints_of(op.operands[1])
        if shape is None:
            return
        if len(axes) != 1:
            raise self._reject(op, "its data has the batch on two axes")
        axis, data, target = axes[0], self.old[op.operands[0]], self.old.get(op.results[0], ())
        candidates = list(_entries_for(axis, self.inner.get(op.operands[0], 1), data, target, self.before))
        if not candidates:
            raise self._reject(op, f"its shape {shape} mixes the batch with other dims")
        found, self.inner[op.results[0]] = _best(candidates, data[axis + 1 :], target, self.before)
        if shape[found] == -1 or (shape[found] == 0 and found == axis):
            return
        if shape[found] % self.before or shape[found] <= 0:
            raise self._reject(op, f"its shape {shape} has no place for the batch")
        yield ShapeEntry(found, axis)

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
        what = f"{self.what}: this op requires the batch {self.before}: {why}"
        return error_at(op, what, kind=UnsupportedError)


def batch_axes(value: SSAValue) -> list[int]:
    """Return the axes of a value of the probe whose sizes come from the batch."""
    if not has_rank(value):
        return []
    return [i for i, dim in enumerate(shape_of(value)) if _is_multiple(dim)]


def _is_multiple(dim: Dim) -> bool:
    """Return whether a dim is a multiple of PROBE, such as PROBE*T, other than 0."""
    if isinstance(dim, Size):
        return all(factor % PROBE == 0 for _, factor in dim.terms)
    return dim is not None and dim != 0 and dim % PROBE == 0


def _axis(op: OnnxOp) -> int:
    return attribute_of(op, "axis", onnx.default_of(op.onnx_name(), "axis"))


def obstacle(op: Operation) -> str | None:
    """Return the reason why an op treats elements of the batch differently, or None."""
    axes, rank = batch_axes(op.operands[0]), 0
    if not axes:
        return None
    rank = len(shape_of(op.operands[0]))
    if isinstance(op, INDEXING_OPS):
        return "it addresses elements by index"
    if (
        isinstance(op, AXIS_OPS)
        and attribute_of(op, "axis", onnx.default_of(op.onnx_name(), "axis")) % rank in axes
    ):
        return "it works along the batch"
    if isinstance(op, onnx.FlattenOp) and attribute_of(op, "axis", 1) % (rank + 1) <= axes[0]:
        return "it flattens the batch with what follows"
    if isinstance(op, onnx.SqueezeOp) and not set(axes).isdisjoint(_squeeze_axes(op, rank)):
        return "it removes the batch"
    if isinstance(op, onnx.CumSumOp) and _touches(op.operands[1], axes, rank):
        return "it works along the batch"
    if isinstance(op, onnx.SliceOp) and _cuts(op, axes, rank):
        return "it takes a part of the batch"
    return None


def _squeeze_axes(op: Operation, rank: int) -> list[int]:
    given = ints_of(op.operands[1]) if len(op.operands) > 1 else None
    return [axis % rank for axis in given or ()]


def _touches(vector: SSAValue, axes: Sequence[int], rank: int) -> bool:
    given = ints_of(vector)
    return given is None or any(axis % rank in axes for axis in given)


def _cuts(op: onnx.SliceOp, axes: Sequence[int], rank: int) -> bool:
    """Return whether a Slice takes less than all of one of the axes."""
    starts, ends = ints_of(op.operands[1]), ints_of(op.operands[2])
    if len(op.operands) > 3:
        given = ints_of(op.operands[3])
    else:
        given = None if starts is None else list(range(len(starts)))
    if given is None:
        return True
    if starts is not None and ends is not None:
        bounds = zip(given, starts, ends, strict=True)
        given = [axis for axis, first, last in bounds if first or last < 2**31 - 1]
    return not set(axes).isdisjoint(axis % rank for axis in given)


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
    """Return the best candidate: the batch ends its axis and the dims behind are unchanged, else it fills its
    axis, else it begins its axis."""
    ends = [(j, own) for j, own in candidates if target[j] == own * batch]
    intact = [(j, own) for j, own in ends if target[j + 1 :] == behind]
    alone = [(j, own) for j, own in ends if own == 1]
    begins = [(j, own) for j, own in candidates if own == 1]
    return next(iter((*intact, *alone, *begins, *candidates)))


def _product(dims: Shape) -> int | None:
    known = [dim for dim in dims if isinstance(dim, int)]
    return math.prod(known) if len(known) == len(dims) else None
