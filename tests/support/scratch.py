"""A temporary folder for what a run of the tests writes: caches, crash reports, the databases of tools."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

WORKER = "PYTEST_XDIST_WORKER"


def enter() -> Path | None:
    """Point this process and its children to a new folder and return it; None in a worker, which inherits it.

    `tmp_path` stays where pytest has it, so that the files of a failure can be read after the run.
    """
    if WORKER in os.environ:
        return None
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
    folder = Path(tempfile.mkdtemp(prefix="gradc-tests-"))
    os.environ |= {
        "TMPDIR": str(folder),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "MPLCONFIGDIR": str(folder / "matplotlib"),
        "HYPOTHESIS_STORAGE_DIRECTORY": str(folder / "hypothesis"),
        "ORT_DISABLE_TELEMETRY": "1",
    }
    tempfile.tempdir = None  # it is read from the environment again
    return folder


def leave(folder: Path | None) -> None:
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
