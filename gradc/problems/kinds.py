"""Registry of problem kinds, by name and by canonical op."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation

from dialects.grad import GRAD
from dialects.grad.layout import DATA_LAYOUTS
from dialects.grad.tunable import TunableOp
from dialects.support.diagnostics import GradcError, Position
from dialects.support.dtypes import FLOATS
from gradc.problems.base import Problem
from gradc.problems.conv import ConvBackwardDataProblem, ConvTransposeBackwardDataProblem
from gradc.problems.derived import problem_class
from gradc.problems.resize import ResizeBackwardDynamicProblem, ResizeBackwardProblem
from gradc.problems.text import Fields

KINDS: Mapping[str, type[Problem]] = {
    cls.KIND: cls
    for cls in (
        ConvBackwardDataProblem,
        ConvTransposeBackwardDataProblem,
        ResizeBackwardProblem,
        ResizeBackwardDynamicProblem,
        *(problem_class(op) for op in GRAD.operations if issubclass(op, TunableOp)),
    )
}
OPS: Mapping[type[Operation], type[Problem]] = {cls.OP: cls for cls in KINDS.values()}


def parse_problem(text: str, place: Position | None = None) -> Problem:
    """Parse a problem string. Raises GradcError for an invalid one.

    `place` is the position of the string in a file, for errors.
    """
    fields = Fields(text, place)
    kind = KINDS[fields.word(0, "kind", tuple(KINDS))]
    dtype = fields.word(1, "dtype", FLOATS)
    layout = fields.word(2, "layout", DATA_LAYOUTS)
    fields.check_names(3, ("diff_dst", *kind.FIELDS))
    problem = kind.read(fields, dtype, layout)
    try:
        _ = problem.diff_src
    except GradcError as error:
        raise fields.error(error.diagnostic.message) from None
    return problem


def problem_of(op: Operation) -> Problem:
    """Return the problem of a verified canonical gradient op, one of OPS."""
    return OPS[type(op)].of_op(op)
