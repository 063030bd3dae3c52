"""assign-layout: choose the axis order of each op for the whole graph at once.

1. A convolution works in NCX or NXC, and so do the gradients of its weights and of pools; a resize, a window,
   a Pad, a Cast and a sum work in the order of their data. An op of free layout is surrounded by Transposes;
   if neighbours agree, theirs cancel. A remaining Transpose between two such ops has a surcharge.
2. The results of the graph, and operands of ops with a fixed layout, keep their order.
3. Existing Transposes are part of the choice: they are moved to where they cost least.
4. If an op's best strategy creates Transposes that its neighbours do not need, the best one that does not is
   recorded as the op's `gradc.choice`.

The total cost of ops and Transposes is minimal, up to the accuracy of the prices:

    cost(orders) = sum over ops of price(op, its order)
                 + sum over tensors of the cost of all other orders in which it is read

Each summand depends on few ops, and `passes/layout/elimination.py` minimizes the sum in time linear in the
ops for typical networks. (A minimum cut would do for two orders, but needs one flow for all; a graph whose
Transposes permute axes in several ways has more.)

A graph whose layout is already the best is left unchanged.
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
from passes.builder.rewriting import functions
from passes.cost.graph import tensor as tensor_of
from passes.cost.work import Work
from passes.layout import orders
from passes.layout.elimination import Scope, least
from passes.layout.order_graph import Choice, Component, OrderGraph, Tensor
from passes.layout.orders import Order, compose, identity, inverse, orders_of, subsets
from passes.simplify import simplify
from passes.strategies import strategies_of
from passes.strategies.base import Strategy
from passes.strategies.choice import AUTO, Candidate, choose, find_strategy, ranking
from passes.targets.target import Target, TargetPass

STAY = 1e-9
"""Seconds by which another order must be better than the given one."""

INNER, INNER_SECONDS = 4.0, 3e-5
"""Surcharge of a Transpose between two ops of free layout: a factor of its price, and seconds. It also ends
optimizations across ops, such as a blocked layout shared by convolutions, which no price of one op contains:
graphs of 1x1 and 3x3 convolutions with resizes were faster for it, and mixed layouts are still chosen where
they pay (by 16 to 27 %)."""

EQUAL_COST_RATIO = 1.15
"""Cost ratio below which choices count as equal, since prices are no more accurate; the one with the fewest
Transposes between ops is taken. It gives the training step of a small ResNet 440 nodes instead of 590 and
0.96 of the time; residual blocks, channels last, of 14x14x32 to 28x28x64 took 0.86 to 1.06. Mixed layouts of
7x7 images, measured 1.2 times as fast, differ more in price and are kept."""

IMPOSSIBLE = 1e3
"""Seconds for an op without a strategy in an order (select-strategy reports it), and for a Transpose in an
unsupported dtype. Small enough that a sum of them does not hide the price of a supported one."""

MOST_COMBINED = 16
"""Limit on the combinations of orders of the ops around a tensor that are priced one by one."""

MOST_WANTED = 4
"""Limit on the orders of a widely read tensor that are weighed in all combinations."""


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
                simplify(op)


@dataclass(frozen=True)
class Price:
    """Price of an op in one order with its chosen strategy. `wrapped`: the strategy creates Transposes around
    another layout; `direct` is then the cheapest that does not."""

    seconds: float
    wrapped: bool = False
    direct: Candidate | None = None


@dataclass(frozen=True)
class Prices:
    """Prices of ops and Transposes in seconds. `forced` is the user's strategy, if any."""

    forced: Strategy | None
    target: Target
    known: dict[tuple[Attribute, Order, Order], float] = field(default_factory=dict)
    """Prices of Transposes by the type of the tensor."""

    def of(self, op: Operation, order: Order) -> Price:
        """Return the price of an op in an order, including Transposes of its strategy."""
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
        """Return whether another layout, shared by the neighbours, could make an op cheaper: if a strategy
        that needs Transposes now would be the best without them."""
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
        """Return the price of a Transpose between two orders; that of a constant is folded."""
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
    """Choice of orders for one function."""

    graph: OrderGraph
    prices: Prices
    priced: dict[Operation, dict[Order, float]] = field(default_factory=dict)
    """Prices of ops of free layout in each order considered."""

    named: dict[tuple[Operation, Order], Strategy] = field(default_factory=dict)
    """Strategy of an op in an order in which its neighbours change the best choice."""

    def __post_init__(self) -> None:
        for component in self.graph.components():
            if self._stays(component):
                component.suggested.clear()
            self.priced |= {op: self._priced(op, component) for op in component.ops}

    def chosen(self) -> Choice:
        """Return the order of each op of free layout."""
        candidates = self.candidates()
        most = EQUAL_COST_RATIO * min(cost for cost, _ in candidates)
        alike = [(cost, choice) for cost, choice in candidates if cost <= most]
        return min(alike, key=lambda found: (self._inner_transposes(found[1]), found[0]))[1]

    def candidates(self) -> list[tuple[float, Choice]]:
        """Return candidate choices with their costs: the cheapest, and those with a uniform order."""
        return [(self.cost(choice), choice) for choice in (*self._uniform(), self._cheapest())]

    def _uniform(self) -> list[Choice]:
        """Return the given choice, and those with one other order wherever possible: elimination is exact and
        at least as good, unless tables are too large."""
        orders = dict.fromkeys(order for prices in self.priced.values() for order in [*prices][1:])
        given: Choice = {op: next(iter(self.priced[op])) for op in self.graph.reads}
        return [given, *({op: o if o in self.priced[op] else given[op] for op in given} for o in orders)]

    def cost(self, choice: Choice) -> float:
        """Return the cost of all ops and Transposes."""
        ops = sum(self.priced[op][order] for op, order in choice.items())
        tensors = self.graph.tensors.values()
        return ops + sum(self.transposes(t, t.made(choice), t.needs(choice)) for t in tensors)

    def _inner_transposes(self, choice: Choice) -> int:
        """Return the number of Transposes between ops, excluding those at the graph's border."""
        made = [t for t in self.graph.tensors.values() if isinstance(t.value.owner, Operation)]
        return sum(len(t.between(choice) - {t.made(choice)}) for t in made if constant_value(t.value) is None)

    def _stays(self, component: Component) -> bool:
        """Return whether no other order needs to be considered.

        A lone convolution stays: its strategies create the surrounding Transposes themselves. Other ops work
        on any axes, between Transposes from an existing graph.
        """
        op, *others = component.ops
        is_alone = isinstance(op, LayoutOp | WindowedGradOp) and not others
        if is_alone and component.suggested <= set(orders_of(op)[:2]):
            return True
        return not component.transposed and not any(map(self.prices.may_gain, component.ops))

    def _priced(self, op: Operation, component: Component) -> dict[Order, float]:
        """Return the prices of an op in the orders considered."""
        given, *others = orders_of(op)
        others = [order for order in others if order in component.suggested]
        if not others:
            return {given: 0.0}
        return {o: self._price_among_neighbours(op, o) + (o != given) * STAY for o in (given, *others)}

    def _price_among_neighbours(self, op: Operation, order: Order) -> float:
        """Return the price of an op in an order among its neighbours."""
        price = self.prices.of(op, order)
        if not price.wrapped:
            return price.seconds
        wrapped, direct = price.seconds + self._wrapping_surcharge(op), price.direct
        if direct is None or direct.cost is None or direct.cost >= wrapped:
            return wrapped
        self.named[op, order] = direct.strategy
        return direct.cost

    def _wrapping_surcharge(self, op: Operation) -> float:
        """Return the surcharge of the Transposes that a strategy creates, as inner ones."""
        (read, _), *_ = self.graph.reads[op]
        result = self.graph.tensors[op.results[0]]
        sides = (read.value.owner in self.graph.reads) + bool(result.readers)
        transposes = {self.prices.transpose(op.results[0], *pair) for pair in permutations(orders_of(op)[:2])}
        return sides * ((INNER - 1) * max(transposes) + INNER_SECONDS)

    def transposes(self, tensor: Tensor, made: Order, wanted: Iterable[Order]) -> float:
        """Return the cost of further orders of a tensor."""
        return sum(self._transpose(tensor, made, order) for order in wanted)

    def further(self, tensor: Tensor, made: Order, others: Set[Order], order: Order) -> float:
        """Return the cost of one more order."""
        return 0.0 if order in others else self._transpose(tensor, made, order)

    def _transpose(self, tensor: Tensor, made: Order, wanted: Order) -> float:
        price = self.prices.transpose(tensor.value, made, wanted)
        inner = tensor.value.owner in self.graph.reads and wanted not in tensor.fixed
        return INNER * price + INNER_SECONDS if price and inner else price

    def _cheapest(self) -> Choice:
        """Return the choice with the least total of all tables."""
        tables = _Tables(self)
        for tensor in self.graph.tensors.values():
            tables.add(tensor)
        return tables.chosen()


class _Tables:
    """Costs of an assignment, as tables over the orders of the ops that have a choice."""

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
        """Add the costs of a tensor's Transposes."""
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
        """Add a table over ascending ops, the last one's orders contiguous."""
        scope = tuple(self._variables[op] for op in ops)
        self._tables.append((scope, np.reshape(prices, [self._sizes[variable] for variable in scope])))

    def _price(self, tensor: Tensor, ops: Sequence[Operation], orders: Sequence[Order]) -> float:
        choice = {op: next(iter(self._priced[op])) for op in tensor.free_ops() if op in self._priced}
        choice |= zip(ops, orders, strict=True)
        return self._of.transposes(tensor, tensor.made(choice), tensor.needs(choice))

    def _add_states(self, tensor: Tensor) -> None:
        """Add a variable for a widely read tensor: the order in which it is made, and its further orders.

        Each table is then over two ops, however many read the tensor.
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
