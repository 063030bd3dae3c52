"""The kinds of problems, by name and by canonical op."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation

from gradc.problems.base import Problem
from gradc.problems.conv import ConvBackwardDataProblem, ConvTransposeBackwardDataProblem
from gradc.problems.resize import ResizeBackwardDynamicProblem, ResizeBackwardProblem

KINDS: Mapping[str, type[Problem]] = {
    cls.KIND: cls
    for cls in (
        ConvBackwardDataProblem,
        ConvTransposeBackwardDataProblem,
        ResizeBackwardProblem,
        ResizeBackwardDynamicProblem,
    )
}
OPS: Mapping[type[Operation], type[Problem]] = {cls.OP: cls for cls in KINDS.values()}
