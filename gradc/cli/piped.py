"""Temporary file for an ONNX model on stdin."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

STDIN = "-"


@contextlib.contextmanager
def model_from_stdin(files: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the files of a command, with a temporary file for a model on stdin."""
    from gradc.files.kinds import HEAD, is_onnx_content
    from gradc.terminal import streams

    if list(files) != [STDIN] or sys.stdin is None:
        yield files
        return
    head = sys.stdin.buffer.read(HEAD)
    if not is_onnx_content(head):
        with streams.prepend_stdin(head):
            yield files
        return
    with tempfile.TemporaryDirectory(prefix="gradc-") as folder:
        path = Path(folder) / "stdin.onnx"
        with path.open("wb") as file:
            file.write(head)
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield [str(path)]
