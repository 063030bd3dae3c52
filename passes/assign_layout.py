"""assign-layout: the order of axes in which each op works, chosen for the whole graph at once.

1. A convolution takes NCX or NXC; a resize, a window, a Pad, a Cast and a sum take whatever order their
   data comes in. An op that moves stands between two Transposes; where two neighbours agree, theirs
   cancel.
2. The results of the graph, and whatever ops that do not move read, keep the order that they have.
3. Transposes that are in the graph already are part of the choice: they are put where they cost least.

The sum of what the ops and the Transposes cost is least possible, and found in one pass from the ends
of the graph to its beginning: an op that moves reads one tensor, so the graph of those ops is a forest,
and the best order of an op depends on nothing but the order in which it gives its result:

    cost(op, order) = price(op, order) + cost(result, order)
    cost(tensor, order) = least, over all sets of further orders that Transposes make of it, of
                          the price of these + the sum over its readers of their least cost among them

A sum reads several tensors. It is part of the tree of the first; that it reads the others, and in what
order they are, is taken from the choice before, so that a graph with sums takes a few rounds and may end
a little above the least cost.

A graph that is best as it is stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from dialects.onnx import ops as onnx
from dialects.support.constants import constant_value
from dialects.support.diagnostics import UnsupportedError
from dialects.support.dtypes import of_mlir
from dialects.support.shapes import element_type_of, shape_of
from passes.choice import AUTO, choose, find_strategy
from passes.strategies import strategies_of
from passes.strategies.base import Strategy
from passes.support import orders
from passes.support.orders import Order, compose, data_of, identity, orders_of
from passes.support.rewriting import Emitter, functions, replace, rewrite, simplify
from passes.target import Target, TargetPass

Choice = dict[Operation, Order]

NODE_SECONDS, BYTES_PER_SECOND = 3e-6, 8e9
"""A Transpose takes as long as a node takes at all, and as moving its bytes takes."""

UNKNOWN_BATCH, UNKNOWN_SIZE = 1, 32
"""What stands for sizes that only run time knows, so that Transposes can be compared."""

STAY = 1e-9
"""Seconds by which another order must be better than the given one."""

IMPOSSIBLE = 1e3
"""Seconds for an op that no strategy writes in an order: select-strategy says why, if it must be. Few
enough that a sum of them still tells the price of a Transpose."""

MOST_ROUNDS = 5
"""Of a graph with sums."""

MOST_EXTRA = 4
"""So many orders of a tensor beside those that it must have are weighed in all combinations."""


@dataclass(frozen=True)
class AssignLayoutPass(TargetPass):
    name = "assign-layout"

    strategy: str = AUTO

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        prices = Prices(find_strategy(self.strategy), self.env)
        chosen: Choice = {}
        for function in functions(op):
            chosen |= Assignment(function, prices).chosen()
        moves = {inner: order for inner, order in chosen.items() if order != identity(len(order))}
        if moves:
            rewrite(op, [Move(moves)], repeat=False)
            simplify(ctx, op)


@dataclass
class Move(RewritePattern):
    """Puts each op into its order, between Transposes."""

    moves: Choice

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if op in self.moves:
            emit = Emitter()
            replace(op, rewriter, emit, orders.apply(op, self.moves[op], emit))


@dataclass(frozen=True)
class Prices:
    """What ops and Transposes cost, in seconds. `forced` is the strategy that a user wants, if any."""

    forced: Strategy | None
    target: Target

    def of(self, op: Operation, order: Order) -> float:
        """The price of an op in one of its orders, Transposes of its strategy's own included.

        Strategies have no prices in seconds yet, so these Transposes are all that there is to it.
        """
        if not strategies_of(op):
            return 0.0
        if order == identity(len(order)):
            return self._of(op)
        with orders.twin(op, order) as other:
            return self._of(other)

    def _of(self, op: Operation) -> float:
        try:
            strategy = choose(op, self.forced, self.target)
        except UnsupportedError:
            return IMPOSSIBLE
        if strategy.writes_layout_of(op):
            return 0.0
        return self.transpose(op.operands[0]) + self.transpose(op.results[0])

    def transpose(self, value: SSAValue) -> float:
        """That of a constant is done at compile time."""
        if constant_value(value) is not None:
            return 0.0
        dtype = of_mlir(element_type_of(value))
        assert dtype is not None
        elements = 1
        for axis, dim in enumerate(shape_of(value)):
            elements *= dim if isinstance(dim, int) else UNKNOWN_SIZE if axis else UNKNOWN_BATCH
        return NODE_SECONDS + 2 * elements * dtype.numpy.itemsize / BYTES_PER_SECOND


@dataclass
class Tensor:
    """A value and all that Transposes make of it, with orders relative to the value.

    `fixed` are the orders in which ops that do not move read it. `readers` are those that do, each with
    the order in which it reads now; `followers` those for which it is not the first operand.
    """

    value: SSAValue
    transpose: float
    fixed: set[Order] = field(default_factory=set)
    readers: list[tuple[Operation, Order]] = field(default_factory=list)
    followers: list[tuple[Operation, Order]] = field(default_factory=list)

    def needs(self, choice: Choice, but: Operation | None = None) -> set[Order]:
        """The orders in which it is read, but by one op."""
        moving = (*self.readers, *self.followers)
        return self.fixed | {compose(read, choice[op]) for op, read in moving if op is not but}

    def made(self, choice: Choice) -> Order:
        """The order in which it is made."""
        maker = self.value.owner
        given = identity(len(shape_of(self.value)))
        return choice.get(maker, given) if isinstance(maker, Operation) else given


@dataclass
class Assignment:
    """The choice for one function."""

    function: FuncOp
    prices: Prices
    tensors: dict[SSAValue, Tensor] = field(default_factory=dict)
    priced: dict[Operation, dict[Order, float]] = field(default_factory=dict)
    """The ops that move with what they cost in each of their orders, in the order of the function."""

    reads: dict[Operation, list[tuple[Tensor, Order]]] = field(default_factory=dict)
    """What each op that moves reads."""

    costs: dict[Operation, dict[Order, float]] = field(default_factory=dict)
    """`priced`, with all that depends on the result."""

    def chosen(self) -> Choice:
        """The order of each op that moves."""
        self._read()
        for op in self.reads:
            self.priced[op] = self._priced(op)
        given = {op: identity(len(shape_of(op.results[0]))) for op in self.reads}
        found = [given, self._round(None)]
        rounds = MOST_ROUNDS if any(tensor.followers for tensor in self.tensors.values()) else 1
        while len(found) <= rounds and found[-1] not in found[:-1]:
            found.append(self._round(found[-1]))
        return min(found, key=self.cost)

    def cost(self, choice: Choice) -> float:
        """All ops and Transposes."""
        ops = sum(self.priced[op][order] for op, order in choice.items())
        tensors = self.tensors.values()
        return ops + sum(t.transpose * len(t.needs(choice) - {t.made(choice)}) for t in tensors)

    def _read(self) -> None:
        """Fill `tensors` and `reads`."""
        places: dict[SSAValue, tuple[Tensor, Order]] = {}
        for value in self.function.args:
            self._add(value, places)
        for op in self.function.body.block.ops:
            if isinstance(op, onnx.TransposeOp):
                tensor, read = places[op.data]
                places[op.transposed] = (tensor, compose(read, _perm(op)))
                continue
            moving = len(data_of(op)) if orders_of(op) else 0
            if moving:
                self.reads[op] = [places[operand] for operand in data_of(op)]
            for index, operand in enumerate(op.operands):
                tensor, read = places[operand]
                if index < moving:
                    (tensor.followers if index else tensor.readers).append((op, read))
                elif not isinstance(op, onnx.ShapeOp):
                    tensor.fixed.add(read)
            for value in op.results:
                self._add(value, places)

    def _add(self, value: SSAValue, places: dict[SSAValue, tuple[Tensor, Order]]) -> None:
        tensor = Tensor(value, self.prices.transpose(value))
        self.tensors[value] = tensor
        places[value] = (tensor, identity(len(shape_of(value))))

    def _priced(self, op: Operation) -> dict[Order, float]:
        """What an op costs in the orders that are worth a thought.

        An op all alone stays: what its strategy writes beside it is what could stand there.
        """
        given, *others = orders_of(op)
        result = self.tensors[op.results[0]]
        ends = not result.readers and not result.followers and result.fixed <= {given}
        if ends and all(map(_begins, self.reads[op])):
            return {given: 0.0}
        return {given: self.prices.of(op, given)} | {o: self.prices.of(op, o) + STAY for o in others}

    def _round(self, before: Choice | None) -> Choice:
        """The best choice, for sums that read their further operands as in the choice before."""
        for op in reversed(self.reads):
            result = self.tensors[op.results[0]]
            self.costs[op] = {
                order: price + self._beside(op, order, before) + self._settled(result, order, before)[0]
                for order, price in self.priced[op].items()
            }
        choice: Choice = {}
        for tensor in self.tensors.values():
            _, present = self._settled(tensor, tensor.made(choice), before)
            for op, read in tensor.readers:
                choice[op] = min(self._options(op, read, tensor, present))[1]
        return choice

    def _beside(self, op: Operation, order: Order, before: Choice | None) -> float:
        """What the further operands of a sum cost in an order."""
        if before is None:
            return 0.0
        return sum(
            tensor.transpose
            for tensor, read in self.reads[op][1:]
            if compose(read, order) not in tensor.needs(before, op) | {tensor.made(before)}
        )

    def _settled(self, tensor: Tensor, made: Order, before: Choice | None) -> tuple[float, frozenset[Order]]:
        """The least cost of a tensor that is made in an order, and the orders that are then made of it."""
        followers = tensor.followers if before is not None else ()
        must = frozenset(
            {made, *tensor.fixed, *(compose(read, before[op]) for op, read in followers if before)}
        )
        wanted = {compose(read, order) for op, read in tensor.readers for order in self.costs[op]}
        extra = sorted(wanted - must)[:MOST_EXTRA]
        return min(
            ((self._with(tensor, must | more), must | more) for more in orders.subsets(extra)),
            key=lambda found: found[0],
        )

    def _with(self, tensor: Tensor, present: frozenset[Order]) -> float:
        readers = (min(self._options(op, read, tensor, present))[0] for op, read in tensor.readers)
        return (len(present) - 1) * tensor.transpose + sum(readers)

    def _options(
        self, op: Operation, read: Order, tensor: Tensor, present: frozenset[Order]
    ) -> Iterator[tuple[float, Order]]:
        """What each order of a reader costs, with a Transpose of its own where its order is not present."""
        for order, cost in self.costs[op].items():
            yield cost + (compose(read, order) not in present) * tensor.transpose, order


def _begins(place: tuple[Tensor, Order]) -> bool:
    """Whether the one op that moves and reads this tensor reads it as an op made it that does not move."""
    tensor, read = place
    maker = tensor.value.owner
    moves = isinstance(maker, Operation) and bool(orders_of(maker))
    return len(tensor.readers) + len(tensor.followers) == 1 and not moves and read == identity(len(read))


def _perm(op: onnx.TransposeOp) -> Order:
    rank = len(shape_of(op.data))
    return tuple(op.onnx_attributes().get("perm", reversed(range(rank))))  # pyright: ignore
