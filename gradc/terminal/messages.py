"""Messages on stderr: errors, remarks and notes, as text for people or JSON for programs.

Text is the diagnostic's line and the quoted source line below it, in color on a terminal. JSON
(`--diagnostics json`) is one object per line, always with the same keys.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import TYPE_CHECKING

from dialects.support.scoped_contextvar import override_context
from gradc.terminal.console import console, has_style, is_terminal, width_of
from gradc.terminal.streams import ignore_write_errors

if TYPE_CHECKING:
    from rich.text import Text

    from dialects.support.diagnostics import Diagnostic

OPTION = "--diagnostics"
TEXT, JSON = FORMATS = ("text", "json")

STYLES = {"error": "bold red", "internal error": "bold red", "warning": "bold magenta", "remark": "bold cyan"}

_SEVERITY = re.compile(
    r"^(?:(?P<place>\S.*?:\d+:\d+): )?(?P<severity>internal error|[Ee]rror|warning|remark)\b", re.MULTILINE
)
_CARET = re.compile(r"^ +\| +(?P<caret>\^~*)$", re.MULTILINE)
_GUTTER = re.compile(r"^ *\d* \|", re.MULTILINE)

_form: ContextVar[str] = ContextVar("form", default=TEXT)
_quiet: ContextVar[bool] = ContextVar("quiet", default=False)


def requested_format(arguments: Sequence[str]) -> str:
    """Return the format that a command line requests, before other options are parsed or rejected."""
    is_json_format = f"{OPTION}={JSON}" in arguments or (OPTION, JSON) in pairwise(arguments)
    return JSON if is_json_format else TEXT


@contextmanager
def using_format(form: str) -> Iterator[None]:
    """Use a format for the messages of this context."""
    with override_context(_form, form):
        yield


@contextmanager
def quiet_mode() -> Iterator[None]:
    """Print only errors and requested results in this context."""
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)


def is_quiet() -> bool:
    return _quiet.get()


def is_json() -> bool:
    return _form.get() == JSON


def note(text: str) -> None:
    """Print a requested text that is not a diagnostic: measurements, checks, results."""
    if is_json():
        _write(_object("note", text))
    else:
        _write(text)


def mention(text: str) -> None:
    """Print a text that is neither a diagnostic nor requested, unless `--quiet` is given."""
    if not is_quiet():
        note(text)


def report_file(path: str | os.PathLike[str], about: str) -> None:
    """Report a file that a command has written, in one line."""
    from dialects.support.diagnostics import printable

    mention(f"wrote {printable(os.fspath(path))}: {about}")


def reports() -> bool:
    """Return whether a person watches a terminal and wants to see progress."""
    return is_terminal(sys.stderr) and not is_json() and not is_quiet()


def report(text: str) -> None:
    """Print a summary for a person at a terminal; nothing in a pipe."""
    if reports():
        _write(text)


def show_remarks(*diagnostics: Diagnostic) -> None:
    """Print remarks and warnings. Consecutive ones with one position share the quoted line."""
    if is_quiet():
        return
    for diagnostic, following in pairwise((*diagnostics, None)):
        assert diagnostic is not None
        if is_json():
            _write(_of_diagnostic(diagnostic, None))
        else:
            shared = following is not None and following.position == diagnostic.position
            _show(str(diagnostic), "" if shared else _quote_of(diagnostic))


def fail(error: BaseException, exit_code: int) -> None:
    """Print the error that ends the command; only `Diagnostic`s have positions."""
    diagnostics: Sequence[Diagnostic] = getattr(error, "diagnostics", ())
    if not diagnostics:
        fail_with(str(error), exit_code)
    for diagnostic in diagnostics:
        if is_json():
            _write(_of_diagnostic(diagnostic, exit_code))
        else:
            _show(str(diagnostic), _quote_of(diagnostic))


def fail_with(text: str, exit_code: int) -> None:
    """Print `text`, a line that begins with its severity, as the error that ends the command."""
    if is_json():
        _write(_object("error", text.removeprefix("error: "), exit_code))
    else:
        _show(text, "")


def _quote_of(diagnostic: Diagnostic) -> str:
    if diagnostic.position is None:
        return ""
    from gradc.terminal.quoting import quote

    return quote(diagnostic, width_of(sys.stderr))


def _of_diagnostic(diagnostic: Diagnostic, exit_code: int | None) -> str:
    return json.dumps(diagnostic.as_data() | {"exit_code": exit_code})


def _object(severity: str, message: str, exit_code: int | None = None) -> str:
    """Return the JSON of a message without importing Diagnostic, which takes time to load."""
    unknown = dict.fromkeys(("subject", "file", "line", "column"))
    return json.dumps({"severity": severity, "message": message, **unknown, "exit_code": exit_code})


def _show(line: str, quoted: str) -> None:
    if not has_style(sys.stderr):
        _write(f"{line}\n{quoted}".rstrip("\n"))
        return
    _before_writing()
    out = console(sys.stderr)
    with ignore_write_errors(sys.stderr):
        out.print(_color_line(line), soft_wrap=True)
        if quoted:
            out.print(_color_quote(quoted), soft_wrap=True)


def _color_line(line: str) -> Text:
    from rich.text import Text

    text = Text(line)
    found = _SEVERITY.search(line)
    if found is not None:
        text.stylize("bold", *found.span("place"))
        text.stylize(STYLES[found["severity"].lower()], *found.span("severity"))
    return text


def _color_quote(quoted: str) -> Text:
    from rich.text import Text

    text = Text(quoted)
    text.highlight_regex(_GUTTER, "dim")
    for found in _CARET.finditer(quoted):
        text.stylize("bold green", *found.span("caret"))
    return text


def _write(text: str) -> None:
    _before_writing()
    if sys.stderr is not None:
        with ignore_write_errors(sys.stderr):
            print(text, file=sys.stderr, flush=True)


def _before_writing() -> None:
    """Hide the progress bar, which the message would overwrite."""
    from gradc.terminal.progress import hide

    hide()
