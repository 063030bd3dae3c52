"""Help of the commands: sections, examples, suggestions."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from typing import Any

import click
from click.shell_completion import CompletionItem

from dialects.support import option_names
from gradc.cli.completion import complete_word
from gradc.cli.errors import StdoutClosed
from gradc.cli.interrupts import EXIT_INTERRUPTED
from gradc.terminal import messages
from gradc.terminal.messages import FORMATS, OPTION

SECTIONS = {
    "Compile and run": ("compile", "run", "verify", "weights"),
    "Differentiate": ("grad", "hessian", "hvp", "jacobian", "jvp"),
    "Train": ("train", "fit"),
    "Inspect": ("inspect", "explain", "report"),
    "Measure": ("bench",),
    "Diagnose problems": ("doctor", "reduce"),
    "Shell and help": ("completion", "help"),
}
OTHERS = "Other commands"

QUIET_HELP = "Print only errors and results; no remarks, warnings, or lines about written files."

HELP_ALL = "--help-all"

MAX_HELP_LENGTH = 46
"""Length of a help text on one line of a terminal of 80 columns."""

INPUT_PARAMETERS = ("files", "constants", "inputs", "values", "data")
"""Parameters that name files to read."""


class Word(click.Choice):
    """A choice of words, with a suggestion for misspelt ones."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            self.fail(_with_hint(error.message, str(value), list(map(str, self.choices))), param, ctx)


class ExclusiveFlag(click.Option):
    """A flag --x/--no-x of which a command accepts only one spelling; of other flags the last one counts."""

    def check_args(self, args: Sequence[str]) -> None:
        given = [word for word in (*self.opts, *self.secondary_opts) if word in args]
        if len(given) > 1:
            raise click.UsageError(f"{' and '.join(given)}: expected one of the two.")


class Command(click.Command):
    """A command with `-q` and `--diagnostics`, whose help ends with an example.

    `--help` shows only the options of `common`, if that is given; `--help-all` shows all options.
    """

    def __init__(self, *args: Any, example: str = "", common: str = "", **options: Any):
        super().__init__(*args, **options)
        self.example = example
        self.common = common.split()
        if all(param.name != "quiet" for param in self.params):
            self.params.append(_quiet())
        self.params.append(_diagnostics())
        self.params.append(_help_all(is_hidden=not self.common))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if not self.common or ctx.meta.get(HELP_ALL):
            super().format_options(ctx, formatter)
            return
        by_name = {name: param for param in self.get_params(ctx) for name in param.opts}
        rows = [by_name[name].get_help_record(ctx) for name in (*self.common, "-q", HELP_ALL)]
        with formatter.section("Common options"):
            formatter.write_dl([(names, _first_sentence(text)) for names, text in filter(None, rows)])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        for param in self.params:
            if isinstance(param, ExclusiveFlag):
                param.check_args(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        _check_output(ctx.params)
        with option_names.offering(_python_names(self.params)):
            return super().invoke(ctx)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.example:
            with formatter.section("Example"):
                formatter.write_text(self.example)


def _python_names(params: Iterable[click.Parameter]) -> Iterator[str]:
    """Yield the Python spelling of each option: `strict_ieee` of --strict-ieee."""
    return (word.lstrip("-").replace("-", "_") for param in params for word in param.opts)


def _check_output(given: Mapping[str, Any]) -> None:
    """Raise UsageError for an -o that is empty or is a file that the command reads."""
    output = given.get("output")
    if output == "":
        raise click.UsageError("-o '': expected a file name, or - for stdout.")
    if not output or not os.path.isfile(output):
        return
    for name in INPUT_PARAMETERS:
        named = given.get(name) or ()
        for path in [named] if isinstance(named, str) else named:
            if os.path.isfile(path) and os.path.samefile(path, output):
                raise click.UsageError(f"-o {output}: this file is an input and would be overwritten.")


def _first_sentence(text: str) -> str:
    """Shorten a help text to its first clause, or its last comma if that is long; keep `[required]`."""
    found = re.split(r"[.;:]\s|\s[(\[]", text.rstrip("."), maxsplit=1)[0].rstrip()
    short = found if len(found) <= MAX_HELP_LENGTH else found.rpartition(", ")[0] or found
    return f"{short}  [required]" if "[required" in text else short


def _help_all(is_hidden: bool) -> click.Option:
    def show(context: click.Context, parameter: click.Parameter, given: bool) -> None:
        if given and not context.resilient_parsing:
            context.meta[HELP_ALL] = True
            click.echo(context.get_help())
            context.exit()

    flag = {"is_flag": True, "is_eager": True, "expose_value": False, "hidden": is_hidden}
    return click.Option([HELP_ALL], **flag, callback=show, help="Show all options and exit.")


def keep_quiet(context: click.Context, parameter: click.Parameter, given: bool) -> None:
    if given and not context.resilient_parsing:
        context.with_resource(messages.quiet_mode())


def _quiet() -> click.Option:
    """Return the option `-q`, which every command has."""
    return click.Option(
        ["-q", "--quiet"], is_flag=True, expose_value=False, callback=keep_quiet, help=QUIET_HELP
    )


def _diagnostics() -> click.Option:
    """Return the option `--diagnostics`; `messages.requested_format` reads it before options are parsed."""
    return click.Option(
        [OPTION],
        type=Word(FORMATS),
        default=FORMATS[0],
        show_default=True,
        expose_value=False,
        help="Format of stderr: text, or JSON objects for programs.",
    )


class Group(click.Group):
    """A group that lists commands in sections and suggests the nearest command for a misspelt one."""

    command_class = Command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise StdoutClosed from error

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


def _commands(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete the argument of `help`."""
    group = _group(context)
    return complete_word(lambda: group.list_commands(context))(context, parameter, typed)


def _group(context: click.Context) -> click.Group:
    assert context.parent is not None
    group = context.parent.command
    assert isinstance(group, click.Group)
    return group


@click.command(cls=Command, name="help", example="gradc help compile")
@click.argument("command", required=False, metavar="[COMMAND]", shell_complete=_commands)
@click.pass_context
def help_command(context: click.Context, command: str | None) -> None:
    """Show the help of a command, or list all commands."""
    group, above = _group(context), context.parent
    assert above is not None
    if command is None:
        click.echo(group.get_help(above))
        return
    found = group.resolve_command(above, [command])[1]
    assert found is not None
    with click.Context(found, info_name=command, parent=above) as inner:
        click.echo(found.get_help(inner))


def _with_hint(what: str, word: str, known: list[str]) -> str:
    from dialects.support.diagnostics import suggest

    hint = suggest(word, known)
    return f"{what} {hint[0].upper()}{hint[1:]}" if hint else what


@contextmanager
def usage_errors() -> Iterator[None]:
    """Report click's errors as one error with the usage on stderr, and exit with their code."""
    try:
        yield
    except click.ClickException as error:
        messages.fail_with(_usage(error), error.exit_code)
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(EXIT_INTERRUPTED)


def _usage(error: click.ClickException) -> str:
    """Return the message, with the usage except for programs."""
    if messages.is_json():
        return error.format_message()
    shown = StringIO()
    error.show(shown)
    return shown.getvalue().rstrip("\n")
