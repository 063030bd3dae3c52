"""Decompose nodes of other domains than ONNX's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from dialects.onnx.attributes import python_values
from dialects.onnx.domains import NCHWC
from dialects.onnx.node import WHY, NodeOp
from dialects.onnx.types import UnknownType
from dialects.support.diagnostics import GradcError
from dialects.support.shapes import UnknownRank
from passes.autodiff.activity.non_differentiable import NO_TYPE
from passes.autodiff.common.primal import Primal
from passes.builder.values import Builder
from passes.decompositions.registry import Reason, decomposition_of

_NO_TYPE = f"{NO_TYPE}; add a value_info to the model"
_NOT_MADE = "its decomposition does not compute this result"


def decompose_node(
    node: NodeOp, of_model: Mapping[str, object]
) -> tuple[Sequence[Operation], Sequence[SSAValue | None]] | None:
    """Return new ops for a node and the values of its results (None: only the node computes it), or None
    without a decomposition. A node that stays gets the reason as attribute. `of_model` adds to the attributes
    of ops in blocked layouts."""
    found = decomposition_of(node.title, Reason.OTHER_DOMAIN)
    if found is None:
        return None
    if any(isinstance(value.type, UnknownType) for value in node.operands):
        return _record_refusal(node, _NO_TYPE)
    e = Builder()
    operands = found.match_operands([None if value is None else e(value) for value in node.onnx_inputs()])
    try:
        primal = Primal(e, operands, _attributes(node, of_model), [None] * len(node.results))
        results = found.write(primal, e) or []
    except UnknownRank:
        e.emit.discard()
        return _record_refusal(node, _NO_TYPE)
    except GradcError as error:
        e.emit.discard()
        return _record_refusal(node, error.diagnostic.message)
    except TypeError as error:  # a fraction with an integer dtype
        e.emit.discard()
        return _record_refusal(node, str(error))
    values = [None if result is None else result.value for result in results]
    values = [*values, *[None] * len(node.results)][: len(node.results)]
    if None in values:
        _record_refusal(node, _NOT_MADE)
    return e.emit.ops, values


def _attributes(node: NodeOp, of_model: Mapping[str, object]) -> Mapping[str, object]:
    attributes = python_values(node.given.data)
    return {**attributes, **of_model} if node.domain.data == NCHWC else attributes


def _record_refusal(node: NodeOp, why: str) -> None:
    node.attributes[WHY] = StringAttr(why)
