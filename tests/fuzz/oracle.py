"""What every input must end as: one judge for all targets."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dialects.support.diagnostics import GradcError

EXIT_CODES = (2, 3, 4)
LONGEST = 2000
"""Characters of a diagnostic: it is a line that people read."""

PLACE = re.compile(r":(\d+):(\d+): error: ")


class Finding(Exception):
    """What must not be, and is no exception of gradc's: wrong numbers, a diagnostic of a wrong form."""


@dataclass(frozen=True)
class Verdict:
    """How an input ended. `label` is the same for inputs that end alike; `detail` is for people.

    `kind` is `accepted` or `refused`, else it says what is wrong.
    """

    kind: str
    label: str
    detail: str = ""

    @property
    def is_finding(self) -> bool:
        return self.kind not in ("accepted", "refused")


def judge(run: Callable[[Path], str], path: Path, check: Callable[[GradcError, Path], None]) -> Verdict:
    """The verdict on the file at `path`.

    `run` compiles it and holds what it computes against the reference: it returns what was accepted in
    a few words, or raises. `check` raises Finding for a GradcError that has not the form that users are
    promised.
    """
    try:
        return Verdict("accepted", run(path))
    except GradcError as error:
        return _refused(error, path, check)
    except Finding as error:
        kind, _, rest = str(error).partition(": ")
        return Verdict(kind, f"{kind}: {alike(rest)}", rest)
    except MemoryError as error:
        return Verdict("memory", f"memory: {_culprit(error)}", traceback.format_exc())
    except Exception as error:
        name = type(error.__cause__ or error).__name__
        return Verdict("exception", f"{name}: {_culprit(error.__cause__ or error)}", traceback.format_exc())


def _refused(error: GradcError, path: Path, check: Callable[[GradcError, Path], None]) -> Verdict:
    text = str(error)
    try:
        check_line(error)
        check(error, path)
    except Finding as finding:
        return Verdict("diagnostic", f"diagnostic: {alike(str(finding))}", f"{finding}\n{text}")
    return Verdict("refused", alike(error.diagnostic.message.replace(str(path), "FILE")), text)


def check_line(error: GradcError) -> None:
    """A line per mistake that a terminal can show, with one of the documented exit codes."""
    lines = str(error).split("\n")
    if error.exit_code not in EXIT_CODES:
        raise Finding(f"exit code {error.exit_code}")
    if not error.diagnostic.message.strip():
        raise Finding("no message")
    if len(lines) != len(error.diagnostics):
        raise Finding(f"{len(lines)} lines for {len(error.diagnostics)} mistakes")
    for line in lines:
        if not line.isprintable():
            raise Finding(f"not printable: {line!r}")
        if len(line) > LONGEST:
            raise Finding(f"{len(line)} characters long")


def check_placed(error: GradcError, path: Path) -> None:
    """The line begins with a place that the file has."""
    text = str(error)
    found = PLACE.match(text.removeprefix(str(path)))
    if not text.startswith(str(path)) or found is None:
        raise Finding(f"no place: {error.diagnostic.message}")
    lines = path.read_bytes().decode(errors="replace").split("\n")
    line, column = int(found[1]), int(found[2])
    if not (1 <= line <= len(lines) and 1 <= column <= len(lines[line - 1]) + 2):
        raise Finding(f"a place that the file has not: {error.diagnostic.message}")


def check_names_file(error: GradcError, path: Path) -> None:
    """The line names the file, or the input that is at fault."""
    if str(path) not in str(error) and not error.diagnostic.subject and "constant" not in str(error):
        raise Finding(f"no place: {error.diagnostic.message}")


def alike(message: str) -> str:
    """A message without what differs from input to input: numbers, names, quoted parts."""
    text = re.sub(r'"[^"]*"|\'[^\']*\'', "''", message)
    text = re.sub(r"given .*?(?=, expected|; |$)", "given ...", text)
    return re.sub(r"-?\d[\d.e+-]*", "#", text)[:120]


def _culprit(error: BaseException) -> str:
    """Where an exception was raised: the innermost function."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return "nowhere"
    last = frames[-1]
    return f"{Path(last.filename).name} {last.name} line {last.lineno}"
