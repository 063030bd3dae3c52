"""The command lines in processes of their own that start in milliseconds: forks of one that has everything
loaded. Run as a program, this is that process; `ForkServer` is the one that asks it.

A fork ends as any Python process does, with the streams flushed: what goes wrong there is seen as well.
"""

from __future__ import annotations

import atexit
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 30
"""After so long a process hangs."""


@dataclass(frozen=True)
class Surroundings:
    """The streams (0, 1, 2) that are closed, are a pipe without a reader, or are a file; the folder (`gone`:
    one that has been removed); the variables of the environment (None: not there)."""

    closed: tuple[int, ...] = ()
    streams: dict[int, str] = field(default_factory=dict)
    folder: str | None = None
    gone: bool = False
    variables: dict[str, str | None] = field(default_factory=dict)
    unread: tuple[int, ...] = ()
    file_bytes: int | None = None
    """The largest file that the process may write, its streams included."""


@dataclass(frozen=True)
class Ended:
    """A negative code is the signal that ended the process, SIGALRM if it hung."""

    code: int
    out: str
    err: str


class ForkServer:
    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        )

    def run(self, program: str, *args: object, within: Surroundings = Surroundings()) -> Ended:
        """`program` is gradc or gradc-opt."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with tempfile.TemporaryDirectory() as folder:
            request = {"program": program, "args": list(map(str, args)), "into": folder, **vars(within)}
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            code = int(self._process.stdout.readline())
            out, err = (Path(folder, name).read_bytes().decode(errors="replace") for name in ("1", "2"))
            return Ended(code, out, err)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@cache
def shared() -> ForkServer:
    """Return the server of all tests in this process; it ends with the process."""
    server = ForkServer()
    atexit.register(server.close)
    return server


def serve() -> dict[str, Any] | None:
    """Forks one process for each line; what a fork is to run, None at the end."""
    for line in sys.stdin.buffer:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            return request
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()
    return None


def surround(request: dict[str, Any]) -> None:
    """Make the streams of this process, and Python's, what is asked for."""
    os.environ.update({name: value for name, value in request["variables"].items() if value is not None})
    for name, value in request["variables"].items():
        if value is None:
            os.environ.pop(name, None)
    files = {0: os.devnull, 1: f"{request['into']}/1", 2: f"{request['into']}/2"}
    for number in (1, 2):
        Path(files[number]).touch()
    files |= {int(number): file for number, file in request["streams"].items()}
    for number, file in files.items():
        opened = os.open(file, os.O_RDONLY if number == 0 else os.O_WRONLY)
        os.dup2(opened, number)
        os.close(opened)
    if request["file_bytes"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (request["file_bytes"], request["file_bytes"]))
    if request["folder"] is not None:
        os.chdir(request["folder"])
    if request["gone"]:
        os.rmdir(os.getcwd())
    for number in request["unread"]:
        reader, writer = os.pipe()
        os.close(reader)
        os.dup2(writer, number)
        os.close(writer)
    for number in request["closed"]:
        os.close(number)
    sys.stdin, sys.stdout, sys.stderr = (_stream(n, n in request["closed"]) for n in range(3))
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr


def _stream(number: int, is_closed: bool) -> Any:
    errors = "backslashreplace" if number == 2 else "strict"
    mode = "r" if number == 0 else "w"
    return None if is_closed else open(number, mode, encoding="utf-8", errors=errors, closefd=False)


if __name__ == "__main__":
    import gradc.bench.command
    import gradc.cli.differentiating
    import gradc.cli.main
    import gradc.cli.opt
    import gradc.cli.reduce_command
    import gradc.cli.report_command
    import gradc.cli.verifying
    import gradc.inspection.explain
    import gradc.inspection.inspection
    import gradc.tuning.measuring

    given = serve()
    if given is not None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.argv = [given["program"], *given["args"]]
        surround(given)
        signal.alarm(SECONDS)
        main = {"gradc": gradc.cli.main.main, "gradc-opt": gradc.cli.opt.main}[given["program"]]
        sys.exit(main())
