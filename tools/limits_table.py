"""Table of limits in the documents, from their declaration."""

from __future__ import annotations

from dataclasses import fields

from dialects.support.limits import OPTION, Limits


def table() -> str:
    rows = ["| option | default | what it bounds |", "|---|--:|---|"]
    for entry in fields(Limits):
        name = entry.name.replace("_", "-")
        rows.append(f"| `{OPTION} {name}=N` | {entry.default:,} | {entry.metadata['meaning']} |")
    return "\n".join(rows)
