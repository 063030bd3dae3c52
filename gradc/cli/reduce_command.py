"""Implementation of `gradc reduce`."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from dialects.support.diagnostics import UnsupportedError, violation
from gradc.cli.compiling import load_bound
from gradc.compiler.options import Options
from gradc.compiler.source import Source
from gradc.crash_reports import recipes
from gradc.crash_reports.crash import one_line
from gradc.crash_reports.recipes import IMPORT, MODEL, PASSES, SESSION, Recipe
from gradc.files.kinds import is_onnx
from gradc.files.reading import display_name
from gradc.graph.printing import module_text
from gradc.reduction import graphs
from gradc.reduction.faults import Command, Crash, Failure, Mismatch
from gradc.reduction.replay import fault_of, module_of, read_text
from gradc.reduction.search import Search
from gradc.terminal import progress
from gradc.terminal.outputs import STDOUT, write_output

Say = Callable[[str], None]


@dataclass(frozen=True)
class Request:
    """The graph to reduce, and the test of a failure.

    `pipeline` are passes that fail, `interesting` is a command; without both, the graph is compiled and
    verified. `again` are the options of that, as given. A crash reproducer needs none of these.
    """

    source: Source
    options: Options
    constants: str | tuple[str, ...] | None = None
    pipeline: str | None = None
    interesting: str | None = None
    seed: int = 0
    ep: Any = None
    seconds: float = 60.0
    tests: int = 2000
    again: tuple[str, ...] = ()


def reduce(request: Request, output: str, say: Say) -> dict[str, Any]:
    """Write the smallest failing graph, report it with `say`, and return a summary for `--json`.

    Raises GradcError if the graph does not fail.
    """
    module, failure = _failing(request)
    say(f"{display_name(str(request.source))}: {failure}")
    search = Search(module, failure.holds, request.tests)

    def result() -> str:
        return f"{_size(module)} -> {_size(search.best)}, {search.tests} tests"

    with progress.bar():
        search.progress = lambda: progress.show(search.tests, request.tests, result())
        search.run()
    text = f"{failure.heading()}// gradc reduce: {result()}\n{module_text(search.best)}"
    write_output(output, text.encode(), "MLIR")
    say(result())
    if search.tests >= request.tests:
        say(f"stopped after {request.tests} tests (--tests)")
    return {
        "source": str(request.source),
        "output": output,
        "failure": str(failure),
        "before": _sizes(module),
        "after": _sizes(search.best),
        "tests": search.tests,
        "finished": search.tests < request.tests,
    }


def _sizes(module: ModuleOp) -> dict[str, int]:
    """Return the numbers of ops and of input elements."""
    return {"ops": len(graphs.operations(module)), "elements": graphs.size(module)}


def _size(module: ModuleOp) -> str:
    count, elements = _sizes(module).values()
    return f"{count} op{'' if count == 1 else 's'} on {elements} elements"


def _failing(request: Request) -> tuple[ModuleOp, Failure]:
    file, *others = request.source.files
    text = "" if others or is_onnx(file) or file.lower().endswith((".json", STDOUT)) else read_text(file)
    if recipes.has_recipe(text):
        return _failure_of_reproducer(request, *recipes.read(text, file))
    module = load_bound(request.source, request.options, request.constants)
    if request.interesting is not None:
        return module, _check_holds(
            module, Command(request.interesting, request.seconds), str(request.source)
        )
    if request.pipeline is not None:
        recipe = Recipe(PASSES, "", pipeline=request.pipeline)
        return module, _crash(module, recipe) or _no_failure(request, f"-p {request.pipeline}")
    return module, _failure_of_compilation(module, request)


def _failure_of_reproducer(request: Request, recipe: Recipe, body: str) -> tuple[ModuleOp, Failure]:
    if recipe.stage == IMPORT and request.interesting is None:
        hint = "use a text reducer with gradc-opt --replay as the test"
        raise violation(f"{request.source} fails in the importer: there is no graph", hint=hint)
    module = module_of(body, str(request.source))
    if request.interesting is not None:
        return module, _check_holds(
            module, Command(request.interesting, request.seconds), str(request.source)
        )
    return module, _crash(module, recipe) or _no_failure(request, "its recipe")


def _failure_of_compilation(module: ModuleOp, request: Request) -> Failure:
    """Return the failure of the compilation, of loading the model, or of its results."""
    options = asdict(request.options)
    model = Recipe(MODEL, "the exporter", pipeline=request.options.pipeline, options=options)
    if (crash := _crash(module, model)) is not None:
        return crash
    session = replace(
        model, stage=SESSION, step="onnxruntime, which refuses the model", ep=request.ep or "cpu"
    )
    command = shlex.join(["gradc", "verify", "THIS_FILE", *request.again])
    mismatch = Mismatch(request.options, request.seed, request.ep, command)
    try:
        crash = _crash(module, session)
    except UnsupportedError:
        return _no_failure(request, "gradc compile; without onnxruntime it cannot be verified")
    if crash is not None:
        return crash
    rows = mismatch.rows(module.clone())
    return mismatch if not all(row.ok for row in rows) else _no_failure(request, "gradc verify")


def _crash(module: ModuleOp, recipe: Recipe) -> Crash | None:
    """Return the internal error of a recipe, None without one; raise GradcError for an invalid module."""
    found = fault_of(module.clone(), recipe)
    if found is None:
        return None
    seen = replace(recipe, step=found.step, error=type(found.error).__name__)
    return Crash(seen, one_line(found.error))


def _check_holds(module: ModuleOp, failure: Command, source: str) -> Command:
    if failure.holds(module.clone()):
        return failure
    raise violation(f"{source} is not interesting: exit code of {failure.command}", expected=0)


def _no_failure(request: Request, what: str) -> Any:
    hint = "--interesting 'COMMAND {}' sets another test"
    raise violation(f"{request.source} does not fail with {what}: nothing to reduce", hint=hint)
