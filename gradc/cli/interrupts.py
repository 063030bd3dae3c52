"""How a command ends that Ctrl-C ends."""

from __future__ import annotations

import sys

EXIT_INTERRUPTED = 130


def interrupted() -> int:
    """The exit code, after the end of the line in which a terminal shows ^C."""
    if sys.stderr is not None:
        print(file=sys.stderr)
    return EXIT_INTERRUPTED
