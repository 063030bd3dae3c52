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


@contextmanager
def pass_reproducer(start: ModuleOp, pipeline: Sequence[ModulePass], index: int) -> Iterator[None]:
    """The reproducer for pass `index` of a pipeline that began with `start`.

    What a pass leaves broken may be found out passes later. So after an error the passes run again, from
    `start` and with the verifier after each, and the first that fails is to blame. A GradcError stands
    if the module was sound until then.
    """
    try:
        yield
    except Exception as error:
        failed, before, cause = _first_fault(start, pipeline[: index + 1], error)
        if isinstance(cause, GradcError):
            raise
        rest = ",".join(str(pass_.spec()) for pass_ in pipeline[failed:])
        path = _written(_text(before, f"gradc-opt -p '{rest}' THIS_FILE", cause), ".mlir")
        raise InternalError(_message(f" in pass {pipeline[failed].name}", cause, path)) from cause


def _first_fault(
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
