"""The layouts of a whole graph: choosing keeps the numbers, and no other choice transposes less."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, permutations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from support.examples import examples
from support.generate import CANONICAL, KINDS, problems
from support.pipeline import Expected, apply
from support.problems import Node, Problem
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

import dialects
import gradc
from dialects.evaluate import evaluate
from dialects.grad.conv import ConvBackwardDataOp, GradConvOp, TakeWindowOp
from dialects.grad.resize import ResizeBackwardDynamicOp, ResizeBackwardOp
from dialects.onednn.conv_backward_data import ConvolutionBackwardDataOp
from dialects.onednn.interpolate_backward import InterpolateBackwardOp
from dialects.onnx.ops import AddOp, CastOp, ConstantOp, ConvOp, TransposeOp
from dialects.support.constants import constant_value
from dialects.support.documented_op import CHOICE
from dialects.support.entry import entry_function
from dialects.support.shapes import element_type_of, shape_of
from gradc.importers import import_file
from passes import assign_layout, pipelines
from passes.assign_layout import (
    EQUAL_COST_RATIO,
    INNER,
    INNER_SECONDS,
    AssignLayoutPass,
    Assignment,
    Price,
    Prices,
)
from passes.builder.rewriting import refresh_function_types
from passes.layout import elimination
from passes.layout.order_graph import OrderGraph
from passes.layout.orders import identity, orders_of
from passes.simplify import simplify
from passes.strategies import by_name
from passes.strategies.choice import Candidate
from passes.targets.target import Target

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ALL = (*KINDS, *CANONICAL)
BEFORE = pipelines.to_grad(Target(threads=1)).partition(",assign-layout")[0]
PRICES = Prices(None, Target(threads=1))


def canonical(problem: Problem) -> ModuleOp:
    return apply(problem.module(), BEFORE)


def transposes(module: ModuleOp) -> list[TransposeOp]:
    """Those of run-time data."""
    found = [op for op in module.walk() if isinstance(op, TransposeOp)]
    return [op for op in found if constant_value(op.data) is None]


def price(module: ModuleOp) -> float:
    """What a module costs by the pass's own prices of single ops and Transposes."""
    own = sum(price_of_op(op) for op in module.walk() if orders_of(op))
    return own + sum(map(price_of_transpose, transposes(module)))


def price_of_op(op: Operation) -> float:
    """Transposes that its strategy writes count for more on a side where an op moves."""
    given, *others = orders_of(op)
    price = PRICES.of(op, given)
    if not price.wrapped:
        return price.seconds
    maker, readers = op.operands[0].owner, [use.operation for use in op.results[0].uses]
    sides = (isinstance(maker, Operation) and bool(orders_of(maker))) + any(map(orders_of, readers))
    back = tuple(others[0].index(axis) for axis in given)
    own = max(PRICES.transpose(op.results[0], given, order) for order in (others[0], back))
    wrapped = price.seconds + sides * ((INNER - 1) * own + INNER_SECONDS)
    direct = price.direct.cost if price.direct else None
    return wrapped if direct is None else min(direct, wrapped)


def price_of_transpose(op: TransposeOp) -> float:
    """An inner one counts for more."""
    perm = tuple(op.onnx_attributes()["perm"])  # pyright: ignore
    price = PRICES.transpose(op.data, identity(len(perm)), perm)
    maker, readers = op.data.owner, [use.operation for use in op.transposed.uses]
    inner = isinstance(maker, Operation) and bool(orders_of(maker)) and all(map(orders_of, readers))
    return INNER * price + INNER_SECONDS if inner else price


def every_choice(module: ModuleOp):
    """The module with each op in each of the orders that are weighed for it, in all combinations."""
    function = entry_function(module)
    assignment = Assignment(OrderGraph.of(function), PRICES)
    weighed = [list(assignment.priced[op]) for op in function.walk() if orders_of(op)]
    for picks in product(*weighed):
        other = module.clone()
        graph = OrderGraph.of(entry_function(other))
        graph.write(dict(zip(graph.reads, picks, strict=True)))
        simplify(other)
        yield other


@examples(40)
@given(problems(kinds=ALL, most_ops=3, dtypes=("f32", "f16")))
def test_no_other_choice_is_cheaper(problem: Problem):
    module = canonical(problem)
    if len([op for op in module.walk() if orders_of(op)]) > 4:
        return
    least = min(map(price, every_choice(module)))
    AssignLayoutPass(threads=1).apply(dialects.context(), module)
    assert price(module) <= EQUAL_COST_RATIO * least + 1e-7


@examples(60)
@given(problems(kinds=ALL, most_ops=4))
def test_the_choice_keeps_the_numbers(problem: Problem):
    expected = Expected(problem)
    module = canonical(problem)
    AssignLayoutPass(threads=1).apply(dialects.context(), module)
    module.verify()
    expected.check_module(module, "assign-layout")


@examples(40)
@given(problems(kinds=ALL, most_ops=3))
def test_every_move_keeps_the_numbers(problem: Problem):
    """Whatever is chosen: each op alone in each of its orders."""
    expected = Expected(problem)
    module = canonical(problem)
    count = len([op for op in module.walk() if orders_of(op)])
    for index in range(count):
        op = [op for op in module.walk() if orders_of(op)][index]
        for order in orders_of(op)[1:]:
            other = module.clone()
            graph = OrderGraph.of(entry_function(other))
            choice = {moving: orders_of(moving)[0] for moving in graph.reads}
            choice[list(graph.reads)[index]] = order
            graph.write(choice)
            other.verify()
            expected.check_module(other, f"{op.name} in order {order}")


def with_sum(module: ModuleOp) -> ModuleOp:
    """The module with the sum of two data tensors of one type, if there are, as one more output.

    Unknown sizes without a name may differ at run time, and could not be added then.
    """
    block = entry_function(module).body.block
    end = block.last_op
    assert end is not None
    tensors = [value for op in block.ops if orders_of(op) for value in (op.operands[0], op.results[0])]
    for first, second in combinations(dict.fromkeys(tensors), 2):
        if first.type == second.type and None not in shape_of(first):
            total = AddOp(first, second)
            total.location = end.prev_op.location if end.prev_op else end.location
            block.insert_op_before(total, end)
            end.operands = [*end.operands, total.results[0]]
            refresh_function_types(module)
            break
    module.verify()
    return module


@examples(30)
@given(problems(kinds=ALL, most_ops=3, dtypes=("f32",)))
def test_no_other_choice_is_cheaper_with_sums(problem: Problem):
    """Each of all combinations, by the sum that the pass says to make the least."""
    module = with_sum(canonical(problem))
    if len([op for op in module.walk() if orders_of(op)]) > 5:
        return
    graph = OrderGraph.of(entry_function(module))
    assignment = Assignment(graph, PRICES)
    cheapest = min(cost for cost, _ in assignment.candidates())
    assert assignment.cost(assignment.chosen()) <= EQUAL_COST_RATIO * cheapest
    for picks in product(*(assignment.priced[op] for op in graph.reads)):
        assert cheapest <= assignment.cost(dict(zip(graph.reads, picks, strict=True))) + 1e-12


@examples(60)
@given(problems(kinds=ALL, most_ops=4, dtypes=("f32",)))
def test_sums_keep_the_numbers_and_cost_no_more_than_before(problem: Problem):
    module = with_sum(canonical(problem))
    before = price(module)
    wanted = [evaluate(module, problem.feeds(run)) for run in range(problem.runs)]
    AssignLayoutPass(threads=1).apply(dialects.context(), module)
    module.verify()
    assert price(module) <= EQUAL_COST_RATIO * before + 1e-7
    for run, want in enumerate(wanted):
        for got, expected in zip(evaluate(module, problem.feeds(run)), want, strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)


def test_a_sum_does_not_divide_a_graph():
    """Two convolutions of one diff_dst, their sum, and one more: a residual block."""
    problem = chain("ccc")
    first, second, _ = problem.nodes
    problem.nodes[1] = replace(second, operands=(first.operands[0], second.operands[1]))
    problem.outputs = [node.result for node in problem.nodes]
    module = canonical(problem)
    convolutions = [op for op in module.walk() if isinstance(op, GradConvOp)]
    total = AddOp(convolutions[0].diff_src, convolutions[1].diff_src)
    block = entry_function(module).body.block
    block.insert_op_before(total, convolutions[2])
    convolutions[2].operands[0] = total.results[0]
    end = block.last_op
    assert end is not None
    end.operands = [convolutions[2].diff_src]
    refresh_function_types(module)
    AssignLayoutPass(threads=1).apply(dialects.context(), module)
    left = transposes(module)
    assert [op.value("layout") for op in module.walk() if isinstance(op, GradConvOp)] == ["NCX"] * 3
    assert len(left) - 3 == 2  # the weights', which are run-time inputs


# Chains


def chain(words: str, dtype: str = "f32", batch: int | str = 2, outputs: str = "last") -> Problem:
    """NXC ops, one behind the other: `c` a convolution of kernel 3, `p` of kernel 1, `r` a resize."""
    problem = Problem(seed=1, runs=1)
    value = problem.add_input("dy", dtype, (batch, 6, 5, 4), [(2, 6, 5, 4)])
    size = [6, 5]
    for word in words:
        if word == "r":
            size = [size[0] + 1, size[1] + 2]
            shape = (2, *size, 4)
            source = problem.add_input("x", dtype, (batch, *shape[1:]), [shape])
            attributes = {"mode": "linear", "sizes": list(value.sizes[0][1:3])}
            operands, op = (source, value), InterpolateBackwardOp
            node = {"diff_dst": 1}
        else:
            kernel = 3 if word == "c" else 1
            shape = (kernel, kernel, 4, 4)
            operands = (value, problem.add_input("w", dtype, shape, [shape]))
            attributes = {"strides": [1, 1], "dilations": [1, 1], "dst_shape": [-(2**63), *size, 4]}
            attributes |= {"pads_begin": [kernel // 2] * 2, "pads_end": [kernel // 2] * 2}
            op, node = ConvolutionBackwardDataOp, {"weights": 1}
        result = problem.result("dx", dtype, (batch, *size, 4), [(2, *size, 4)])
        problem.nodes.append(Node(op, operands, attributes, result, None, (), **node))
        value = result
    results = [node.result for node in problem.nodes]
    problem.outputs = results if outputs == "all" else results[-1:]
    return problem


def lowered(problem: Problem) -> ModuleOp:
    return apply(problem.module(), pipelines.lower(Target(threads=1)))


def of_data(module: ModuleOp) -> int:
    """Transposes of what has a spatial size, not of weights, of which each size is below 5."""
    found = [op for op in module.walk() if isinstance(op, TransposeOp)]
    return len([op for op in found if max(op.data.type.get_shape()[1:]) > 4])  # pyright: ignore


@pytest.mark.sweep
@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("batch", [2, "N"])
@pytest.mark.parametrize("words", ["cc", "ccc", "crc", "crrcc", "rcrcr"])
def test_no_transposes_inside_a_graph(words: str, batch: int | str, dtype: str):
    problem = chain(words, dtype, batch)
    module = lowered(problem)
    assert of_data(module) <= 2
    Expected(problem).check_module(module, words)
    Expected(problem).check_runtime(module, Target(threads=1))


def test_inner_results_cost_a_transpose_each():
    problem = chain("cccc", outputs="all")
    module = lowered(problem)
    assert of_data(module) <= 5
    Expected(problem).check_module(module, "all results")


def test_a_long_chain_is_settled():
    """No recursion, and not a step for each combination."""
    module = canonical(chain("c" * 400))
    AssignLayoutPass(threads=1).apply(dialects.context(), module)
    assert len(transposes(module)) - 400 <= 2  # the weights', which are run-time inputs


def test_a_strategy_without_nxc_is_no_reason_to_move_one_op():
    module = canonical(chain("c"))
    before = str(module)
    AssignLayoutPass(threads=1).apply(dialects.context(), module)
    assert str(module) == before


def test_prices_decide(monkeypatch: pytest.MonkeyPatch):
    """An op that is much cheaper in one layout is put there, whatever its neighbours do."""

    def of(self: Prices, op: Operation, order: tuple[int, ...]) -> Price:
        if not isinstance(op, GradConvOp):
            return Price(0.0)
        flipped = order != tuple(range(len(order)))
        layout = op.value("layout") if not flipped else {"NCX": "NXC", "NXC": "NCX"}[op.value("layout")]
        wanted = "NXC" if op.weights_shape[2:] == (1, 1) else "NCX"
        return Price(0.0 if layout == wanted else 1.0)

    monkeypatch.setattr(assign_layout.Prices, "of", of)
    module = canonical(chain("cppcr"))
    AssignLayoutPass(threads=1).apply(dialects.context(), module)
    ops = [op for op in module.walk() if isinstance(op, GradConvOp)]
    assert [op.value("layout") for op in ops] == ["NCX", "NXC", "NXC", "NCX"]


def test_neighbours_may_decide_the_strategy(monkeypatch: pytest.MonkeyPatch):
    """Of an op that is best written between Transposes alone, and best without them in the graph."""
    direct = Candidate(by_name()["conv-to-matmul"], 1e-5, None)

    def of(self: Prices, op: Operation, order: tuple[int, ...]) -> Price:
        if not isinstance(op, GradConvOp):
            return Price(0.0)
        first = not isinstance(op.diff_dst.owner, Operation)
        return Price(1e-5) if first else Price(5e-6, wrapped=True, direct=direct)

    monkeypatch.setattr(assign_layout.Prices, "of", of)
    module = canonical(chain("ccc"))
    AssignLayoutPass(threads=1).apply(dialects.context(), module)
    ops = [op for op in module.walk() if isinstance(op, GradConvOp)]
    named = [op.attributes.get(CHOICE) for op in ops]
    assert [name.data if isinstance(name, StringAttr) else None for name in named] == [
        None,
        "conv-to-matmul",
        "conv-to-matmul",
    ]


@pytest.mark.parametrize("strategy", ["conv-to-conv", "conv-to-matmul"])
def test_a_forced_strategy_applies_in_the_chosen_layout(strategy: str):
    problem = chain("ccrc")
    module = apply(problem.module(), pipelines.lower(Target(threads=1), strategy))
    assert of_data(module) >= 2
    Expected(problem).check_module(module, strategy)
    assert any(isinstance(op, ConvOp) for op in module.walk()) == (strategy == "conv-to-conv")


def test_what_moves():
    """Whatever stands between convolutions in canonical graphs."""
    module = canonical(chain("cr", "f32", "N"))
    ops = [op for op in module.walk() if orders_of(op)]
    assert {type(op) for op in ops} <= {
        ConvBackwardDataOp, ResizeBackwardOp, ResizeBackwardDynamicOp, TakeWindowOp, CastOp
    }  # fmt: skip
    assert not any(orders_of(op) for op in module.walk() if isinstance(op, ConstantOp))


@pytest.mark.parametrize("target", ["cpu", "cuda", "portable"])
def test_what_the_opset_cannot_transpose_keeps_its_order(target: str):
    """Opset 19 has no Transpose of floats of eight bits: a pool's is on the other side of the Cast."""
    g = gradc.Graph()
    data = g.dequantize(g.input("x", "f8_e4m3", [1, 4, 4, 2]), scales=[0.5])
    pooled = g.max_pool(data, strides=[2, 2], kernel=[2, 2], pads_begin=[0, 0], pads_end=[0, 0])
    g.output(g.quantize(pooled, scales=[1.0], result_dtype="f8_e4m3"), "y")
    compiled = gradc.compile(g, target=target, threads=1)
    assert {str(element_type_of(op.data)) for op in transposes(compiled.module)} == {"f32"}


@pytest.mark.parametrize("most", [8, elimination.MOST_ENTRIES])
def test_no_uniform_layout_is_cheaper(most: int, monkeypatch: pytest.MonkeyPatch):
    """Also where the tables of a whole training step would be larger than any may be."""
    monkeypatch.setattr(elimination, "MOST_ENTRIES", most)
    module = apply(import_file(str(EXAMPLES / "resnet_training.json")), BEFORE)
    graph = OrderGraph.of(entry_function(module))
    assignment = Assignment(graph, PRICES)
    chosen = assignment.cost(assignment.chosen())
    for order in permutations(range(4)):
        uniform = {op: order if order in own else next(iter(own)) for op, own in assignment.priced.items()}
        assert chosen <= EQUAL_COST_RATIO * assignment.cost(uniform)


def test_gradients_of_weights_and_maxima_move_with_the_data():
    """In the training step of a small ResNet, channels last: four at the border, of weights and of their
    source one."""
    module = gradc.compile(EXAMPLES / "resnet_training.json", threads=1).module
    assert len([op for op in transposes(module) if len(shape_of(op.data)) == 4]) <= 6


LAYOUT_PERMS = {(0, 3, 1, 2), (0, 2, 3, 1)}


def residual_gradient(size: int, channels: int) -> gradc.Graph:
    """Channels last: two convolutions, normalizations and ReLUs, forward and backward, run-time weights."""
    g = gradc.Graph()
    window = {"strides": [1, 1], "pads_begin": [1, 1], "pads_end": [1, 1], "dilations": [1, 1]}
    weights = [channels, channels, 3, 3]
    data = [2, size, size, channels]
    x, diff = g.input("x", "f32", data), g.input("diff_y", "f32", data)
    zeros, ones = g.constant(np.zeros(channels, np.float32)), g.constant(np.ones(channels, np.float32))
    layers = []
    for i in range(2):
        w = g.input(f"w{i}", "f32", weights)
        gamma, beta = (g.input(f"{name}{i}", "f32", [channels]) for name in ("gamma", "beta"))
        convolved = g.convolution(x, w, **window, weights_format="OIX")
        found = g.batch_norm_forward_training(convolved, zeros, ones, gamma, beta, epsilon=1e-5, momentum=0.9)
        rectified = g.relu(found[0])
        layers.append((x, w, gamma, convolved, found[3:], rectified))
        x = rectified
    g.output(x, "y")
    for source, w, gamma, convolved, statistics, rectified in reversed(layers):
        diff = g.relu_backward(rectified, diff)
        diff, *_ = g.batch_norm_training_backward(convolved, diff, *statistics, gamma, epsilon=1e-5)
        moved = g.convolution_backward_weights(
            source, diff, weights_shape=weights, **window, weights_format="OIX"
        )
        g.output(moved)
        diff = g.convolution_backward_data(diff, w, data, **window, weights_format="OIX")
    g.output(diff, "diff_x")
    return g


@pytest.mark.parametrize(("size", "channels"), [(28, 64), (28, 32), (14, 64)])
def test_channels_last_is_transposed_at_the_border_only(size: int, channels: int):
    """Between its ops a few per cent of the price would be won by some: prices are no more exact."""
    module = gradc.compile(residual_gradient(size, channels), threads=1).module
    moved = [op for op in transposes(module) if tuple(op.onnx_attributes()["perm"]) in LAYOUT_PERMS]  # pyright: ignore
    inner = [
        op
        for op in moved
        if isinstance(op.data.owner, Operation)
        and any(use.operation.name != "func.return" for use in op.transposed.uses)
    ]
    assert not inner
