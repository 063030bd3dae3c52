"""Replay of a crash reproducer: `gradc-opt --replay FILE`."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

import dialects
from dialects.support.diagnostics import Diagnostic, GradcError, violation
from dialects.support.limits import Limits, using
from gradc.compiler.options import Options
from gradc.compiler.pass_runner import choose
from gradc.compiler.pipeline_text import parse_passes
from gradc.crash_reports import recipes
from gradc.crash_reports.crash import PASS_THROUGH, no_reproducers, one_line
from gradc.crash_reports.recipes import CHECK, CHOICE, IMPORT, MODEL, SESSION, Recipe
from gradc.files.reading import display_name, read_bytes, read_error
from gradc.files.writing import StrPath
from gradc.importers.text import decode
from gradc.tuning.records import Tuning
from gradc.tuning.request import TuningRequest
from gradc.tuning.stores import Store
from passes.registry import all_passes

EXIT_NOT_REPRODUCED, EXIT_REPRODUCED = 0, 70


@dataclass(frozen=True)
class Fault:
    """A reproduced internal error: its step, and the exception."""

    step: str
    error: Exception

    @property
    def kind(self) -> tuple[str, str]:
        """Step and error type, which identify a fault."""
        return (self.step, type(self.error).__name__)

    def __str__(self) -> str:
        return f"internal error in {self.step}: {type(self.error).__name__}: {one_line(self.error)}"


def replay(path: StrPath, say: Callable[[str], None]) -> int:
    """Run a reproducer and report the outcome by `say`; return the exit code, 70 if the fault remains.

    Raises GradcError for a file that is not a reproducer, and for an input error.
    """
    recipe, body = recipes.read(read_text(path), str(path))
    with using(_limits_of(recipe)):
        found = fault_of_text(recipe, body, str(path))
    if found is None:
        say(f"not reproduced: {recipe.step} ends without an error")
        return EXIT_NOT_REPRODUCED
    say("".join(traceback.format_exception(found.error)).rstrip())
    same = found.kind == (recipe.step, recipe.error)
    verdict = "reproduced" if same else f"another fault than {recipe.error} in {recipe.step}"
    say(f"{verdict}: {found}")
    return EXIT_REPRODUCED


def read_text(path: StrPath) -> str:
    """Return the text of a file. Raises GradcError that names it."""
    try:
        return decode(read_bytes(path), display_name(path))
    except OSError as error:
        raise read_error(path, error) from None


def fault_of_text(recipe: Recipe, body: str, file: str) -> Fault | None:
    """Run the recipe on the text of a source or a module."""
    if recipe.stage != IMPORT:
        return fault_of(module_of(body, file), recipe)
    return _fault("the importer", lambda: _import(recipe, body, file))


def _import(recipe: Recipe, body: str, file: str) -> None:
    from gradc.importers import IMPORTERS, importer

    if recipe.form not in IMPORTERS:
        raise violation("form of the recipe", given=recipe.form, expected=f"one of {', '.join(IMPORTERS)}")
    importer(recipe.form)(body, file, options_of(recipe).auto_pad_rule)


def module_of(text: str, file: str) -> ModuleOp:
    from gradc.importers.mlir.parser import import_mlir

    return import_mlir(text, file)


def fault_of(module: ModuleOp, recipe: Recipe) -> Fault | None:
    """Return the internal error that a module causes, None without one. Modifies the module.

    Raises GradcError if the passes reject the module.
    """
    found = _fault_in_passes(module, passes_of(recipe))
    if found is not None or recipe.stage not in (CHECK, CHOICE, MODEL, SESSION):
        return found
    if recipe.stage == CHECK:
        return _fault(recipe.step, lambda: _check(module, recipe))
    return _fault(recipe.step, lambda: _repeat(module, recipe))


def passes_of(recipe: Recipe) -> Sequence[ModulePass]:

    return parse_passes(recipe.pipeline, all_passes()) if recipe.pipeline else []


def _fault_in_passes(module: ModuleOp, pipeline: Sequence[ModulePass]) -> Fault | None:
    for pass_ in pipeline:
        found = _fault(f"pass {pass_.name}", lambda pass_=pass_: _apply(pass_, module))
        if found is not None:
            return found
    return None


def _apply(pass_: ModulePass, module: ModuleOp) -> None:
    pass_.apply(dialects.context(), module)
    module.verify()


def _repeat(module: ModuleOp, recipe: Recipe) -> None:
    """Run the last step of a recipe, after the passes."""
    from gradc.model.exporter import export_parts
    from gradc.runtime.session import Session

    options = options_of(recipe)
    if recipe.stage == CHOICE:
        tuner = TuningRequest(tune=recipe.tune).tuner(options.resolve_target(), store=NullStore())
        choose(module, options, tuner)
        return
    model = export_parts(module, opset=options.resolve_target().opset, metadata={})
    if recipe.stage == SESSION:
        Session(model, ep=recipe.ep, threads=options.threads)  # pyright: ignore[reportArgumentType]


def _check(module: ModuleOp, recipe: Recipe) -> None:
    """Check the gradient of a module again."""
    from gradc.derivatives.check import REQUEST
    from gradc.derivatives.gradient import vjp

    given = {name: recipe.options[name] for name in REQUEST if name in recipe.options}
    with no_reproducers():
        vjp(module, check=True, allow_unused=True, **given)


def options_of(recipe: Recipe) -> Options:
    """Return the options of a recipe. Raises GradcError for unknown ones."""
    try:
        return Options(**{**recipe.options, "limits": _limits_of(recipe)})
    except TypeError as error:
        raise GradcError(Diagnostic("error", f"options of the recipe: {error}")) from None


def _limits_of(recipe: Recipe) -> Limits | None:
    """Return the limits that were in force when the file was written; None without any."""
    try:
        return Limits(**recipe.limits) if recipe.limits else None
    except (TypeError, GradcError) as error:
        raise violation(f"limits of the recipe: {error}") from None


def _fault(step: str, action: Callable[[], None]) -> Fault | None:
    try:
        action()
    except PASS_THROUGH:
        raise
    except Exception as error:
        return Fault(step, error)
    return None


class NullStore(Store):
    """A store without storage: each replay measures, and leaves nothing behind."""

    def read(self, problem: str) -> Tuning | None:
        return None

    def write(self, problem: str, tuning: Tuning) -> None:
        pass
