"""Performance targets relative to the best peer: `floor` for each case, `mean` for the geometric mean."""

from __future__ import annotations

from typing import NamedTuple

from gradc.problems import ConvBackwardDataProblem, ConvTransposeBackwardDataProblem, Problem

CLOSE = 0.9
"""Minimum speed of `auto`'s choice relative to the fastest strategy."""


class Target(NamedTuple):
    floor: float
    mean: float


CONV = {"NCX": Target(0.9, 1.5), "NXC": Target(0.85, 1.3)}
CONV_RUN_TIME_WEIGHTS = Target(0.8, 1.0)
RESIZE = {"NCX": Target(0.9, 4.0), "NXC": Target(0.9, 2.0)}


class Group(NamedTuple):
    """Problems with a common mean. `weights` is constant, input, or empty without weights."""

    op: str
    layout: str
    weights: str
    dtype: str

    def __str__(self) -> str:
        weights = {"constant": "constant weights", "input": "run-time weights", "": ""}[self.weights]
        return " ".join(filter(None, (self.op, self.layout, weights, self.dtype)))


def group_of(problem: Problem) -> Group:
    return Group(problem.KIND, problem.layout, getattr(problem, "weights_are", ""), problem.dtype)


def target_of(problem: Problem) -> Target:
    if not isinstance(problem, ConvBackwardDataProblem | ConvTransposeBackwardDataProblem):
        return RESIZE[problem.layout]
    return CONV_RUN_TIME_WEIGHTS if problem.weights_are == "input" else CONV[problem.layout]
