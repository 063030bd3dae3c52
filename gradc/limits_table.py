"""The table of limits in the documents, made from their declaration.

python -m gradc.limits_table docs/limits.md            write it between the markers
python -m gradc.limits_table --check docs/limits.md    fail if it is stale
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import fields

from dialects.support.limits import OPTION, Limits
from gradc import generated

BEGIN, END = "<!-- limits: begin -->", "<!-- limits: end -->"


def table() -> str:
    rows = ["| option | default | what it bounds |", "|---|--:|---|"]
    for entry in fields(Limits):
        name = entry.name.replace("_", "-")
        rows.append(f"| `{OPTION} {name}=N` | {entry.default:,} | {entry.metadata['meaning']} |")
    return "\n".join(rows)


def refreshed(text: str) -> str:
    """The document with its table made anew. Raises ValueError if it lacks the markers."""
    return generated.between(text, BEGIN, END, table())


def main(arguments: Sequence[str]) -> int:
    return generated.main(arguments, "gradc.limits_table", refreshed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
