"""Shape rule of each ONNX op, and its application."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dialects.onnx import traits
from dialects.onnx.call import UNRANKED, Call
from dialects.onnx.infer.arrays import elementwise, reduce, same_as_first
from dialects.onnx.infer.unranked import rank_only
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
        found = rank_only(call)
    except (ArithmeticError, LookupError) as error:  # ranks or sizes that the rule does not expect
        raise violation(f"operands of {call.name}", given=_shapes_text(call)) from error
    for made in found:
        if made is not None and any(isinstance(dim, int) and dim < 0 for dim in made):
            raise violation(f"sizes of {call.name}", given=show(made), expected="no negative size")
    return found


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
