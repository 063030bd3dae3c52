"""Pseudo-terminals: what a person would see."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import struct
import termios
from collections.abc import Iterator, Sequence
from io import TextIOWrapper
from pathlib import Path

from support.forkserver import Surroundings, shared

ROOT = Path(__file__).resolve().parents[2]
BAR = re.compile(r"\x1b\[\?25l.*?\x1b\[\?25h\r\x1b\[1A\x1b\[2K", re.DOTALL)
"""A bar, from the cursor that it hides to the line that it erases."""

PLAIN = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
"""What says how a terminal is written to, and must not come from where the tests run."""

UNTUNED = ROOT / "tests" / "no-cache"
"""A folder that there is not: what somebody tuned here would be shown."""


@contextlib.contextmanager
def terminal(columns: int = 80) -> Iterator[tuple[TextIOWrapper, list[str]]]:
    """A stream to a terminal of so many columns, and what was written there once the context is left."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    message: list[str] = []
    try:
        with os.fdopen(theirs, "w", encoding="utf-8") as stream:
            yield stream, message
    finally:
        message.append(_all_of(ours))


def _all_of(terminal: int) -> str:
    """What was written to the other end, which is closed by now."""
    found = b""
    with contextlib.suppress(OSError):  # how Linux says that there is no more
        while part := os.read(terminal, 4096):
            found += part
    os.close(terminal)
    return found.decode().replace("\r\n", "\n")


def on_terminal(
    arguments: Sequence[object], columns: int = 80, bars: bool = False, **environment: str
) -> tuple[int, str]:
    """Run `gradc` in a process of its own with stdout and stderr on one terminal. Return the code and what
    stays of its output; with `bars` all of it. On a slow machine there may have been a bar.

    What it writes must fit a pty's buffer, some kilobytes.
    """
    own = {"TERM": "xterm-256color", "XDG_CACHE_HOME": str(UNTUNED)}
    variables = dict.fromkeys(PLAIN) | own | environment
    with terminal(columns) as (stream, message):
        name = os.ttyname(stream.fileno())
        within = Surroundings(streams={1: name, 2: name}, variables=variables)
        code = shared().run("gradc", *arguments, within=within).code
    return code, message[0] if bars else BAR.sub("", message[0])


def without_colours(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
