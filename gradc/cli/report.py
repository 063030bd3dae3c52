"""The `gradc report` command."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from gradc.cli.completion import a_file
from gradc.cli.endings import PAGE, check_ending
from gradc.cli.help import Command
from gradc.cli.options import LIMITS, gradient_arguments, source_options_with_ep
from gradc.cli.run_options import MEASURE_PEAK, RTOL, Tuning, measuring_options, tunable_input_options
from gradc.terminal import messages

if TYPE_CHECKING:
    from gradc.compiler.source import Source


@click.command(
    cls=Command,
    example="gradc report graph.json -o report.html",
    common="-o --json --no-run --wrt --of --target --opset --constants --inputs --shape --ep --tune",
    options_metavar="-o HTML [OPTIONS]",
)
@click.option(
    "-o",
    "--output",
    metavar="HTML",
    shell_complete=a_file,
    help="Page to write; - for stdout.  [required without --json]",
)
@gradient_arguments
@click.option("--json", "as_json", is_flag=True, help="Print the page's data as JSON.")
@click.option("--no-run", is_flag=True, help="Do not run and verify the model.")
@RTOL
@MEASURE_PEAK
@source_options_with_ep
@tunable_input_options
@measuring_options
@LIMITS
def report(
    source: Source,
    output: str | None,
    as_json: bool,
    no_run: bool,
    rtol: float | None,
    measure_peak: bool,
    inputs: str | tuple[str, ...] | None,
    seed: int,
    ep: Any,
    tuning: Tuning,
    constants: str | tuple[str, ...] | None,
    **given: Any,
) -> None:
    """Show the compilation of the graph IN on one HTML page.

    The graph before and after, the IR after each pass, the strategies with their times, remarks, the error
    against the reference, and gradients as images. The page is one file and loads nothing from a network. A
    graph that does not compile has a page as well; the exit code is that of compile.
    """
    if output is None and not as_json:
        raise click.UsageError("Missing option '-o' / '--output': where the page goes ('-' for stdout).")
    if output == "-" and as_json:
        raise click.UsageError("-o - and --json both write to stdout.")
    check_ending(output, PAGE)
    from dialects.support.diagnostics import GradcError
    from gradc.cli import report_command as command
    from gradc.reporting.request import Request

    given["target"] = given["target"] or ep
    request = Request(
        source=source,
        options=tuning.options(given),
        tuning=tuning.request,
        constants=constants,
        inputs=inputs,
        seed=seed,
        ep=ep,
        rtol=rtol,
        run=not no_run,
        measure_peak=measure_peak,
    )
    found = command.report(request, output, as_json)
    if found.failure is not None:
        first, *others = (remark.diagnostic for remark in found.failures)
        messages.fail(GradcError(first, others), found.exit_code)
    if found.exit_code:
        sys.exit(found.exit_code)
