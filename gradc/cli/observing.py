"""Options that show what passes do: `--stop-after`, `--print-ir-after-all`, `--timing`."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from gradc.cli.completion import a_pass
from gradc.terminal import messages
from gradc.terminal.tables import look

if TYPE_CHECKING:
    from gradc.inspection.observe import Observers, Timing


@dataclass
class Observing:
    """The observers of a command's passes, and the name of the pass to stop after."""

    stop_after: str | None
    observers: Observers
    timer: Timing | None
    stopped: bool = field(default=False, init=False)

    @contextmanager
    def stopping(self, passes: Sequence[str], output: str | None) -> Iterator[None]:
        """Write the IR after the pass to stop after, one of `passes`, instead of what is done within."""
        from gradc.cli.compiling import write_ir
        from gradc.compiler.pass_runner import StopAfter, Stopped

        if self.stop_after is not None:
            self.observers.add(StopAfter(self.stop_after, passes))
        try:
            yield
        except Stopped as stopped:
            messages.show_remarks(*stopped.remarks)
            write_ir(stopped.module, output)

    def show_times(self) -> None:
        if self.timer is not None:
            messages.note(self.timer.table(look(sys.stderr)))


def observing_options(command: Any) -> Any:
    """Add the options, and pass them on as `observing`."""

    @functools.wraps(command)
    def observed(
        *,
        stop_after: str | None,
        print_ir_after_all: bool,
        print_ir_after_change: bool,
        timing: bool,
        **given: Any,
    ) -> Any:
        from gradc.inspection.observe import Observers, PrintIR, Timing

        observers, timer = Observers(), Timing() if timing else None
        if print_ir_after_all or print_ir_after_change:
            observers.add(PrintIR(messages.note, only_changes=not print_ir_after_all))
        if timer is not None:
            observers.add(timer)
        return command(observing=Observing(stop_after, observers, timer), **given)

    return _STOP_AFTER(_PRINT_ALL(_PRINT_CHANGE(_TIMING(observed))))


_STOP_AFTER = click.option(
    "--stop-after", metavar="PASS", shell_complete=a_pass, help="Write the IR after this pass, and no model."
)
_PRINT_ALL = click.option("--print-ir-after-all", is_flag=True, help="Print the IR after each pass.")
_PRINT_CHANGE = click.option(
    "--print-ir-after-change", is_flag=True, help="Print the IR after each pass that changes it."
)
_TIMING = click.option("--timing", is_flag=True, help="Print the time of each pass.")
