"""Runs a worker for a time, and makes findings of what it does: also of a hang, and of its death."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory

from fuzz.findings import Findings
from fuzz.oracle import Verdict
from fuzz.process import STACKS
from fuzz.targets.base import Target
from fuzz.worker import CASE, Begun, Ended, work

LIMIT = 30.0
"""Seconds that a case may take. A worker's start counts as one, and ten times as long."""


Work = Callable[[str, int, int, Sequence[bytes], Path, Connection], None]
"""`worker.work`, or another function that sends the same."""


@dataclass
class Tally:
    """What was run. `slowest` is in seconds."""

    cases: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    labels: int = 0
    slowest: float = 0.0

    def add(self, verdict: Verdict, is_new: bool, seconds: float) -> None:
        self.cases += 1
        self.kinds[verdict.kind] += 1
        self.labels += is_new
        self.slowest = max(self.slowest, seconds)


@dataclass
class Campaign:
    """The fuzzing of one target by workers that do `work`. `told` is called after every case."""

    target: type[Target]
    seed: int
    corpus: Sequence[bytes]
    findings: Findings
    limit: float = LIMIT
    work: Work = work
    reported: Callable[[Tally], None] = lambda tally: None
    tally: Tally = field(default_factory=Tally)

    def run(self, seconds: float) -> Tally:
        """Run for a time; a worker that hangs or dies is replaced by one that goes on with the next case."""
        deadline, start = time.monotonic() + seconds, 0
        while time.monotonic() < deadline:
            with TemporaryDirectory(prefix="fuzz-") as folder:
                start = self._attend(Path(folder), start, deadline) + 1
        return self.tally

    def _attend(self, folder: Path, start: int, deadline: float) -> int:
        """Follow one worker until it fails or time is up; the index that it came to."""
        context = get_context("spawn")
        ours, theirs = context.Pipe(duplex=False)
        arguments = (self.target.name, self.seed, start, self.corpus, folder, theirs)
        process = context.Process(target=self.work, args=arguments, daemon=True)
        process.start()
        theirs.close()
        try:
            return self._follow(ours, process.pid or 0, folder, start, deadline)
        finally:
            process.kill()
            process.join()
            ours.close()

    def _follow(self, worker: Connection, pid: int, folder: Path, index: int, deadline: float) -> int:
        begun, limit = time.monotonic(), 10 * self.limit
        while (left := deadline - time.monotonic()) > 0:
            patience = begun + limit - time.monotonic()
            if not worker.poll(max(0.0, min(left, patience))):
                if patience <= left:
                    self._failed(folder, _hang(folder, pid, limit))
                    break
                continue
            try:
                message = worker.recv()
            except EOFError:
                self._failed(folder, Verdict("crash", "crash: the process died", _stacks(folder)))
                break
            if isinstance(message, Begun):
                index, begun, limit = message.index, time.monotonic(), self.limit
            elif isinstance(message, Ended):
                self._ended(message, time.monotonic() - begun)
        return index

    def _ended(self, message: Ended, seconds: float) -> None:
        self.tally.add(message.verdict, message.is_new, seconds)
        if message.verdict.is_finding:
            self.findings.add(self.target.name, self.target.suffix, message.data, message.verdict)
        self.reported(self.tally)

    def _failed(self, folder: Path, verdict: Verdict) -> None:
        self.tally.add(verdict, True, 0.0)
        case = folder / CASE
        data = case.read_bytes() if case.exists() else b""
        self.findings.add(self.target.name, self.target.suffix, data, verdict)
        self.reported(self.tally)


def _hang(folder: Path, pid: int, limit: float) -> Verdict:
    """Where the worker is, asked of it before it is killed; native code answers as well."""
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGUSR1)
        time.sleep(0.5)
    return Verdict("hang", "hang", f"more than {limit:g} seconds\n{_stacks(folder)}")


def _stacks(folder: Path) -> str:
    path = folder / STACKS
    return path.read_text(errors="replace") if path.exists() else ""
