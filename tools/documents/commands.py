"""Command line reference as Markdown: `gradc` from click, `gradc-opt` from argparse, and the passes."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Iterator
from dataclasses import fields, is_dataclass

import click

import gradc.cli.main
from gradc.cli.opt import GradcOpt
from gradc.compiler.pipeline_text import PIPELINES
from passes.registry import all_passes
from passes.strategies import by_name
from tools.documents.prose import capitalize_first, escape_markdown, paragraphs, table

HEADER = ("option", "what it does")
WIDTH = 10_000
"""Width that avoids line breaks in help texts."""


def gradc_commands() -> str:
    return "\n\n".join(_command(gradc.cli.main.cli, "gradc", None))


def _command(command: click.Command, path: str, parent: click.Context | None) -> Iterator[str]:
    settings = {**command.context_settings, "max_content_width": WIDTH}
    context = click.Context(command, info_name=path.split()[-1], parent=parent, **settings)
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"## {path}"
    yield f"`{path} {usage}`"
    yield escape_markdown(_help_of(command))
    records = (parameter.get_help_record(context) for parameter in command.get_params(context))
    rows = [_option(record) for record in records if record and record[1]]
    yield table(HEADER, rows)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is not None and not found.hidden:
                yield from _command(found, f"{path} {name}", context)


def _help_of(command: click.Command) -> str:
    text = inspect.cleandoc(command.help or "").replace("\b\n", "")
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _option(record: tuple[str, str]) -> tuple[str, str]:
    names, text = record
    return f"`{names}`", escape_markdown(" ".join(text.split()))


def opt_command() -> str:
    parser = argparse.ArgumentParser(prog="gradc-opt")
    GradcOpt("", []).register_all_arguments(parser)
    shown = [action for action in parser._actions if action.help != argparse.SUPPRESS]
    return table(HEADER, [(_names(action), escape_markdown(action.help or "")) for action in shown])


def _names(action: argparse.Action) -> str:
    takes = (
        "" if action.nargs == 0 or not action.option_strings else f" {action.metavar or action.dest.upper()}"
    )
    return f"`{', '.join(action.option_strings) or action.dest}{takes}`"


def passes() -> str:
    """Describe every pass and pipeline, except strategies, which have their own page."""
    return "\n\n".join(
        (
            *(_pass(name, load()) for name, load in all_passes().items() if name not in by_name()),
            "### Strategies",
            "Each [strategy](../strategies.md) is also a pass, which lowers the gradients that it "
            f"applies to. Options: {_options(all_passes()[next(iter(by_name()))]())}.",
            "### Pipelines",
            *(_with_options(inspect.getdoc(kind) or "", kind) for kind in PIPELINES.values()),
        )
    )


def _pass(name: str, kind: type) -> str:
    first, *others = paragraphs(inspect.getmodule(kind))
    text = "\n\n".join((capitalize_first(first.removeprefix(f"{name}: ")), *others))
    return f"### {name}\n\n{_with_options(text, kind)}"


def _with_options(text: str, kind: type) -> str:
    options = _options(kind)
    return f"{escape_markdown(text)}\n\nOptions: {options}." if options else escape_markdown(text)


def _options(kind: type) -> str:
    assert is_dataclass(kind)
    return ", ".join(f"`{field.name}`" for field in fields(kind) if field.init)
