"""Parser of `-p` pipelines: passes and named pipelines, with errors that name pass and option."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import ClassVar, NoReturn, TypeVar

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, ArgSpecConvertible, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError

from dialects.support.diagnostics import Diagnostic, UsageError, sentence, suggest
from passes import pipelines
from passes.select_strategy import AUTO
from passes.targets.target import DEFAULT_OPSET, Target


@dataclass(frozen=True)
class CanonicalizePipeline(ArgSpecConvertible):
    """`canonicalize`: make every static size and pad explicit."""

    name: ClassVar[str] = "canonicalize"

    def text(self) -> str:
        return pipelines.canonicalize()


@dataclass(frozen=True)
class LowerPipeline(ArgSpecConvertible):
    """`lower`: lower source dialects to ONNX, as `gradc compile` does."""

    name: ClassVar[str] = "lower"

    target: str = "cpu"
    opset: int = DEFAULT_OPSET
    threads: int | None = None
    strict_ieee: bool = False
    strategy: str = AUTO

    def text(self) -> str:
        target = Target.of(self.target, self.opset, self.threads, self.strict_ieee)
        return pipelines.lower(target, self.strategy)


@dataclass(frozen=True)
class DifferentiatePipeline(ArgSpecConvertible):
    """`differentiate`: replace a function of ONNX ops by its gradient, as `gradc grad` does."""

    name: ClassVar[str] = "differentiate"

    of: tuple[str, ...] = ()
    wrt: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    cotangents: bool = False
    reduce: str | None = None
    allow_unused: bool = False
    weights_as_inputs: bool = False
    name_template: str = "{what}_{name}"
    straight_through: bool = False
    optional: tuple[str, ...] = ()
    stop_gradient: tuple[str, ...] = ()
    strict_ieee: bool = False

    def text(self) -> str:
        from passes.autodiff.session import Session
        from passes.differentiate import Request

        request = Request(**{field.name: getattr(self, field.name) for field in fields(Request)})
        passes = request.passes(Session(), strict_ieee=self.strict_ieee)
        return ",".join(str(pass_.spec()) for pass_ in passes)


PIPELINES = {
    pipeline.name: pipeline for pipeline in (CanonicalizePipeline, LowerPipeline, DifferentiatePipeline)
}


def parse_passes(text: str, available: Mapping[str, Callable[[], type[ModulePass]]]) -> list[ModulePass]:
    """Return the passes of a `-p` string, with named pipelines expanded. UsageError names pass and option."""
    passes: list[ModulePass] = []
    for spec in _specs(text):
        if spec.name in PIPELINES:
            passes += parse_passes(_with_options(PIPELINES[spec.name], spec).text(), available)
        elif spec.name in available:
            passes.append(_with_options(available[spec.name](), spec))
        else:
            known = [*available, *PIPELINES]
            usage(sentence(f"no pass {spec.name}", hint=suggest(spec.name, known) or f"known: {known}"))
    return passes


def _specs(text: str) -> list[ArgSpec]:
    try:
        return list(parse_pipeline(text))
    except ArgSpecParseError:
        form = "pass,pass{option=value option=value},.."
        usage(sentence("-p cannot be read", given=repr(text), expected=form))


SpecT = TypeVar("SpecT", bound=ArgSpecConvertible)


def _with_options(cls: type[SpecT], spec: ArgSpec) -> SpecT:
    """Return the instance that a spec describes, with errors that name the pass and the option."""
    known = {
        field.name: field
        for field in fields(cls)  # pyright: ignore[reportArgumentType]
        if field.init
    }
    for name, values in spec.parameters.items():
        what = f"pass {spec.name}, option {name}"
        if name.replace("-", "_") not in known:
            options = ", ".join(known) or "none"
            usage(sentence(f"{what}: there is no such option", expected=options, hint=suggest(name, known)))
        try:
            cls.from_spec(ArgSpec(spec.name, {name: values}))
        except ValueError:
            shown = ",".join(map(str, values)) or "no value"
            usage(sentence(what, given=shown, expected=known[name.replace("-", "_")].type))
    return cls.from_spec(spec)


def usage(message: str) -> NoReturn:
    raise UsageError(Diagnostic("error", message))
