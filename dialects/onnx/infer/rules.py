"""Shape rule of each ONNX op, and its application."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dialects.onnx import traits
from dialects.onnx.call import UNRANKED, Call
from dialects.onnx.dims import vector
from dialects.onnx.infer.arrays import elementwise, reduce, same_as_first
from dialects.support.diagnostics import violation
from dialects.support.shapes import Shape, UnknownRank, show

Rule = Callable[[Call], Sequence[Shape | None]]


def infer(call: Call) -> list[Shape | None]:
    """Return one shape per result, None for an unknown rank: without a rule, or if a needed rank is
    unknown."""
    rule = RULES.get(call.name)
    try:
        found: list[Shape | None] = [None] * call.results if rule is None else [*rule(call)]
    except UnknownRank:
        found = _infer_ranks(call)
    except (ArithmeticError, LookupError) as error:  # ranks or sizes that the rule does not expect
        raise violation(f"operands of {call.name}", given=_shapes_text(call)) from error
    for made in found:
        if made is not None and any(isinstance(dim, int) and dim < 0 for dim in made):
            raise violation(f"sizes of {call.name}", given=show(made), expected="no negative size")
    return found


def _infer_ranks(call: Call) -> list[Shape | None]:
    """Return shapes of the results of a call for which its own rule needs an unknown rank."""
    rule = RANKS.get(call.name)
    try:
        found = [] if rule is None else [*rule(call)][: call.results]
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


def _shapes_text(call: Call) -> str:
    """Return the shapes of the operands as text."""
    known = [operand for operand in call.operands if operand is not None and operand is not UNRANKED]
    return ", ".join(show(operand.shape) for operand in known)


RULES: Mapping[str, Rule] = {
    **dict.fromkeys(traits.BROADCASTING, elementwise),
    **dict.fromkeys(traits.UNARY, same_as_first),
    **dict.fromkeys(traits.REDUCTIONS, reduce),
    **{op: rule for table in traits.SHAPE_RULES for rules in table.values() for op, rule in rules.items()},
}
"""Op -> its shape rule: that of its kind, or its own."""

RANKS: Mapping[str, Rule] = {
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
"""Op -> its rule for ranks that follow although the rank of an operand is unknown."""
