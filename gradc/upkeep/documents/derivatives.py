"""Which op of ONNX has which derivative: what a model has to say for it, and what holds at kinks."""

from __future__ import annotations

from collections.abc import Iterator

from gradc.insight.rules import rules
from passes.vjp.conventions import FORMS_REFUSED, KINKS, KNOWN
from passes.vjp.listed import REASONS, REFUSED


def table() -> str:
    """A row for each op that has one."""
    head = ["| op | by | known when it is written | not |", "|---|---|---|---|"]
    return "\n".join([*head, *_rows()])


def _rows() -> Iterator[str]:
    for name, how in rules():
        if name not in REASONS and name not in REFUSED:
            by = "a rule" if how.startswith("has") else "its ops"
            yield f"| {name} | {by} | {KNOWN.get(name, '')} | {FORMS_REFUSED.get(name, '')} |"


def kinks() -> str:
    """What holds where a derivative jumps."""
    return "\n".join(
        ["| op | derivative |", "|---|---|", *(f"| {name} | {KINKS[name]} |" for name in sorted(KINKS))]
    )


def none() -> str:
    """The ops that have none, by reason."""
    reasons: dict[str, list[str]] = {}
    for why, names in (("0", REASONS), ("refused", REFUSED)):
        for name in sorted(names):
            reasons.setdefault(f"{why}: {names[name]}", []).append(name)
    rows = [f"| {why} | {', '.join(names)} |" for why, names in reasons.items()]
    return "\n".join(["| derivative | ops |", "|---|---|", *rows])
