"""`gradc.hvp`: products of the second derivative with vectors."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from typing import Any, Unpack

from xdsl.dialects.builtin import ModuleOp

from dialects.support import entry
from gradc.compiler.compiled import Compiled, Derivative
from gradc.compiler.options import Options
from gradc.compiler.pass_runner import Observer
from gradc.derivatives.derivation import Derivation
from gradc.derivatives.options import HvpOptions, derive, takes
from gradc.derivatives.request import GradientRequest
from gradc.verification.gradient_spec import Written
from passes.autodiff.session import Session
from passes.autodiff.vjp_pass import NAME_TEMPLATE, check_names
from passes.differentiate import Request


@takes(HvpOptions)
def hvp(model: Any, **given: Unpack[HvpOptions]) -> Compiled:
    """Return the Hessian-vector product, with inputs `tangent_<wrt>` and results `hvp_<wrt>`.

    Several `wrt` have a joint Hessian. Arguments as for `grad`. User rules are differentiated, too; the check
    covers the first and the second derivative.
    """
    return derive(model, given, GradientRequest, hvp_of)


def hvp_of(
    module: ModuleOp,
    user_request: GradientRequest,
    options: Options,
    constants: Any = None,
    observer: Observer | None = None,
) -> Compiled:
    """Return the Hessian-vector product of a module, which is modified."""
    derivation = Derivation.begin(module, user_request, options, constants, observer)
    module = derivation.module
    request = user_request.request(module)
    inputs = entry.input_names(entry.entry_function(module))
    once, twice = differentiate_twice(derivation, request)
    return finish_product(derivation, "hvp", once, twice, [*inputs, *request.keep])


def finish_product(
    derivation: Derivation, what: str, once: Session, twice: Session, taken: Sequence[str]
) -> Compiled:
    """Compile a module of products of a second derivative with tangents: results `<what>_<wrt>`.

    `taken` are the names of its inputs and other results.
    """
    template, wrt = derivation.user_request.name_template, list(twice.gradients)
    names = {name: template.format(what=what, name=name) for name in wrt}
    tangents = {name: template.format(what="tangent", name=name) for name in wrt}
    check_names([*tangents.values(), *names.values()], [*taken, *wrt])
    of_gradients = {once.gradients[name]: tangent for name, tangent in tangents.items()}
    derivation.rename(
        {twice.cotangents[gradient]: tangent for gradient, tangent in of_gradients.items()},
        {twice.gradients[name]: new for name, new in names.items()},
    )
    derivatives = [Derivative(new, what, tuple(once.of), (name, *wrt)) for name, new in names.items()]
    return derivation.finish(Written(names, of_gradients), derivatives, tangents)


def differentiate_twice(derivation: Derivation, request: Request) -> tuple[Session, Session]:
    """Differentiate a function, and its gradient by the same values with tangents as cotangents."""
    inputs = entry.input_names(entry.entry_function(derivation.module))
    template = free_template({*inputs, *request.wrt})
    once = derivation.differentiate(replace(request, name_template=template))
    again = Request(
        of=list(once.gradients.values()),
        wrt=list(once.gradients),
        keep=request.keep,
        cotangents=True,
        allow_unused=True,
        straight_through=request.straight_through,
        name_template=template,
    )
    remarks = list(derivation.remarks)
    twice = derivation.differentiate(again)
    derivation.remarks = remarks
    return once, twice


def free_template(names: Set[str]) -> str:
    """Return a name template for the first derivative within a second one that avoids `names`."""
    template = NAME_TEMPLATE
    while not _is_free(template, names):
        template = f"_{template}"
    return template


def _is_free(template: str, names: Set[str]) -> bool:
    gradients = {template.format(what="grad", name=name) for name in names}
    cotangents = {template.format(what="cotangent", name=name) for name in gradients}
    return names.isdisjoint(gradients | cotangents)
