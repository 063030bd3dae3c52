"""Batching rules of If, Loop and Scan: the bodies are vectorized, conditions and trip counts are not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from xdsl.dialects.builtin import TensorType, UnrankedTensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from dialects.onnx import ops as onnx
from dialects.support.shapes import element_type_of, has_rank, shape_of, tensor_type
from passes.builder.captured_values import values_read_by
from passes.vectorize.batch import Batch, OpCall, Operand, Result, Unbatched
from passes.vectorize.rows import row_type
from passes.vectorize.rules.axes import shift

SHAPE_ONLY = frozenset(
    ("EyeLike", "RandomNormalLike", "RandomUniformLike", "SequenceLength", "Shape", "Size")
)
"""Ops whose result is the same for all rows, as they read the shape of their operand only."""

WriteBody: TypeAlias = Callable[[Region, Sequence[bool], Sequence[bool]], Region]
"""(body, which arguments are batched, which results shall be) -> the body for all rows."""


@dataclass(frozen=True)
class Outer:
    """The values outside of a region that are batched, and the writer of bodies."""

    batched: Collection[SSAValue]
    write: WriteBody


RegionRule: TypeAlias = Callable[[OpCall, Batch, Outer], Sequence[Result] | None]


def if_(f: OpCall, b: Batch, outer: Outer) -> Sequence[Result] | None:
    """Vectorize both branches; a condition that differs between rows is left to the fallback."""
    condition = f.present[0]
    if condition.batched:
        return None
    op = f.op
    assert isinstance(op, onnx.IfOp)
    branches = op.regions_by_name()
    found = [_results(body, dependents(body.block, outer.batched)) for body in branches.values()]
    flags = list(map(any, zip(*found, strict=True)))
    if not _are_tensors(op.results, flags):
        return None
    new = onnx.IfOp(
        condition.value.value,
        result_types=_types(b, op.results, flags),
        then_branch=outer.write(branches["then_branch"], [], flags),
        else_branch=outer.write(branches["else_branch"], [], flags),
    )
    made = _emit(f, b, new)
    return [b.e(x) if flag else Unbatched(b.e(x)) for x, flag in zip(made, flags, strict=True)]


def loop(f: OpCall, b: Batch, outer: Outer) -> Sequence[Result] | None:
    """Vectorize the body; outputs of the steps get the new axis behind that of the steps, and are transposed.

    A trip count or a condition that differs between rows is left to the fallback.
    """
    count, condition, *states = f.operands
    op = f.op
    assert isinstance(op, onnx.LoopOp)
    (body,) = op.regions
    if any(x is not None and x.batched for x in (count, condition)):
        return None
    carried = [x for x in states if x is not None]
    given, made = _find_batched(body, [False, False, *(x.batched for x in carried)], 2, 1, outer.batched)
    initial = zip(carried, given[2:], strict=True)
    if made[0] or not all(x.batched or x.has_rank or x.is_empty_sequence for x, flag in initial if flag):
        return None
    new = _emit(f, b, _loop_op(b, op, f, carried, given, made, outer))
    results: list[Result] = []
    for index, (value, flag) in enumerate(zip(new, made[1:], strict=True)):
        if not flag:
            results.append(Unbatched(b.e(value)))
        elif index < len(carried) or not has_rank(value):
            results.append(b.e(value))
        else:
            results.append(b.move(b.e(value), 1, 0))
    return results


def _loop_op(
    b: Batch,
    op: onnx.LoopOp,
    f: OpCall,
    carried: Sequence[Operand],
    given: Sequence[bool],
    made: Sequence[bool],
    outer: Outer,
) -> Operation:
    count, condition = f.operands[:2]
    states = zip(carried, given[2:], strict=True)
    types = _types(b, op.results, made[1:])
    for index in range(len(carried), len(types)):
        if made[1 + index]:
            types[index] = _type_of_steps(b, op.results[index])
    return onnx.LoopOp(
        None if count is None else count.value.value,
        None if condition is None else condition.value.value,
        [(b.expand(x) if flag else x.value).value for x, flag in states],
        body=outer.write(op.regions[0], given, made),
        result_types=types,
    )


def _type_of_steps(b: Batch, value: SSAValue) -> Attribute:
    """Return the type of the outputs of all steps, before the new axis is moved to the front."""
    if not has_rank(value):
        return value.type
    steps, *others = shape_of(value)
    return tensor_type(element_type_of(value), (steps, b.dim, *others))


def scan(f: OpCall, b: Batch, outer: Outer) -> Sequence[Result] | None:
    """Vectorize the body; the steps follow the axis behind the new one."""
    op = f.op
    assert isinstance(op, onnx.ScanOp)
    (body,) = op.regions
    count = f.value("num_scan_inputs", 0)
    first = len(f.present) - count
    given, made = _find_batched(body, [x.batched for x in f.present], 0, 0, outer.batched, first)
    if not all(x.has_rank for x in f.present):
        return None
    states = [b.expand(x) if flag else x.value for x, flag in zip(f.present[:first], given, strict=False)]
    axes = f.value("scan_input_axes", None) or [0] * count
    out = f.value("scan_output_axes", None) or [0] * (len(made) - first)
    attributes = f.attributes
    attributes["scan_input_axes"] = [shift(a) if x else a for a, x in zip(axes, given[first:], strict=True)]
    attributes["scan_output_axes"] = [shift(a) if x else a for a, x in zip(out, made[first:], strict=True)]
    scanned = [x.value.value for x in f.present[first:]]
    new = onnx.ScanOp(
        [*(x.value for x in states), *scanned],
        body=outer.write(body, given, made),
        result_types=_types(b, op.results, made),
        **attributes,
    )
    found = _emit(f, b, new)
    return [b.e(x) if flag else Unbatched(b.e(x)) for x, flag in zip(found, made, strict=True)]


def _emit(f: OpCall, b: Batch, new: Operation) -> Sequence[SSAValue]:
    """Create an op in place of another, with its attributes."""
    new.attributes |= f.op.attributes
    return b.e.emit.all(new)


def dependents(block: Block, batched: Collection[SSAValue]) -> set[SSAValue]:
    """Return the values of a block, and of `batched` those that it reads, that depend on `batched`."""
    found: set[SSAValue] = set()
    for op in block.ops:
        known = [value for value in values_read_by(op) if value in found or value in batched]
        found.update(known)
        if known and op.name.removeprefix("onnx.") not in SHAPE_ONLY:
            found.update(op.results)
    return found


def _find_batched(
    body: Region,
    given: Sequence[bool],
    inputs: int,
    outputs: int,
    outside: Collection[SSAValue],
    states: int | None = None,
) -> tuple[list[bool], list[bool]]:
    """Return which arguments and results of a body are batched, where the state at argument `inputs + i` of
    one step is the result `outputs + i` of the one before."""
    flags, args = list(given), body.block.args
    count = len(args) - inputs if states is None else states
    while True:
        own = {arg for arg, flag in zip(args, flags, strict=True) if flag}
        made = _results(body, dependents(body.block, _Union(own, outside)))
        news = [i for i in range(count) if made[outputs + i] and not flags[inputs + i]]
        if not news:
            kept = [flag or (i < count and flags[inputs + i]) for i, flag in enumerate(made[outputs:])]
            return flags, [*made[:outputs], *kept]
        for i in news:
            flags[inputs + i] = True


class _Union(Collection[SSAValue]):
    """The union of two collections, which are not copied."""

    def __init__(self, own: Collection[SSAValue], outside: Collection[SSAValue]) -> None:
        self._parts = own, outside

    def __contains__(self, value: object) -> bool:
        return any(value in part for part in self._parts)

    def __iter__(self):
        return (value for part in self._parts for value in part)

    def __len__(self) -> int:
        return sum(map(len, self._parts))


def _results(body: Region, found: Collection[SSAValue]) -> list[bool]:
    """Return which results of a body are in a set of values."""
    last = body.block.last_op
    assert last is not None
    return [value in found for value in last.operands]


def _types(b: Batch, results: Sequence[SSAValue], flags: Sequence[bool]) -> list[Attribute]:
    return [row_type(x, b) if flag else x.type for x, flag in zip(results, flags, strict=True)]


def _are_tensors(results: Sequence[SSAValue], flags: Sequence[bool]) -> bool:
    pairs = zip(results, flags, strict=True)
    return all(isinstance(x.type, TensorType | UnrankedTensorType) for x, flag in pairs if flag)


RULES: Mapping[str, RegionRule] = MappingProxyType({"If": if_, "Loop": loop, "Scan": scan})
"""ONNX op with regions -> its rule."""
