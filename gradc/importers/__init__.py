"""Source files to modules of source dialect ops."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from dialects.support.diagnostics import Diagnostic, GradcError, Position, violation
from gradc import crash
from gradc.importers.text import decode
from gradc.reading import read_bytes, read_stream, unreadable

STDIN = "-"


def import_file(path: str | os.PathLike[str], auto_pad_rule: str | None = None) -> ModuleOp:
    """The module of a file: `.json`, `.mlir`, or anything that starts like one; `-` is stdin.

    `auto_pad_rule` replaces that of every op. Raises GradcError, which names the file as `path` does,
    for a file that cannot be read or is wrong.
    """
    name = os.fspath(path)
    if name.endswith(".onnx"):
        raise violation(f"{name} is a compiled model", expected="a graph", hint="gradc run runs models")
    data = _read(name)
    shown = "<stdin>" if name == STDIN else name
    if not data.strip():
        raise GradcError(Diagnostic("error", "the file is empty", position=Position(shown, 1, 1)))
    if _is_json(name, data):
        return import_text(decode(data, shown), "json", shown, auto_pad_rule)
    return import_text(decode(data, shown), "mlir", shown, auto_pad_rule)


def import_text(text: str, form: str, file: str, auto_pad_rule: str | None = None) -> ModuleOp:
    """The module of a text in one of the forms json and mlir; what is our fault leaves a reproducer."""
    from gradc.importers.mlir_text import import_mlir
    from gradc.importers.onednn_json import import_json

    read = import_json if form == "json" else import_mlir
    with crash.import_reproducer(lambda: text, form, auto_pad_rule):
        return read(text, file, auto_pad_rule)


def _read(name: str) -> bytes:
    try:
        return read_stream(sys.stdin.buffer, "<stdin>") if name == STDIN else read_bytes(name)
    except GradcError:
        raise
    except OSError as error:
        raise unreadable(name, error) from None
    except ValueError as error:
        raise violation(f"cannot read {name}: {error}") from None


def _is_json(name: str, data: bytes) -> bool:
    """By suffix, else by the first character: MLIR text may only start with `{` in `{-#`."""
    suffix = Path(name).suffix.lower()
    if suffix in (".json", ".mlir"):
        return suffix == ".json"
    start = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    return start.startswith(b"{") and not start.startswith(b"{-#")
