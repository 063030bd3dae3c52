"""The suite: small problems, as data. Every runtime is held against the reference on each compiled model.

A case has a name and says what is compiled and for what; its problem is drawn from the name when it is
first asked for, so that all runtimes get the same.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from onnx import ModelProto
from support.generate import CANONICAL, GRADIENTS, KINDS, ONEDNN_DTYPES, RARE, seeded
from support.generator import DYNAMICS, SPATIAL, STATIC
from support.pipeline import Expected, lowered
from support.problems import Node, Problem
from xdsl.dialects.builtin import ModuleOp

from dialects.cann.resize import ResizeBilinearV2GradOp
from dialects.support.diagnostics import UnsupportedError
from dialects.support.entry import entry_function, input_names
from gradc.model.exporter import export
from gradc.model.tensors import input_infos, output_infos
from passes.strategies import all_strategies
from passes.strategies.base import Strategy
from passes.targets.target import Target

TARGETS = ("cpu", "portable")
ALL_KINDS = (*KINDS, *CANONICAL)
CONVOLUTIONS = ("convolution", "conv_transpose", *CANONICAL)
RESIZES = tuple(kind for kind in KINDS if kind not in CONVOLUTIONS)
UNKNOWN_ONLY = ("resize-dynamic-to-gathered-sum", "resize-dynamic-to-matmul", "window-to-slice")
"""The strategies of ops that there are for unknown sizes only."""
UNPORTABLE = ("conv-to-col2im",)
"""The strategies that `portable` has no use for."""
DRAWS, RARE_DRAWS = 400, 100
"""How many problems are drawn for one that a strategy applies to: of the case's kinds, then rare ones."""


@dataclass(frozen=True)
class Case:
    """A problem of some kind, compiled for a target at an opset with a strategy."""

    name: str
    kinds: tuple[str, ...] = ALL_KINDS
    dtype: str = "f32"
    dynamic: str = STATIC
    target: str = "cpu"
    opset: int = 18
    strategy: str = "auto"
    most_ops: int = 1
    strict_ieee: bool = False
    empty: bool = False
    """Whether no run has a batch; else some run has one."""

    @cached_property
    def _found(self) -> tuple[Problem, ModuleOp]:
        """The first of the case's draws that is not refused, and what it becomes."""
        for problem in self._draws():
            with contextlib.suppress(UnsupportedError):
                return problem, lowered(problem, self._target, self.strategy)
        raise AssertionError(f"{self.name}: nothing among {DRAWS + RARE_DRAWS} problems that it applies to")

    @property
    def problem(self) -> Problem:
        return self._found[0]

    @property
    def module(self) -> ModuleOp:
        return self._found[1]

    def _draws(self) -> Iterator[Problem]:
        seed = zlib.crc32(self.name.encode())
        for draw in range(DRAWS + RARE_DRAWS):
            problem = seeded(
                [seed, draw],
                kinds=self.kinds if draw < DRAWS else tuple(RARE),
                dtypes=(self.dtype,),
                dynamics=(self.dynamic,),
                most_ops=self.most_ops,
            )
            if all(is_empty(problem, run) for run in range(problem.runs)) == self.empty:
                yield problem

    @property
    def _target(self) -> Target:
        return Target(self.target, self.opset, threads=1, strict_ieee=self.strict_ieee)

    @cached_property
    def model(self) -> ModelProto:
        return export(self.module, opset=self.opset, metadata={})

    @cached_property
    def expected(self) -> Expected:
        return Expected(self.problem)

    @property
    def feeds(self) -> list[dict[str, np.ndarray]]:
        names = input_names(entry_function(self.module))
        return [dict(zip(names, self.problem.feeds(run), strict=True)) for run in range(self.problem.runs)]

    @cached_property
    def features(self) -> frozenset[str]:
        """What limits go by: `bf16 port` for an input or output of bf16, `empty constant`."""
        infos = (*input_infos(self.model), *output_infos(self.model))
        found = {f"{info.dtype} port" for info in infos}
        empty = any(0 in tensor.dims for tensor in self.model.graph.initializer)
        return frozenset(found | {"empty constant"} if empty else found)


def is_empty(problem: Problem, run: int) -> bool:
    return any(0 in value.sizes[run] for value in problem.inputs)


@dataclass(frozen=True)
class ResizeCase(Case):
    """ResizeBilinearV2Grad of `size` = (X, Y) positions along W, declared as `declared`.

    `mode` is an attribute of the op, or `corner`, which is neither of them.
    """

    size: tuple[int, int] = (1, 1)
    declared: tuple[int | None, int | None] = (None, None)
    mode: str = "half_pixel_centers"
    scale: float = 0.0

    def _draws(self) -> Iterator[Problem]:
        (x, y), problem = self.size, Problem(seed=1, runs=1)
        grads = problem.add_input("dy", "f32", (1, 1, 1, self.declared[1]), [(1, 1, 1, y)])
        image = problem.add_input("image", "f32", (1, 1, 1, self.declared[0]), [(1, 1, 1, x)])
        result = problem.result("dx", "f32", image.declared, image.sizes)
        attributes = {"scales": [0.0, self.scale]} | ({} if self.mode == "corner" else {self.mode: True})
        problem.nodes.append(Node(ResizeBilinearV2GradOp, (grads, image), attributes, result, None, ()))
        problem.outputs = [result]
        yield problem


def _kinds() -> Iterator[Case]:
    """Every op: f32 thrice, the halves once, with known, batch-only and unknown sizes."""
    for target, kind, dtype, dynamic in product(TARGETS, ALL_KINDS, ONEDNN_DTYPES, DYNAMICS):
        for count in range(3 if dtype == "f32" else 1):
            name = f"{kind}-{dtype}-{dynamic}-{target}-{count}"
            yield Case(name, (kind,), dtype, dynamic, target)


def _graphs() -> Iterator[Case]:
    """Graphs of several ops, at old and new opsets."""
    for target, opset, dynamic in product(TARGETS, (13, 15, 18, 21), (STATIC, SPATIAL)):
        name = f"graph-{dynamic}-{target}-opset{opset}"
        yield Case(name, tuple(KINDS), "f32", dynamic, target, opset, most_ops=4)


def _strategies() -> Iterator[Case]:
    """Every form, also those that the prices would not choose for such small problems."""
    for target, strategy in product(TARGETS, all_strategies()):
        if target == "portable" and strategy.name in UNPORTABLE:
            continue
        dynamic = SPATIAL if strategy.name in UNKNOWN_ONLY else STATIC
        kinds = _kinds_for(strategy)
        for count in range(3 if target == "cpu" else 1):
            name = f"{strategy.name}-{target}-{count}"
            yield Case(
                name,
                kinds,
                dynamic=dynamic,
                target=target,
                strategy=strategy.name,
                strict_ieee=strategy.strict_only,
            )


def _kinds_for(strategy: type[Strategy]) -> tuple[str, ...]:
    own = tuple(op.name for op in strategy.ops if op.name in GRADIENTS)
    return own or (RESIZES if strategy.name.startswith("resize") else CONVOLUTIONS)


def _empty() -> Iterator[Case]:
    """A batch of 0, known or not."""
    for target, kind, dynamic in product(TARGETS, ALL_KINDS, (STATIC, SPATIAL)):
        yield Case(f"empty-{kind}-{dynamic}-{target}", (kind,), "f32", dynamic, target, empty=True)


def _long_axes() -> Iterator[Case]:
    """Long enough for lowerings that cut an axis into blocks, and for quotients beyond 24 bits."""
    sizes = ((700, 300), (300, 700), (129, 1000), (1000, 129), (640, 640))
    modes = ("half_pixel_centers", "align_corners", "corner")
    for size, mode, scale in product(sizes, modes, (0.0, 1.7)):
        name = f"long-{size[0]}-{size[1]}-{mode}-{scale}"
        yield ResizeCase(name, size=size, declared=size, mode=mode, scale=scale)
    for target, size, mode in product(TARGETS, ((5000, 4099), (4099, 5000)), modes):
        name = f"long-unknown-{size[0]}-{size[1]}-{mode}-{target}"
        yield ResizeCase(name, target=target, size=size, mode=mode)


def _wide_numerators() -> Iterator[Case]:
    """Numerators of run-time coordinates reach 2^40 where the user gave a scale that is no small ratio."""
    for scale, declared in product(
        (0.0, 0.6000000238418579, 5.17808198928933), ((None, None), (300, None), (None, 170))
    ):
        name = f"wide-{scale:.2g}-{declared[0]}-{declared[1]}"
        yield ResizeCase(name, size=(300, 170), declared=declared, scale=scale)


CASES: tuple[Case, ...] = (
    *_kinds(),
    *_graphs(),
    *_strategies(),
    *_empty(),
    *_long_axes(),
    *_wide_numerators(),
)
