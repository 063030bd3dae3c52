"""Crash reproducers: one file that repeats an internal error.

The file is text: comments with versions, the recipe that `gradc-opt --replay` runs and a command that does
the same by hand, then the module before the failing step. Errors outside the pipeline leave the command
line and the traceback.
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
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

import dialects
from dialects.support.diagnostics import GradcError
from dialects.support.scoped_contextvar import override_context
from gradc.crash_reports.recipes import IMPORT, PASSES, Recipe
from gradc.files.writing import write_atomically
from gradc.graph.printing import module_text
from gradc.util.installed import PACKAGES, RUNTIMES, package_version
from gradc.util.version import __version__

LONGEST = 500
"""Longest message shown, in characters; a verifier's may quote a whole constant."""


class InternalError(Exception):
    """An error in gradc itself; the message names the reproducer file, if one could be written."""

    exit_code = 70


PASS_THROUGH = (GradcError, InternalError, MemoryError)
"""Exceptions that need no reproducer: user errors, errors that have one, and too little memory."""


_writes_files: ContextVar[bool] = ContextVar("writes_files", default=True)


def no_reproducers():
    """Return a context in which exceptions pass as they are, for a replay."""
    return override_context(_writes_files, False)


@contextmanager
def reproducer(recipe: Recipe, body: Callable[[], str], command: str = "") -> Iterator[None]:
    """Turn exceptions of gradc's into an InternalError that names the step, and write the reproducer.

    `body` returns the text of the module before the step; `command` (with THIS_FILE) repeats the error on it.
    """
    try:
        yield
    except PASS_THROUGH:
        raise
    except Exception as error:
        if not _writes_files.get():
            raise
        raise _internal_error(recipe, error, _text_or_comment(body), command) from error


def _text_or_comment(body: Callable[[], str]) -> str:
    """Return the module's text, or a comment if it cannot be printed."""
    try:
        return body()
    except Exception as error:
        return f"// there is no module, it cannot be printed: {one_line(error)}\n"


def import_reproducer(source: Callable[[], str], form: str, auto_pad_rule: str | None):
    """Return the context of a reproducer for an importer; `source` returns the text that it reads."""
    options = {} if auto_pad_rule is None else {"auto_pad_rule": auto_pad_rule}
    return reproducer(Recipe(IMPORT, "the importer", options=options, form=form), source)


@contextmanager
def pass_reproducer(start: ModuleOp, pipeline: Sequence[ModulePass], index: int) -> Iterator[None]:
    """Context of a reproducer for pass `index` of a pipeline that began with `start`.

    A broken module may only fail some passes later. After an error the passes run again from `start`, with
    the verifier after each, and the first that fails is reported. A GradcError is re-raised if the module was
    valid until then.
    """
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        if not _writes_files.get():
            raise
        failed, before, cause = first_fault(start, pipeline[: index + 1], error)
        if isinstance(cause, GradcError | MemoryError):
            raise
        rest = ",".join(str(pass_.spec()) for pass_ in pipeline[failed:])
        recipe = Recipe(PASSES, f"pass {pipeline[failed].name}", pipeline=rest)
        command = f"gradc-opt -p '{rest}' THIS_FILE"
        raise _internal_error(recipe, cause, module_text(before), command) from cause


def first_fault(
    start: ModuleOp, pipeline: Sequence[ModulePass], error: Exception
) -> tuple[int, ModuleOp, Exception]:
    """Rerun a pipeline; return the index of the first pass that fails, the module before it, and its error.
    That is the last pass and `error` if none fails again."""
    module = before = start.clone()
    for index, pass_ in enumerate(pipeline):
        before = module.clone()
        try:
            pass_.apply(dialects.context(), module)
            module.verify()
        except Exception as found:
            return index, before, found
    return len(pipeline) - 1, before, error


def unexpected_error(error: Exception) -> InternalError:
    """Return the InternalError for an exception outside the pipeline, with its traceback in a file."""
    command = shlex.join(["gradc", *sys.argv[1:]])
    text = f"{versions()}\n{command}\n{''.join(traceback.format_exception(error))}"
    return InternalError(_message("", error, text, ".txt"))


def _internal_error(recipe: Recipe, error: Exception, body: str, command: str) -> InternalError:
    header = heading(replace(recipe, error=type(error).__name__), one_line(error), command)
    return InternalError(_message(f" in {recipe.step}", error, header + body, ".mlir"))


def heading(recipe: Recipe, message: str, command: str = "") -> str:
    """Return the comments at the start of a reproducer."""
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
    """Write the file if possible; return the instruction to report it."""
    ours = "this is a fault of gradc's, please report it"
    name = f"gradc-crash-{hashlib.sha256(text.encode(errors='replace')).hexdigest()[:12]}{suffix}"
    faults = []
    for folder in _folders(faults):
        try:
            write_atomically(folder / name, text.encode(errors="replace"))
        except GradcError as error:
            faults.append(error.diagnostic.message)
            continue
        return f"{ours} with {folder / name}" + (f" ({faults[0]})" if faults else "")
    return f"{ours}; no file could be written that shows it again: {'; '.join(faults)}"


def _folders(faults: list[str]) -> Iterator[Path]:
    """Yield the folders to try, the preferred one first; append errors to `faults`."""
    try:
        yield Path(tempfile.gettempdir())
    except OSError as error:
        faults.append(error.strerror or str(error))
    yield Path()


def versions() -> str:
    found = {"gradc": __version__} | {name: package_version(name) for name in (*PACKAGES, *RUNTIMES)}
    packages = [f"{name} {version}" for name, version in found.items() if version]
    return ", ".join([*packages, f"Python {platform.python_version()}", platform.platform()])


def one_line(error: Exception) -> str:
    text = " ".join(str(error).split()) or "no message"
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."
