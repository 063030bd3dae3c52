"""Run-time sizes that a dynamic problem may or may not have, and the static problem that has them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from support.problems import Problem, Value, random_array

from dialects.support.diagnostics import GradcError
from dialects.support.shapes import Shape

Feeds = dict[str, np.ndarray]


def disturbed(problem: Problem, run: int, rng: np.random.Generator) -> Feeds:
    """The inputs of a run with one open size changed, wherever its name stands; sometimes none."""
    feeds = dict(zip((value.name for value in problem.inputs), problem.feeds(run), strict=True))
    places = [(v, axis) for v in problem.inputs for axis in range(len(v.declared)) if _is_open(v, axis)]
    if not places or rng.integers(6) == 0:
        return feeds
    # The batch stands in most shapes and has one rule: the other axes come up more often.
    others = [place for place in places if place[1] > 0 or place[0].dtype == "s32"]
    places = others if others and rng.integers(3) else places
    value, axis = places[rng.integers(len(places))]
    if value.dtype == "s32":
        feeds[value.name] = feeds[value.name].copy()
        index = max(rng.integers(len(feeds[value.name]), size=2))
        feeds[value.name][index] += rng.choice([-30, -4, -2, -1, 1, 2, 5])
        return feeds
    size = max(0, feeds[value.name].shape[axis] + rng.choice([-9, -2, -1, 1, 2, 3, 7]))
    name = value.declared[axis]
    same = [(v, a) for v, a in places if name is not None and v.declared[a] == name] or [(value, axis)]
    for v, a in same:
        shape = [size if i == a else dim for i, dim in enumerate(feeds[v.name].shape)]
        feeds[v.name] = random_array([problem.seed, run], v.dtype, shape)
    return feeds


def _is_open(value: Value, axis: int) -> bool:
    return value.dtype == "s32" or not isinstance(value.declared[axis], int)


def static(problem: Problem, feeds: Mapping[str, np.ndarray]) -> Problem:
    """The problem with the sizes of these inputs written down, sizes as constants."""
    known = {
        dim: size
        for value in problem.inputs
        for dim, size in zip(value.declared, feeds[value.name].shape, strict=True)
        if isinstance(dim, str)
    }
    sizes = {v.name: ("onnx", feeds[v.name]) for v in problem.inputs if v.dtype == "s32"}
    data = [replace(v, declared=feeds[v.name].shape) for v in problem.inputs if v.dtype != "s32"]
    nodes = [replace(node, declared=_named(node.declared, known)) for node in problem.nodes]
    return replace(problem, inputs=data, constants={**problem.constants, **sizes}, nodes=nodes)


def _named(shape: Shape | None, known: Mapping[str, int]) -> Shape | None:
    return shape and tuple(known.get(dim, dim) if isinstance(dim, str) else dim for dim in shape)


def refusal(action) -> str | None:
    """The words with which an action is refused, without what says which constant is meant."""
    try:
        action()
    except GradcError as error:
        return re.sub(r"^\S+: ", "", str(error))
    return None
