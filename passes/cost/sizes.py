"""Prices for unknown sizes: copies of the ops at several sizes."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from dialects.grad.layout import LayoutOp
from dialects.onnx.base import OnnxOp
from dialects.support import shapes
from dialects.support.diagnostics import GradcError
from dialects.support.interfaces import InfersTypes, refine_results, set_type
from dialects.support.shapes import Dim, element_type_of, shape_of


@dataclass(frozen=True)
class Sizes:
    """Sizes assumed for unknown ones: the first axis, the channels, and any other axis."""

    batch: int
    channels: int
    spatial: int

    def of(self, dim: Dim, axis: int, channels: int) -> int:
        if isinstance(dim, int):
            return dim
        if axis == 0:
            return self.batch
        return self.channels if axis == channels else self.spatial


SIZES = (Sizes(1, 64, 7), Sizes(1, 64, 56), Sizes(1, 64, 224), Sizes(8, 64, 28))
"""Small, medium and large images, and a batch. The worst of them decides."""

TYPICAL = 1
"""Index of the most typical of SIZES."""


def has_unknown(op: Operation) -> bool:
    """Return whether a size of an operand or result is unknown at compile time."""
    return any(not shapes.is_static(shape_of(value)) for value in (*op.operands, *op.results))


@contextmanager
def at_sizes(
    source: Operation, ops: Sequence[Operation], results: Sequence[SSAValue], sizes: Sizes
) -> Generator[tuple[list[Operation], list[SSAValue]] | None]:
    """Yield copies of the ops that lower `source`, and of their results, at these sizes.

    None if the ops contradict the sizes. The copies live as long as the context.
    """
    values = _static_operands(source, sizes)
    made: list[Operation] = []
    try:
        known = _copies(ops, values, made)
        yield (made, [values.get(result, result) for result in results]) if known else None
    finally:
        for op in reversed(made):
            op.drop_all_references()


@contextmanager
def problem_at(op: Operation, sizes: Sizes) -> Generator[Operation | None]:
    """Yield a copy of the op at these sizes, in no block, while the context lasts.

    None if it contradicts them, or if a size of its result is still unknown.
    """
    values = _static_operands(op, sizes)
    other = type(op).create(
        operands=[values.get(value, value) for value in op.operands],
        result_types=op.result_types,
        properties=op.properties,
    )
    try:
        yield other if _is_known(other) else None
    finally:
        other.drop_all_references()


def _is_known(op: Operation) -> bool:
    """Refine the results; return whether the op accepts its operands and all sizes are known."""
    if not isinstance(op, InfersTypes):
        return False
    try:
        refine_results(op)
    except GradcError:
        return False
    return not has_unknown(op)


def shared_sizes(op: Operation) -> list[Sizes]:
    """Return `SIZES`, each replaced by the first that gives the op the same shapes."""
    first: dict[object, Sizes] = {}
    return [first.setdefault(_static_shapes(op, sizes), sizes) for sizes in SIZES]


def _static_shapes(op: Operation, sizes: Sizes) -> tuple[tuple[int, ...], ...]:
    channels = channel_axis(op)
    return tuple(
        tuple(sizes.of(dim, axis, channels) for axis, dim in enumerate(shape_of(operand)))
        for operand in op.operands
    )


def _static_operands(op: Operation, sizes: Sizes) -> dict[SSAValue, SSAValue]:
    """Return static values that replace operands of unknown sizes."""
    values: dict[SSAValue, SSAValue] = {}
    for operand, shape in zip(op.operands, _static_shapes(op, sizes), strict=True):
        if not shapes.is_static(shape_of(operand)):
            (values[operand],) = Block(arg_types=[shapes.tensor_type(element_type_of(operand), shape)]).args
    return values


def channel_axis(op: Operation) -> int:
    """Return the index of the channel axis of an op's data."""
    last = isinstance(op, LayoutOp) and op.layout == "NXC"
    return len(shape_of(op.results[0])) - 1 if last else 1


def _copies(ops: Sequence[Operation], values: dict[SSAValue, SSAValue], made: list[Operation]) -> bool:
    """Fill `made` and `values`; return False if an op rejects its operands."""
    for op in ops:
        assert isinstance(op, OnnxOp)
        operands = [values.get(value, value) for value in op.operands]
        if all(a is b for a, b in zip(operands, op.operands, strict=True)):
            made.append(op.clone())
            values |= zip(op.results, made[-1].results, strict=True)
            continue
        copy = type(op).create(operands=operands, result_types=op.result_types, properties=op.properties)
        made.append(copy)
        try:
            types = copy.infer_result_types()
        except GradcError:
            return False
        for old, new, type_ in zip(op.results, copy.results, types, strict=True):
            if type_ is not None:
                set_type(new, type_)
            values[old] = new
    return True
