"""The gradient of a model: any source that `compile` takes, differentiated and then compiled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import PassPipeline

from dialects.support import entry
from dialects.support.limits import Limits, using
from gradc.base import arguments
from gradc.compiler.compiled import Compiled
from gradc.compiler.driver import compile_module, constants_of, load
from gradc.compiler.options import Options
from gradc.graph.constants import bind_constants
from gradc.terminal.notes import quoting_errors
from passes import pipelines
from passes.differentiate import REDUCTIONS, Gradients, Request, differentiate
from passes.registry import all_passes
from passes.vjp.values import named_values
from passes.vjp.walk import is_float

KEPT = ("none", "of", "all")
"""What `keep_outputs` may be beside names."""

IN_ONNX = ("canonicalize-layout", "convert-cann-to-grad", "convert-onednn-to-grad")
"""What makes ops of other dialects ONNX's or canonical gradients. It cancels Transposes, too, of which a user
of ONNX may ask for the one between."""

SOURCES = ("cann.", "onednn.")

Names = str | Iterable[str] | None


@quoting_errors()
def grad(
    model: Any,
    *,
    wrt: Names = None,
    of: Names = None,
    cotangents: bool = False,
    reduce: str | None = None,
    keep_outputs: Names = "none",
    allow_unused: bool = False,
    constants: Any = None,
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
    allow_unused: zeros for a `wrt` that `of` does not depend on, which is an error otherwise.
    The other arguments are those of `compile`.

    Raises GradcError; an UnsupportedError names all ops on the way that have no derivative.
    """
    options = Options(target, opset, threads=threads, limits=limits, strict_ieee=strict_ieee)
    asked = Asked(
        _names("wrt", wrt),
        _names("of", of),
        arguments.flag("cotangents", cotangents),
        None if reduce is None else arguments.word("reduce", reduce, REDUCTIONS),
        _names("keep_outputs", keep_outputs),
        arguments.flag("allow_unused", allow_unused),
    )
    with using(limits):
        return gradient_of(load(model), asked, options, constants)


def value_and_grad(model: Any, **given: Any) -> Compiled:
    """`grad` that has what is differentiated as its first results; the arguments are those of `grad`."""
    return grad(model, **{"keep_outputs": "of", **given})


def vjp(model: Any, **given: Any) -> Compiled:
    """`grad` with an input `cotangent_<of>` for each `of`; the arguments are those of `grad`."""
    return grad(model, cotangents=True, **given)


@quoting_errors()
def hvp(
    model: Any,
    *,
    wrt: Names = None,
    of: Names = None,
    reduce: str | None = None,
    constants: Any = None,
    target: str = "cpu",
    opset: int | None = None,
    threads: int | None = None,
    strict_ieee: bool = False,
    limits: Limits | None = None,
) -> Compiled:
    """The product of the second derivative with a vector: inputs `tangent_<wrt>`, results `hvp_<wrt>`.

    For several `wrt` it is that of their common second derivative. Arguments as those of `grad`.
    """
    options = Options(target, opset, threads=threads, limits=limits, strict_ieee=strict_ieee)
    first = Asked(_names("wrt", wrt), _names("of", of), reduce=reduce)
    with using(limits):
        module = load(model)
        _prepare(module, options, constants)
        once = differentiate(module, first.request(module), strict_ieee=strict_ieee)
        again = Request(
            of=list(once.gradients.values()), wrt=list(once.gradients), cotangents=True, allow_unused=True
        )
        differentiate(module, again, strict_ieee=strict_ieee)
        tangents = {f"cotangent_{gradient}": f"tangent_{name}" for name, gradient in once.gradients.items()}
        _rename(module, tangents, {f"grad_{name}": f"hvp_{name}" for name in once.gradients})
        return compile_module(module, options)


@dataclass(frozen=True)
class Asked:
    """What a gradient is asked for, as a user says it: with patterns, and words for results to keep."""

    wrt: Sequence[str] = ()
    of: Sequence[str] = ()
    cotangents: bool = False
    reduce: str | None = None
    keep_outputs: Sequence[str] = ("none",)
    allow_unused: bool = False

    def request(self, module: ModuleOp) -> Request:
        function = entry.entry_function(module)
        values = named_values(function)
        outputs = entry.output_names(function)
        floats = [name for name in outputs if is_float(values[name])]
        wrt = _expanded(self.wrt, {name for name, value in values.items() if is_float(value)})
        match tuple(self.keep_outputs):
            case ("none",):
                keep = ()
            case ("all",):
                keep = outputs
            case ("of",):
                keep = [name for name in self.of or floats if name in values]
            case names:
                keep = names
        return Request(self.of, wrt, keep, self.cotangents, self.reduce, self.allow_unused)


def gradient_of(module: ModuleOp, asked: Asked, options: Options, constants: Any = None) -> Compiled:
    """`grad` for a module that is ours to change."""
    _prepare(module, options, constants)
    found = differentiate(module, asked.request(module), strict_ieee=options.strict_ieee)
    compiled = compile_module(module, options)
    return _told(compiled, found)


def _told(compiled: Compiled, found: Gradients) -> Compiled:
    return replace(compiled, gradients=dict(found.gradients), cotangents=dict(found.cotangents))


def _prepare(module: ModuleOp, options: Options, constants: Any) -> None:
    """Everything in ONNX's ops or canonical gradients, with all that types can know."""
    if constants is not None:
        bind_constants(module, constants_of(constants))
    foreign = any(op.name.startswith(SOURCES) for op in module.walk())
    spec = ",".join((pipelines.canonicalize(), *(IN_ONNX if foreign else ())))
    for pass_ in PassPipeline.parse_spec(all_passes(), spec).passes:
        pass_.apply(Context(), module)


def _expanded(patterns: Sequence[str], names: Iterable[str]) -> list[str]:
    """The names that patterns stand for, each once; what is the name of no value stays as it is."""
    known = sorted(names)
    found: list[str] = []
    for pattern in patterns:
        is_pattern = pattern not in known and any(c in pattern for c in "*?")
        matches = [name for name in known if fnmatchcase(name, pattern)] if is_pattern else []
        found += [name for name in matches if name not in found] or [pattern]
    return found


def _names(what: str, given: Names) -> tuple[str, ...]:
    if given is None:
        return ()
    names = (given,) if isinstance(given, str) else tuple(given)
    if not all(isinstance(name, str) for name in names):
        raise arguments.refused(what, given, "names")
    return names


def _rename(module: ModuleOp, inputs: Mapping[str, str], outputs: Mapping[str, str]) -> None:
    function = entry.entry_function(module)
    entry.set_names(
        function,
        [inputs.get(name, name) for name in entry.input_names(function)],
        [outputs.get(name, name) for name in entry.output_names(function)],
    )
