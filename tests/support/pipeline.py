"""Running passes on problems and holding every stage against the reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from support.compare import assert_agree
from support.problems import Problem
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.passes import ModulePass, PassPipeline

import dialects
from dialects.evaluate import evaluate
from dialects.support.entry import entry_function, input_names
from gradc.model.exporter import export
from gradc.runtime.session import Session
from passes import pipelines
from passes.registry import all_passes
from passes.targets.target import Target


@dataclass
class Expected:
    """The reference's results of a problem, and the magnitudes of their terms, per run."""

    problem: Problem
    results: list[tuple[np.ndarray, ...]] = field(default_factory=list)
    magnitudes: list[tuple[np.ndarray, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        module, absolute = self.problem.module(), self.problem.module(absolute=True)
        for run in range(self.problem.runs):
            self.results.append(evaluate(module, self.problem.feeds(run)))
            self.magnitudes.append(evaluate(absolute, self.problem.feeds(run, absolute=True)))

    def check(self, run: int, got: Sequence[np.ndarray], what: str) -> None:
        rows = zip(got, self.results[run], self.magnitudes[run], self.problem.outputs, strict=True)
        for array, want, magnitude, output in rows:
            assert array.shape == output.sizes[run], (what, array.shape, output.sizes[run])
            assert_agree(
                array, want, magnitude, f"{what}, {output.name}, run {run}", chained=self.problem.chained
            )

    def check_module(self, module: ModuleOp, what: str) -> None:
        """The module, executed with numpy on every run, gives the reference's numbers."""
        for run in range(self.problem.runs):
            self.check(run, evaluate(module, self.problem.feeds(run)), f"{what} in numpy")

    def check_runtime(self, module: ModuleOp, target: Target) -> None:
        """The lowered module on onnxruntime's CPU provider: one model, all runs."""
        session = Session(export(module, opset=target.opset, metadata={}), threads=1)
        names = input_names(entry_function(module))
        for run in range(self.problem.runs):
            feeds = dict(zip(names, self.problem.feeds(run), strict=True))
            got = list(session.run(feeds).values())
            self.check(run, got, f"onnxruntime at opset {target.opset}")


def passes_of(spec: str) -> tuple[ModulePass, ...]:
    return PassPipeline.parse_spec(all_passes(), spec).passes


def apply(module: ModuleOp, spec: str) -> ModuleOp:
    ctx = dialects.context()
    for pass_ in passes_of(spec):
        pass_.apply(ctx, module)
    module.verify()
    return module


def lowered(problem: Problem, target: Target, strategy: str = "auto") -> ModuleOp:
    return apply(problem.module(), pipelines.lower(target, strategy))


def assert_located(module: ModuleOp, what: str) -> None:
    """Every op knows where in the source it comes from."""
    for op in module.walk():
        if not isinstance(op, ModuleOp | FuncOp | ReturnOp):
            assert not isinstance(op.location, UnknownLoc), f"{what}: {op.name} has no location"
