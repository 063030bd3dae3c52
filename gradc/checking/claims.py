"""What is said of a gradient, and what is told of it where that is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp

from dialects.support.diagnostics import Diagnostic, GradcError


class CheckError(GradcError):
    """A gradient that a check found to be wrong; a command ends with 1."""

    exit_code = 1


@dataclass(frozen=True)
class Claim:
    """That `gradient`, a module, gives the gradients of a primal's `of`, under names of its results."""

    primal: ModuleOp
    gradient: ModuleOp
    of: Sequence[str]
    gradients: Mapping[str, str]
    cotangents: Mapping[str, str]
    reduce: str | None = None
    straight_through: bool = False
    factors: Mapping[str, float] = field(default_factory=dict)
    """By the names of results: what a gradient is multiplied by, not 0."""


def remark(text: str) -> Diagnostic:
    return Diagnostic("remark", text)
