"""The process that runs cases. It may hang or die: the driver, another process, sees to that."""

from __future__ import annotations

import contextlib
import faulthandler
import itertools
import os
import resource
import signal
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

from fuzz.oracle import Verdict
from fuzz.targets.base import Target

CASE = "case.bytes"
STACKS = "stacks.txt"
"""Files in the worker's folder: the case that runs, and on request where every thread is."""

MEMORY = 8 << 30
"""Bytes of address space. Above it there is a MemoryError, and the machine is safe."""

MOST_KEPT = 400
"""Cases that are kept to be changed further."""


@dataclass(frozen=True)
class Begun:
    index: int


@dataclass(frozen=True)
class Ended:
    """`data` is the case of a finding: by then the file may hold the next one."""

    index: int
    verdict: Verdict
    is_new: bool = True
    data: bytes = b""


@dataclass
class Source:
    """Cases by index: the corpus first, then ever new ones from the seed.

    A case that ends as none before is kept, and changed further: without coverage, what gradc says is
    the guide to what was reached.
    """

    target: Target
    seed: int
    corpus: Sequence[bytes]
    seen: set[str] = field(default_factory=set)
    pool: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.pool += [*self.corpus, *self.target.started]
        self.first = len(self.pool)

    def case(self, index: int) -> bytes:
        if index < len(self.corpus):
            return self.corpus[index]
        return self.target.made(Random(f"{self.seed}/{self.target.name}/{index}"), self.pool)

    def learn(self, data: bytes, verdict: Verdict) -> bool:
        """Whether a verdict is new."""
        if verdict.label in self.seen:
            return False
        self.seen.add(verdict.label)
        if len(self.pool) < MOST_KEPT + self.first:
            self.pool.append(data)
        return True


def work(
    make: type[Target], seed: int, start: int, corpus: Sequence[bytes], folder: Path, to: Connection
) -> None:
    """Run cases from index `start` on, for ever; `Begun` and `Ended` tell the driver."""
    _prepare(folder)
    index = start
    try:
        source = Source(make(), seed, corpus)
        for index in itertools.count(start):
            _step(source, index, folder, to)
    except Exception:
        to.send(Ended(index, Verdict("fuzzer", "fuzzer: a fault of its own", traceback.format_exc())))


def _step(source: Source, index: int, folder: Path, to: Connection) -> None:
    data = source.case(index)
    (folder / CASE).write_bytes(data)
    to.send(Begun(index))
    verdict = source.target.judged(data, folder)
    to.send(Ended(index, verdict, source.learn(data, verdict), data if verdict.is_finding else b""))


def _prepare(folder: Path) -> None:
    """Limits, and what libraries print goes nowhere; SIGUSR1 writes down where the threads are."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")
    with contextlib.suppress(ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.register(signal.SIGUSR1, (folder / STACKS).open("w"), all_threads=True)
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
