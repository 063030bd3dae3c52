"""What a worker process does before it imports anything of gradc's."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import resource
import signal
import warnings
from pathlib import Path

STACKS = "stacks.txt"
"""File in the worker's folder that says, on request, where every thread is."""

MEMORY = 8 << 30
"""Bytes of address space. Above it there is a MemoryError, and the machine is safe."""


def prepare(folder: Path) -> None:
    """Limits, and what libraries print goes nowhere; a signal, or death, writes down where threads are."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")
    with contextlib.suppress(ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    stacks = (folder / STACKS).open("w")
    faulthandler.register(signal.SIGUSR1, stacks, all_threads=True)
    faulthandler.enable(stacks)
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
