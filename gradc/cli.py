"""The `gradc` command. Each command imports what it needs when it runs, so that help is quick.

Exit codes: 0 ok, 1 a check failed, 2 usage, 3 unsupported, 4 bad input, 70 our fault.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from gradc import __version__
from gradc.cli_options import (
    AUTO_PAD_RULE,
    LIMITS,
    THREADS,
    Tuning,
    input_options,
    options_of,
    shapes_of,
    source_options,
    tuning_options,
)
from gradc.reduction.cli import reduce

if TYPE_CHECKING:
    from gradc.compiler import Compiled

EXIT_CHECK_FAILED = 1
EXIT_UNSUPPORTED = 3
EXIT_BAD_INPUT = 4
EXIT_INTERRUPTED = 130
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def main(args: Sequence[str] | None = None) -> None:
    """The console script; always ends in SystemExit."""
    with _one_line_errors():
        code = cli.main(args, prog_name="gradc", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
        sys.exit(code)


@contextlib.contextmanager
def _one_line_errors() -> Iterator[None]:
    """What a command raises, as one line on stderr and an exit code; usage errors show the usage, too.

    What the operating system refuses and is not caught further down concerns stdin or stdout.
    """
    try:
        yield
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(EXIT_INTERRUPTED)
    except (_ReaderGone, BrokenPipeError):
        _silence_stdout()
        sys.exit(0)
    except OSError as error:
        _silence_stdout()
        _say(f"error: {error.strerror or error}" + (f": {error.filename}" if error.filename else ""))
        sys.exit(EXIT_BAD_INPUT)
    except MemoryError as error:
        _say(f"error: not enough memory: {error}")
        sys.exit(EXIT_UNSUPPORTED)
    except Exception as error:
        code = getattr(error, "exit_code", None)
        if code is None:
            from gradc.crash import unexpected

            error = unexpected(error)
            code = error.exit_code
        _say(str(error))
        sys.exit(code)


def _silence_stdout() -> None:
    """Nobody reads stdout any more: what is left in its buffer must not be flushed into the void."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(text: str) -> None:
    """Logs, remarks and errors go to stderr."""
    click.echo(text, err=True)


class _ReaderGone(Exception):
    """Nobody reads stdout any more. click would make it exit code 1, which is ours for a failed check."""


class _Group(click.Group):
    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _ReaderGone from error


@click.group(cls=_Group, context_settings=CONTEXT)
@click.version_option(__version__, "-V", "--version", prog_name="gradc")
def cli() -> None:
    """Compile gradient op graphs (oneDNN Graph JSON, MLIR text) to plain ONNX."""


@cli.command(name="compile")
@click.argument("source", metavar="IN")
@click.option("-o", "--output", metavar="OUT", help="File to write; - for stdout.")
@source_options
@THREADS
@click.option(
    "--emit", type=click.Choice(["onnx", "mlir"]), default="onnx", show_default=True, help="What to write."
)
@click.option("--stop-after", metavar="PASS", help="Write the IR after this pass (implies --emit mlir).")
@click.option("--print-ir-after-all", is_flag=True, help="Print the IR after each pass.")
@click.option("--print-ir-after-change", is_flag=True, help="The same, for passes that change it.")
@click.option("--timing", is_flag=True, help="Print the time of each pass.")
@click.option("--check", is_flag=True, help="Execute the IR before and after each pass and compare.")
@tuning_options
@LIMITS
def compile_command(
    source: str,
    output: str | None,
    emit: str,
    stop_after: str | None,
    print_ir_after_all: bool,
    print_ir_after_change: bool,
    timing: bool,
    check: bool,
    tune: bool,
    tuning_file: str | None,
    tune_budget: float,
    shapes: tuple[str, ...],
    constants: str | None,
    **given: Any,
) -> None:
    """Compile the graph IN (- for stdin) to ONNX."""
    from gradc import commands
    from gradc.observe import Check, Observers, PrintIR, Timing

    if stop_after is None and emit == "onnx" and output is None:
        raise click.UsageError("Missing option '-o' / '--output': where the model goes ('-' for stdout).")
    tuning = Tuning(tune, tuning_file, tune_budget, shapes)
    tuning.request.check_shapes_are_used()
    options = tuning.options(given)
    observers = Observers()
    if print_ir_after_all or print_ir_after_change:
        observers.add(PrintIR(_say, only_changes=not print_ir_after_all))
    if check:
        observers.add(Check(_say))
    timer = Timing() if timing else None
    if timer:
        observers.add(timer)
    with tuning.tuner(options) as tuner:
        commands.compile_to(source, output, options, constants, emit, stop_after, observers, _say, tuner)
    if timer:
        _say(timer.table())


@cli.command()
@click.argument("source", metavar="IN")
@click.option("-o", "--output", metavar="NPZ", help="Write the outputs to this .npz file; - for stdout.")
@source_options
@input_options
@LIMITS
def run(
    source: str,
    output: str | None,
    inputs: str | None,
    seed: int,
    shapes: tuple[str, ...],
    ep: Any,
    threads: int | None,
    constants: str | None,
    **given: Any,
) -> None:
    """Run IN, a graph or a compiled .onnx, on onnxruntime."""
    from gradc import commands

    fed = commands.Inputs(inputs, seed, shapes_of(shapes))
    if source.lower().endswith(".onnx"):
        _refuse_source_options(source)
        results, placed = commands.run_model(source, fed, ep, threads)
    else:
        compiled = _compiled(source, given, constants, ep, threads)
        results, placed = commands.run_compiled(compiled, fed, ep, threads)
    for line in placed:
        _say(line)
    for line in commands.describe(results):
        click.echo(line, err=output == commands.STDOUT)
    if output:
        commands.write_arrays(output, results)


@cli.command()
@click.argument("source", metavar="IN")
@click.option("--rtol", type=float, help="Largest error over the largest magnitude of an output.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--report", is_flag=True, help="Errors against float64 of every output and op, in ulps, too.")
@source_options
@input_options
@LIMITS
def verify(
    source: str,
    rtol: float | None,
    as_json: bool,
    report: bool,
    inputs: str | None,
    seed: int,
    shapes: tuple[str, ...],
    ep: Any,
    threads: int | None,
    constants: str | None,
    **given: Any,
) -> None:
    """Compile and run the graph IN, and hold it against the numpy reference.

    Prints the error of each output; exit code 1 where one exceeds its bound.
    """
    from gradc import commands

    compiled = _compiled(source, given, constants, ep, threads)
    fed = commands.Inputs(inputs, seed, shapes_of(shapes))
    rows, errors = commands.verify(compiled, fed, ep, threads, rtol, report)
    show = commands.verify_json if as_json else commands.verify_table
    click.echo(show(rows, errors))
    if not all(row.ok for row in rows):
        sys.exit(EXIT_CHECK_FAILED)


@cli.command()
@click.argument("source", metavar="IN")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@AUTO_PAD_RULE
@LIMITS
def inspect(source: str, as_json: bool, auto_pad_rule: str | None) -> None:
    """Show the ops of the graph IN: shapes, dtypes, attributes after defaults, what is supported."""
    from gradc import inspection

    found = inspection.inspect(source, auto_pad_rule)
    click.echo(inspection.as_json(found) if as_json else inspection.as_text(found))


@cli.command()
@click.argument("source", metavar="IN")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--measure-peak", is_flag=True, help="Measure what this machine can do, if that is not known (a second)."
)
@source_options
@THREADS
@tuning_options
@LIMITS
def explain(
    source: str,
    as_json: bool,
    measure_peak: bool,
    tune: bool,
    tuning_file: str | None,
    tune_budget: float,
    shapes: tuple[str, ...],
    constants: str | None,
    **given: Any,
) -> None:
    """Show how each gradient of the graph IN can be written, what that costs, and what is chosen."""
    from gradc import commands
    from gradc import explain as explaining

    tuning = Tuning(tune, tuning_file, tune_budget, shapes)
    options = tuning.options(given)
    with tuning.tuner(options) as tuner:
        module = commands.load_bound(source, options, constants)
        found = explaining.explain(module, options, tuning.request.shapes, tuner, measure_peak)
    click.echo(explaining.as_json(found) if as_json else explaining.as_text(found))


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(as_json: bool) -> None:
    """Show versions and execution providers, what is missing and how to get it."""
    from gradc import doctor as clinic

    found = clinic.examine()
    click.echo(clinic.as_json(found) if as_json else clinic.as_text(found))


@cli.command()
@click.argument("cases", nargs=-1, metavar="[PROBLEM|FILE]...")
@click.option(
    "--suite",
    type=click.Choice(["quick", "full", "none"]),
    help="Built-in cases.  [default: quick, or none beside arguments]",
)
@click.option("--threads", type=click.IntRange(1), help="Of each contestant.  [default: all cores]")
@click.option("--strategy", default="auto", show_default=True, help="auto, the name of one, or all.")
@click.option("--peers", metavar="NAMES", help="torch,onednn,onnx-ad or none.  [default: all installed]")
@click.option(
    "--budget",
    type=click.FloatRange(0),
    default=0.1,
    show_default=True,
    metavar="SECONDS",
    help="For each contestant in each case, beyond the least number of runs.",
)
@click.option("--json", "json_path", metavar="FILE", help="Write all that was measured.")
@click.option("--plot", "plot_path", metavar="FILE", help="Write a picture, .png or .svg.")
@LIMITS
def bench(
    cases: tuple[str, ...],
    suite: str | None,
    threads: int | None,
    strategy: str,
    peers: str | None,
    budget: float,
    json_path: str | None,
    plot_path: str | None,
) -> None:
    """Time compiled gradients against other implementations of the same problems.

    PROBLEM is a problem string; FILE has one per line, or is a graph (oneDNN JSON, MLIR text). Prints
    how many times as fast as the best peer each is; exit code 1 where a result of gradc is wrong.
    """
    from gradc.bench import command

    settings = command.settings(threads, strategy, budget)
    if not command.bench(cases, suite, settings, peers, json_path, plot_path):
        sys.exit(EXIT_CHECK_FAILED)


cli.add_command(reduce)


def _refuse_source_options(source: str) -> None:
    """A compiled model has been compiled: an option that says how would be ignored."""
    context = click.get_current_context()
    for parameter in source_options(lambda: None).__click_params__:
        if context.get_parameter_source(parameter.name) is not click.core.ParameterSource.DEFAULT:
            raise click.UsageError(f"{parameter.opts[0]} is for graphs; {source} is a compiled model.")


def _compiled(
    source: str, given: dict[str, Any], constants: str | None, ep: str | None, threads: int | None
) -> Compiled:
    from gradc.compiler import compile_module, load

    options = options_of(given | {"threads": threads}, ep)
    compiled = compile_module(load(source, options.auto_pad_rule), options, constants)
    for remark in compiled.remarks:
        _say(str(remark))
    return compiled


if __name__ == "__main__":
    main()
