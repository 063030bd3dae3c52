"""Every pass alone: interp(m) == interp(pass(m)); it verifies, keeps locations, and is idempotent."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples
from support.generate import problems, seeded
from support.pipeline import Expected, apply, assert_located, passes_of
from support.problems import Node, Problem
from support.tiers import some
from xdsl.dialects.builtin import ModuleOp

import dialects
from dialects.onednn.base import OneDNNConvOp
from dialects.onednn.conv_backward_data import ConvolutionBackwardDataOp
from dialects.onnx.ops import TransposeOp
from passes import pipelines
from passes.registry import all_passes
from passes.strategies import by_name
from passes.targets.target import Target

TARGETS = (Target(), Target("cuda"))

FREE = (
    "materialize-constants",
    "infer-types",
    "resolve-auto-pad",
    "legalize-types",
    "canonicalize-layout",
    "lower-cann",
    "lower-onednn",
    "simplify",
)
"""Passes that may run in any order, any number of times, before the full pipeline."""


@pytest.mark.sweep(parts=2)
@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
def test_every_pass_of_the_pipeline_keeps_the_numbers(target: Target):
    @examples(60)
    @given(problems(most_ops=3))
    def check(problem: Problem):
        expected = Expected(problem)
        ctx, module = dialects.context(), problem.module()
        before = ""
        for pass_ in passes_of(pipelines.lower(target)):
            pass_.apply(ctx, module)
            module.verify()
            assert_located(module, pass_.name)
            if str(module) != before:  # printing is cheaper than executing
                expected.check_module(module, pass_.name)
            before = str(module)

    check()


@examples(60)
@given(problems(most_ops=2), st.lists(st.sampled_from(FREE), max_size=6))
def test_other_orders_give_the_same_numbers(problem: Problem, order: list[str]):
    expected = Expected(problem)
    module = apply(problem.module(), ",".join([*order, pipelines.lower(Target())]))
    assert_located(module, ",".join(order))
    expected.check_module(module, ",".join(order))


KEEPS_MEANING = [name for name in all_passes() if name not in ("pin-values", "vjp")]


@pytest.mark.sweep
@pytest.mark.parametrize("name", KEEPS_MEANING)
def test_each_pass_by_itself(name: str):
    """On source ops and on canonical ones, whatever of them the pass knows.

    What writes a gradient as several ops expects its dtype to be legal, or it would round in between.
    """
    legal = f"{pipelines.canonicalize()},legalize-types,{','.join(pipelines.LOWER)},"
    prefixes = ("", legal)

    @examples(10)
    @given(problems(most_ops=2), st.sampled_from(prefixes))
    def check(problem: Problem, prefix: str):
        expected = Expected(problem)
        if name == "legalize-onnx":  # it changes nothing, and its contract is the pipeline's end
            prefix = pipelines.lower(Target()) + ","
        if name == "select-strategy" or name in by_name():
            prefix = legal
        module = apply(problem.module(), prefix + name)
        assert_located(module, name)
        expected.check_module(module, name)

    check()


@pytest.mark.sweep(parts=1)
@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
def test_a_pass_run_twice_is_a_pass_run_once(target: Target):
    @examples(30)
    @given(problems(most_ops=2))
    def check(problem: Problem):
        ctx, module = dialects.context(), problem.module()
        for pass_ in passes_of(pipelines.lower(target)):
            pass_.apply(ctx, module)
            once = str(module)
            pass_.apply(ctx, module)
            assert str(module) == once, pass_.name

    check()


@pytest.mark.sweep
def test_the_pipeline_gives_the_same_text_every_time():
    for seed in some(range(10), 4):
        texts = {str(apply(seeded(seed, most_ops=3).module(), pipelines.lower(Target()))) for _ in range(2)}
        assert len(texts) == 1


RESOLVED = ("auto_pad", "auto_pad_rule", "output_padding", "dst_shape")


@examples(60)
@given(problems(kinds=("convolution", "conv_transpose"), dynamics=("static", "batch"), most_ops=2))
def test_known_sizes_leave_nothing_implicit(problem: Problem):
    module = apply(problem.module(), pipelines.canonicalize())
    for op in module.walk():
        if isinstance(op, OneDNNConvOp):
            assert not [name for name in RESOLVED if name in op.properties]
            assert len(op.operands) == 2


def _chain(count: int, kernel: int) -> Problem:
    """NXC convolutions, one behind the other."""
    problem = Problem(seed=1, runs=1)
    value = problem.add_input("dy", "f32", (2, 6, 5, 4), [(2, 6, 5, 4)])
    for _ in range(count):
        shape = (kernel, kernel, 4, 4)
        weights = problem.add_input("w", "f32", shape, [shape])
        attributes = {"strides": [1, 1], "dilations": [1, 1]}
        attributes |= {"pads_begin": [kernel // 2] * 2, "pads_end": [kernel // 2] * 2}
        attributes |= {"dst_shape": [2, 6, 5, 4]}
        result = problem.result("dx", "f32", (2, 6, 5, 4), [(2, 6, 5, 4)])
        problem.nodes.append(
            Node(ConvolutionBackwardDataOp, (value, weights), attributes, result, None, (), weights=1)
        )
        value = result
    problem.outputs = [value]
    return problem


@pytest.mark.parametrize("count", [2, 4])
def test_only_weights_are_transposed(count: int):
    problem = _chain(count, 3)
    module = apply(problem.module(), pipelines.canonicalize() + ",canonicalize-layout")
    function = next(iter(module.ops))
    data = [op for op in function.walk() if isinstance(op, TransposeOp) and not _of_weights(op)]
    assert not data
    Expected(problem).check_module(module, "canonicalize-layout")


def _of_weights(op: TransposeOp) -> bool:
    return (op.operands[0].name_hint or "").startswith("w")


def test_unused_work_disappears():
    """A constant result is folded, and an op whose result nobody reads is gone at the end."""
    problem = seeded(3, most_ops=4, dynamics=("static",))
    problem.outputs = problem.outputs[:1]
    module = apply(problem.module(), pipelines.lower(Target()))
    dead = [op for op in module.walk() if op.results and not any(r.uses for r in op.results)]
    assert not [op for op in dead if not isinstance(op, ModuleOp)]


def test_the_interpreter_can_tell_wrong_numbers():
    """The comparison of this file fails where a weight is off by one part in ten thousand."""
    problem = seeded(11, kinds=("convolution",), dynamics=("static",), dtypes=("f32",))
    expected = Expected(problem)
    rows = zip(expected.results[0], expected.magnitudes[0], strict=True)
    wrong = [result + np.float32(1e-4) * magnitude for result, magnitude in rows]
    with pytest.raises(AssertionError):
        expected.check(0, wrong, "wrong")
