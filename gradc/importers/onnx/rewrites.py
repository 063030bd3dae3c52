"""Interface by which the caller of the importer rewrites nodes that have no op in the dialect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from dialects.onnx.node import NodeOp

Rewritten: TypeAlias = tuple[Sequence[Operation], Sequence[SSAValue | None]]
"""New ops, and the values of the results; None for one that only the node computes."""

Gradients: TypeAlias = Callable[
    [Sequence[Operation], Sequence[SSAValue], Sequence[SSAValue], int, SSAValue],
    tuple[Sequence[Operation], Sequence[SSAValue]],
]
"""From the ops before a Gradient node, the values of its xs and zs, its inputs, the number of xs, and y: the
new ops, and the derivatives."""


@dataclass(frozen=True)
class Rewrites:
    """`decompose` gets a node and attributes of the model; None keeps the node."""

    decompose: Callable[[NodeOp, Mapping[str, object]], Rewritten | None]
    differentiate: Gradients
