"""Runs models as they are given in a process of its own: one that is wrong may take onnxruntime down."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from dialects.support.diagnostics import GradcError
from gradc.runtime import session

LIMIT = 10.0
"""Seconds that a model may run; the start of the process may take ten times as long."""

PR_SET_PDEATHSIG = 1


class NotRun(Exception):
    """Why there are no results: that onnxruntime refuses the model, died, or did not end."""


@dataclass
class Runner:
    """A process that runs models, one after the other; one that dies or does not end is replaced."""

    process: subprocess.Popen[bytes] | None = None
    connection: Connection | None = None

    def run(self, path: Path, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """The results by name. Raises NotRun."""
        connection, limit = self.connection, LIMIT
        if connection is None:
            connection, limit = self._started(), 10 * LIMIT
        try:
            connection.send((str(path), dict(inputs)))
            if not connection.poll(limit):
                raise TimeoutError
            found = connection.recv()
        except (EOFError, OSError) as error:
            self._close()
            ends = "does not end" if isinstance(error, TimeoutError) else "dies of it"
            raise NotRun(f"onnxruntime {ends}") from None
        if found is None:
            raise NotRun("onnxruntime does not run it")
        return found

    def _started(self) -> Connection:
        self.connection, theirs = Pipe()
        paths = os.pathsep.join(path for path in sys.path if path)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fuzz.originals", str(theirs.fileno())],
            env={**os.environ, "PYTHONPATH": paths},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        return self.connection

    def _close(self) -> None:
        assert self.connection is not None
        assert self.process is not None
        self.connection.close()
        self.process.kill()
        self.process.wait()
        self.process = self.connection = None


@cache
def runner() -> Runner:
    """The one of this process."""
    return Runner()


def _results(path: str, inputs: Mapping[str, Any]) -> Mapping[str, Any] | None:
    try:
        return session.Session(path, threads=1).run(inputs)
    except GradcError:
        return None


def _as_written(runtime: Any, threads: int | None) -> Any:
    """Options without optimisation, which makes other models of some that are wrong, and these run."""
    options = _OPTIONS(runtime, threads)
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return options


_OPTIONS = session._options


def main() -> None:
    """Answer until nobody asks any more; with the process that asks, this one ends."""
    session._options = _as_written
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    connection = Connection(int(sys.argv[1]))
    with contextlib.suppress(EOFError):
        while True:
            connection.send(_results(*connection.recv()))


if __name__ == "__main__":
    main()
