"""Ranks of results that follow although the rank of an operand is unknown."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dialects.onnx.call import Call
from dialects.onnx.dims import vector
from dialects.support.shapes import Shape, UnknownRank

Rule = Callable[[Call], list[Shape | None]]


def rank_only(call: Call) -> list[Shape | None]:
    """Return shapes of the results of a call for which its own rule needs an unknown rank."""
    rule = RULES.get(call.name)
    try:
        found = [] if rule is None else rule(call)[: call.results]
    except UnknownRank:
        found = []
    return found + [None] * (call.results - len(found))


def _fixed(*ranks: int) -> Rule:
    """Return a rule for results that have these ranks in every call."""
    return lambda call: [(None,) * rank for rank in ranks]


def _reshape(call: Call) -> list[Shape | None]:
    sizes = vector(call.operand(1), "the shape of Reshape")
    if sizes is None:
        return [call.unknown("the shape of Reshape", call.operand(1))]
    return [tuple(dim if isinstance(dim, int) and dim > 0 else None for dim in sizes)]


def _loss(call: Call) -> list[Shape | None]:
    return [None if call.attribute("reduction", "mean") == "none" else ()]


def _unique(call: Call) -> list[Shape | None]:
    return [(None,) if call.attribute("axis") is None else None, (None,), (None,), (None,)]


RULES: Mapping[str, Rule] = {
    "Flatten": _fixed(2),
    "Gemm": _fixed(2),
    "NegativeLogLikelihoodLoss": _loss,
    "NonZero": _fixed(2),
    "Range": _fixed(1),
    "Reshape": _reshape,
    "RoiAlign": _fixed(4),
    "Shape": _fixed(1),
    "SoftmaxCrossEntropyLoss": _loss,
    "Unique": _unique,
}
