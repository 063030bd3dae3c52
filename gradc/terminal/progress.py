"""A bar on stderr for what takes long, for people only: on a terminal, after a second, gone at the end.

    with progress.bar():
        ...
            progress.show(3, 20, "what is being done")

Whoever does the work calls `show`, wherever it is; without a bar that is nothing. The bar is drawn in
those calls, and once when the second is over: a thread that keeps drawing would take time from what is
measured.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TextIO

from dialects.support.during import during
from gradc.terminal.console import console, is_terminal

if TYPE_CHECKING:
    from rich.progress import Progress

Show = Callable[[int, int, str], None]
"""Called with how much is done, of how much, and what comes next."""

PATIENCE = 1.0
"""Seconds before a bar appears: what is done by then needs none."""

INTERVAL = 0.1
"""Seconds between drawings, at least."""


class Bar:
    """Drawn when `show` is called, not more often than people can see."""

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
            # read in here: what was told before `close` must not be drawn after it
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
        """Erase it; the next `show` draws it again."""
        with self._lock:
            if self._drawn is not None:
                self._drawn.stop()
                self._drawn = None

    def close(self) -> None:
        """Erase it for good."""
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
        # what else is written to the terminal calls `hide` first
        redirect_stdout=False,
        redirect_stderr=False,
    )


_bar: ContextVar[Bar | None] = ContextVar("bar", default=None)


@contextmanager
def bar(patience: float = PATIENCE) -> Iterator[Show]:
    """Show progress on stderr while the context lasts, and leave nothing behind; silent in a pipe.

    It yields `show`, for those who take a callback. Within another bar it is that one.
    """
    if _bar.get() is not None or sys.stderr is None or not is_terminal(sys.stderr):
        yield show
        return
    with closing(Bar(sys.stderr, patience)) as shown, during(_bar, shown):
        yield show


def show(done: int, total: int, what: str) -> None:
    """Tell the bar, if there is one, how much is done of `total`, and what comes next."""
    current = _bar.get()
    if current is not None:
        current.show(done, total, what)


def hide() -> None:
    """Erase the bar, if there is one, before something else is written to the terminal."""
    current = _bar.get()
    if current is not None:
        current.hide()
