"""How the commands of the command line present themselves: sections, examples, suggestions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import click

from gradc.cli_errors import ReaderGone
from gradc.voice import FORMS, OPTION

SECTIONS = {
    "Compile and run": ("compile", "run", "verify"),
    "See what happens": ("inspect", "explain", "report"),
    "Measure": ("bench",),
    "Find out what is wrong": ("doctor", "reduce"),
    "Shell": ("completion",),
}
OTHERS = "Other commands"

READ = ("source", "constants", "inputs")
"""The parameters that name a file to read."""


class Word(click.Choice):
    """One of a few words; for another one that is near one of them, a hint."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            self.fail(_with_hint(error.message, str(value), list(map(str, self.choices))), param, ctx)


class Command(click.Command):
    """A command that says what it says to programs as well, and whose help ends with an example."""

    def __init__(self, *args: Any, example: str = "", **options: Any):
        super().__init__(*args, **options)
        self.example = example
        self.params.append(_diagnostics())

    def invoke(self, ctx: click.Context) -> Any:
        _keep_what_is_read(ctx.params)
        return super().invoke(ctx)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.example:
            with formatter.section("Example"):
                formatter.write_text(self.example)


def _keep_what_is_read(given: Mapping[str, Any]) -> None:
    """Raise UsageError for an -o that is a file which the command reads: that would be the end of it."""
    output = given.get("output")
    if not output or not os.path.isfile(output):
        return
    for name in READ:
        path = given.get(name)
        if path and os.path.isfile(path) and os.path.samefile(path, output):
            raise click.UsageError(f"-o {output}: the command reads that file, and would write over it.")


def _diagnostics() -> click.Option:
    """What stderr has; `voice.form_of` has read it before options are parsed."""
    return click.Option(
        [OPTION],
        type=Word(FORMS),
        default=FORMS[0],
        show_default=True,
        expose_value=False,
        help="What stderr holds: text, or JSON objects for programs.",
    )


class Group(click.Group):
    """Commands in sections, and the nearest one where there is none of that name."""

    command_class = Command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ReaderGone from error

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        name = args[0]
        if name.startswith("-") or self.get_command(ctx, name) is not None:
            return super().resolve_command(ctx, args)
        what = f"No such command '{name}'."
        if os.path.exists(name):
            return ctx.fail(f"{what} To compile that file: gradc compile {name} -o FILE.onnx")
        return ctx.fail(_with_hint(what, name, self.list_commands(ctx)))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        left = {name: self.commands[name] for name in self.list_commands(ctx)}
        sections = {title: [n for n in names if n in left] for title, names in SECTIONS.items()}
        known = {name for names in sections.values() for name in names}
        sections[OTHERS] = [name for name in left if name not in known]
        width = max(map(len, left))
        for title, names in sections.items():
            rows = [(f"{name:<{width}}", left[name].get_short_help_str(120)) for name in names]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def _with_hint(what: str, word: str, known: list[str]) -> str:
    from dialects.support.diagnostics import nearest

    hint = nearest(word, known)
    return f"{what} {hint[0].upper()}{hint[1:]}" if hint else what
