"""Crash reproducers: when the compiler itself fails, one file holds all that it takes to see it again.

The file is MLIR text: the module as it was before the failing step, under a comment with the command
that takes it from there. A fault elsewhere leaves the command line and the traceback.
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
from importlib.metadata import version
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

import dialects
from dialects.support.diagnostics import GradcError
from gradc.printing import whole

LONGEST = 500
"""Characters of a message that are shown on the one line; a verifier's may quote a whole constant."""


class InternalError(Exception):
    """A fault of gradc's own; the text names the reproducer file."""

    exit_code = 70


@contextmanager
def reproducer(step: str, command: str, module: Callable[[], ModuleOp]) -> Iterator[None]:
    """Turn anything but a GradcError into an InternalError that names the step, and write the file.

    `module` makes the module before the step, on which `command` (with THIS_FILE) shows the fault.
    """
    try:
        yield
    except GradcError:
        raise
    except Exception as error:
        path = _written(_text(module(), command, error), ".mlir")
        raise InternalError(_message(f" in {step}", error, path)) from error


def pass_reproducer(start: ModuleOp, pipeline: Sequence[ModulePass], index: int):
    """The reproducer for pass `index` of a pipeline that began with `start`.

    Passes are deterministic, so the module before a failing pass is made again rather than kept
    before every pass.
    """
    rest = ",".join(str(pass_.spec()) for pass_ in pipeline[index:])
    command = f"gradc-opt -p '{rest}' THIS_FILE"
    return reproducer(f"pass {pipeline[index].name}", command, lambda: _replayed(start, pipeline[:index]))


def _replayed(start: ModuleOp, pipeline: Sequence[ModulePass]) -> ModuleOp:
    module = start.clone()
    for pass_ in pipeline:
        pass_.apply(dialects.context(), module)
    return module


def unexpected(error: Exception) -> InternalError:
    """An exception from outside the pipeline, with its traceback in a file."""
    command = shlex.join(["gradc", *sys.argv[1:]])
    text = f"{_versions()}\n{command}\n{''.join(traceback.format_exception(error))}"
    return InternalError(_message("", error, _written(text, ".txt")))


def _message(where: str, error: Exception, path: Path) -> str:
    return (
        f"internal error{where}: {type(error).__name__}: {_one_line(error)}; this is a fault of gradc's, "
        f"please report it with {path}"
    )


def _text(module: ModuleOp, command: str, error: Exception) -> str:
    return f"// {_versions()}\n// {type(error).__name__}: {_one_line(error)}\n// {command}\n{whole(module)}"


def _written(text: str, suffix: str) -> Path:
    name = f"gradc-crash-{hashlib.sha256(text.encode()).hexdigest()[:12]}{suffix}"
    path = Path(tempfile.gettempdir()) / name
    path.write_text(text, encoding="utf-8")
    return path


def _versions() -> str:
    from gradc import __version__

    packages = ", ".join(f"{name} {version(name)}" for name in ("xdsl", "numpy"))
    return f"gradc {__version__}, {packages}, Python {platform.python_version()}"


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split()) or "no message"
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."
