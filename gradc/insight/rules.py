"""Which ops of ONNX have a derivative here, and why the others have none."""

from __future__ import annotations

from collections.abc import Iterator

from dialects.onnx.signatures import SIGNATURES
from passes.vjp.reach.listed import REASONS, REFUSED
from passes.vjp.table import BODIES, REGION_RULES, RULES


def rules() -> Iterator[tuple[str, str]]:
    """Each op and what becomes of a gradient that comes to it, in the order of the names."""
    for name in sorted(SIGNATURES):
        yield name, _of(name)


def _of(name: str) -> str:
    if name in RULES or name in REGION_RULES:
        return "has a rule"
    if name in BODIES:
        return "by the ops that it stands for"
    if name in REASONS:
        return f"zero: {REASONS[name]}"
    return f"refused: {REFUSED[name]}" if name in REFUSED else "refused: no rule yet"


def as_text() -> str:
    found = list(rules())
    width = max(len(name) for name, _ in found)
    return "\n".join(f"{name:{width}}  {what}" for name, what in found)
