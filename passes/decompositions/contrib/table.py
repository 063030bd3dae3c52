"""Registry of decompositions of ops of other domains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from dialects.onnx.attributes import python_values
from dialects.onnx.domains import MICROSOFT, NCHWC
from dialects.onnx.node import WHY, NodeOp
from dialects.onnx.types import UnknownType
from dialects.support.diagnostics import GradcError, violation
from dialects.support.shapes import UnknownRank
from passes.autodiff.activity.non_differentiable import NO_TYPE
from passes.autodiff.common.primal import Primal
from passes.builder.values import ValueBuilder
from passes.decompositions.contrib import ai_onnx_ml, microsoft, nchwc
from passes.decompositions.contrib.decomposition import Decomposition

DECOMPOSITIONS: Mapping[str, Mapping[str, Decomposition]] = MappingProxyType(
    {
        "": {
            "SimplifiedLayerNormalization": microsoft.simplified_layer_normalization
        },  # onnxruntime's, in the standard domain
        "ai.onnx.ml": ai_onnx_ml.DECOMPOSITIONS,
        MICROSOFT: microsoft.DECOMPOSITIONS,
        NCHWC: nchwc.DECOMPOSITIONS,
    }
)
"""Domain -> op -> its decomposition."""


def titles() -> Iterator[str]:
    """Return the qualified names of ops with a decomposition."""
    return (
        ".".join(filter(None, (domain, name))) for domain, bodies in DECOMPOSITIONS.items() for name in bodies
    )


_NO_TYPE = f"{NO_TYPE}; a value_info in the model would define it"
MOST_NEEDED = 7
"""From this operand count on, an index error is a bug in a decomposition."""

_NOT_MADE = "its decomposition does not compute this result"


def decompose_node(
    node: NodeOp, of_model: Mapping[str, object]
) -> tuple[Sequence[Operation], Sequence[SSAValue | None]] | None:
    """Return new ops for a node and the values of its results (None: only the node computes it), or None
    without a decomposition. A node that stays gets the reason as attribute. `of_model` adds to the attributes
    of ops in blocked layouts."""
    body = DECOMPOSITIONS.get(node.domain.data, {}).get(node.op_type.data)
    if body is None:
        return None
    if any(isinstance(value.type, UnknownType) for value in node.operands):
        return _record_refusal(node, _NO_TYPE)
    e = ValueBuilder()
    operands = [None if value is None else e(value) for value in node.onnx_inputs()]
    attributes = python_values(node.given.data)
    if node.domain.data == NCHWC:
        attributes = {**attributes, **of_model}
    forward = Primal(e, operands, attributes, [None] * len(node.results))
    try:
        results = body(forward, e)
    except UnknownRank:
        e.emit.discard()
        return _record_refusal(node, _NO_TYPE)
    except GradcError as error:
        e.emit.discard()
        return _record_refusal(node, error.diagnostic.message)
    except (AssertionError, IndexError):
        if len(operands) >= MOST_NEEDED:
            raise
        expected = "those that the op needs, in their shapes"
        raise violation(f"operands of {node.title}", given=len(operands), expected=expected) from None
    values = [None if result is None else result.value for result in results]
    values = [*values, *[None] * len(node.results)][: len(node.results)]
    if None in values:
        _record_refusal(node, _NOT_MADE)
    return e.emit.ops, values


def _record_refusal(node: NodeOp, why: str) -> None:
    node.attributes[WHY] = StringAttr(why)
