"""Crash reproducers: when the compiler itself fails, one file holds all that it takes to see it again.

The file is MLIR text: the module as it was before the failing pass, under a comment with the command
that runs the rest of the pipeline over it.
"""

from __future__ import annotations

import hashlib
import platform
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

import dialects
from dialects.support.diagnostics import GradcError
from gradc.printing import whole


class InternalError(Exception):
    """A fault of gradc's own; the text names the reproducer file."""

    exit_code = 70


@contextmanager
def reproducer(start: ModuleOp, pipeline: Sequence[ModulePass], index: int) -> Iterator[None]:
    """Turn anything but a GradcError into an InternalError, and write the reproducer.

    `start` is the module before `pipeline`, of which pass `index` runs. Passes are deterministic, so
    the module before a failing pass is made again rather than kept before every pass.
    """
    try:
        yield
    except GradcError:
        raise
    except Exception as error:
        rest = pipeline[index:]
        text = _text(_replayed(start, pipeline[:index]), rest, error)
        raise InternalError(
            f"internal error in pass {rest[0].name}: {_one_line(error)}; this is a fault of gradc's, please "
            f"report it with {_written(text)}"
        ) from error


def _replayed(start: ModuleOp, pipeline: Sequence[ModulePass]) -> ModuleOp:
    module = start.clone()
    for pass_ in pipeline:
        pass_.apply(dialects.context(), module)
    return module


def unexpected(error: Exception) -> InternalError:
    """An exception from outside the pipeline, with its traceback in a file."""
    if isinstance(error, InternalError):
        return error
    text = "".join(traceback.format_exception(error))
    path = _written(f"// gradc {_own_version()}, Python {platform.python_version()}\n{text}")
    return InternalError(
        f"internal error: {type(error).__name__}: {_one_line(error)}; this is a fault of gradc's, please "
        f"report it with {path}"
    )


def _text(module: ModuleOp, rest: Sequence[ModulePass], error: Exception) -> str:
    pipeline = ",".join(str(pass_.spec()) for pass_ in rest)
    packages = ", ".join(f"{name} {version(name)}" for name in ("xdsl", "numpy"))
    return (
        f"// gradc {_own_version()}, {packages}, Python {platform.python_version()}\n"
        f"// {type(error).__name__}: {_one_line(error)}\n"
        f"// gradc-opt -p '{pipeline}' THIS_FILE\n"
        f"{whole(module)}"
    )


def _written(text: str) -> Path:
    name = f"gradc-crash-{hashlib.sha256(text.encode()).hexdigest()[:12]}.mlir"
    path = Path(tempfile.gettempdir()) / name
    path.write_text(text, encoding="utf-8")
    return path


def _own_version() -> str:
    from gradc import __version__

    return __version__


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
