"""A function as tensors, and ops that can read and write them in other axis orders.

Transposes are not ops here: their result is the tensor that they read, in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from dialects.grad.layout import LayoutOp
from dialects.onnx import ops as onnx
from dialects.support.shapes import has_rank, shape_of
from passes.builder.captured_values import uses_by, values_read_by
from passes.builder.op_builder import OpBuilder
from passes.builder.operands import set_operand
from passes.layout.orders import (
    Order,
    compose,
    identity,
    inverse,
    is_result_transposable,
    layout_orders,
    orders_of,
    transposable_operands,
    with_order,
)
from passes.onnxruntime.fusions import fused_ops

Choice = dict[Operation, Order]
"""Order of each op of free layout."""


@dataclass(eq=False)
class Tensor:
    """A value and all its Transposes, with orders relative to the value.

    A value without a rank has the empty order. `fixed` are the orders in which ops of fixed layout, including
    the return, read it; `within` is that without the return. `readers` are the ops of free layout, each with
    the order that it reads now.
    """

    value: SSAValue
    fixed: set[Order] = field(default_factory=set)
    within: set[Order] = field(default_factory=set)
    readers: list[tuple[Operation, Order]] = field(default_factory=list)

    @property
    def given(self) -> Order:
        return identity(len(shape_of(self.value))) if has_rank(self.value) else ()

    @cached_property
    def maker(self) -> Operation | None:
        """The op that defines the value, if the value has that op's order."""
        owner = self.value.owner
        return owner if isinstance(owner, Operation) and not _stays(owner) else None

    def free_ops(self) -> list[Operation]:
        """Return the op of free layout that defines the tensor, if any, and those that read it."""
        made = [] if self.maker is None else [self.maker]
        return [*made, *(op for op, _ in self.readers)]

    def made(self, choice: Choice) -> Order:
        """Return the order in which the tensor is defined."""
        return self.given if self.maker is None else choice.get(self.maker, self.given)

    def needs(self, choice: Choice) -> set[Order]:
        """Return the orders in which it is read."""
        return self.fixed | self.between(choice)

    def between(self, choice: Choice) -> set[Order]:
        """Return the orders in which ops other than the return read it."""
        return self.within | {compose(read, choice[op]) for op, read in self.readers}


OperandOrder = tuple[Tensor, Order]
"""An operand: a tensor in an order."""


@dataclass(eq=False)
class Component:
    """Ops of free layout connected by tensors, and the orders that they suggest.

    A convolution suggests the order of its other layout, a Transpose those between layouts, other ops none.
    `transposed`: one of the tensors is transposed.
    """

    ops: list[Operation] = field(default_factory=list)
    suggested: set[Order] = field(default_factory=set)
    transposed: bool = False


@dataclass
class OrderGraph:
    """`operands` are those of each op but Transposes, captures included; `reads` the data of each op of free
    layout. Both are in program order."""

    tensors: dict[SSAValue, Tensor] = field(default_factory=dict)
    operands: dict[Operation, list[OperandOrder]] = field(default_factory=dict)
    reads: dict[Operation, list[OperandOrder]] = field(default_factory=dict)

    @classmethod
    def of(cls, function: FuncOp) -> OrderGraph:
        graph, fused = cls(), fused_ops(function)
        places: dict[SSAValue, OperandOrder] = {value: graph._add(value) for value in function.args}
        for op in function.body.block.ops:
            if isinstance(op, onnx.TransposeOp) and has_rank(op.data):
                tensor, order = places[op.data]
                places[op.transposed] = (tensor, compose(order, _perm(op)))
                continue
            read = [places[value] for value in values_read_by(op)]
            graph._read(op, read, is_free=op not in fused)
            places |= {value: graph._add(value) for value in op.results}
        return graph

    def _add(self, value: SSAValue) -> OperandOrder:
        tensor = self.tensors[value] = Tensor(value)
        return tensor, tensor.given

    def _read(self, op: Operation, places: list[OperandOrder], is_free: bool) -> None:
        self.operands[op] = places
        moving = transposable_operands(op) if is_free and orders_of(op) else ()
        if moving:
            self.reads[op] = [places[index] for index in moving]
        for index, (tensor, read) in enumerate(places):
            if index in moving:
                tensor.readers.append((op, read))
            elif not isinstance(op, onnx.ShapeOp):
                tensor.fixed.add(read)
                tensor.within |= set() if isinstance(op, ReturnOp) else {read}

    def components(self) -> list[Component]:
        joined = _DisjointSets()
        for op, places in self.reads.items():
            joined.join(self._around(op, places))
        transposed = {tensor for tensor in self.tensors.values() if _is_transposed(tensor)}
        found: dict[Tensor, Component] = {}
        for op, places in self.reads.items():
            tensors = self._around(op, places)
            component = found.setdefault(joined.first(tensors[0]), Component())
            component.ops.append(op)
            if isinstance(op, LayoutOp):
                component.suggested.update(orders_of(op))
            if any(tensor in transposed for tensor in tensors):
                component.transposed = True
                component.suggested.update(layout_orders(len(tensors[0].given)))
        return list(found.values())

    def _around(self, op: Operation, places: Sequence[OperandOrder]) -> list[Tensor]:
        """Return the tensors read and defined by an op that change order with it."""
        made = [self.tensors[op.results[0]]] if is_result_transposable(op) else []
        return [*(tensor for tensor, _ in places), *made]

    def write(self, choice: Choice) -> None:
        """Rewrite each op of free layout to its order, with as few Transposes as possible.

        Dead Transposes remain.
        """
        written = {tensor: TensorLayouts(tensor, tensor.made(choice)) for tensor in self.tensors.values()}
        replaced: list[Operation] = []
        for op, places in self.operands.items():
            order = choice.get(op, ())
            moving = transposable_operands(op) if order else ()
            wanted = [compose(read, order) if i in moving else read for i, (_, read) in enumerate(places)]
            values = [
                written[place[0]].in_order(read, op) for place, read in zip(places, wanted, strict=True)
            ]
            for use, value in zip(list(uses_by(op)), values, strict=True):
                if use.operation.operands[use.index] is not value:
                    set_operand(use.operation, use.index, value)
            if order and order != identity(len(order)):
                tensor = written[self.tensors[op.results[0]]]
                made = order if is_result_transposable(op) else tensor.made
                tensor.values[made] = _create_in_order(op, order, [values[index] for index in moving])
                replaced.append(op)
        for op in reversed(replaced):
            for use in list(op.results[0].uses):
                assert isinstance(use.operation, onnx.TransposeOp)
                _erase_transposes(use.operation)
            op.detach()
            op.erase()


@dataclass
class TensorLayouts:
    """The values of a tensor, by order."""

    tensor: Tensor
    made: Order
    values: dict[Order, SSAValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.made == self.tensor.given:
            self.values[self.made] = self.tensor.value

    def in_order(self, order: Order, reader: Operation) -> SSAValue:
        if order not in self.values:
            perm = compose(inverse(self.made), order)
            transpose = onnx.TransposeOp(self.values[self.made], perm=perm)
            maker = self.tensor.value.owner
            transpose.location = maker.location if isinstance(maker, Operation) else reader.location
            transpose.transposed.name_hint = self.tensor.value.name_hint
            block = reader.parent_block()
            assert block is not None
            block.insert_op_before(transpose, reader)
            self.values[order] = transpose.transposed
        return self.values[order]


def _create_in_order(op: Operation, order: Order, data: Sequence[SSAValue]) -> SSAValue:
    """Create the op in another order before the original; return its result."""
    block, emit = op.parent_block(), OpBuilder()
    assert block is not None
    result = emit(with_order(op, order, data, emit))
    for emitted in emit.ops:
        emitted.location = op.location
    block.insert_ops_before(emit.ops, op)
    result.name_hint = op.results[0].name_hint
    return result


def _erase_transposes(op: onnx.TransposeOp) -> None:
    """Erase a Transpose of a replaced op, and its readers, which are Transposes as well."""
    found = [op]
    for transpose in found:
        for use in transpose.transposed.uses:
            assert isinstance(use.operation, onnx.TransposeOp)
            found.append(use.operation)
    for transpose in reversed(found):
        transpose.detach()
        transpose.erase()


@dataclass
class _DisjointSets:
    """Disjoint sets of tensors (union-find)."""

    towards: dict[Tensor, Tensor] = field(default_factory=dict)

    def first(self, tensor: Tensor) -> Tensor:
        """Return the representative of a tensor's set, with path compression."""
        while (nearer := self.towards.setdefault(tensor, tensor)) is not tensor:
            self.towards[tensor] = self.towards[nearer]
            tensor = self.towards[nearer]
        return tensor

    def join(self, tensors: Sequence[Tensor]) -> None:
        into = self.first(tensors[0])
        for tensor in tensors[1:]:
            self.towards[self.first(tensor)] = into


def _stays(op: Operation) -> bool:
    """Return whether the op has a free layout and its result does not."""
    return bool(orders_of(op)) and not is_result_transposable(op)


def _is_transposed(tensor: Tensor) -> bool:
    reads = {read for _, read in tensor.readers} | tensor.fixed
    return not reads <= {tensor.given}


def _perm(op: onnx.TransposeOp) -> Order:
    rank = len(shape_of(op.data))
    return tuple(op.onnx_attributes().get("perm", reversed(range(rank))))  # pyright: ignore
