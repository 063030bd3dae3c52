"""Roofline model for targets without measurements: the slower of arithmetic and memory, per node."""

from __future__ import annotations

import math

from passes.cost.graph import VIEWS, Graph, Step

FLOPS, BYTES, NODE = 1e13, 1e12, 5e-6
"""Flops and bytes per second, and seconds per node: the order of magnitude of a GPU."""


def seconds(graph: Graph) -> float:
    return sum(_step(step) for step in graph.steps if step.kind not in VIEWS)


def _step(step: Step) -> float:
    moved = sum(t.bytes for t in (*step.operands, *step.results) if t is not None)
    return NODE + max(flops(step) / FLOPS, moved / BYTES)


def flops(step: Step) -> float:
    """Return multiplications and additions of products and convolutions; one per element of anything else."""
    match step.kind:
        case "MatMul":
            return 2.0 * step.result.elements * step.operand(0).shape[-1]
        case "Conv":
            return 2.0 * step.result.elements * math.prod(step.operand(1).shape[1:])
        case "ConvTranspose":
            return 2.0 * step.operand(0).elements * math.prod(step.operand(1).shape[1:])
        case _:
            return float(step.result.elements)
