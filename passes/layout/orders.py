"""Ops that work in any axis order of their data, and their rewriting.

An order is a permutation as in Transpose: axis i of the reordered tensor is axis order[i] of the original.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TypeVar

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Block, Operation, SSAValue

from dialects.grad.conv import TakeWindowOp
from dialects.grad.layout import DATA_LAYOUTS, LayoutOp
from dialects.grad.resize import ResizeBackwardDynamicOp, ResizeBackwardOp
from dialects.grad.windowed import WindowedGradOp
from dialects.onnx import ops as onnx
from dialects.onnx import traits
from dialects.support import layouts
from dialects.support.attributes import INTS
from dialects.support.constants import constant_value
from dialects.support.shapes import element_type_of, has_rank, shape_of, tensor_type
from passes.builder.op_builder import OpBuilder

Order = tuple[int, ...]
OpT = TypeVar("OpT", bound=Operation)

ON_AXES = (ResizeBackwardOp, ResizeBackwardDynamicOp, TakeWindowOp)
"""Ops with an attribute `axes` that refers to their first operand."""

ELEMENTWISE = (
    traits.FUNCTIONS
    | traits.BITWISE_FUNCTIONS
    | traits.TESTS
    | traits.BROADCASTING - frozenset(("StringConcat",))
)
"""Ops that work in any order shared by all operands: sums of gradients, masks."""

ON_FIRST = traits.CONVERSIONS | traits.BOUNDED | frozenset(("Pad",))
"""Ops that work in any order of their first operand alone."""


@lru_cache
def compose(first: Order, then: Order) -> Order:
    """Return the order of a tensor in order `first` after a Transpose by `then`."""
    return tuple(first[axis] for axis in then)


@lru_cache
def inverse(order: Order) -> Order:
    return tuple(order.index(axis) for axis in range(len(order)))


def identity(rank: int) -> Order:
    return tuple(range(rank))


def layout_orders(rank: int) -> list[Order]:
    """Return the permutations between layouts for tensors of a rank; none for rank 0."""
    if rank == 0:
        return []
    pairs = [(source, target) for source in DATA_LAYOUTS for target in DATA_LAYOUTS]
    return [layouts.permutation(source, target, rank - 2) for source, target in pairs]


def transposable_operands(op: Operation) -> tuple[int, ...]:
    """Return the operands that change order with an op: the first, all of a gradient of windows, or those of
    the result's rank. One of lower rank broadcasts along the first axes, and gets axes of size 1."""
    if isinstance(op, WindowedGradOp):
        return tuple(range(len(op.operands)))
    if _kind(op) not in ELEMENTWISE:
        return (0,)
    rank = len(shape_of(op.results[0]))
    return tuple(i for i, operand in enumerate(op.operands) if len(shape_of(operand)) == rank)


def data_of(op: Operation) -> list[SSAValue]:
    """Return the operands that change order with an op."""
    return [op.operands[index] for index in transposable_operands(op)]


def is_result_transposable(op: Operation) -> bool:
    """Return whether the result of an op has the order of the data: a reduction may drop axes, and weights
    have another layout."""
    if isinstance(op, WindowedGradOp):
        return op.RESULTS[0] in op.LAYOUT_PORTS
    return len(shape_of(op.results[0])) == len(shape_of(op.operands[transposable_operands(op)[0]]))


def _kind(op: Operation) -> str:
    """Return the ONNX name of an op of its dialect."""
    return op.name.removeprefix("onnx.")


def orders_of(op: Operation) -> list[Order]:
    """Return the orders in which an op can work, the current one first; empty for a fixed layout."""
    if isinstance(op, LayoutOp | WindowedGradOp):
        given = op.layout
        return [
            layouts.permutation(given, layout, op.spatial_rank)
            for layout in (given, *(other for other in DATA_LAYOUTS if other != given))
        ]
    found = list(dict.fromkeys(layout_orders(_free_rank(op))))
    return [order for order in found if _keeps(op, order)] if _kind(op) in traits.REDUCTIONS else found


def _keeps(op: Operation, order: Order) -> bool:
    """Return whether the axes left by a reduction keep their relative order."""
    axes = reduction_axes(op)
    left = [axis for axis in order if axis not in axes]
    return is_result_transposable(op) or left == sorted(left)


def reduction_axes(op: Operation) -> tuple[int, ...]:
    """Return the nonnegative axes of a reduction; () if there are none, or they are dynamic."""
    given = constant_value(op.operands[1]) if len(op.operands) > 1 else None
    rank = len(shape_of(op.operands[0]))
    return () if given is None else tuple(sorted(int(axis) % rank for axis in given))


def _free_rank(op: Operation) -> int:
    """Return the rank of the data of an op that works in any order, 0 for any other op or rank."""
    kind = _kind(op)
    if not isinstance(op, ON_AXES) and kind not in ELEMENTWISE | ON_FIRST | traits.REDUCTIONS:
        return 0
    if isinstance(op, onnx.PadOp) and op.axes is not None:
        return 0
    if not all(map(has_rank, (*op.operands, *op.results))):
        return 0
    if kind in traits.REDUCTIONS and not reduction_axes(op):
        return 0
    data = data_of(op)
    if not data or (kind not in traits.REDUCTIONS and not is_result_transposable(op)):
        return 0
    rank = len(shape_of(data[0]))
    return rank if rank in (3, 4, 5) else 0


def type_in_order(value: SSAValue, order: Order) -> TensorType:
    """Return the type of a tensor in another order."""
    return tensor_type(element_type_of(value), [shape_of(value)[axis] for axis in order])


def with_order(op: OpT, order: Order, data: Sequence[SSAValue], emit: OpBuilder) -> OpT:
    """Return the op in one of its `orders_of`, reading `data` for its `data_of`."""
    properties = dict(op.properties)
    moving = dict(zip(transposable_operands(op), data, strict=True))
    operands = [moving.get(index, operand) for index, operand in enumerate(op.operands)]
    if isinstance(op, LayoutOp | WindowedGradOp):
        given = op.layout
        (layout,) = (
            layout
            for layout in DATA_LAYOUTS
            if layouts.permutation(given, layout, op.spatial_rank) == order and layout != given
        )
        properties["layout"] = StringAttr(layout)
    elif isinstance(op, ON_AXES):
        properties["axes"] = INTS.encode([order.index(axis) for axis in op.axes])
    elif isinstance(op, onnx.PadOp):
        operands[1] = emit.take(op.pads, [*order, *(len(order) + axis for axis in order)])
    elif _kind(op) in traits.REDUCTIONS:
        operands[1] = emit.ints(sorted(order.index(axis) for axis in reduction_axes(op)))
    elif _kind(op) in ELEMENTWISE:
        operands = [
            operand if index in moving else _insert_axes(operand, order, emit)
            for index, operand in enumerate(operands)
        ]
    result = type_in_order(op.results[0], order) if is_result_transposable(op) else op.results[0].type
    return type(op).create(
        operands=operands,
        result_types=[result],
        properties=properties,
        attributes=op.attributes,
        location=op.location,
    )


def _insert_axes(value: SSAValue, order: Order, emit: OpBuilder) -> SSAValue:
    """Reorder an operand that broadcasts along the last axes, inserting axes of size 1."""
    rank, own = len(order), len(shape_of(value))
    if own == 0:
        return value
    added = rank - own
    places = [axis for axis in order if axis >= added]
    ordered = (
        emit(onnx.TransposeOp(value, perm=[axis - added for axis in places]))
        if places != sorted(places)
        else value
    )
    ones = [index for index, axis in enumerate(order) if axis < added]
    return emit(onnx.UnsqueezeOp(ordered, emit.ints(ones)))


@contextmanager
def layout_variant(op: OpT, order: Order, data: Sequence[SSAValue] = ()) -> Generator[OpT]:
    """Yield a `with_order` op, in no block, while the context lasts.

    It reads `data`, or by default block arguments of the same types.
    """
    data = data or Block(arg_types=[type_in_order(value, order) for value in data_of(op)]).args
    other = with_order(op, order, data, OpBuilder())
    try:
        yield other
    finally:
        other.drop_all_references()


def subsets(orders: Sequence[Order]) -> Iterator[frozenset[Order]]:
    """Yield all subsets, each after its own subsets."""
    for bits in range(1 << len(orders)):
        yield frozenset(order for i, order in enumerate(orders) if bits >> i & 1)
