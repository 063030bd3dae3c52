"""The console scripts. Ctrl-C ends them without a traceback, even during imports."""

from __future__ import annotations

from importlib import import_module

from gradc.cli.interrupts import interrupted


def gradc() -> int:
    return _ended("gradc.cli.main")


def gradc_opt() -> int:
    return _ended("gradc.cli.opt")


def _ended(home: str) -> int:
    """Return the exit code of a module's `main`; may end in SystemExit."""
    try:
        return import_module(home).main()
    except KeyboardInterrupt:
        return interrupted()
