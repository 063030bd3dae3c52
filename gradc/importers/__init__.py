"""Importers: source files to modules of a source dialect."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from dialects.support.diagnostics import Diagnostic, GradcError, Position, sentence, violation
from gradc.crash_reports import crash
from gradc.files.kinds import is_onnx
from gradc.files.reading import display_name, read_bytes, read_error
from gradc.importers.text import decode
from gradc.terminal.streams import STDIN_NAME, read_stdin

if TYPE_CHECKING:
    from gradc.importers.onnx.rewrites import Rewrites

STDIN = "-"

IMPORTERS: Mapping[str, str] = {
    "json": "gradc.importers.onednn.reader:import_json",
    "mlir": "gradc.importers.mlir.parser:import_mlir",
}
"""File suffix -> `module:function` of its importer, imported on first use."""

_ONNX_AS_TEXT = re.compile(rb'\s*(ir_version\s*:|<\s*ir_version\s*:|\{\s*"ir_?[vV]ersion"\s*:)')

_CONVERTERS = {
    (".pt", ".pth", ".pt2", ".ts"): "torch.onnx.export writes a model of torch as ONNX",
    (".tflite", ".pb", ".h5", ".keras"): "tf2onnx writes a model of TensorFlow as ONNX",
}
"""Suffixes of models of other frameworks -> how to convert them."""

Importer = Callable[[str, str, str | None], ModuleOp]
"""Signature of an importer: text, file name in diagnostics, and the `auto_pad_rule` of every op (None: the
op's own, or the default of the format) -> module. Raises GradcError."""


def importer(form: str) -> Importer:
    module, _, name = IMPORTERS[form].partition(":")
    return getattr(import_module(module), name)


def format_of_suffix(name: str) -> str | None:
    """Return the source format that a file name implies, None for an unknown suffix."""
    suffix = Path(name).suffix.lower().removeprefix(".")
    return suffix if suffix in IMPORTERS else None


def import_file(
    path: str | os.PathLike[str],
    auto_pad_rule: str | None = None,
    *,
    for_gradients: Collection[str] | None = None,
    rewrites: Rewrites | None = None,
) -> ModuleOp:
    """Import a file of any source format; `-` is stdin. Content decides where the suffix does not.

    `auto_pad_rule` replaces that of every op; `for_gradients` and `rewrites` are those of `import_onnx`.
    Raises GradcError for an unreadable or invalid file.
    """
    name = os.fspath(path)
    if is_onnx(name):
        from gradc.importers.onnx import import_onnx

        return import_onnx(name, for_gradients=for_gradients, rewrites=rewrites)
    if name.endswith(".py"):
        hint = "run it with python; gradc.Graph.save writes a graph as MLIR text, which every command reads"
        raise violation(f"{name} is a Python program", expected="a graph", hint=hint)
    data = _read(name)
    file = STDIN_NAME if name == STDIN else display_name(name)
    if not data.strip():
        raise GradcError(Diagnostic("error", "the file is empty", position=Position(file, 1, 1)))
    _check_supported(name, file, data)
    form = format_of_suffix(name) or _guess_format(data)
    return import_text(decode(data, file), form, file, auto_pad_rule)


def _check_supported(name: str, file: str, data: bytes) -> None:
    """Raise GradcError with a conversion hint for models in formats that gradc does not read."""
    if _ONNX_AS_TEXT.match(data):
        hint = "onnx.load reads it, and onnx.save writes it as an .onnx file"
        raise _error_at_start(file, "the file is an ONNX model in a text format", "a binary one", hint)
    if b"\0" not in data:
        return
    suffix = Path(name).suffix.lower()
    of_framework = next((hint for suffixes, hint in _CONVERTERS.items() if suffix in suffixes), "")
    hint = of_framework or "the name of an ONNX model ends with .onnx"
    raise _error_at_start(
        file, "the file is not text", "a graph as JSON or MLIR text, or an .onnx file", hint
    )


def _error_at_start(file: str, what: str, expected: str, hint: str) -> GradcError:
    message = sentence(what, expected=expected, hint=hint)
    return GradcError(Diagnostic("error", message, position=Position(file, 1, 1)))


def import_files(paths: Sequence[str | os.PathLike[str]], auto_pad_rule: str | None = None) -> ModuleOp:
    """Import several oneDNN Graph JSON files, the partitions of one graph, which share tensor ids."""
    from gradc.importers.onednn import json_positions
    from gradc.importers.onednn.reader import import_documents

    documents = []
    for path in paths:
        name = os.fspath(path)
        data = _read(name)
        if is_onnx(name) or not data.strip() or (format_of_suffix(name) or _guess_format(data)) != "json":
            kind = "an ONNX model" if is_onnx(name) else "not oneDNN Graph JSON"
            hint = "several files must be parts of one oneDNN Graph dump; compile other files one by one"
            raise violation(f"{len(paths)} files, of which {display_name(name)} is {kind}", hint=hint)
        documents.append(json_positions.parse(decode(data, display_name(name)), display_name(name)))
    return import_documents(documents, auto_pad_rule)


def import_text(text: str, form: str, file: str, auto_pad_rule: str | None = None) -> ModuleOp:
    """Import a text in one of FORMS; an internal error leaves a reproducer."""
    with crash.import_reproducer(lambda: text, form, auto_pad_rule):
        return importer(form)(text, file, auto_pad_rule)


def _read(name: str) -> bytes:
    try:
        return read_stdin() if name == STDIN else read_bytes(name)
    except GradcError:
        raise
    except OSError as error:
        raise read_error(name, error) from None
    except ValueError as error:
        raise violation(f"cannot read {name}: {error}") from None


def _guess_format(data: bytes) -> str:
    """Guess the format from the first character: MLIR text starts with `{` only in `{-#`."""
    start = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    return "json" if start.startswith(b"{") and not start.startswith(b"{-#") else "mlir"
