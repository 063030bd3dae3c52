"""Options of a gradient as the user gives them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from string import Formatter
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import ModuleOp, UnrankedTensorType
from xdsl.ir import SSAValue

from dialects.onnx.node import NodeOp
from dialects.onnx.ops import op_names
from dialects.support import entry
from dialects.support.attributes import entries
from dialects.support.diagnostics import Diagnostic, UsageError, sentence, suggest, usage
from dialects.support.error_list import Errors
from dialects.support.names import is_text
from dialects.support.option_names import option
from gradc.compiler.sizes import resize_inputs, validate_rebatch, validate_static_shapes
from gradc.compiler.untied_weights import drop_marks, untie_weights
from gradc.derivatives.results import rename_results, scale_results, validate_names, validate_scales
from gradc.derivatives.wrt_selection import name_weights, select, select_stopped
from gradc.util import arguments
from passes.autodiff.activity.active_values import is_float, may_be_active
from passes.autodiff.activity.non_differentiable import title_of
from passes.autodiff.common.primal import Rule
from passes.autodiff.named_values import base_of, values_by_name
from passes.autodiff.table import REGION_RULES
from passes.autodiff.vjp_pass import NAME_TEMPLATE, REDUCTIONS
from passes.decompositions.registry import Reason, table_of
from passes.differentiate import Request

Names = str | Iterable[str] | None

NAME_OPTIONS = ("wrt", "of", "keep_outputs", "frozen", "stop_gradient")
DEFAULTS = {"wrt": "every float input", "of": "the one float output"}
"""Defaults of omitted names. An empty collection of names is an error, not the default."""

REQUIRED, DEFAULT, CONSTANT = WEIGHTS = ("required", "default", "constant")
"""How a differentiated weight is stored: an input, an input with an initializer, an initializer."""

WORDS = {"batchnorm": ("train", "eval"), "dropout": ("hashed", "keep", "off")}
"""Values of options of the training form; None leaves the source as it is."""

FLAGS = ("cotangents", "allow_unused", "straight_through", "untie")


@dataclass(frozen=True)
class GradientRequest:
    """Options of every derivative: `wrt` may have patterns, `keep_outputs` keywords."""

    wrt: Names = None
    of: Names = None
    cotangents: bool = False
    reduce: str | None = None
    keep_outputs: Names = "none"
    weights: str = DEFAULT
    allow_unused: bool = False
    static_shapes: Mapping[str, Sequence[int]] | None = None
    name_template: str = NAME_TEMPLATE
    check: bool | None = None
    rules: Mapping[str, Rule] | None = None
    straight_through: bool = False
    rename: Mapping[str, str] | None = None
    scale: Mapping[str, float] | None = None
    rebatch: int | str | None = None
    check_seconds: float | None = None
    kernels: Mapping[str, Callable[..., Any]] | None = None
    frozen: Names = None
    untie: bool = False
    stop_gradient: Names = None
    batchnorm: str | None = None
    dropout: str | None = None

    template_fields: ClassVar[Sequence[Sequence[str]]] = (("what", "name"),)
    """The alternative sets of fields of a name template."""

    def __post_init__(self) -> None:
        """Validate and normalize the options. Raises UsageError."""
        plain = {name: arguments.flag(name, getattr(self, name)) for name in FLAGS}
        named = {name: option_names(name, getattr(self, name)) for name in NAME_OPTIONS}
        sizes = {
            "static_shapes": validate_static_shapes(self.static_shapes),
            "rebatch": validate_rebatch(self.rebatch),
        }
        results = {"rename": validate_names(self.rename), "scale": validate_scales(self.scale)}
        for name, value in {**plain, **named, **results, **sizes}.items():
            object.__setattr__(self, name, value)
        arguments.one_of("weights", self.weights, WEIGHTS)
        if self.reduce is not None:
            arguments.one_of("reduce", self.reduce, REDUCTIONS)
        self._check_reduction()
        for name, words in WORDS.items():
            if getattr(self, name) is not None:
                arguments.one_of(name, getattr(self, name), words)
        _check_template(self.name_template, self.template_fields)
        if self.check is not None:
            arguments.flag("check", self.check)
        if self.check_seconds is not None:
            _check_seconds(self.check_seconds, self.check)
        for what in ("rules", "kernels"):
            _check_functions(what, getattr(self, what))

    def _check_reduction(self) -> None:
        if self.cotangents and self.reduce is not None:
            given = f"{option('cotangents', True)} and {option('reduce', self.reduce)}"
            hint = "a cotangent weights the elements, a reduction adds them up"
            raise UsageError(Diagnostic("error", sentence(given, expected="one of the two", hint=hint)))

    def request(self, module: ModuleOp) -> Request:
        function = entry.entry_function(module)
        values = values_by_name(function)
        given = _as_names(self.wrt)
        selected = select(module, given, _as_names(self.frozen))
        stopped = select_stopped(module, _as_names(self.stop_gradient))
        drop_marks(function)
        states = [n for n in entry.output_names(function) if n in entry.state_names(function.res_attrs)]
        outputs = [name for name in entry.output_names(function) if name not in states]
        keep = [*self._results_to_keep(values, outputs), *states]
        return Request(
            self.of_names(module) if self.differentiates_all else _as_names(self.of),
            selected.names,
            list(dict.fromkeys(keep)),
            self.cotangents,
            self.reduce,
            self.allow_unused,
            self.weights != CONSTANT,
            self.name_template,
            self.straight_through,
            optional=selected.optional,
            stop_gradient=stopped,
        )

    def _results_to_keep(self, values: Mapping[str, SSAValue], outputs: Sequence[str]) -> Sequence[str]:
        match _as_names(self.keep_outputs):
            case ("none",) | ():
                return ()
            case ("all",):
                return outputs
            case ("of",):
                chosen = _as_names(self.of) or _float_outputs(values, outputs)
                return list(dict.fromkeys(name if name in values else base_of(name) for name in chosen))
            case names:
                listed = [[name] if name in values else name.split(",") for name in names]
                return list(dict.fromkeys(name for part in listed for name in part))

    @property
    def differentiates_all(self) -> bool:
        """Return whether the default `of` is all float outputs instead of the one that there is."""
        return False

    @property
    def row_passes(self) -> tuple[str, ...]:
        """The names of passes that compute several rows in one run, after the differentiation."""
        return ()

    def with_named_weights(self, module: ModuleOp) -> ModuleOp:
        """Untie weights, and give weights the names of the exported module by which they are requested."""
        if self.untie:
            untie_weights(module)
        name_weights(module, (*_as_names(self.wrt), *_as_names(self.stop_gradient)))
        return module

    def of_names(self, module: ModuleOp) -> Sequence[str]:
        """Return the names of what is differentiated."""
        function = entry.entry_function(module)
        return _as_names(self.of) or _float_outputs(values_by_name(function), entry.output_names(function))

    def check_rules(self, module: ModuleOp) -> None:
        """Raise UsageError for rules of unknown ops, and of ops that take none."""
        own = {title for op in module.walk() if (title := title_of(op)) is not None}
        unknown = {op.title for op in module.walk() if isinstance(op, NodeOp)}
        errors = Errors()
        for title in self.rules or ():
            errors.attempt(_check_title, title, own)
        for title in self.kernels or ():
            errors.attempt(_check_kernel, title, own, unknown)
        errors.check()

    def check_former_names(self, module: ModuleOp) -> None:
        """Raise UsageError for a name of the source that `rename` has replaced in the module."""
        values, errors = values_by_name(entry.entry_function(module)), Errors()
        for name in NAME_OPTIONS:
            for word in _as_names(getattr(self, name)):
                new = (self.rename or {}).get(word, word)
                if word not in values and new in values:
                    expected = f"{new}, its name by {option('rename')}"
                    errors.found.append(usage(option(name), word, expected))
        errors.check()

    def resize(self, module: ModuleOp) -> ModuleOp:
        """Apply `rebatch` and `static_shapes` to a module."""
        return resize_inputs(module, self.rebatch, self.static_shapes or {})

    def finish(
        self, module: ModuleOp, results: Sequence[str], of_source: Collection[str]
    ) -> tuple[Mapping[str, str], Mapping[str, float]]:
        """Rename and scale the results of the gradient, in place; return their new names and their factors.
        `of_source` are the names of the source's inputs and outputs."""
        names = rename_results(module, self.rename or {}, of_source)
        new = [names.get(name, name) for name in results]
        return names, scale_results(module, new, self.scale or {})


def _check_seconds(given: Any, check: bool | None) -> None:
    seconds = arguments.number("check_seconds", given, "a number of seconds > 0")
    if not seconds > 0:
        raise arguments.invalid("check_seconds", given, "a number of seconds > 0")
    if check is not None:
        both = f"{option('check', check)} and {option('check_seconds', given)}"
        hint = f"{option('check', True)} has no time limit"
        raise UsageError(Diagnostic("error", sentence(both, expected="one of the two", hint=hint)))


def _check_functions(what: str, given: Any) -> None:
    if given is None:
        return
    expected = "a mapping from op types, as com.example.Ramp, to functions"
    if not all(map(callable, arguments.mapping(what, given, expected).values())):
        raise arguments.invalid(what, given, expected)


def _float_outputs(values: Mapping[str, SSAValue], outputs: Sequence[str]) -> Sequence[str]:
    """Return the float outputs; if there are none, the unranked ones that may be floats."""
    open_ = [name for name in outputs if isinstance(values[name].type, UnrankedTensorType)]
    return [name for name in outputs if is_float(values[name])] or [
        n for n in open_ if may_be_active(values[n])
    ]


def weights_of(given: str | None, as_inputs: bool | None) -> str:
    """Return the storage of weights from the option or its deprecated alias `weights_as_inputs`."""
    if as_inputs is None:
        return DEFAULT if given is None else given
    alias = DEFAULT if arguments.flag("weights_as_inputs", as_inputs) else CONSTANT
    if given is not None:
        both = f"{option('weights', given)} and its deprecated alias {option('weights_as_inputs', as_inputs)}"
        raise UsageError(Diagnostic("error", sentence(both, expected=f"one of the two, {option('weights')}")))
    return alias


def gradient_if_requested(wrt: Names, of: Names, straight_through: bool = False) -> GradientRequest | None:
    """Return the gradient with cotangent inputs to show or measure, None if neither `wrt` nor `of` is
    given."""
    if wrt is not None or of is not None:
        return GradientRequest(wrt, of, cotangents=True, straight_through=straight_through)
    if arguments.flag("straight_through", straight_through):
        raise arguments.invalid("straight_through", True, f"{option('wrt')} or {option('of')} with it")
    return None


def _check_kernel(title: str, own: Collection[str], unknown: Collection[str]) -> None:
    """Raise UsageError for a kernel of an op that the model does not have, or that gradc evaluates itself."""
    if title not in own:
        hint = suggest(title, own)
        raise UsageError(Diagnostic("error", sentence("kernels", title, "an op of the model", hint)))
    if title not in unknown:
        raise usage("kernels", title, "an op that gradc does not know; it evaluates this one itself")


def _check_title(title: str, own: Collection[str]) -> None:
    """Raise UsageError unless an op may have a user rule; `own` are the ops of the model."""
    if title in REGION_RULES:
        hint = "it follows from the rules of the ops in its subgraphs"
        raise UsageError(Diagnostic("error", sentence(f"rules: {title} takes no rule", hint=hint)))
    known = {*own, *op_names(), *table_of(Reason.OTHER_DOMAIN)}
    if title in known:
        return
    last = title.rpartition(".")[2]
    alike = sorted(one for one in known if one.rpartition(".")[2] == last)
    hint = f"did you mean {' or '.join(alike)}?" if alike else suggest(title, known)
    expected = "an op of the model or of ONNX, as com.example.Ramp or Relu"
    raise UsageError(Diagnostic("error", sentence("rules", title, expected, hint)))


def _as_names(names: Names) -> tuple[str, ...]:
    """Return names as `__post_init__` normalized them."""
    return cast("tuple[str, ...]", names)


def _check_template(given: Any, alternatives: Sequence[Sequence[str]]) -> None:
    listed = [" and ".join(f"{{{name}}}" for name in names) for names in alternatives]
    expected = f"a text with {', or '.join(listed)}"
    if not isinstance(given, str) or not is_text(given):
        raise arguments.invalid("name_template", given, expected)
    try:
        parts = list(Formatter().parse(given))
    except ValueError:
        raise arguments.invalid("name_template", given, expected) from None
    fields = sorted(name for _, name, _, _ in parts if name is not None)
    known = [sorted(names) for names in alternatives]
    is_plain = all(not form and not turned for _, name, form, turned in parts if name is not None)
    if fields not in known or not is_plain:
        raise arguments.invalid("name_template", given, expected)


def option_names(what: str, given: Any) -> tuple[str, ...]:
    """Validate names that an option gives. Raises UsageError."""
    if given is None:
        return ()
    names = [given] if isinstance(given, str) else entries(given)
    if names is None or not all(isinstance(name, str) for name in names):
        raise arguments.invalid(what, given, "names")
    if not names and what in DEFAULTS:
        raise arguments.invalid(what, given, "at least one name", f"leave it out for {DEFAULTS[what]}")
    return tuple(sorted(names) if isinstance(given, Set) else names)  # sets are unordered
