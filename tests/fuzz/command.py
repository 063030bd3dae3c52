"""The command line: fuzz some targets for a time, or run one case again."""

from __future__ import annotations

import secrets
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from fuzz import guided, worker
from fuzz.corpus import CORPUS, files
from fuzz.driver import LIMIT, Campaign, Tally
from fuzz.findings import Findings
from fuzz.targets import GROUPS, TARGETS, targets_of

SHARE = {"graph": 3.0}
"""How much of the time a target gets; the others get 1."""

WORDS = (*TARGETS, *GROUPS)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--target", type=click.Choice(WORDS), default="all", show_default=True, help="What is fuzzed.")
@click.option("--seconds", type=click.FloatRange(0), default=60.0, show_default=True, help="In all.")
@click.option(
    "--seed", type=click.IntRange(0), help="The same seed makes the same cases.  [default: a fresh one]"
)
@click.option(
    "--corpus",
    type=click.Path(path_type=Path),
    default=CORPUS,
    help="Folder of cases to begin with, by target.",
)
@click.option(
    "--findings",
    type=click.Path(path_type=Path),
    default=Path("build/fuzz"),
    show_default=True,
    help="Folder for cases that end wrongly.",
)
@click.option("--limit", type=float, default=LIMIT, show_default=True, help="Seconds that a case may take.")
@click.option(
    "--coverage", is_flag=True, help="Let atheris guide the changes by coverage (pip install '.[fuzz]')."
)
@click.option(
    "--replay", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Run this case alone."
)
def main(
    target: str,
    seconds: float,
    seed: int | None,
    corpus: Path,
    findings: Path,
    limit: float,
    coverage: bool,
    replay: Path | None,
) -> None:
    """Fuzz gradc: every input must end as a right model or as a located diagnostic.

    Exit code 1 where one does not; each such case is a file, which --replay runs again.
    """
    if replay is not None:
        sys.exit(_replay(replay, target))
    if coverage and not guided.is_installed():
        raise click.UsageError("--coverage needs atheris; pip install '.[fuzz]'")
    seed = secrets.randbelow(2**32) if seed is None else seed
    click.echo(f"seed {seed}")
    found = Findings(findings)
    names = targets_of(target)
    whole = sum(SHARE.get(name, 1.0) for name in names)
    with _progress() as progress:
        for name in names:
            share = seconds * SHARE.get(name, 1.0) / whole
            _fuzz(name, seed, share, corpus, limit, coverage, found, progress)
    _report(found)
    sys.exit(1 if len(found) else 0)


def _fuzz(
    name: str,
    seed: int,
    seconds: float,
    corpus: Path,
    limit: float,
    coverage: bool,
    findings: Findings,
    progress: Progress,
) -> None:
    cases = [path.read_bytes() for path in files(name, corpus)]
    task = progress.add_task(name, total=seconds, message="")

    def reported(tally: Tally) -> None:
        progress.update(task, completed=progress.tasks[task].elapsed or 0, message=_summary(tally))

    work = guided.work if coverage else worker.work
    campaign = Campaign(TARGETS[name], seed, cases, findings, limit, work, reported)
    tally = campaign.run(seconds)
    progress.update(task, completed=seconds)
    _show(progress, task, f"{name}: {_summary(tally)}, slowest {tally.slowest:.1f} s")


def _summary(tally: Tally) -> str:
    wrong = sum(n for kind, n in tally.kinds.items() if kind not in ("accepted", "refused"))
    counts = f"{tally.kinds['accepted']} accepted, {tally.kinds['refused']} refused, {wrong} wrong"
    return f"{tally.cases} cases: {counts}; {tally.labels} different ends"


def _progress() -> Progress:
    columns = (
        TextColumn("{task.description:12}"),
        BarColumn(30),
        TimeElapsedColumn(),
        TextColumn("{task.fields[message]}"),
    )
    console = Console(stderr=True)
    return Progress(*columns, console=console, disable=not console.is_terminal)


def _show(progress: Progress, task: TaskID, line: str) -> None:
    """The line of a finished target, which stays; on a terminal the bar says it already."""
    if progress.disable:
        click.echo(line)


def _report(findings: Findings) -> None:
    for (target, label), count in findings.counts.most_common():
        click.echo(f"FOUND {count} x {target}: {label}")
    if len(findings):
        click.echo(f"the cases are in {findings.folder}; run one again with --replay")


def _replay(case: Path, word: str) -> int:
    """Run a case in this process; the target is that of its folder, unless --target names it."""
    name = case.resolve().parent.name if word == "all" else word
    if name not in TARGETS:
        raise click.UsageError(f"--target says what {case} is for: one of {', '.join(TARGETS)}")
    with TemporaryDirectory() as folder:
        verdict = TARGETS[name]().judged(case.read_bytes(), Path(folder))
    click.echo(f"{verdict.kind}: {verdict.label}\n{verdict.detail}".strip())
    return 1 if verdict.is_finding else 0
