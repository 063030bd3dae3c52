"""The specification of a gradient check, and the error it raises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp

from dialects.support.diagnostics import Diagnostic, GradcError
from passes.vjp.record import Differentiated


class CheckError(GradcError):
    """A gradient that a check found to be wrong; a command ends with 1."""

    exit_code = 1


@dataclass(frozen=True)
class Claim:
    """A gradient to be proved: a function, and the record of its differentiation.

    primal: the function as it was given, in ONNX ops.
    straight_through: gradients pass rounding; the straight-through function is what is tested.
    """

    primal: ModuleOp
    differentiated: Differentiated
    straight_through: bool = False


@dataclass(frozen=True)
class Written:
    """The names of a compiled gradient.

    gradients, cotangents: of what the gradient is by, and of what is differentiated -> result, input.
    factors: result -> what the gradient in it is multiplied by; those of 0 are not compared.
    """

    gradients: Mapping[str, str]
    cotangents: Mapping[str, str]
    factors: Mapping[str, float] = field(default_factory=dict[str, float])


def remark(text: str) -> Diagnostic:
    return Diagnostic("remark", text)
