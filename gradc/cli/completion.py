"""Shell completion by click's protocol, and the scripts that call it.

Candidates are computed on demand, and their modules imported then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import click
from click.shell_completion import CompletionItem, get_completion_class

SHELLS = ("bash", "zsh", "fish")
VARIABLE, OPT_VARIABLE = "_GRADC_COMPLETE", "_GRADC_OPT_COMPLETE"

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def complete_word(words: Callable[[], Iterable[str]], ending: str = "") -> Complete:
    """Complete with those of `words()` that begin with the typed text, each with an ending."""

    def complete(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
        return [CompletionItem(word + ending) for word in words() if word.startswith(typed)]

    return complete


def complete_list(words: Callable[[], Iterable[str]]) -> Complete:
    """Complete the last word of a comma-separated list."""

    def complete(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
        before, comma, last = typed.rpartition(",")
        return [CompletionItem(before + comma + word) for word in words() if word.startswith(last)]

    return complete


def a_file(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete file names, by the shell."""
    return [CompletionItem(typed, type="file")]


def a_case(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete a problem kind, else a file name."""
    return complete_word(_kinds, ",")(context, parameter, typed) or a_file(context, parameter, typed)


def _strategies() -> Iterable[str]:
    from passes import STRATEGY_NAMES

    return ("auto", *STRATEGY_NAMES)


def _passes() -> Iterable[str]:
    from passes import PASS_NAMES

    return PASS_NAMES


def _all_passes() -> Iterable[str]:
    from gradc.compiler.pipeline_text import PIPELINES
    from passes import PASS_NAMES, STRATEGY_NAMES

    return (*PIPELINES, *PASS_NAMES, *STRATEGY_NAMES)


def _limits() -> Iterable[str]:
    from dialects.support.limits import names

    return names()


def _kinds() -> Iterable[str]:
    from gradc.problems.kinds import KINDS

    return KINDS


def _peers() -> Iterable[str]:
    from gradc.bench.peers import NONE, PEERS
    from gradc.bench.races import MODEL_PEERS

    return dict.fromkeys((*PEERS, *MODEL_PEERS, NONE))


a_strategy = complete_word(_strategies)
a_raced_strategy = complete_word(lambda: (*_strategies(), "all"))
a_pass = complete_word(_passes)
a_pipeline = complete_list(_all_passes)
a_limit = complete_word(_limits, "=")
peers_of = complete_list(_peers)


def script(shell: str, command: click.Command) -> str:
    """Return the script that completes the options of gradc and gradc-opt in a shell.

    gradc answers for gradc-opt, as it starts faster. fish splits answers at every comma, and lists of passes
    contain commas.
    """
    kind = get_completion_class(shell)
    assert kind is not None
    own = kind(command, {}, "gradc", VARIABLE).source()
    other = kind(opt_command(), {}, "gradc-opt", OPT_VARIABLE).source()
    other = other.replace(" $1)", " ${1%-opt})").replace(" gradc-opt)", " gradc)")
    return f"{own}\n{other}".replace('string split ","', 'string split -m 1 ","')


def opt_command() -> click.Command:
    """Return the options of gradc-opt as a click command, as argparse does not support completion."""
    options: list[click.Parameter] = [
        click.Option(["-p", "--passes"], shell_complete=a_pipeline),
        click.Option(["-t", "--target"], type=click.Choice(["mlir", "elided"])),
        click.Option(["-o", "--output-file"], shell_complete=a_file),
        click.Option(["--limit"], shell_complete=a_limit, multiple=True),
        click.Option(["--diagnostics"], type=click.Choice(["text", "json"])),
        *(click.Option([flag], is_flag=True) for flag in OPT_FLAGS),
        click.Argument(["input"], shell_complete=a_file, required=False),
    ]
    return click.Command("gradc-opt", params=options)


OPT_FLAGS = (
    "--allow-unregistered-dialect",
    "--disable-verify",
    "--json",
    "--list-passes",
    "--parsing-diagnostics",
    "--print-between-passes",
    "--print-debuginfo",
    "--print-op-generic",
    "--quiet",
    "--replay",
    "--split-input-file",
    "--time-passes",
    "--verify-diagnostics",
)


def answer(command: click.Command, environment: Mapping[str, str]) -> int | None:
    """Complete for a shell that requests it; return None if none does."""
    from click.shell_completion import shell_complete

    for completed, name, variable in ((command, "gradc", VARIABLE), (None, "gradc-opt", OPT_VARIABLE)):
        if instruction := environment.get(variable):
            return shell_complete(completed or opt_command(), {}, name, variable, instruction)
    return None
