"""Measure every strategy against float64 and write the table of docs/accuracy.md.

python -m tools.accuracy docs/accuracy.md            write it between the markers
python -m tools.accuracy --check docs/accuracy.md    measure again: fail if a bound is broken or a row
                                                     is missing; digits differ between machines
"""

from __future__ import annotations

import sys
from pathlib import Path

from gradc.files.writing import write_atomically
from tools.accuracy import table


def main(arguments: list[str]) -> int:
    check = "--check" in arguments
    (name,) = (a for a in arguments if a != "--check")
    path = Path(name)
    text = path.read_text(encoding="utf-8")
    entries = table.measure_all()
    faults, fresh = table.broken_bounds(entries), table.refresh(text, entries)
    if not check:
        write_atomically(path, fresh.encode())
    elif table.rows_of(text) != table.rows_of(fresh):
        faults.append(f"{name}: the rows of the table are stale; run python -m tools.accuracy {name}")
    for fault in faults:
        print(fault)
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
