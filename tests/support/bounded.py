"""The command line in a process of its own, with a bound on its memory and time."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MEMORY = 4 * 2**30


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


def gradc_within(
    *arguments: object, memory: int = MEMORY, seconds: float = 600, cpu_seconds: int | None = None
) -> Ended:
    """Raises TimeoutExpired where `seconds` do not suffice; without memory, or beyond `cpu_seconds` of CPU
    time, the process ends by itself."""

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        if cpu_seconds is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))

    paths = (str(ROOT), os.environ.get("PYTHONPATH", ""))
    done = subprocess.run(
        [sys.executable, "-m", "gradc.cli.main", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=seconds,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "OMP_NUM_THREADS": "1"},
        preexec_fn=bounded,
    )
    return Ended(done.returncode, done.stdout, done.stderr)
