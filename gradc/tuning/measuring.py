"""Candidates of one problem: built, compared with each other and timed on onnxruntime."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region
from xdsl.passes import PassPipeline

import dialects
from dialects.onnx import ops as onnx
from dialects.support import dtypes, shapes
from dialects.support.diagnostics import violation
from dialects.support.entry import set_names, update_function_type
from gradc.model.exporter import export
from gradc.problems import Problem
from gradc.runtime.session import Bound, Session, ep_of
from gradc.tuning.race import race
from gradc.verification.samples import check_runnable
from gradc.verification.verify import RTOL, compare
from passes import pipelines
from passes.registry import all_passes
from passes.targets.target import Target


def lower_problem(problem: Problem, strategy: str, target: Target) -> ModuleOp:
    """Lower the problem to ONNX with an applicable strategy."""
    module = problem.module()
    ctx = dialects.context()
    for pass_ in PassPipeline.parse_spec(all_passes(), pipelines.from_grad(target, strategy)).passes:
        pass_.apply(ctx, module)
    module.verify()
    return module


def measure(
    problem: Problem,
    sizes: Problem,
    strategies: Sequence[str],
    target: Target,
    deadline: float | None = None,
) -> dict[str, float]:
    """Return the median seconds of a run with each strategy, on the threads of the target.

    `sizes` is the problem with static sizes; the models are compiled for `problem`. Raises GradcError if
    onnxruntime cannot run a candidate, or two of them disagree.
    """
    feeds = sizes.feeds()
    runs = {name: _bound(problem, name, feeds, target) for name in strategies}
    _check_agreement({name: run.results()["diff_src"] for name, run in runs.items()})
    return race(runs, deadline=deadline)


def _bound(problem: Problem, strategy: str, feeds: Mapping[str, np.ndarray], target: Target) -> Bound:
    module = lower_problem(problem, strategy, target)
    check_runnable(module)
    model = export(module, opset=target.opset, metadata={})
    session = Session(model, ep=ep_of(target.name), threads=target.threads)
    return session.bound(feeds)


def _check_agreement(results: Mapping[str, np.ndarray]) -> None:
    """Raise if two results differ by more than the error bounds of both."""
    for (one, first), (other, second) in combinations(results.items(), 2):
        dtype = dtypes.known_dtype(first.dtype)
        error = compare("diff_src", second, first, 2 * RTOL[dtype.name])
        if not error.ok:
            what = f"strategies {one} and {other} disagree by {error.worst:.2g} of the largest value"
            raise violation(what, expected=f"at most {error.rtol:.2g}")


PEAK = "peak,f32"
"""Key of the measured peak in a cache."""

_PEAK_SIZE, _PEAK_SECONDS = 1024, 1.0


def measure_peak(target: Target) -> float:
    """Measure flops per second of an f32 product, 1024 cubed, with constant weights: the best run of a
    second."""
    module = _product(_PEAK_SIZE)
    model = export(module, opset=target.opset, metadata={})
    ones = np.ones((_PEAK_SIZE, _PEAK_SIZE), np.float32)
    run = Session(model, ep=ep_of(target.name), threads=target.threads).bound({"x": ones})
    times, end = [], time.perf_counter() + _PEAK_SECONDS
    while (start := time.perf_counter()) < end or not times:
        run()
        times.append(time.perf_counter() - start)
    return 2.0 * _PEAK_SIZE**3 / min(times)


def _product(size: int) -> ModuleOp:
    """Return a module that multiplies x by a constant square matrix."""
    block = Block(arg_types=[shapes.tensor_type(f32, (size, size))])
    block.add_op(weights := onnx.ConstantOp(np.ones((size, size), np.float32)))
    block.add_op(product := onnx.MatMulOp(block.args[0], weights.results[0]))
    block.add_op(ReturnOp(product.results[0]))
    function = FuncOp("main", ([], []), Region(block))
    update_function_type(function)
    set_names(function, ["x"], ["y"])
    return ModuleOp([function])
