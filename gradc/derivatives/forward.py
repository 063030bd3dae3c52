"""`gradc.jvp`: forward mode, the transposed reverse pass.

The gradient J^T u is linear in the cotangents u. Its own derivative by u, in reverse mode with the tangents v
as cotangents, is J v, which does not depend on u: https://j-towns.github.io/2017/06/12/A-new-trick.html.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Unpack

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.support import entry
from gradc.compiler.compiled import Compiled, Derivative
from gradc.compiler.options import Options
from gradc.compiler.pass_runner import Observer, parse, run_passes
from gradc.derivatives.casadi import finish_for_casadi
from gradc.derivatives.derivation import Derivation
from gradc.derivatives.options import DerivativeOptions, derive, takes
from gradc.derivatives.results import add_results, results_of, set_results_of
from gradc.derivatives.row_requests import JvpRequest
from gradc.derivatives.second_order import free_template
from gradc.verification.gradient_spec import Written
from passes.autodiff.request import default_output
from passes.autodiff.session import Session
from passes.autodiff.vjp_pass import check_names
from passes.builder.values import Builder
from passes.differentiate import Request

SHAPES = "gradc.shape_of."
"""Prefix of results that only give the shapes of cotangents."""


class JvpOptions(DerivativeOptions, total=False):
    """Options of `jvp`."""

    num_tangents: int | str | None
    family: str | None


@takes(JvpOptions, JvpRequest)
def jvp(model: Any, **given: Unpack[JvpOptions]) -> Compiled:
    """Return the Jacobian-vector product, with inputs `tangent_<wrt>` and results `jvp_<of>`.

    The sum over `wrt` of the directional derivatives of each `of`: forward mode.
    num_tangents: a number or a name K: tangents and results have a leading axis of K, and all rows are
    computed in one run. family: `casadi` gives tangents and results the names and shapes of CasADi's
    fwd_<model>.onnx. Other arguments as for `grad`.
    """
    return derive(model, given, JvpRequest, jvp_of)


def jvp_of(
    module: ModuleOp,
    user_request: JvpRequest,
    options: Options,
    constants: Any = None,
    observer: Observer | None = None,
) -> Compiled:
    """Return the Jacobian-vector product of a module, which is modified."""
    derivation = Derivation.begin(module, user_request, options, constants, observer)
    module = derivation.module
    inputs = entry.input_names(entry.entry_function(module))
    once, twice = transpose(derivation)
    template = user_request.name_template
    names = {name: template.format(what="jvp", name=name) for name in once.of}
    tangents = {name: template.format(what="tangent", name=name) for name in once.gradients}
    kept = entry.output_names(entry.entry_function(module))[: -len(names)]
    check_names([*tangents.values(), *names.values()], [*inputs, *once.gradients, *kept])
    of_gradients = {once.gradients[name]: tangent for name, tangent in tangents.items()}
    cotangents = {once.cotangents[name]: result for name, result in names.items()}
    derivation.rename(
        {twice.cotangents[gradient]: tangent for gradient, tangent in of_gradients.items()},
        {twice.gradients[cotangent]: result for cotangent, result in cotangents.items()},
    )
    left = set(entry.input_names(entry.entry_function(module)))
    tangents = {name: tangent for name, tangent in tangents.items() if tangent in left}
    wrt = tuple(once.gradients)
    derivatives = [Derivative(result, "jvp", (name,), wrt) for name, result in names.items()]
    written = Written(cotangents, of_gradients)
    if (rows := user_request.num_tangents) is not None:
        inputs, results = tangents.values(), names.values()
        written = derivation.vectorize("num_tangents", rows, inputs, results, written)
    if user_request.family:
        return finish_for_casadi(derivation, written, derivatives, tangents, names)
    return derivation.finish(written, derivatives, tangents, names)


def transpose(derivation: Derivation, *, keep_tangents: bool = False) -> tuple[Session, Session]:
    """Differentiate the function, and its gradient by the cotangents, which are then no inputs any more.

    Tangents that no result depends on are no inputs either, unless `keep_tangents`.
    """
    module, user_request = derivation.module, derivation.user_request
    request = user_request.request(module)
    function = entry.entry_function(module)
    of = request.of or default_output(function, entry.output_names(function))
    names = {*entry.input_names(function), *entry.output_names(function), *request.wrt, *of}
    template, shapes = free_template(names), add_results(function, of, SHAPES)
    keep = [*request.keep, *shapes.values()]
    request = replace(request, of=of, keep=keep, cotangents=True, name_template=template)
    once = derivation.differentiate(request)
    again = Request(
        of=list(once.gradients.values()),
        wrt=list(once.cotangents.values()),
        keep=keep,
        cotangents=True,
        allow_unused=True,
        straight_through=user_request.straight_through,
        name_template=template,
    )
    remarks = list(derivation.remarks)
    twice = derivation.differentiate(again)
    derivation.remarks = remarks
    run_passes(
        module,
        parse("simplify,sink-negations"),
        derivation.options,
        derivation.observer,
        start=module.clone(),
    )
    removable = () if keep_tangents else twice.cotangents.values()
    _remove_inputs(module, once.cotangents, shapes, removable)
    return once, twice


def _remove_inputs(
    module: ModuleOp, cotangents: Mapping[str, str], shapes: Mapping[str, str], tangents: Collection[str]
) -> None:
    """Replace remaining uses of the cotangents by zeros; remove unused inputs and the results `shapes`."""
    function = entry.entry_function(module)
    inputs, results = entry.input_names(function), results_of(function)
    arguments = dict(zip(inputs, function.args, strict=True))
    for name, cotangent in cotangents.items():
        if arguments[cotangent].uses:
            arguments[cotangent].replace_all_uses_with(_zeros(function, results[shapes[name]]))
    set_results_of(function, {name: value for name, value in results.items() if name not in shapes.values()})
    removed = {*cotangents.values(), *(name for name in tangents if not arguments[name].uses)}
    for name in removed:
        function.body.block.erase_arg(arguments[name])
    entry.keep_argument_attributes(function, [name not in removed for name in inputs])
    entry.update_function_type(function)


def _zeros(function: FuncOp, like: SSAValue) -> SSAValue:
    """Insert zeros in the shape of a value directly after it, or at the begin of the function."""
    e = Builder()
    zeros = e.fill_like(0, e(like)).value
    first = function.body.block.first_op
    assert first is not None
    after = InsertPoint.after(like.owner) if isinstance(like.owner, Operation) else InsertPoint.before(first)
    Rewriter.insert_op(e.emit.ops, after)
    return zeros
