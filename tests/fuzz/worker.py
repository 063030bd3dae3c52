"""The process that runs cases. It may hang or die: the driver, another process, sees to that."""

from __future__ import annotations

import itertools
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

from fuzz.oracle import Verdict
from fuzz.process import prepare
from fuzz.targets import TARGETS
from fuzz.targets.base import Target

CASE = "case.bytes"
"""File in the worker's folder: the case that runs."""

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
    pool: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.pool += [*self.corpus, *self.target.seeds()]
        self.most = len(self.pool) + MOST_KEPT

    def case(self, index: int) -> bytes:
        if index < len(self.corpus):
            return self.corpus[index]
        return self.target.made(Random(f"{self.seed}/{self.target.name}/{index}"), self.pool)

    def keep(self, data: bytes) -> None:
        if len(self.pool) < self.most:
            self.pool.append(data)


def work(name: str, seed: int, start: int, corpus: Sequence[bytes], folder: Path, to: Connection) -> None:
    """Run cases of a target from index `start` on, for ever; `Begun` and `Ended` tell the driver."""
    prepare(folder)
    index, seen = start, set[str]()
    try:
        source = Source(TARGETS[name](), seed, corpus)
        for index in itertools.count(start):
            data = source.case(index)
            if step(source.target, data, index, folder, to, seen):
                source.keep(data)
    except Exception:
        to.send(Ended(index, Verdict("fuzzer", "fuzzer: a fault of its own", traceback.format_exc())))


def step(target: Target, data: bytes, index: int, folder: Path, to: Connection, seen: set[str]) -> bool:
    """Run one case; whether it ended as none before."""
    (folder / CASE).write_bytes(data)
    to.send(Begun(index))
    verdict = target.judged(data, folder)
    is_new = verdict.label not in seen
    seen.add(verdict.label)
    to.send(Ended(index, verdict, is_new, data if verdict.is_finding else b""))
    return is_new
