"""The gradient of a model: any source that `compile` takes, differentiated and then compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from inspect import signature
from math import inf
from typing import Any, ParamSpec
from warnings import warn

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from dialects.support import entry
from dialects.support.diagnostics import Diagnostic
from dialects.support.limits import Limits, using
from dialects.support.spelling import advice, offers_its_arguments, option
from gradc.base import arguments
from gradc.checking.claims import Claim
from gradc.checking.compiled import check_compiled
from gradc.checking.gradients import MOST_WORK, TooMuchWork, check_gradient
from gradc.checking.proof import FINITE_DIFFERENCES, REFERENCE, Proof
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
    check: bool | None = None,
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
    check: True proves the gradient by differences, False does not; default: of models that are not too large
    for numpy.
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
    check: bool | None = None,
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
    once = differentiate(module, request, strict_ieee=options.strict_ieee, rules=asked.rules)
    first = module.clone()
    again = Request(
        of=list(once.gradients.values()),
        wrt=list(once.gradients),
        cotangents=True,
        allow_unused=True,
        straight_through=straight,
        name_template=request.name_template,
    )
    twice = differentiate(module, again, strict_ieee=options.strict_ieee, rules=asked.rules)
    names = {name: f"hvp_{name}" for name in once.gradients}
    tangents = {twice.cotangents[gradient]: f"tangent_{name}" for name, gradient in once.gradients.items()}
    check_names([*tangents.values(), *names.values()], [*inputs, *once.gradients])
    _rename(module, tangents, {twice.gradients[name]: new for name, new in names.items()})
    compiled = _stored(compile_module(module, options, origin=primal), asked)
    claims = [
        Claim(primal, first, once.of, once.gradients, once.cotangents, request.reduce, straight),
        Claim(
            first,
            compiled.source,
            again.of,
            names,
            {gradient: f"tangent_{name}" for name, gradient in once.gradients.items()},
            None,
            straight,
        ),
    ]
    proof, remarks = _checked(claims, compiled, asked)
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
    found = differentiate(module, request, strict_ieee=options.strict_ieee, rules=asked.rules)
    results = asked.finish(module, found, of_source)
    compiled = _stored(compile_module(module, options, origin=primal), asked)
    checked = {key: name for key, name in results.gradients.items() if results.factors.get(name) != 0}
    claim = Claim(
        primal,
        compiled.source,
        found.of,
        checked,
        results.cotangents,
        request.reduce,
        request.straight_through,
        results.factors,
    )
    proof, remarks = _checked([claim], compiled, asked)
    compiled = replace(compiled, remarks=(*compiled.remarks, *found.remarks, *remarks), proof=proof)
    return _named(compiled, results.gradients, results.cotangents, asked.scale)


def _checked(
    claims: Sequence[Claim], compiled: Compiled, asked: GradientRequest
) -> tuple[Proof, Sequence[Diagnostic]]:
    """The outcome of the check of gradients, of which the last one is compiled, and remarks on what could not
    be decided. Raises CheckError."""
    if asked.check is False:
        return Proof(reason=option("check", False)), ()
    most = inf if asked.check else MOST_WORK
    try:
        remarks = [remark for claim in claims for remark in check_gradient(claim, asked.rules, most)]
    except TooMuchWork:
        more = advice("check", "checks it all the same", True)
        text = f"the gradient is not checked, which takes more than {MOST_WORK:,} operations"
        return (
            Proof(reason=f"limit {MOST_WORK:,} operations"),
            [Diagnostic("remark", "; ".join(filter(None, (text, more))))],
        )
    infos = [info for info in compiled.inputs if info.name not in compiled.weights]

    def run(inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return compiled.run({**compiled.required_weights, **inputs})

    beside = check_compiled(claims[-1], infos, run)
    outcomes = ((FINITE_DIFFERENCES, remarks), (REFERENCE, beside))
    methods = tuple(method for method, open_ in outcomes if not open_)
    missing = [f"{method} did not decide" for method, open_ in outcomes if open_]
    return Proof(methods, ", ".join(missing)), [*remarks, *beside]


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
