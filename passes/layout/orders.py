"""Ops that can be written for any order of their data's axes: which they are, and how they move.

An order is a permutation as Transpose takes it: axis i of a tensor in an order is axis order[i] of the
tensor as it is given.
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
from passes.emit.rewriting import Emitter
from passes.emit.shape_math import ShapeMath

Order = tuple[int, ...]
OpT = TypeVar("OpT", bound=Operation)

ON_AXES = (ResizeBackwardOp, ResizeBackwardDynamicOp, TakeWindowOp)
"""Ops with an attribute `axes` into their first operand."""

ELEMENTWISE = (
    traits.FUNCTIONS
    | traits.BITWISE_FUNCTIONS
    | traits.TESTS
    | traits.BROADCASTING - frozenset(("StringConcat",))
)
"""Ops that take any order, if all their operands are in it: sums of gradients, masks."""

ON_FIRST = traits.CONVERSIONS | traits.BOUNDED | frozenset(("Pad",))
"""Ops that take any order of their first operand, whatever the others are."""


@lru_cache
def compose(first: Order, then: Order) -> Order:
    """The order that a tensor in order `first` has after a Transpose by `then`."""
    return tuple(first[axis] for axis in then)


@lru_cache
def inverse(order: Order) -> Order:
    return tuple(order.index(axis) for axis in range(len(order)))


def identity(rank: int) -> Order:
    return tuple(range(rank))


def layout_orders(rank: int) -> list[Order]:
    """What a Transpose between the layouts may do to a tensor of that rank; nothing to one of rank 0."""
    if rank == 0:
        return []
    pairs = [(source, target) for source in DATA_LAYOUTS for target in DATA_LAYOUTS]
    return [layouts.permutation(source, target, rank - 2) for source, target in pairs]


def transposable_operands(op: Operation) -> tuple[int, ...]:
    """Which operands move with an op of free layout: the first, all of a gradient of windows, or all of the
    result's rank.

    What has a lower rank broadcasts along the first axes, and is given axes of size 1 where the op moves.
    """
    if isinstance(op, WindowedGradOp):
        return tuple(range(len(op.operands)))
    if _kind(op) not in ELEMENTWISE:
        return (0,)
    rank = len(shape_of(op.results[0]))
    return tuple(i for i, operand in enumerate(op.operands) if len(shape_of(operand)) == rank)


def data_of(op: Operation) -> list[SSAValue]:
    """The operands that move with an op of free layout."""
    return [op.operands[index] for index in transposable_operands(op)]


def is_result_transposable(op: Operation) -> bool:
    """Whether the result of an op of free layout has the order of the data: that of a reduction may lack
    axes, and weights have an order of their own."""
    if isinstance(op, WindowedGradOp):
        return op.RESULTS[0] in op.LAYOUT_PORTS
    return len(shape_of(op.results[0])) == len(shape_of(op.operands[transposable_operands(op)[0]]))


def _kind(op: Operation) -> str:
    """ONNX's name of an op of its dialect."""
    return op.name.removeprefix("onnx.")


def orders_of(op: Operation) -> list[Order]:
    """The orders of its data and its result for which an op can be written, as given first.

    Empty for an op that is bound to the order that it has.
    """
    if isinstance(op, LayoutOp | WindowedGradOp):
        given = op.layout
        return [
            layouts.permutation(given, layout, op.spatial_rank)
            for layout in (given, *(other for other in DATA_LAYOUTS if other != given))
        ]
    found = list(dict.fromkeys(layout_orders(_free_rank(op))))
    return [order for order in found if _keeps(op, order)] if _kind(op) in traits.REDUCTIONS else found


def _keeps(op: Operation, order: Order) -> bool:
    """Whether the axes that a reduction leaves follow each other as before."""
    axes = reduced_axes(op)
    left = [axis for axis in order if axis not in axes]
    return is_result_transposable(op) or left == sorted(left)


def reduced_axes(op: Operation) -> tuple[int, ...]:
    """The axes of a reduction, counted from the first; () if it has none, or only run time knows them."""
    given = constant_value(op.operands[1]) if len(op.operands) > 1 else None
    rank = len(shape_of(op.operands[0]))
    return () if given is None else tuple(sorted(int(axis) % rank for axis in given))


def _free_rank(op: Operation) -> int:
    """The rank of the data of an op that takes any order; 0 for others, and where layouts mean nothing."""
    kind = _kind(op)
    if not isinstance(op, ON_AXES) and kind not in ELEMENTWISE | ON_FIRST | traits.REDUCTIONS:
        return 0
    if isinstance(op, onnx.PadOp) and op.axes is not None:
        return 0
    if not all(map(has_rank, (*op.operands, *op.results))):
        return 0
    if kind in traits.REDUCTIONS and not reduced_axes(op):
        return 0
    data = data_of(op)
    if not data or (kind not in traits.REDUCTIONS and not is_result_transposable(op)):
        return 0
    rank = len(shape_of(data[0]))
    return rank if rank in (3, 4, 5) else 0


def reordered(value: SSAValue, order: Order) -> TensorType:
    """The type of a tensor in another order."""
    return tensor_type(element_type_of(value), [shape_of(value)[axis] for axis in order])


def moved(op: OpT, order: Order, data: Sequence[SSAValue], emit: Emitter) -> OpT:
    """The op on `data`, its `data_of` in one of its `orders_of`; so is its result then, if it moves."""
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
        operands[1] = ShapeMath(emit).take(op.pads, [*order, *(len(order) + axis for axis in order)])
    elif _kind(op) in traits.REDUCTIONS:
        operands[1] = ShapeMath(emit).vector(sorted(order.index(axis) for axis in reduced_axes(op)))
    elif _kind(op) in ELEMENTWISE:
        operands = [
            operand if index in moving else _spread(operand, order, emit)
            for index, operand in enumerate(operands)
        ]
    result = reordered(op.results[0], order) if is_result_transposable(op) else op.results[0].type
    return type(op).create(
        operands=operands,
        result_types=[result],
        properties=properties,
        attributes=op.attributes,
        location=op.location,
    )


def _spread(value: SSAValue, order: Order, emit: Emitter) -> SSAValue:
    """A tensor that broadcasts along the last axes, with axes of size 1 between its own for an order."""
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
    return emit(onnx.UnsqueezeOp(ordered, ShapeMath(emit).vector(ones)))


@contextmanager
def layout_variant(op: OpT, order: Order, data: Sequence[SSAValue] = ()) -> Generator[OpT]:
    """`moved`, in no block, for as long as the context lasts.

    It reads `data`, or values that are nothing but their types.
    """
    data = data or Block(arg_types=[reordered(value, order) for value in data_of(op)]).args
    other = moved(op, order, data, Emitter())
    try:
        yield other
    finally:
        other.drop_all_references()


def subsets(orders: Sequence[Order]) -> Iterator[frozenset[Order]]:
    """All subsets, smaller ones before those that contain them."""
    for bits in range(1 << len(orders)):
        yield frozenset(order for i, order in enumerate(orders) if bits >> i & 1)
