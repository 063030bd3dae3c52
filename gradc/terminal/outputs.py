"""Outputs of commands: a file, which is reported on stderr, or stdout."""

from __future__ import annotations

from gradc.files.writing import write_atomically
from gradc.terminal import messages
from gradc.terminal.numbers import format_bytes
from gradc.terminal.streams import write_stdout

STDOUT = "-"


def write_output(path: str, content: bytes, kind: str) -> None:
    """Write `content` to a file atomically and report it, or to stdout for `-`."""
    if path == STDOUT:
        write_stdout(content)
        return
    write_atomically(path, content)
    messages.report_file(path, f"{kind}, {format_bytes(len(content))}")
