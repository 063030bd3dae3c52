"""Options of derivatives: their types, stated once for all functions, and their signature in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import wraps
from inspect import Parameter, Signature
from typing import Any, ParamSpec, TypedDict, TypeVar, get_type_hints

from xdsl.dialects.builtin import ModuleOp

from dialects.support.limits import Limits, using
from dialects.support.option_names import offering
from gradc.compiler.compiled import Compiled
from gradc.compiler.driver import load
from gradc.compiler.options import Options
from gradc.derivatives.request import GradientRequest, Names, weights_of
from gradc.terminal.notes import quoting_errors
from passes.autodiff.common.primal import Rule

P = ParamSpec("P")
R = TypeVar("R", bound=GradientRequest)
T = TypeVar("T")


class DerivativeOptions(TypedDict, total=False):
    """Options of every derivative: the values, the source, the check, the compilation."""

    wrt: Names
    frozen: Names
    untie: bool
    of: Names
    keep_outputs: Names
    weights: str | None
    allow_unused: bool
    straight_through: bool
    stop_gradient: Names
    batchnorm: str | None
    dropout: str | None
    constants: Any
    static_shapes: Mapping[str, Sequence[int]] | None
    rebatch: int | str | None
    rules: Mapping[str, Rule] | None
    kernels: Mapping[str, Callable[..., Any]] | None
    check: bool | None
    check_seconds: float | None
    rename: Mapping[str, str] | None
    scale: Mapping[str, float] | None
    name_template: str
    target: str
    opset: int | None
    threads: int | None
    strict_ieee: bool
    limits: Limits | None


class HvpOptions(DerivativeOptions, total=False):
    """Options of `hvp`."""

    reduce: str | None


class GradOptions(HvpOptions, total=False):
    """Options of `grad`, `vjp` and `value_and_grad`."""

    cotangents: bool
    num_cotangents: int | str | None
    family: str | None
    per_sample: bool
    batch_axis: Mapping[str, int | None] | None
    weights_as_inputs: bool | None


def defaults_of(kind: type[GradientRequest] = GradientRequest) -> dict[str, Any]:
    """Return the default of each option of a derivative."""
    own = {one.name: one.default for cls in (Options, kind) for one in fields(cls)}
    found = {name: None if value is MISSING else value for name, value in own.items()}
    return found | dict.fromkeys(("constants", "weights_as_inputs", "weights"))


def takes(
    options: type, kind: type[GradientRequest] = GradientRequest, *, returns: type = Compiled, **changed: Any
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorate a function of a model and `options`, a TypedDict, with a signature that lists them.

    `kind` and `changed` have their defaults. Messages name the options of the outermost such function.
    """
    defaults = defaults_of(kind) | changed
    listed = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=defaults[name], annotation=hint)
        for name, hint in get_type_hints(options).items()
    ]
    model = Parameter("model", Parameter.POSITIONAL_OR_KEYWORD, annotation=Any)
    signature = Signature([model, *listed], return_annotation=returns)

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def call(*args: P.args, **given: P.kwargs) -> T:
            signature.bind(*args, **given)
            with offering(signature.parameters):
                return function(*args, **given)

        setattr(call, "__signature__", signature)  # noqa: B010
        return quoting_errors()(call)

    return decorate


def derive(
    model: Any, given: Mapping[str, Any], kind: type[R], make: Callable[[ModuleOp, R, Options, Any], T]
) -> T:
    """Return the derivative that `make` compiles of a module and a request of `kind`, for a source and
    options."""
    user_request, options, constants = split(given, kind)
    with using(options.limits):
        module = load(model, for_gradients=tuple(user_request.rules or ()))
        return make(module, user_request, options, constants)


def split(given: Mapping[str, Any], kind: type[R]) -> tuple[R, Options, Any]:
    """Return the request, the options of the compilation, and the constants. Raises UsageError."""
    given = dict(given)
    constants = given.pop("constants", None)
    given["weights"] = weights_of(given.get("weights"), given.pop("weights_as_inputs", None))
    names = {one.name for one in fields(Options)}
    options = Options(**{name: value for name, value in given.items() if name in names})
    return kind(**{name: value for name, value in given.items() if name not in names}), options, constants
