"""The gradient of a model: any source that `compile` takes, differentiated and then compiled."""

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
from dialects.support.spelling import offers_its_arguments, option
from gradc.base import arguments
from gradc.checking.claims import Claim, Written
from gradc.checking.proof import Proof
from gradc.compiler.compiled import Compiled
from gradc.compiler.differentiated import in_onnx
from gradc.compiler.driver import compile_module, constants_of, load
from gradc.compiler.gradient_request import REQUIRED, GradientRequest, Names, weights_of
from gradc.compiler.options import Options
from gradc.compiler.results import edge_names, with_source_names
from gradc.files.json_text import json_text
from gradc.graph.constants import bind_constants
from gradc.model.parts import without_initializers
from gradc.model.weight_metadata import REQUIRED_KEY
from gradc.terminal.notes import quoting_errors
from passes.differentiate import NAME_TEMPLATE, Request, check_names, differentiate
from passes.vjp.common.forward import Rule

P = ParamSpec("P")


@quoting_errors()
@offers_its_arguments
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
    """The gradient of a model as a plain ONNX model, with a result `grad_<wrt>` for each `wrt`.

    model: a path (ONNX, JSON or MLIR text), an `onnx.ModelProto`, a JSON document, a `gradc.Graph` or a
    module.
    wrt: names of inputs, weights or values within, or patterns such as `*.weight`; default: every float
    input.
    of: names of what is differentiated, also elements such as `logits[0,281]`; default: the one float output.
    cotangents: an input `cotangent_<of>` for each `of`, in its shape; without it `of` has one element.
    reduce: `sum` or `mean` of an `of` that has several elements.
    keep_outputs: `none`, `of`, `all`, or names of values that are results, too, before the gradients.
    weights: how a weight among `wrt` is stored. `default`: an input whose value is its default; `required`:
    an input without one, whose initial value is in `Compiled.weights` and beside the saved model;
    `constant`: no input. docs/weights.md says which runtimes accept defaults.
    weights_as_inputs: deprecated; True is `weights="default"`, False is `weights="constant"`.
    allow_unused: zeros for a `wrt` that `of` does not depend on, which is an error otherwise.
    straight_through: let gradients pass DequantizeLinear(QuantizeLinear(x)) as if nothing were rounded, and 0
    where x is out of the range of the type; and pass z + (q - z) where q is z rounded or looked up.
    constants: input name -> array, or the path of an .npz or .safetensors, or several: these inputs become
    constants first.
    static_shapes: input name -> sizes, for inputs whose sizes would be known at run time only.
    rebatch: another batch for a source that fixes it: a size, or a name for one of run time.
    name_template: how results and inputs that are new are called: `{what}` is grad or cotangent, `{name}`
    that of the value.
    rules: op type, as `com.example.Ramp`, -> the derivative of such ops, `rule(f, g, e)`;
    docs/gradient_recipes.md has one.
    kernels: op type -> a function `f(*arrays, **attributes)` of numpy arrays that computes such ops, for the
    check of their rules.
    check: True proves the gradient without a time limit, False does not prove it; default: within
    check_seconds. docs/gradients.md says how.
    check_seconds: the time limit of the check, default 30; what does not fit is named in `Compiled.proof`.
    rename: name of an input or output of the source, else of the gradient -> its new name.
    scale: final name of a result -> a number that it is multiplied by, in its dtype.
    target, opset, threads, strict_ieee, limits: as for `compile`.

    Raises GradcError: an UnsupportedError for ops on the way that have no derivative, which it names all; a
    CheckError for a gradient that the check finds to be wrong, with the op to blame.
    """
    options = Options(target, opset, threads=threads, limits=limits, strict_ieee=strict_ieee)
    if weights_as_inputs is not None:
        warn("weights_as_inputs is deprecated; use weights", DeprecationWarning, stacklevel=4)
    asked = GradientRequest(
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
        return gradient_of(load(model, for_gradients=tuple(rules or ())), asked, options, constants)


def _taking_what(
    original: Callable[P, Compiled], **defaults: Any
) -> Callable[[Callable[..., Compiled]], Callable[P, Compiled]]:
    """Editors, type checkers and `help` see the arguments of another function, some with other defaults."""
    taken = signature(original, eval_str=True)
    parameters = [
        parameter.replace(default=defaults.get(name, parameter.default))
        for name, parameter in taken.parameters.items()
    ]

    def decorate(function: Callable[..., Compiled]) -> Callable[P, Compiled]:
        setattr(function, "__signature__", taken.replace(parameters=parameters))  # noqa: B010
        return function

    return decorate


@_taking_what(grad, keep_outputs="of")
def value_and_grad(model: Any, **given: Any) -> Compiled:
    """`grad` that has what is differentiated as its first results; the arguments are those of `grad`."""
    return grad(model, **{"keep_outputs": "of", **given})


@_taking_what(grad, cotangents=True)
def vjp(model: Any, **given: Any) -> Compiled:
    """`grad` with an input `cotangent_<of>` for each `of`; the arguments are those of `grad`."""
    if not arguments.flag("cotangents", given.setdefault("cotangents", True)):
        raise arguments.refused("cotangents", False, "True, which makes it a vjp", "gradc.grad takes either")
    return grad(model, **given)


@quoting_errors()
@offers_its_arguments
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
    """The product of the second derivative with a vector: inputs `tangent_<wrt>`, results `hvp_<wrt>`.

    For several `wrt` it is that of their common second derivative. Arguments as those of `grad`; the rules
    of a user are differentiated, too, and the check is of the first derivative and of the second.
    """
    options = Options(target, opset, threads=threads, limits=limits, strict_ieee=strict_ieee)
    asked = GradientRequest(
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
        return _second_of(load(model, for_gradients=tuple(rules or ())), asked, options, constants)


def _second_of(module: ModuleOp, asked: GradientRequest, options: Options, constants: Any) -> Compiled:
    """`hvp` for a module that is ours to change."""
    module = _prepared(module, asked, constants)
    primal = module.clone()
    request = asked.request(module)
    inputs = entry.input_names(entry.entry_function(module))
    request = replace(request, name_template=_free_template({*inputs, *request.wrt}))
    straight = asked.straight_through
    checked = asked.check is not False
    once = differentiate(module, request, strict_ieee=options.strict_ieee, rules=asked.rules, record=checked)
    first = module.clone()
    again = Request(
        of=list(once.gradients.values()),
        wrt=list(once.gradients),
        cotangents=True,
        allow_unused=True,
        straight_through=straight,
        name_template=request.name_template,
    )
    twice = differentiate(module, again, strict_ieee=options.strict_ieee, rules=asked.rules, record=checked)
    names = {name: f"hvp_{name}" for name in once.gradients}
    tangents = {twice.cotangents[gradient]: f"tangent_{name}" for name, gradient in once.gradients.items()}
    check_names([*tangents.values(), *names.values()], [*inputs, *once.gradients])
    _rename(module, tangents, {twice.gradients[name]: new for name, new in names.items()})
    compiled = _stored(compile_module(module, options, origin=primal), asked)
    records = ((primal, once.differentiated), (first, twice.differentiated))
    claims = [Claim(function, record, straight) for function, record in records if record is not None]
    claims[:1] = [replace(claim, reduce=request.reduce) for claim in claims[:1]]
    cotangents = {gradient: f"tangent_{name}" for name, gradient in once.gradients.items()}
    proof, remarks = _checked(claims, compiled, asked, Written(names, cotangents))
    compiled = replace(compiled, remarks=(*compiled.remarks, *once.remarks, *remarks), proof=proof)
    return _named(compiled, names, {name: f"tangent_{name}" for name in names})


def _free_template(names: Set[str]) -> str:
    """How a first derivative by names within a second one is called, so that it has none of them."""
    template = NAME_TEMPLATE
    while not _is_free(template, names):
        template = f"_{template}"
    return template


def _is_free(template: str, names: Set[str]) -> bool:
    gradients = {template.format(what="grad", name=name) for name in names}
    cotangents = {template.format(what="cotangent", name=name) for name in gradients}
    return names.isdisjoint(gradients | cotangents)


def gradient_of(
    module: ModuleOp, asked: GradientRequest, options: Options, constants: Any = None
) -> Compiled:
    """`grad` for a module that is ours to change."""
    of_source = edge_names(module)
    module = _prepared(module, asked, constants)
    primal = module.clone()
    request = asked.request(module)
    found = differentiate(
        module,
        request,
        strict_ieee=options.strict_ieee,
        rules=asked.rules,
        record=asked.check is not False,
    )
    results = asked.finish(module, found, of_source)
    compiled = _stored(compile_module(module, options, origin=primal), asked)
    record = found.differentiated
    claims = [] if record is None else [Claim(primal, record, request.straight_through, request.reduce)]
    written = Written(results.gradients, results.cotangents, results.factors)
    proof, remarks = _checked(claims, compiled, asked, written)
    compiled = replace(compiled, remarks=(*compiled.remarks, *found.remarks, *remarks), proof=proof)
    return _named(compiled, results.gradients, results.cotangents, asked.scale)


def _checked(
    claims: Sequence[Claim], compiled: Compiled, asked: GradientRequest, written: Written
) -> tuple[Proof, Sequence[Diagnostic]]:
    """The outcome of the check of gradients, of which the last one is compiled, and a remark on what could
    not be decided. Raises CheckError."""
    if asked.check is False:
        return Proof(reason=option("check", False)), ()
    from gradc.compiler.gradient_check import check

    return check(claims, compiled, written, asked)


def _stored(compiled: Compiled, asked: GradientRequest) -> Compiled:
    """The compiled gradient with its weights as they are asked for: without initializers if required."""
    if asked.weights != REQUIRED or not compiled.weights:
        return compiled
    parts = without_initializers(compiled.parts, compiled.weights)
    parts.proto.metadata_props.add(key=REQUIRED_KEY, value=json_text(list(compiled.weights)))
    return replace(compiled, parts=parts)


def _named(
    compiled: Compiled,
    gradients: Mapping[str, str],
    cotangents: Mapping[str, str],
    scales: Mapping[str, float] | None = None,
) -> Compiled:
    """The compiled gradient that says, also in the model's metadata, what belongs to which value."""
    told: dict[str, Any] = {"gradc.cotangents": dict(cotangents), "gradc.gradients": dict(gradients)}
    told |= {"gradc.scales": dict(scales)} if scales else {}
    for key, names in told.items():
        compiled.parts.proto.metadata_props.add(key=key, value=json_text(names))
    return replace(compiled, gradients=dict(gradients), cotangents=dict(cotangents))


def _prepared(module: ModuleOp, asked: GradientRequest, constants: Any) -> ModuleOp:
    """With what is said of inputs, as a gradient is taken of it."""
    asked.check_rules(module)
    module = with_source_names(module, asked.rename or {})
    if constants is not None:
        bind_constants(module, constants_of(constants))
    return in_onnx(asked.resized(module))


def _rename(module: ModuleOp, inputs: Mapping[str, str], outputs: Mapping[str, str]) -> None:
    function = entry.entry_function(module)
    entry.set_names(
        function,
        [inputs.get(name, name) for name in entry.input_names(function)],
        [outputs.get(name, name) for name in entry.output_names(function)],
    )
