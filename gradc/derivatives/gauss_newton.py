"""`gradc.ggnvp`: products of the Gauss-Newton matrix with vectors.

For a loss L(z) of a value z(x), the Hessian by x is J^T H J plus a sum of second derivatives of z, where J is
the Jacobian of z and H the Hessian of L. The Gauss-Newton matrix is the first term. It is the derivative of
the gradient J^T dL/dz along x if J is constant: N. Schraudolph, Fast curvature matrix-vector products, 2002.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.onnx import ops as onnx
from dialects.support import entry
from dialects.support.diagnostics import several, usage
from dialects.support.names import hint_of
from dialects.support.option_names import option
from gradc.compiler.compiled import Compiled
from gradc.compiler.options import Options
from gradc.compiler.pass_runner import Observer
from gradc.derivatives.derivation import Derivation
from gradc.derivatives.options import HvpOptions, derive, takes
from gradc.derivatives.request import GradientRequest, Names, option_names
from gradc.derivatives.results import results_of
from gradc.derivatives.second_order import finish_product, free_template
from gradc.util import arguments
from passes.autodiff.activity.active_values import is_float
from passes.autodiff.activity.straight_through_marks import skip_identities
from passes.autodiff.pin_values import default_wrt
from passes.builder.captured_values import dependents, uses_by
from passes.differentiate import Request

RESIDUAL = "gradc.residual."
"""Prefix of the names of values that the Jacobian reads."""


class GgnvpOptions(HvpOptions, total=False):
    """Options of `ggnvp`."""

    through: Names


@dataclass(frozen=True)
class GgnvpRequest(GradientRequest):
    """Options of a Gauss-Newton product."""

    through: Names = None

    def __post_init__(self) -> None:
        super().__post_init__()
        names = option_names("through", self.through)
        if not names:
            raise arguments.invalid("through", self.through, "the value that the loss is a function of")
        object.__setattr__(self, "through", names)

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(self.through or ())


@takes(GgnvpOptions, GgnvpRequest)
def ggnvp(model: Any, **given: Unpack[GgnvpOptions]) -> Compiled:
    """Return the Gauss-Newton product J^T H J v, with inputs `tangent_<wrt>` and results `ggnvp_<wrt>`.

    J is the Jacobian of `through` by `wrt`, H the Hessian of `of` by `through`, and v the tangents. For a
    convex loss the matrix is positive semi-definite, as the Hessian need not be.

    through: the value that the loss `of` is a function of, such as the logits, or several.
    Other arguments as for `hvp`. The check covers the gradient, and its derivative for a constant J.
    """
    return derive(model, given, GgnvpRequest, ggnvp_of)


def ggnvp_of(
    module: ModuleOp,
    user_request: GgnvpRequest,
    options: Options,
    constants: Any = None,
    observer: Observer | None = None,
) -> Compiled:
    """Return the Gauss-Newton product of a module, which is modified."""
    derivation = Derivation.begin(module, user_request, options, constants, observer)
    module = derivation.module
    request = user_request.request(module)
    function = entry.entry_function(module)
    inputs, by = entry.input_names(function), request.wrt or default_wrt(function)
    if both := [name for name in by if name in user_request.values]:
        given = f"{several(both)} in {option('wrt')} and in {option('through')}"
        raise usage(given, expected="each name in one of the two")
    template = free_template({*inputs, *by, *user_request.values})
    wrt = [*by, *user_request.values]
    once = derivation.differentiate(replace(request, wrt=wrt, name_template=template))
    gradients = {name: result for name, result in once.gradients.items() if name not in user_request.values}
    again = Request(
        of=list(gradients.values()),
        wrt=list(gradients),
        keep=request.keep,
        cotangents=True,
        allow_unused=True,
        straight_through=request.straight_through,
        name_template=template,
        stop_gradient=_name_residuals(module, once.gradients, user_request.values),
    )
    remarks = list(derivation.remarks)
    twice = derivation.differentiate(again)
    derivation.remarks = remarks
    return finish_product(derivation, "ggnvp", once, twice, [*inputs, *request.keep])


def _name_residuals(module: ModuleOp, gradients: Mapping[str, str], through: Sequence[str]) -> list[str]:
    """Insert an Identity before each read of a value by the ops that multiply the cotangents of `through` by
    the Jacobian; return the names of their results.

    Raises UsageError if no gradient by another value depends on these cotangents.
    """
    function = entry.entry_function(module)
    results = results_of(function)
    starts = {skip_identities(results[gradients[name]]) for name in through}
    ops, made = dependents(list(function.body.block.ops)[:-1], starts)
    others = [results[result] for name, result in gradients.items() if name not in through]
    if not any(value in made for value in others):
        given = f"{several(through)}, which does not depend on {option('wrt')}"
        raise usage(option("through"), given=given, expected="a value between the two")
    residuals: dict[SSAValue, SSAValue] = {}
    for op in ops:
        for use in uses_by(op):
            value = use.operation.operands[use.index]
            if value in made or not is_float(value):
                continue
            if value not in residuals:
                residuals[value] = _identity(value, f"{RESIDUAL}{len(residuals)}", ops[0])
            use.operation.operands[use.index] = residuals[value]
    return [f"{RESIDUAL}{index}" for index in range(len(residuals))]


def _identity(value: SSAValue, name: str, before: Operation) -> SSAValue:
    op = onnx.IdentityOp(value)
    op.results[0].name_hint = hint_of(name)
    place = InsertPoint.before(before)
    if isinstance(value.owner, Operation) and before.is_before_in_block(value.owner):
        place = InsertPoint.after(value.owner)
    Rewriter.insert_op(op, place)
    return op.results[0]
