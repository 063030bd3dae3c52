"""A gradient with a stopped value is that of the function in which the value is a constant."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from support.networks import module_of
from xdsl.dialects.builtin import ModuleOp, f64
from xdsl.ir import OpResult

from dialects.evaluate import evaluate
from dialects.grad.stop_gradient import StopGradientOp
from dialects.onnx import ops as onnx
from dialects.support.entry import entry_function, set_names, update_function_type
from passes.autodiff.activity.active_values import is_float
from passes.builder.operands import replace_uses
from passes.builder.values import Value
from passes.differentiate import Request, differentiate
from passes.vectorize.vectorize import vectorize

X = {"x": (2, 3)}
STEP = 1e-5
AGAIN = {"of": ["grad_x"], "wrt": ["x"], "cotangents": True, "allow_unused": True}


def _last(x: Value, op: type) -> Value:
    return x.apply(op, x.e.ints([-1]), keepdims=1)


COMPOSITIONS: dict[str, Callable[[Value], Value]] = {
    "log of a softmax": lambda x: x.apply(onnx.SoftmaxOp, axis=-1).log() * x,
    "log of a sigmoid": lambda x: x.apply(onnx.SigmoidOp).log() + x,
    "sigmoid by its exponential": lambda x: 1 / ((-x).exp() + 1) + x,
    "tanh by exponentials": lambda x: (x.exp() - (-x).exp()) / (x.exp() + (-x).exp()) * x,
    "softmax by exponentials": lambda x: x.exp() / _last(x.exp(), onnx.ReduceSumOp) * x,
    "log softmax by its sum": lambda x: (x - _last(x, onnx.ReduceLogSumExpOp)) * x,
    "log of a sum of exponentials": lambda x: (_last(x.exp(), onnx.ReduceSumOp).log() - x).exp(),
    "silu": lambda x: x * x.apply(onnx.SigmoidOp),
    "length": lambda x: _last(x * x, onnx.ReduceSumOp).sqrt() * x,
    "affine": lambda x: ((x * 3 + 1).tanh() * 0.5 - x) * 2,
    "angle": lambda x: (x / (x * x + 1)).apply(onnx.AtanOp) + x,
    "equal values": lambda x: x.exp() * x.tanh() + x.exp(),
    "square": lambda x: x.tanh() * x.tanh() + x,
}


def _random(seed: int) -> Callable[[Value], Value]:
    rng = np.random.default_rng([36, seed])
    unary = (Value.tanh, Value.exp, Value.softplus, lambda v: v.apply(onnx.SigmoidOp), lambda v: v * 0.5)
    binary = (lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a - b, lambda a, b: a / (b * b + 1))

    def network(x: Value) -> Value:
        values = [x, x.tanh()]
        for _ in range(6):
            chosen = [values[i] for i in rng.integers(len(values), size=2)]
            one = unary[rng.integers(len(unary))]
            values.append(binary[rng.integers(len(binary))](one(chosen[0]).tanh(), chosen[1]))
        return values[-1] + values[-2] * x

    return network


NETWORKS = {**COMPOSITIONS, **{f"random {seed}": _random(seed) for seed in range(8)}}


def _modules(name: str) -> Iterator[tuple[str, ModuleOp, ModuleOp]]:
    """Yield for each inner value its name, the function, and that with an input `c` instead of the value."""
    module = module_of(NETWORKS[name], X, f64)
    block = entry_function(module).body.block
    inner = [v for op in block.ops for v in op.results if is_float(v) and not isinstance(op, onnx.ConstantOp)]
    for index, value in enumerate(inner):
        value.name_hint = f"v{index}"
    for value in inner:
        given = dict[OpResult, OpResult]()
        constant = module.clone(given)
        function = entry_function(constant)
        argument = function.body.block.insert_arg(value.type, 1)
        replace_uses(given[value], argument)
        set_names(function, [*X, "c"], ["y"])
        update_function_type(function)
        yield value.name_hint, module.clone(), constant


def _value(module: ModuleOp, name: str, x: np.ndarray) -> np.ndarray:
    module = module.clone()
    differentiate(module, Request(keep=[name], reduce="sum", allow_unused=True))
    return evaluate(module, [x])[0]


QUICK = ("log of a softmax", "sigmoid by its exponential", "equal values", "random 0")


@pytest.mark.parametrize("name", QUICK)
def test_each_inner_value_in_turn(name: str):
    check(name)


@pytest.mark.sweep
@pytest.mark.parametrize("name", [name for name in NETWORKS if name not in QUICK])
def test_each_inner_value_of_more_networks(name: str):
    check(name)


def check(name: str) -> None:
    """First and second order by differences of the function in which the value is a constant."""
    rng = np.random.default_rng(0)
    x, along = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    seed = rng.normal(size=evaluate(module_of(NETWORKS[name], X, f64), [x])[0].shape)
    plain = module_of(NETWORKS[name], X, f64)
    differentiate(plain, Request(cotangents=True))
    (unstopped,), differ = evaluate(plain, [x, seed]), 0
    for stopped, module, constant in _modules(name):
        value = _value(module, stopped, x)
        differentiate(module, Request(cotangents=True, allow_unused=True, stop_gradient=[stopped]))
        ends = [evaluate(constant, [x + side * STEP * along, value])[0] for side in (1, -1)]
        wanted = (seed * (ends[0] - ends[1])).sum() / (2 * STEP)
        (found,) = evaluate(module, [x, seed])
        np.testing.assert_allclose((found * along).sum(), wanted, rtol=1e-6, atol=1e-7, err_msg=stopped)
        by_constant = constant.clone()
        differentiate(by_constant, Request(wrt=["x"], cotangents=True, allow_unused=True))
        sides = [evaluate(by_constant, [x + side * STEP * along, value, seed])[0] for side in (1, -1)]
        differentiate(module, Request(**AGAIN))
        (twice,) = evaluate(module, [x, seed, along])
        ends = (sides[0] - sides[1]) / (2 * STEP)
        np.testing.assert_allclose(twice, ends, rtol=1e-5, atol=1e-6, err_msg=stopped)
        differ += not np.allclose(unstopped, found, rtol=1e-3)
    assert differ, "no stop changes the gradient"


def test_a_vectorized_gradient_keeps_its_stops():
    """The stopped value differs between rows, and no op falls back to a Scan."""
    module = module_of(lambda x: x.exp() * x, X, f64)
    entry_function(module).body.block.first_op.results[0].name_hint = "h"
    differentiate(module, Request(reduce="sum", stop_gradient=["h"]))
    function, rows = entry_function(module), np.random.default_rng(0).normal(size=(4, 2, 3))
    report = vectorize(function, function.args, 4)
    assert not report.fallbacks
    (first,) = evaluate(module, [rows])
    np.testing.assert_allclose(first, np.exp(rows), rtol=1e-12)
    assert [op.name for op in module.walk()].count(StopGradientOp.name) == 1
