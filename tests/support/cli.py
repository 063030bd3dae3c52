"""The command lines, run in this process."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from typing import Any
from unittest import mock

import gradc.cli.main
import gradc.cli.opt
from dialects.support.diagnostics import Diagnostic, Position
from gradc.terminal.console import WIDTH
from gradc.terminal.quoting import quote

WROTE = "wrote "
QUOTED = re.compile(r" *\d* \|")


@dataclass(frozen=True)
class Result:
    code: int
    data: bytes
    err: str

    @property
    def out(self) -> str:
        return self.data.decode()

    @property
    def line(self) -> str:
        """The one diagnostic that stderr holds: a line, and below it nothing but what that quotes."""
        line, *quoted = [line for line in self.err.splitlines() if not line.startswith(WROTE)]
        assert quoted == quoted_below(line)
        return line

    @property
    def lines(self) -> list[str]:
        """The lines of stderr, without those that quote a source or report a written file."""
        return [
            line for line in self.err.splitlines() if not QUOTED.match(line) and not line.startswith(WROTE)
        ]

    @property
    def written(self) -> list[str]:
        """The lines of stderr that report written files."""
        return [line for line in self.err.splitlines() if line.startswith(WROTE)]


def quoted_below(line: str) -> list[str]:
    """The lines that gradc prints below a diagnostic in a pipe, as far as its source can be read."""
    place = re.match(r"(.+?):(\d+):(\d+): (?:error|warning|remark): ", line)
    if place is None:
        return []
    position = Position(place[1], int(place[2]), int(place[3]))
    return quote(Diagnostic("error", "", position=position), WIDTH).splitlines()


def run_gradc(*args: object, stdin: bytes = b"") -> Result:
    return _run(lambda: gradc.cli.main.main(list(map(str, args))), stdin)


def run_opt(*args: object, stdin: bytes = b"") -> Result:
    return _run(lambda: gradc.cli.opt.main(list(map(str, args))), stdin)


def _run(main: Callable[[], Any], stdin: bytes) -> Result:
    with _streams(stdin) as (out, err):
        try:
            code = main()
        except SystemExit as exit_:
            code = exit_.code
        sys.stdout.flush()
        sys.stderr.flush()
        return Result(int(code or 0), out.getvalue(), err.getvalue().decode())


@contextlib.contextmanager
def _streams(stdin: bytes) -> Iterator[tuple[BytesIO, BytesIO]]:
    out, err = BytesIO(), BytesIO()
    with (
        mock.patch.object(sys, "stdin", TextIOWrapper(BytesIO(stdin))),
        mock.patch.object(sys, "stdout", TextIOWrapper(out, encoding="utf-8")),
        mock.patch.object(sys, "stderr", TextIOWrapper(err, encoding="utf-8")),
    ):
        yield out, err
