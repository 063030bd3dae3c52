"""Exit of an interrupted command."""

from __future__ import annotations

import sys

EXIT_INTERRUPTED = 130


def end_interrupted() -> int:
    """End the terminal line that shows ^C, and return the exit code."""
    if sys.stderr is not None:
        print(file=sys.stderr)
    return EXIT_INTERRUPTED
