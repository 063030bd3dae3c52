"""Gradients of models: any source that `compile` accepts, differentiated and compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from inspect import signature
from typing import Any, ParamSpec
from warnings import warn

from xdsl.dialects.builtin import ModuleOp

from dialects.support import entry
from dialects.support.diagnostics import Diagnostic
from dialects.support.limits import Limits, using
from dialects.support.option_names import offer_parameters, option
from gradc.compiler.compiled import Compiled
from gradc.compiler.driver import compile_module, constants_of, load
from gradc.compiler.gradient_module import differentiate, prepare
from gradc.compiler.gradient_request import REQUIRED, GradientRequest, Names, weights_of
from gradc.compiler.options import Options
from gradc.compiler.pass_runner import Observer
from gradc.compiler.results import edge_names
from gradc.files.json_text import json_text
from gradc.model.split_model import without_initializers
from gradc.model.weight_metadata import REQUIRED_KEY
from gradc.terminal.notes import quoting_errors
from gradc.util import arguments
from gradc.verification.gradient_spec import Claim, Written
from gradc.verification.proof import Proof
from passes.autodiff.common.primal import Rule
from passes.autodiff.vjp_pass import NAME_TEMPLATE, check_names
from passes.differentiate import Request

P = ParamSpec("P")


@quoting_errors()
@offer_parameters
def grad(
    model: Any,
    *,
    wrt: Names = None,
    of: Names = None,
    cotangents: bool = False,
    reduce: str | None = None,
    keep_outputs: Names = "none",
    weights: str | None = None,
    weights_as_inputs: bool | None = None,
    allow_unused: bool = False,
    straight_through: bool = False,
    constants: Any = None,
    static_shapes: Mapping[str, Sequence[int]] | None = None,
    name_template: str = NAME_TEMPLATE,
    rules: Mapping[str, Rule] | None = None,
    kernels: Mapping[str, Callable[..., Any]] | None = None,
    check: bool | None = None,
    check_seconds: float | None = None,
    rename: Mapping[str, str] | None = None,
    scale: Mapping[str, float] | None = None,
    rebatch: int | str | None = None,
    target: str = "cpu",
    opset: int | None = None,
    threads: int | None = None,
    strict_ieee: bool = False,
    limits: Limits | None = None,
) -> Compiled:
    """Return the gradient of a model as a plain ONNX model, with a result `grad_<wrt>` for each `wrt`.

    model: a path (ONNX, JSON or MLIR text), an `onnx.ModelProto`, a JSON document, a `gradc.Graph` or a
    module.
    wrt: names of inputs, weights or intermediate values, patterns such as `*.weight`, `:weights` (all
    trainable weights, docs/weights.md) or `:inputs`; default: every float input.
    of: names of values to differentiate, or elements such as `logits[0,281]`; default: the one float output.
    cotangents: add an input `cotangent_<of>` in its shape for each `of`; otherwise `of` has one element.
    reduce: `sum` or `mean`, the reduction of an `of` that is not a scalar.
    keep_outputs: `none`, `of`, `all`, or names of values that are also results, before the gradients.
    weights: how a weight among `wrt` is stored. `default`: an input whose value is its default; `required`:
    an input without a default, whose initial value is in `Compiled.weights` and next to the saved model;
    `constant`: no input. docs/weights.md lists the runtimes that accept defaults.
    weights_as_inputs: deprecated; True is `weights="default"`, False is `weights="constant"`.
    allow_unused: return zeros for a `wrt` that `of` does not depend on, instead of an error.
    straight_through: use the straight-through estimator for DequantizeLinear(QuantizeLinear(x)), with 0 where
    x is out of the type's range, and for z + (q - z) where q is z rounded or looked up.
    constants: input name -> array, or the path of an .npz or .safetensors, or several: these inputs become
    constants first.
    static_shapes: input name -> sizes, for inputs with dynamic shapes.
    rebatch: new batch for a source with a fixed one: a size, or a name for a dynamic size.
    name_template: template of the names of new results and inputs: `{what}` is grad or cotangent, `{name}`
    the name of the value.
    rules: op type, such as `com.example.Ramp` -> VJP rule `rule(f, g, e)`, written with `gradc.ops`;
    docs/gradient_recipes.md has an example.
    kernels: op type -> numpy implementation `f(*arrays, **attributes)`, for the check of user rules.
    check: True checks the gradient without a time limit, False not at all; default: within check_seconds
    (docs/gradients.md).
    check_seconds: time limit of the check, default 30; `Compiled.proof` names the parts not checked.
    rename: name of an input or output of the source, else of the gradient -> new name.
    scale: final name of a result -> factor, in the dtype of the result.
    target, opset, threads, strict_ieee, limits: as for `compile`.

    Raises GradcError: an UnsupportedError that names all ops without a derivative; a CheckError for a wrong
    gradient, located at the op at fault.
    """
    options = Options(target, opset, threads=threads, limits=limits, strict_ieee=strict_ieee)
    if weights_as_inputs is not None:
        warn("weights_as_inputs is deprecated; use weights", DeprecationWarning, stacklevel=4)
    user_request = GradientRequest(
        wrt,
        of,
        cotangents,
        reduce,
        keep_outputs,
        weights_of(weights, weights_as_inputs),
        allow_unused,
        static_shapes,
        name_template,
        check,
        rules,
        straight_through,
        rename,
        scale,
        rebatch,
        check_seconds,
        kernels,
    )
    with using(limits):
        return gradient_of(load(model, for_gradients=tuple(rules or ())), user_request, options, constants)


def _with_signature_of(
    original: Callable[P, Compiled], **defaults: Any
) -> Callable[[Callable[..., Compiled]], Callable[P, Compiled]]:
    """Return a decorator that copies the signature of `original`, with some other defaults."""
    taken = signature(original, eval_str=True)
    parameters = [
        parameter.replace(default=defaults.get(name, parameter.default))
        for name, parameter in taken.parameters.items()
    ]

    def decorate(function: Callable[..., Compiled]) -> Callable[P, Compiled]:
        setattr(function, "__signature__", taken.replace(parameters=parameters))  # noqa: B010
        return function

    return decorate


@_with_signature_of(grad, keep_outputs="of")
def value_and_grad(model: Any, **given: Any) -> Compiled:
    """Return the differentiated values and their gradient as results; arguments as for `grad`."""
    return grad(model, **{"keep_outputs": "of", **given})


@_with_signature_of(grad, cotangents=True)
def vjp(model: Any, **given: Any) -> Compiled:
    """Return the gradient with an input `cotangent_<of>` for each `of`; arguments as for `grad`."""
    if not arguments.flag("cotangents", given.setdefault("cotangents", True)):
        raise arguments.invalid("cotangents", False, "True, which makes it a vjp", "gradc.grad takes either")
    return grad(model, **given)


@quoting_errors()
@offer_parameters
def hvp(
    model: Any,
    *,
    wrt: Names = None,
    of: Names = None,
    reduce: str | None = None,
    weights: str | None = None,
    allow_unused: bool = False,
    straight_through: bool = False,
    constants: Any = None,
    static_shapes: Mapping[str, Sequence[int]] | None = None,
    rules: Mapping[str, Rule] | None = None,
    kernels: Mapping[str, Callable[..., Any]] | None = None,
    check: bool | None = None,
    check_seconds: float | None = None,
    target: str = "cpu",
    opset: int | None = None,
    threads: int | None = None,
    strict_ieee: bool = False,
    limits: Limits | None = None,
) -> Compiled:
    """Return the Hessian-vector product, with inputs `tangent_<wrt>` and results `hvp_<wrt>`.

    Several `wrt` have a joint Hessian. Arguments as for `grad`. User rules are differentiated, too; the check
    covers the first and the second derivative.
    """
    options = Options(target, opset, threads=threads, limits=limits, strict_ieee=strict_ieee)
    user_request = GradientRequest(
        wrt,
        of,
        reduce=reduce,
        weights=weights_of(weights, None),
        allow_unused=allow_unused,
        static_shapes=static_shapes,
        check=check,
        check_seconds=check_seconds,
        kernels=kernels,
        rules=rules,
        straight_through=straight_through,
    )
    with using(limits):
        return _hvp_of(load(model, for_gradients=tuple(rules or ())), user_request, options, constants)


def _hvp_of(module: ModuleOp, user_request: GradientRequest, options: Options, constants: Any) -> Compiled:
    """Return the Hessian-vector product of a module, which is modified."""
    module = prepare(module, user_request, options, read_constants(constants))
    primal = module.clone()
    request = user_request.request(module)
    inputs = entry.input_names(entry.entry_function(module))
    request = replace(request, name_template=_free_template({*inputs, *request.wrt}))
    straight, checked = user_request.straight_through, user_request.check is not False
    once = differentiate(module, request, options, user_request.rules, records=checked)
    first = module.clone()
    again = Request(
        of=list(once.gradients.values()),
        wrt=list(once.gradients),
        cotangents=True,
        allow_unused=True,
        straight_through=straight,
        name_template=request.name_template,
    )
    twice = differentiate(module, again, options, user_request.rules, records=checked)
    names = {name: f"hvp_{name}" for name in once.gradients}
    tangents = {twice.cotangents[gradient]: f"tangent_{name}" for name, gradient in once.gradients.items()}
    check_names([*tangents.values(), *names.values()], [*inputs, *once.gradients])
    _rename(module, tangents, {twice.gradients[name]: new for name, new in names.items()})
    compiled = _store_weights(compile_module(module, options, origin=primal), user_request)
    records = ((primal, once.differentiated), (first, twice.differentiated))
    claims = [Claim(function, record, straight) for function, record in records if record is not None]
    claims[:1] = [replace(claim, reduce=request.reduce) for claim in claims[:1]]
    cotangents = {gradient: f"tangent_{name}" for name, gradient in once.gradients.items()}
    proof, remarks = _check_gradient(claims, compiled, user_request, Written(names, cotangents))
    compiled = replace(compiled, remarks=(*compiled.remarks, *once.remarks, *remarks), proof=proof)
    return _record_names(compiled, names, {name: f"tangent_{name}" for name in names})


def _free_template(names: Set[str]) -> str:
    """Return a name template for the first derivative within a second one that avoids `names`."""
    template = NAME_TEMPLATE
    while not _is_free(template, names):
        template = f"_{template}"
    return template


def _is_free(template: str, names: Set[str]) -> bool:
    gradients = {template.format(what="grad", name=name) for name in names}
    cotangents = {template.format(what="cotangent", name=name) for name in gradients}
    return names.isdisjoint(gradients | cotangents)


def gradient_of(
    module: ModuleOp,
    user_request: GradientRequest,
    options: Options,
    constants: Any = None,
    observer: Observer | None = None,
) -> Compiled:
    """Return the gradient of a module, which is modified."""
    of_source, checked = edge_names(module), user_request.check is not False
    module = prepare(module, user_request, options, read_constants(constants), observer)
    primal = module.clone()
    request = user_request.request(module)
    found = differentiate(module, request, options, user_request.rules, observer, records=checked)
    results = user_request.finish(module, found, of_source)
    compiled = compile_module(module, options, observer=observer, origin=primal)
    compiled = _store_weights(compiled, user_request)
    record = found.differentiated
    claims = [] if record is None else [Claim(primal, record, request.straight_through, request.reduce)]
    written = Written(results.gradients, results.cotangents, results.factors)
    proof, remarks = _check_gradient(claims, compiled, user_request, written)
    compiled = replace(compiled, remarks=(*compiled.remarks, *found.remarks, *remarks), proof=proof)
    return _record_names(compiled, results.gradients, results.cotangents, user_request.scale)


def read_constants(given: Any) -> Mapping[str, Any] | None:
    return None if given is None else constants_of(given)


def _check_gradient(
    claims: Sequence[Claim], compiled: Compiled, user_request: GradientRequest, written: Written
) -> tuple[Proof, Sequence[Diagnostic]]:
    """Check gradients, the last of which is compiled; return the outcome and remarks. Raises CheckError."""
    if user_request.check is False:
        return Proof(reason=option("check", False)), ()
    from gradc.compiler.gradient_check import check

    return check(claims, compiled, written, user_request)


def _store_weights(compiled: Compiled, user_request: GradientRequest) -> Compiled:
    """Return the compiled gradient, without the initializers of its weights if they are `required`."""
    if user_request.weights != REQUIRED or not compiled.weights:
        return compiled
    parts = without_initializers(compiled.parts, compiled.weights)
    parts.proto.metadata_props.add(key=REQUIRED_KEY, value=json_text(list(compiled.weights)))
    return replace(compiled, parts=parts)


def _record_names(
    compiled: Compiled,
    gradients: Mapping[str, str],
    cotangents: Mapping[str, str],
    scales: Mapping[str, float] | None = None,
) -> Compiled:
    """Record names of gradients, cotangents and scales in the compiled gradient and its metadata."""
    entries: dict[str, Any] = {"gradc.cotangents": dict(cotangents), "gradc.gradients": dict(gradients)}
    entries |= {"gradc.scales": dict(scales)} if scales else {}
    for key, names in entries.items():
        compiled.parts.proto.metadata_props.add(key=key, value=json_text(names))
    return replace(compiled, gradients=dict(gradients), cotangents=dict(cotangents))


def _rename(module: ModuleOp, inputs: Mapping[str, str], outputs: Mapping[str, str]) -> None:
    function = entry.entry_function(module)
    entry.set_names(
        function,
        [inputs.get(name, name) for name in entry.input_names(function)],
        [outputs.get(name, name) for name in entry.output_names(function)],
    )
