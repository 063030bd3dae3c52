"""The console scripts. Ctrl-C ends them without a traceback, even during imports."""

from __future__ import annotations

from importlib import import_module

from gradc.cli.interrupts import end_interrupted


def gradc() -> int:
    return _run("gradc.cli.main")


def gradc_opt() -> int:
    return _run("gradc.cli.opt")


def _run(home: str) -> int:
    """Return the exit code of a module's `main`; may end in SystemExit."""
    try:
        return import_module(home).main()
    except KeyboardInterrupt:
        return end_interrupted()
