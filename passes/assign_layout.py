"""assign-layout: the order of axes in which each op works, chosen for the whole graph at once.

1. A convolution takes NCX or NXC, and so do the gradients of its weights and of pools; a resize, a window,
   a Pad, a Cast and a sum take whatever order their data comes in. An op of free layout stands between two
   Transposes; where two neighbours agree, theirs cancel. A Transpose that is left between two such ops
   counts for more than it costs.
2. The results of the graph, and whatever ops that do not move read, keep the order that they have.
3. Transposes that are in the graph already are part of the choice: they are put where they cost least.
4. Where an op's best strategy writes Transposes that its neighbours do not need, the best one that does
   not is written down as the op's `gradc.choice`.

The sum of what the ops and the Transposes cost is least possible, to within how exact prices are:

    cost(orders) = sum over ops of price(op, its order)
                 + sum over tensors of what it costs to make all other orders in which it is read

Each summand looks at few ops, and `passes/layout/elimination.py` finds the least sum, in time linear in the
ops for what networks look like. (A minimum cut would do where there are two orders, but takes one flow
for all; a graph whose Transposes permute axes in several ways has more.)

A graph that is best as it is stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field
from itertools import permutations, product
from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue

from dialects.grad.layout import LayoutOp
from dialects.grad.windowed import WindowedGradOp
from dialects.onnx import ops as onnx
from dialects.support.constants import constant_value
from dialects.support.diagnostics import UnsupportedError
from dialects.support.documented_op import CHOICE
from dialects.support.dtypes import HALVES, name_of
from dialects.support.shapes import element_type_of
from passes.cost.graph import tensor as tensor_of
from passes.cost.work import Work
from passes.emit.rewriting import functions, simplify
from passes.kernels.target import Target, TargetPass
from passes.layout import orders
from passes.layout.elimination import Scope, least
from passes.layout.order_graph import Choice, Component, OrderGraph, Tensor
from passes.layout.orders import Order, compose, identity, inverse, orders_of, subsets
from passes.strategies import strategies_of
from passes.strategies.base import Strategy
from passes.strategies.choice import AUTO, Candidate, choose, find_strategy, ranking

STAY = 1e-9
"""Seconds by which another order must be better than the given one."""

INNER, INNER_SECONDS = 4.0, 3e-5
"""What a Transpose between two ops of free layout counts: so many times its price, and so many seconds more.
It also ends what runtimes do across ops, such as keeping a blocked layout from one convolution to the
next, of which no price of a single op knows: graphs of 1x1 and 3x3 convolutions with resizes were the
faster for it, and mixed layouts still chosen where they pay (by 16 to 27 % there)."""

ALIKE = 1.15
"""Choices whose costs differ by less are as good as each other: prices are no more exact. The one with the
fewest Transposes between ops is taken then. By it the training step of a small ResNet has 440 nodes for 590
and takes 0.96 of the time; residual blocks, channels last, of 14x14x32 to 28x28x64 took 0.86 to 1.06. Mixed
layouts of 7x7 images, measured 1.2 times as fast, are priced further apart and stay."""

IMPOSSIBLE = 1e3
"""Seconds for an op that no strategy writes in an order, where select-strategy says why, if it must be, and
for a Transpose in a dtype that it does not have. Few enough that a sum of them still tells the price of one
that it has."""

MOST_COMBINED = 16
"""So many combinations of orders of the ops around a tensor are priced one by one."""

MOST_WANTED = 4
"""So many orders of a tensor that more ops read are weighed in all combinations."""


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
    known: dict[tuple[Attribute, Order, Order], float] = field(default_factory=dict)
    """Prices of Transposes, by the type of the tensor."""

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
        if not isinstance(op, LayoutOp):
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
        key = (value.type, made, wanted)
        if key not in self.known:
            self.known[key] = self._transpose(value, made, wanted)
        return self.known[key]

    def _transpose(self, value: SSAValue, made: Order, wanted: Order) -> float:
        dtype = name_of(element_type_of(value))
        if dtype not in HALVES and self.target.lacks(onnx.TransposeOp, dtype):
            return IMPOSSIBLE
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
    """What the ops of free layout cost in each of the orders that are weighed."""

    named: dict[tuple[Operation, Order], Strategy] = field(default_factory=dict)
    """The strategy of an op in an order where its neighbours make another the best than for it alone."""

    def __post_init__(self) -> None:
        for component in self.graph.components():
            if self._stays(component):
                component.suggested.clear()
            self.priced |= {op: self._priced(op, component) for op in component.ops}

    def chosen(self) -> Choice:
        """The order of each op of free layout."""
        candidates = self.candidates()
        most = ALIKE * min(cost for cost, _ in candidates)
        alike = [(cost, choice) for cost, choice in candidates if cost <= most]
        return min(alike, key=lambda found: (self._between(found[1]), found[0]))[1]

    def candidates(self) -> list[tuple[float, Choice]]:
        """Choices to take one of, with their costs: the cheapest of all, and all in one order."""
        return [(self.cost(choice), choice) for choice in (*self._uniform(), self._cheapest())]

    def _uniform(self) -> list[Choice]:
        """All ops as they are given, and all that can be in one other order: what is exact is no worse, but a
        sum over tables that are too large may be."""
        orders = dict.fromkeys(order for prices in self.priced.values() for order in [*prices][1:])
        given: Choice = {op: next(iter(self.priced[op])) for op in self.graph.reads}
        return [given, *({op: o if o in self.priced[op] else given[op] for op in given} for o in orders)]

    def cost(self, choice: Choice) -> float:
        """All ops and Transposes."""
        ops = sum(self.priced[op][order] for op, order in choice.items())
        tensors = self.graph.tensors.values()
        return ops + sum(self.transposes(t, t.made(choice), t.needs(choice)) for t in tensors)

    def _between(self, choice: Choice) -> int:
        """How many Transposes stand between ops, not at the border of the graph."""
        made = [t for t in self.graph.tensors.values() if isinstance(t.value.owner, Operation)]
        return sum(len(t.between(choice) - {t.made(choice)}) for t in made if constant_value(t.value) is None)

    def _stays(self, component: Component) -> bool:
        """Whether no other order of its ops is worth a thought.

        A convolution all alone stays: its strategies write the Transposes themselves that could stand beside
        it. Other ops work on whatever axes they are given, between Transposes on those from before them.
        """
        op, *others = component.ops
        is_alone = isinstance(op, LayoutOp | WindowedGradOp) and not others
        if is_alone and component.suggested <= set(orders_of(op)[:2]):
            return True
        return not component.transposed and not any(map(self.prices.may_gain, component.ops))

    def _priced(self, op: Operation, component: Component) -> dict[Order, float]:
        """What an op costs in the orders that are worth a thought."""
        given, *others = orders_of(op)
        others = [order for order in others if order in component.suggested]
        if not others:
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
        sides = (read.value.owner in self.graph.reads) + bool(result.readers)
        transposes = {self.prices.transpose(op.results[0], *pair) for pair in permutations(orders_of(op)[:2])}
        return sides * ((INNER - 1) * max(transposes) + INNER_SECONDS)

    def transposes(self, tensor: Tensor, made: Order, wanted: Iterable[Order]) -> float:
        """What it costs to make further orders of a tensor."""
        return sum(self._transpose(tensor, made, order) for order in wanted)

    def further(self, tensor: Tensor, made: Order, others: Set[Order], order: Order) -> float:
        """What one more order costs."""
        return 0.0 if order in others else self._transpose(tensor, made, order)

    def _transpose(self, tensor: Tensor, made: Order, wanted: Order) -> float:
        price = self.prices.transpose(tensor.value, made, wanted)
        inner = tensor.value.owner in self.graph.reads and wanted not in tensor.fixed
        return INNER * price + INNER_SECONDS if price and inner else price

    def _cheapest(self) -> Choice:
        """The choice of which the sum of all tables is least."""
        tables = _Tables(self)
        for tensor in self.graph.tensors.values():
            tables.add(tensor)
        return tables.chosen()


class _Tables:
    """The costs of an assignment, as tables over the orders of the ops that have a choice."""

    def __init__(self, assignment: Assignment):
        self._of, self._priced = assignment, assignment.priced
        moving = [op for op, prices in self._priced.items() if len(prices) > 1]
        self._variables = {op: index for index, op in enumerate(moving)}
        self._sizes = [len(self._priced[op]) for op in moving]
        self._tables: list[tuple[Scope, np.ndarray]] = [
            ((index,), np.array([*self._priced[op].values()])) for op, index in self._variables.items()
        ]

    def chosen(self) -> Choice:
        found = least(self._sizes, self._tables)
        orders = {op: [*prices] for op, prices in self._priced.items()}
        return {op: own[found[self._variables[op]] if len(own) > 1 else 0] for op, own in orders.items()}

    def add(self, tensor: Tensor) -> None:
        """What the Transposes of a tensor cost."""
        ops = sorted(set(tensor.free_ops()) & self._variables.keys(), key=lambda op: self._variables[op])
        if not ops:
            return
        if prod(len(self._priced[op]) for op in ops) > MOST_COMBINED:
            self._add_states(tensor)
            return
        self._add(
            ops, [self._price(tensor, ops, orders) for orders in product(*(self._priced[op] for op in ops))]
        )

    def _add(self, ops: Sequence[Operation], prices: Sequence[float]) -> None:
        """A table over ops, which ascend, with the last one's orders next to each other."""
        scope = tuple(self._variables[op] for op in ops)
        self._tables.append((scope, np.reshape(prices, [self._sizes[variable] for variable in scope])))

    def _price(self, tensor: Tensor, ops: Sequence[Operation], orders: Sequence[Order]) -> float:
        choice = {op: next(iter(self._priced[op])) for op in tensor.free_ops() if op in self._priced}
        choice |= zip(ops, orders, strict=True)
        return self._of.transposes(tensor, tensor.made(choice), tensor.needs(choice))

    def _add_states(self, tensor: Tensor) -> None:
        """A variable for a tensor that many ops read: the order in which it is made, and those beside it.

        So that a table is over two ops, however many read the tensor.
        """
        maker, of = tensor.maker, self._of
        made = [tensor.given] if maker is None else [*self._priced.get(maker, (tensor.given,))]
        wanted = sorted({compose(read, order) for op, read in tensor.readers for order in self._priced[op]})
        states = [(m, more | tensor.fixed) for m in made for more in subsets(wanted[:MOST_WANTED])]
        own = len(self._sizes)
        self._sizes.append(len(states))
        self._tables.append(((own,), np.array([of.transposes(tensor, *state) for state in states])))
        if maker is not None and maker in self._variables:
            beside = [[0.0 if m == order else np.inf for m, _ in states] for order in made]
            self._tables.append(((self._variables[maker], own), np.array(beside)))
        for op, read in tensor.readers:
            orders = [compose(read, order) for order in self._priced[op]]
            rows = np.array([[of.further(tensor, m, more, order) for m, more in states] for order in orders])
            known = op in self._variables
            self._tables.append(((self._variables[op], own), rows) if known else ((own,), rows[0]))
