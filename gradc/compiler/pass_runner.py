"""Runs passes over a module: for observers, with the choice of strategies, and a reproducer of each crash."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline

import dialects
from dialects.support.diagnostics import Diagnostic, GradcError, UsageError, sentence, suggest
from dialects.support.error_list import combine
from dialects.support.interfaces import collect_remarks
from dialects.support.option_names import option
from gradc.compiler.options import Options
from gradc.crash_reports import crash
from gradc.crash_reports.recipes import CHOICE, Recipe
from gradc.graph.printing import module_text
from gradc.terminal import progress
from gradc.util.collector import rare_collections
from passes.registry import all_passes
from passes.select_strategy import SelectStrategyPass, find_strategy, unused_choices

if TYPE_CHECKING:
    from gradc.tuning.tuner import Tuner


@dataclass(frozen=True)
class Stage:
    """The module before the pipeline (`after` is None) or after a pass, for an observer.

    `seconds` is the time of the pass and the verification after it.
    """

    module: ModuleOp
    after: ModulePass | None = None
    seconds: float = 0.0


Observer = Callable[[Stage], None]


class Stopped(Exception):
    """The pass to stop after has run over the module."""

    def __init__(self, module: ModuleOp) -> None:
        super().__init__()
        self.module = module
        self.remarks: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True)
class StopAfter:
    """An observer that raises Stopped after the pass of a name. Raises UsageError unless `names` has it."""

    name: str
    names: Sequence[str]

    def __post_init__(self) -> None:
        name, known = self.name.replace("_", "-"), list(dict.fromkeys(self.names))
        object.__setattr__(self, "name", name)
        if name not in known:
            expected = f"one of {', '.join(known)}"
            message = sentence(option("stop_after"), name, expected, suggest(name, known))
            raise UsageError(Diagnostic("error", message))

    def __call__(self, stage: Stage) -> None:
        if stage.after is not None and stage.after.name == self.name:
            raise Stopped(stage.module)


def parse(pipeline: str) -> tuple[ModulePass, ...]:
    return PassPipeline.parse_spec(all_passes(), pipeline).passes


@rare_collections()
def run_passes(
    module: ModuleOp,
    pipeline: Sequence[ModulePass],
    options: Options,
    observer: Observer | None = None,
    tuner: Tuner | None = None,
    *,
    start: ModuleOp,
) -> tuple[Diagnostic, ...]:
    """Run a pipeline; return remarks on the source ops and the choice of strategies.

    The module is verified at the end, and after each pass if there is an observer. `start` is a clone of the
    module, from which a failing pass is located. Any error but a GradcError becomes an InternalError with a
    crash reproducer.
    """
    ctx = dialects.context()
    first, last = 0, len(pipeline) - 1
    remarks: tuple[Diagnostic, ...] = ()
    if observer is not None:
        observer(Stage(module))
    for index, pass_ in enumerate(pipeline):
        progress.show(index, len(pipeline), pass_.name)
        if isinstance(pass_, SelectStrategyPass):
            remarks += _choose(module, options, tuner)
            start, first = (module.clone(), index) if tuner else (start, first)
        begun = time.perf_counter()
        with crash.pass_reproducer(start, pipeline[first:], index - first):
            pass_.apply(ctx, module)
            if observer is not None or index == last:
                module.verify()
        seconds = time.perf_counter() - begun
        if pass_.name == "infer-types":
            remarks = _remarks(module, options.strict)
        if observer is not None:
            _show(Stage(module, pass_, seconds), observer, remarks)
    return remarks


def _show(stage: Stage, observer: Observer, remarks: tuple[Diagnostic, ...]) -> None:
    try:
        observer(stage)
    except Stopped as stopped:
        stopped.remarks = remarks
        raise


def _choose(module: ModuleOp, options: Options, tuner: Tuner | None) -> tuple[Diagnostic, ...]:
    measures = tuner is not None and tuner.measure is not None
    recipe = Recipe(CHOICE, "the choice of strategies", options=asdict(options), tune=measures)
    with crash.reproducer(recipe, lambda: module_text(module)):
        return choose(module, options, tuner)


def choose(module: ModuleOp, options: Options, tuner: Tuner | None) -> tuple[Diagnostic, ...]:
    """Record the tuner's choices; return remarks on them, and on choices of the source that are unused."""
    target = options.resolve_target()
    remarks = [] if tuner is None else tuner.tune(module, target, find_strategy(options.strategy))[1]
    return (*remarks, *unused_choices(module, target))


def _remarks(module: ModuleOp, strict: bool) -> tuple[Diagnostic, ...]:
    found = tuple(collect_remarks(list(module.walk())))
    contradictions = [remark.with_severity("error") for remark in found if remark.strict]
    if strict and contradictions:
        raise combine([GradcError(diagnostic) for diagnostic in contradictions])
    return found
