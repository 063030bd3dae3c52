"""The specification of a gradient check, and the error that it raises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from dialects.support.diagnostics import Diagnostic, GradcError
from passes.autodiff.record import Differentiated

Arrays = Mapping[str, Any]


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
    """The form in which a compiled model has a gradient: here, a result for each `wrt`.

    gradients: name of a `wrt` -> result. cotangents: name of an `of` -> input.
    factors: result -> the factor of the gradient in it; results of factor 0 are not compared.
    """

    gradients: Mapping[str, str]
    cotangents: Mapping[str, str]
    factors: Mapping[str, float] = field(default_factory=dict[str, float])

    def renamed(self, names: Mapping[str, str]) -> Self:
        """Return the form with new names of results and inputs."""
        gradients, cotangents = (
            {key: names.get(name, name) for key, name in part.items()}
            for part in (self.gradients, self.cotangents)
        )
        return replace(self, gradients=gradients, cotangents=cotangents)

    def arrangements(self) -> Sequence[Written]:
        """Return the forms by which to compare the model, each with other inputs."""
        return (self,)

    def inputs(self, inputs: Arrays) -> Arrays:
        """Return the model's inputs for those of the checked function."""
        return inputs

    def feeds(self, cotangents: Arrays) -> dict[str, Any]:
        """Return the model's inputs for the cotangents of `of`, by name."""
        return {self.cotangents[name]: array for name, array in cotangents.items() if name in self.cotangents}

    def read(self, results: Arrays, cotangents: Arrays) -> dict[str, np.ndarray]:
        """Return the gradients by name of a `wrt`, from the model's results for these cotangents, which are
        given together with the inputs of the function."""
        return {
            name: self.unscaled(result, results)
            for name, result in self.gradients.items()
            if self.factors.get(result, 1.0)
        }

    def unscaled(self, result: str, results: Arrays) -> np.ndarray:
        factor = self.factors.get(result, 1.0)
        return results[result] if factor == 1.0 else results[result] / factor


def remark(text: str) -> Diagnostic:
    return Diagnostic("remark", text)
