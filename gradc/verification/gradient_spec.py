"""The specification of a gradient check, and the error that it raises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp

from dialects.support.diagnostics import Diagnostic, GradcError
from passes.autodiff.record import Differentiated


class CheckError(GradcError):
    """The check found a wrong gradient; the exit code is 1."""

    exit_code = 1


@dataclass(frozen=True)
class Claim:
    """A gradient to check: a function and the record of its differentiation.

    primal: the original function in ONNX ops.
    straight_through: use straight-through estimators; the check then tests the straight-through function.
    stopped: names of values that are constants along tangents.
    """

    primal: ModuleOp
    differentiated: Differentiated
    straight_through: bool = False
    reduce: str | None = None
    stopped: Sequence[str] = ()


@dataclass(frozen=True)
class Written:
    """Names of a compiled gradient.

    gradients: name of a `wrt` -> result. cotangents: name of an `of` -> input.
    factors: result -> the factor of the gradient in it; results of factor 0 are not compared.
    """

    gradients: Mapping[str, str]
    cotangents: Mapping[str, str]
    factors: Mapping[str, float] = field(default_factory=dict[str, float])


def remark(text: str) -> Diagnostic:
    return Diagnostic("remark", text)
