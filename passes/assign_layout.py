"""assign-layout: the order of axes in which each op works, chosen for the whole graph at once.

1. A convolution takes NCX or NXC; a resize, a window, a Pad, a Cast and a sum take whatever order their
   data comes in. An op that moves stands between two Transposes; where two neighbours agree, theirs
   cancel. A Transpose that is left between two such ops counts for more than it costs.
2. The results of the graph, and whatever ops that do not move read, keep the order that they have.
3. Transposes that are in the graph already are part of the choice: they are put where they cost least.
4. Where an op's best strategy writes Transposes that its neighbours do not need, the best one that does
   not is written down as the op's `gradc.choice`.

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

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field
from itertools import permutations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue

from dialects.grad.conv import GradConvOp
from dialects.support.constants import constant_value
from dialects.support.diagnostics import UnsupportedError
from dialects.support.documented_op import CHOICE
from dialects.support.shapes import shape_of
from passes.cost.graph import tensor as tensor_of
from passes.cost.work import Work
from passes.emit.rewriting import functions, simplify
from passes.kernels.target import Target, TargetPass
from passes.layout import orders
from passes.layout.order_graph import Choice, Family, OrderGraph, Tensor
from passes.layout.orders import Order, compose, identity, inverse, orders_of
from passes.strategies import strategies_of
from passes.strategies.base import Strategy
from passes.strategies.choice import AUTO, Candidate, choose, find_strategy, ranking

STAY = 1e-9
"""Seconds by which another order must be better than the given one."""

INNER, INNER_SECONDS = 4.0, 3e-5
"""What a Transpose between two ops that move counts: so many times its price, and so many seconds more.
It also ends what runtimes do across ops, such as keeping a blocked layout from one convolution to the
next, of which no price of a single op knows: graphs of 1x1 and 3x3 convolutions with resizes were the
faster for it, and mixed layouts still chosen where they pay (by 16 to 27 % there)."""

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
        for function in functions(op):
            graph = OrderGraph.of(function)
            assignment = Assignment(graph, prices)
            choice = assignment.chosen()
            for moving, order in choice.items():
                if strategy := assignment.named.get((moving, order)):
                    moving.attributes[CHOICE] = StringAttr(strategy.name)
            if any(order != identity(len(order)) for order in choice.values()):
                graph.write(choice)
                simplify(ctx, op)


@dataclass(frozen=True)
class Price:
    """Of an op in one order: that of the strategy that is chosen for it, and whether that one writes
    Transposes around another layout; `direct` is then the cheapest that does not."""

    seconds: float
    wrapped: bool = False
    direct: Candidate | None = None


@dataclass(frozen=True)
class Prices:
    """What ops and Transposes cost, in seconds. `forced` is the strategy that a user wants, if any."""

    forced: Strategy | None
    target: Target
    known: dict[tuple[int, Order, Order], float] = field(default_factory=dict)
    """Prices of Transposes, by the identity of the type."""

    def of(self, op: Operation, order: Order) -> Price:
        """The price of an op in one of its orders, Transposes of its strategy's own included."""
        if not strategies_of(op):
            return Price(0.0)
        if order == identity(len(order)):
            return self._of(op)
        with orders.layout_variant(op, order) as other:
            return self._of(other)

    def _of(self, op: Operation) -> Price:
        try:
            strategy = choose(op, self.forced, self.target)
        except UnsupportedError:
            return Price(IMPOSSIBLE)
        known = ranking(op, self.target)
        cost = known.price(op, strategy)
        assert cost is not None
        if strategy.writes_layout_of(op):
            return Price(cost)
        is_free = self.forced is not strategy and CHOICE not in op.attributes
        direct = known.cheapest(op, lambda other: other.writes_layout_of(op)) if is_free else None
        return Price(cost, wrapped=True, direct=direct)

    def may_gain(self, op: Operation) -> bool:
        """Whether an op could cost less in another layout among neighbours that have it, too: where one
        of its strategies that now stands between Transposes would be the best without these."""
        if not isinstance(op, GradConvOp):
            return False
        price = self._of(op)
        if price.wrapped or price.seconds == IMPOSSIBLE:
            return True
        here, there = orders_of(op)[:2]
        spared = self.transpose(op.operands[0], here, there) + self.transpose(op.results[0], there, here)
        known = ranking(op, self.target)
        return known.is_any_below(op, price.seconds + spared, lambda other: not other.writes_layout_of(op))

    def transpose(self, value: SSAValue, made: Order, wanted: Order) -> float:
        """That of a tensor from one order to another; that of a constant is done at compile time."""
        if made == wanted or constant_value(value) is not None:
            return 0.0
        key = (id(value.type), made, wanted)
        if key not in self.known:
            self.known[key] = self._transpose(value, made, wanted)
        return self.known[key]

    def _transpose(self, value: SSAValue, made: Order, wanted: Order) -> float:
        given = tensor_of(value)
        data, result = ([given.shape[axis] for axis in order] for order in (made, wanted))
        work = Work(given.itemsize)
        work.run("Transpose", result, data, perm=list(compose(inverse(made), wanted)))
        return work.price(self.target)


@dataclass
class Assignment:
    """The choice for one function."""

    graph: OrderGraph
    prices: Prices
    priced: dict[Operation, dict[Order, float]] = field(default_factory=dict)
    """What the ops that move cost in each of the orders that are weighed."""

    costs: dict[Operation, dict[Order, float]] = field(default_factory=dict)
    """`priced`, with all that depends on the result."""

    named: dict[tuple[Operation, Order], Strategy] = field(default_factory=dict)
    """The strategy of an op in an order where its neighbours make another the best than for it alone."""

    def chosen(self) -> Choice:
        """The order of each op that moves."""
        for family in self.graph.families():
            if not family.transposed and not any(map(self.prices.may_gain, family.ops)):
                family.suggested.clear()
            self.priced |= {op: self._priced(op, family) for op in family.ops}
        given = {op: identity(len(shape_of(op.results[0]))) for op in self.graph.reads}
        found = [given, self._round(None)]
        sums = any(tensor.followers for tensor in self.graph.tensors.values())
        while len(found) <= MOST_ROUNDS * sums and found[-1] not in found[:-1]:
            found.append(self._round(found[-1]))
        return min(found, key=self.cost)

    def cost(self, choice: Choice) -> float:
        """All ops and Transposes."""
        ops = sum(self.priced[op][order] for op, order in choice.items())
        tensors = self.graph.tensors.values()
        return ops + sum(self._transposes(t, t.made(choice), t.needs(choice)) for t in tensors)

    def _priced(self, op: Operation, family: Family) -> dict[Order, float]:
        """What an op costs in the orders that are worth a thought.

        An op all alone stays: a convolution's strategies write the Transposes themselves that could stand
        beside it, and other ops work on whatever axes they are given.
        """
        given, *others = orders_of(op)
        others = [order for order in others if order in family.suggested]
        if not others or (len(family.ops) == 1 and family.suggested <= set(orders_of(family.ops[0])[:2])):
            return {given: 0.0}
        return {o: self._in_family(op, o) + (o != given) * STAY for o in (given, *others)}

    def _in_family(self, op: Operation, order: Order) -> float:
        """The price of an op in an order among its neighbours."""
        price = self.prices.of(op, order)
        if not price.wrapped:
            return price.seconds
        wrapped, direct = price.seconds + self._wrapping(op), price.direct
        if direct is None or direct.cost is None or direct.cost >= wrapped:
            return wrapped
        self.named[op, order] = direct.strategy
        return direct.cost

    def _wrapping(self, op: Operation) -> float:
        """What the Transposes that a strategy writes count beyond their price, as inner ones."""
        (read, _), *_ = self.graph.reads[op]
        result = self.graph.tensors[op.results[0]]
        sides = (read.value.owner in self.graph.reads) + bool(result.readers or result.followers)
        transposes = {self.prices.transpose(op.results[0], *pair) for pair in permutations(orders_of(op)[:2])}
        return sides * ((INNER - 1) * max(transposes) + INNER_SECONDS)

    def _transposes(self, tensor: Tensor, made: Order, wanted: Iterable[Order]) -> float:
        """What it costs to make further orders of a tensor."""
        return sum(self._transpose(tensor, made, order) for order in wanted)

    def _transpose(self, tensor: Tensor, made: Order, wanted: Order) -> float:
        price = self.prices.transpose(tensor.value, made, wanted)
        inner = tensor.value.owner in self.graph.reads and wanted not in tensor.fixed
        return INNER * price + INNER_SECONDS if price and inner else price

    def _round(self, before: Choice | None) -> Choice:
        """The best choice, for sums that read their further operands as in the choice before."""
        for op in reversed(self.graph.reads):
            result = self.graph.tensors[op.results[0]]
            self.costs[op] = {
                order: price + self._beside(op, order, before) + self._settled(result, order, before)[0]
                for order, price in self.priced[op].items()
            }
        choice: Choice = {}
        for tensor in self.graph.tensors.values():
            made = tensor.made(choice)
            _, present = self._settled(tensor, made, before)
            for op, read in tensor.readers:
                choice[op] = min(self._options(op, read, tensor, made, present))[1]
        return choice

    def _beside(self, op: Operation, order: Order, before: Choice | None) -> float:
        """What the further operands of a sum cost in an order."""
        if before is None:
            return 0.0
        total = 0.0
        for tensor, read in self.graph.reads[op][1:]:
            made, wanted = tensor.made(before), compose(read, order)
            if wanted not in tensor.needs(before, op):
                total += self._transpose(tensor, made, wanted)
        return total

    def _settled(self, tensor: Tensor, made: Order, before: Choice | None) -> tuple[float, frozenset[Order]]:
        """The least cost of a tensor that is made in an order, and the orders that are then made of it."""
        must = {made, *tensor.fixed}
        if before is not None:
            must |= {compose(read, before[op]) for op, read in tensor.followers}
        wanted = {compose(read, order) for op, read in tensor.readers for order in self.costs[op]}
        extra = sorted(wanted - must)[:MOST_EXTRA]
        found = ((self._with(tensor, made, must | more), must | more) for more in orders.subsets(extra))
        cost, present = min(found, key=lambda option: option[0])
        return cost, frozenset(present)

    def _with(self, tensor: Tensor, made: Order, present: Set[Order]) -> float:
        readers = (min(self._options(op, read, tensor, made, present))[0] for op, read in tensor.readers)
        return self._transposes(tensor, made, present) + sum(readers)

    def _options(
        self, op: Operation, read: Order, tensor: Tensor, made: Order, present: Set[Order]
    ) -> Iterator[tuple[float, Order]]:
        """What each order of a reader costs, with a Transpose of its own where its order is not present."""
        for order, cost in self.costs[op].items():
            wanted = compose(read, order)
            own = 0.0 if wanted in present else self._transpose(tensor, made, wanted)
            yield cost + own, order
