"""Tables in a pipe."""

from __future__ import annotations

from gradc.terminal.console import WIDTH
from gradc.terminal.tables import table


def test_cells_are_never_cut():
    name, readers = "w" * WIDTH, "r" * WIDTH
    text = table(["weight", "size", "read by"], [[name, "1", readers], ["b", "12", "r"]], [1])
    assert text.splitlines() == [
        f"{'weight':{WIDTH}}  size  read by",
        f"{name}     1  {readers}",
        f"{'b':{WIDTH}}    12  r",
    ]
