"""Which ops of other domains ops of ONNX stand for, and which have no derivative."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from xdsl.ir import Operation, SSAValue

from dialects.onnx.attributes import python_values
from dialects.onnx.node import NodeOp
from dialects.onnx.types import UnknownType
from dialects.support.diagnostics import GradcError
from passes.emit.expressions import Operators
from passes.foreign import learning, microsoft
from passes.foreign.body import Body
from passes.vjp.forward import Forward

BODIES: Mapping[str, Mapping[str, Body]] = MappingProxyType(
    {
        "": {"SimplifiedLayerNormalization": microsoft.simplified},  # onnxruntime's, of no domain of its own
        "ai.onnx.ml": learning.BODIES,
        "com.microsoft": microsoft.BODIES,
    }
)
"""Domain -> op -> what stands for it."""


def replaced(node: NodeOp) -> tuple[Sequence[Operation], Sequence[SSAValue | None]] | None:
    """New ops in place of a node and their values for its results, None for one that the node alone makes;
    None for a node for which nothing stands."""
    body = BODIES.get(node.domain.data, {}).get(node.op_type.data)
    if body is None:
        return None
    if any(isinstance(value.type, UnknownType) for value in node.operands):
        return None
    e = Operators()
    operands = [None if value is None else e(value) for value in node.onnx_inputs()]
    forward = Forward(e, operands, python_values(node.given.data), [None] * len(node.results))
    try:
        results = body(forward, e)
    except GradcError:  # in this form it stays a node, which says that it has no derivative
        return None
    values = [None if result is None else result.value for result in results]
    return e.emit.ops, [*values, *[None] * len(node.results)][: len(node.results)]
