"""Progress bar on stderr: on terminals only, after a second, erased at the end.

    with progress.bar():
        ...
            progress.show(3, 20, "what is being done")

Workers call `show` at any depth; without a bar it does nothing. The bar is drawn in those calls, and once
when the second is over: a drawing thread would disturb measurements.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TextIO

from dialects.support.scoped_contextvar import override_context
from gradc.terminal.console import console, is_terminal

if TYPE_CHECKING:
    from rich.progress import Progress

Show = Callable[[int, int, str], None]
"""Callback with the steps done, their total, and the next step."""

PATIENCE = 1.0
"""Seconds before a bar appears."""

INTERVAL = 0.1
"""Minimum seconds between drawings."""


class Bar:
    """A progress bar, drawn when `show` is called, at a limited rate."""

    def __init__(self, stream: TextIO, patience: float = PATIENCE):
        self._stream = stream
        self._next = time.monotonic() + patience
        self._told = (0, 0, "")
        self._drawn: Progress | None = None
        self._lock = threading.Lock()
        self._timer = threading.Timer(patience, self._draw)
        self._timer.daemon = True
        if patience > 0:
            self._timer.start()

    def show(self, done: int, total: int, what: str) -> None:
        self._told = (done, total, what)
        if time.monotonic() >= self._next:
            self._draw()

    def _draw(self) -> None:
        with self._lock:
            # read under the lock: nothing may be drawn after `close`
            done, total, what = self._told
            if total <= 0:
                return
            self._next = time.monotonic() + INTERVAL
            if self._drawn is None:
                self._drawn = _drawing(self._stream)
                self._drawn.add_task(what, total=total, completed=done)
                self._drawn.start()
                return
            (task,) = self._drawn.task_ids
            self._drawn.update(task, completed=done, total=total, description=what)
            self._drawn.refresh()

    def hide(self) -> None:
        """Erase the bar; the next `show` draws it again."""
        with self._lock:
            if self._drawn is not None:
                self._drawn.stop()
                self._drawn = None

    def close(self) -> None:
        """Erase the bar for good."""
        self._timer.cancel()
        self._told = (0, 0, "")
        self.hide()


def _drawing(stream: TextIO) -> Progress:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.table import Column

    rest = Column(ratio=1, no_wrap=True, overflow="ellipsis")
    words = TextColumn("{task.description}", markup=False, table_column=rest)
    columns = (BarColumn(20), MofNCompleteColumn(), words)
    return Progress(
        *columns,
        console=console(stream),
        transient=True,
        auto_refresh=False,
        expand=True,
        # other writers to the terminal call `hide` first
        redirect_stdout=False,
        redirect_stderr=False,
    )


_bar: ContextVar[Bar | None] = ContextVar("bar", default=None)


@contextmanager
def bar(patience: float = PATIENCE) -> Iterator[Show]:
    """Show progress on stderr within the context; silent in a pipe.

    Yields `show`. Within another bar, that bar is used.
    """
    if _bar.get() is not None or sys.stderr is None or not is_terminal(sys.stderr):
        yield show
        return
    with closing(Bar(sys.stderr, patience)) as shown, override_context(_bar, shown):
        yield show


def show(done: int, total: int, what: str) -> None:
    """Report progress to the bar, if there is one."""
    current = _bar.get()
    if current is not None:
        current.show(done, total, what)


def hide() -> None:
    """Erase the bar, if there is one, before other output on the terminal."""
    current = _bar.get()
    if current is not None:
        current.hide()
