"""Implementation of `gradc bench`, independent of its options."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from dialects.support.diagnostics import Diagnostic, UsageError, usage
from gradc.bench import report as reports
from gradc.bench.peers import NONE, PEERS, check_names, open_peer
from gradc.bench.peers.base import NotAvailable, Peer
from gradc.bench.report import Report
from gradc.bench.run import ALL, GRADC, Case, Outcome, Result, Settings, or_failure, run_case
from gradc.bench.suite import cases_of, suite
from gradc.terminal import messages, progress
from gradc.terminal.outputs import STDOUT, write_output
from gradc.terminal.tables import look
from passes.strategies.choice import find_strategy
from passes.targets.target import usable_threads

QUICK = "quick"


def bench(
    arguments: Sequence[str],
    suite_name: str | None,
    settings: Settings,
    peers: str | None,
    json_path: str | None,
    plot_path: str | None,
) -> bool:
    """Run the cases, print the report, write the files; return whether all of gradc's results were right.

    `suite_name` is a suite or none; default quick, or none with arguments. `peers` are comma-separated names,
    `none`, or None for all installed ones. An interrupt prints and writes the results so far.
    """
    if settings.strategy != ALL:
        find_strategy(settings.strategy)
    check_outputs(json_path, plot_path)
    cases = [case for argument in arguments for case in cases_of(argument)]
    name = suite_name or (NONE if arguments else QUICK)
    cases += [] if name == NONE else suite(name, settings.seed)
    if not cases:
        raise UsageError(Diagnostic("error", "no case: give a problem, a file or --suite"))
    opened, versions = _open_peers(peers, settings.threads)
    results: list[Result] = []
    try:
        _run_all(cases, settings, opened, results)
    except KeyboardInterrupt:
        if not results:
            raise
        messages.note(f"interrupted: {len(results)} of {len(cases)} cases were measured")
        _publish(Report(settings, versions, results), json_path, plot_path)
        raise
    report = Report(settings, versions, results)
    _publish(report, json_path, plot_path)
    return not report.failures


def _run_all(cases: Sequence[Case], settings: Settings, peers: Sequence[Peer], results: list[Result]) -> None:
    """Measure case by case and append to `results`."""
    with progress.bar(patience=0):
        for index, case in enumerate(cases):
            progress.show(index, len(cases), str(case.problem))
            results.append(_result(case, settings, peers))


def _publish(report: Report, json_path: str | None, plot_path: str | None) -> None:
    if json_path != STDOUT:
        print(reports.as_text(report, look(sys.stdout)))
    if json_path is not None:
        write_output(json_path, f"{reports.as_json(report)}\n".encode(), "JSON")
    if plot_path is not None:
        from gradc.bench.plot import plot

        plot(reports.as_data(report), plot_path)


def settings(threads: int | None, strategy: str, budget: float, seed: int) -> Settings:
    """Return settings; `threads` defaults to the usable cores. Raises UsageError for more than those."""
    cores = usable_threads()
    if threads is not None and threads > cores:
        raise usage("--threads", threads, f"at most {cores}, the cores")
    return Settings(threads or cores, strategy, budget, seed)


def check_outputs(json_path: str | None, plot_path: str | None) -> None:
    """Raise UsageError for a plot that cannot be written, before anything is measured."""
    if plot_path is None:
        return
    if not plot_path.lower().endswith((".png", ".svg")):
        raise usage("--plot", plot_path, "a name in .png or .svg")
    from gradc.bench.plot import check_available

    check_available()


def _open_peers(names: str | None, threads: int) -> tuple[list[Peer], dict[str, str]]:
    """Return the available peers and their versions. Raises UsageError for an unknown name."""
    wanted = list(PEERS) if names is None else [n for n in names.split(",") if names != NONE]
    check_names(wanted)
    opened, versions = [], {}
    for name in wanted:
        try:
            peer = open_peer(name, threads)
        except NotAvailable as error:
            if names is not None:
                raise UsageError(Diagnostic("error", f"peer {name}: {error}")) from None
            versions[name] = f"missing ({error})"
            continue
        opened.append(peer)
        versions[name] = peer.version
    return opened, versions


def _result(case: Case, settings: Settings, peers: Sequence[Peer]) -> Result:
    return or_failure(
        lambda: run_case(case, settings, peers), lambda why: Result(case, (Outcome(GRADC),), failure=why)
    )
