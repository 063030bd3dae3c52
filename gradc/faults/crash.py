"""Crash reproducers: when the compiler itself fails, one file holds all that it takes to see it again.

The file is text: the module as it was before the failing step, under comments with versions, the
recipe by which `gradc-opt --replay` repeats the step, and the command that does it by hand. A fault
elsewhere leaves the command line and the traceback.
"""

from __future__ import annotations

import hashlib
import platform
import shlex
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

import dialects
from dialects.support.diagnostics import GradcError
from gradc.base.installed import PACKAGES, RUNTIMES, installed_version
from gradc.base.version import __version__
from gradc.faults.recipes import IMPORT, PASSES, Recipe
from gradc.files.writing import write_whole
from gradc.graph.printing import whole

LONGEST = 500
"""Characters of a message that are shown on the one line; a verifier's may quote a whole constant."""


class InternalError(Exception):
    """A fault of gradc's own; the text names the reproducer file, if one could be written."""

    exit_code = 70


NOT_OURS = (GradcError, InternalError, MemoryError)
"""What goes through: a user's mistake, a fault that has its file already, a machine that is too small."""


@contextmanager
def reproducer(recipe: Recipe, body: Callable[[], str], command: str = "") -> Iterator[None]:
    """Turn what is our fault into an InternalError that names the step, and write the file.

    `body` makes the text of the module before the step, on which `command` (with THIS_FILE) shows the
    fault by hand.
    """
    try:
        yield
    except NOT_OURS:
        raise
    except Exception as error:
        raise _internal_error(recipe, error, _made(body), command) from error


def _made(body: Callable[[], str]) -> str:
    """What failed may have left something that cannot be printed either."""
    try:
        return body()
    except Exception as error:
        return f"// there is no module, it cannot be printed: {one_line(error)}\n"


def import_reproducer(source: Callable[[], str], form: str, auto_pad_rule: str | None):
    """The reproducer for an importer; `source` gives the text that it reads."""
    options = {} if auto_pad_rule is None else {"auto_pad_rule": auto_pad_rule}
    return reproducer(Recipe(IMPORT, "the importer", options=options, form=form), source)


@contextmanager
def pass_reproducer(start: ModuleOp, pipeline: Sequence[ModulePass], index: int) -> Iterator[None]:
    """The reproducer for pass `index` of a pipeline that began with `start`.

    What a pass leaves broken may be found out passes later. So after an error the passes run again, from
    `start` and with the verifier after each, and the first that fails is to blame. A GradcError stands
    if the module was sound until then.
    """
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        failed, before, cause = first_fault(start, pipeline[: index + 1], error)
        if isinstance(cause, GradcError | MemoryError):
            raise
        rest = ",".join(str(pass_.spec()) for pass_ in pipeline[failed:])
        recipe = Recipe(PASSES, f"pass {pipeline[failed].name}", pipeline=rest)
        command = f"gradc-opt -p '{rest}' THIS_FILE"
        raise _internal_error(recipe, cause, whole(before), command) from cause


def first_fault(
    start: ModuleOp, pipeline: Sequence[ModulePass], error: Exception
) -> tuple[int, ModuleOp, Exception]:
    """The first pass that fails, the module before it, and how it fails; the last one, with `error`, if
    none does when they run again."""
    module = before = start.clone()
    for index, pass_ in enumerate(pipeline):
        before = module.clone()
        try:
            pass_.apply(dialects.context(), module)
            module.verify()
        except Exception as found:
            return index, before, found
    return len(pipeline) - 1, before, error


def unexpected(error: Exception) -> InternalError:
    """An exception from outside the pipeline, with its traceback in a file."""
    command = shlex.join(["gradc", *sys.argv[1:]])
    text = f"{versions()}\n{command}\n{''.join(traceback.format_exception(error))}"
    return InternalError(_message("", error, text, ".txt"))


def _internal_error(recipe: Recipe, error: Exception, body: str, command: str) -> InternalError:
    header = heading(replace(recipe, error=type(error).__name__), one_line(error), command)
    return InternalError(_message(f" in {recipe.step}", error, header + body, ".mlir"))


def heading(recipe: Recipe, message: str, command: str = "") -> str:
    """The comments at the begin of a reproducer."""
    lines = [
        f"// gradc crash reproducer: internal error in {recipe.step}",
        f"// {recipe.error}: {message}",
        f"// {versions()}",
        recipe.line(),
        "// see it again: gradc-opt --replay THIS_FILE",
        "// make it small: gradc reduce THIS_FILE -o SMALL_FILE",
    ]
    return "\n".join([*lines, *([f"// {command}"] if command else []), ""])


def _message(where: str, error: Exception, text: str, suffix: str) -> str:
    return f"internal error{where}: {type(error).__name__}: {one_line(error)}; {_report(text, suffix)}"


def _report(text: str, suffix: str) -> str:
    """Write the file, where that is possible, and say what to do with it."""
    ours = "this is a fault of gradc's, please report it"
    name = f"gradc-crash-{hashlib.sha256(text.encode(errors='replace')).hexdigest()[:12]}{suffix}"
    faults = []
    for folder in _folders(faults):
        try:
            write_whole(folder / name, text.encode(errors="replace"))
        except GradcError as error:
            faults.append(error.diagnostic.message)
            continue
        return f"{ours} with {folder / name}" + (f" ({faults[0]})" if faults else "")
    return f"{ours}; no file could be written that shows it again: {'; '.join(faults)}"


def _folders(faults: list[str]) -> Iterator[Path]:
    """Where a reproducer may go, the best place first."""
    try:
        yield Path(tempfile.gettempdir())
    except OSError as error:
        faults.append(error.strerror or str(error))
    yield Path()


def versions() -> str:
    found = {"gradc": __version__} | {name: installed_version(name) for name in (*PACKAGES, *RUNTIMES)}
    packages = [f"{name} {version}" for name, version in found.items() if version]
    return ", ".join([*packages, f"Python {platform.python_version()}", platform.platform()])


def one_line(error: Exception) -> str:
    text = " ".join(str(error).split()) or "no message"
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."
