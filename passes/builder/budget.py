"""Compile-time cost of a strategy, computed from sizes alone, and its limits."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation

from dialects.grad.sampling import AxisSampling
from dialects.support import limits
from dialects.support.shapes import MOST_ELEMENTS, shape_of

FREE_CONSTANTS = 2**20
"""Constant elements that any op may have, however small its data."""


@dataclass(frozen=True)
class CompileTimeCost:
    """Constant elements and ONNX nodes that a lowering creates.

    `spread` bounds the size of an intermediate tensor per element of the op's data; `positions` is the length
    of the longest axis whose coordinates are computed one by one.
    """

    constants: int = 0
    nodes: int = 0
    spread: int = 1
    positions: int = 0

    def __add__(self, other: CompileTimeCost) -> CompileTimeCost:
        return CompileTimeCost(
            self.constants + other.constants,
            self.nodes + other.nodes,
            max(self.spread, other.spread),
            max(self.positions, other.positions),
        )


def sampling_cost(sampling: AxisSampling) -> CompileTimeCost:
    """Return the cost of computing the coordinates of an axis one by one."""
    return CompileTimeCost(positions=max(sampling.x, sampling.y))


def exceeds_limits(built: CompileTimeCost) -> bool:
    """Return whether a cost exceeds the limits for any op."""
    known = limits.current()
    return (
        built.constants > known.constant_elements
        or built.nodes > known.nodes
        or built.positions > known.axis_positions
    )


def is_within_budget(built: CompileTimeCost, data: int) -> bool:
    """Return whether a cost is within the limits for an op with `data` elements."""
    within = built.constants <= max(FREE_CONSTANTS, limits.current().constant_growth * data)
    return within and not exceeds_limits(built)


def budget_error(built: CompileTimeCost, op: Operation) -> str | None:
    """Return why a cost exceeds the limits for an op, or None."""
    largest, total = _data(op)
    if largest * built.spread > MOST_ELEMENTS:
        return f"a tensor would have more than {MOST_ELEMENTS:,} elements"
    if is_within_budget(built, total):
        return None
    if built.nodes > limits.current().nodes:
        return limits.too_large("nodes", built.nodes, "nodes that it writes")
    if built.positions > limits.current().axis_positions:
        return limits.too_large("axis-positions", built.positions, "positions of an axis")
    if exceeds_limits(built):
        return limits.too_large("constant-elements", built.constants, "elements of constants that it builds")
    growth = -(-built.constants // max(1, total))
    what = f"elements of constants that it builds, {built.constants:,}, as a multiple of the op's data"
    return limits.too_large("constant-growth", growth, what)


def _data(op: Operation) -> tuple[int, int]:
    """Count elements of the larger of data and result, and of both; a dynamic size counts as 1."""
    sizes = [
        prod(dim for dim in shape_of(value) if isinstance(dim, int))
        for value in (op.operands[0], op.results[0])
    ]
    return max(sizes), sum(sizes)
