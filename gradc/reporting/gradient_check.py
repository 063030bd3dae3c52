"""Gradient check of a report."""

from __future__ import annotations

from dialects.support.diagnostics import GradcError
from gradc.compiler.driver import load
from gradc.derivatives.gradient import gradient_of
from gradc.derivatives.source import GradientSource
from gradc.reporting.data import GradientCheck, Missing
from gradc.reporting.request import Request
from gradc.verification.gradient_spec import CheckError


def gradient_check(request: Request) -> GradientCheck | Missing | None:
    """Return the outcome of `gradc grad` for the same request; None for a graph that is not a gradient."""
    source, gradient = request.source, request.gradient
    if isinstance(source, GradientSource):
        source, gradient = source.primal, source.gradient
    if gradient is None:
        return None
    if not request.run:
        return Missing("nothing was run, as requested")
    try:
        module = load(source, request.options.auto_pad_rule, for_gradients=())
        return GradientCheck(gradient_of(module, gradient, request.options, request.constants).proof)
    except CheckError as error:
        return GradientCheck(error=error.diagnostic)
    except GradcError as error:
        return Missing.of_error(error)
    except MemoryError:
        return Missing("the memory of this machine does not suffice to check the gradient")
