"""Findings as files: the case that shows it again, and beside it what happened."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from fuzz.oracle import Verdict

EACH = 3
"""Cases that are kept of findings that are alike."""


@dataclass
class Findings:
    """A folder of findings, `FOLDER/TARGET/KIND-HASH.SUFFIX`, and how often each kind was met."""

    folder: Path
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, target: str, suffix: str, data: bytes, verdict: Verdict) -> Path | None:
        """The path of the case, None where enough of its like are kept."""
        self.counts[target, verdict.label] += 1
        if self.counts[target, verdict.label] > EACH:
            return None
        folder = self.folder / target
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{verdict.kind}-{hashlib.sha256(data).hexdigest()[:12]}{suffix}"
        path.write_bytes(data)
        note = path.with_name(path.name + ".txt")
        note.write_text(f"{verdict.label}\n\n{verdict.detail}\n", encoding="utf-8", errors="backslashreplace")
        return path

    def __len__(self) -> int:
        return sum(self.counts.values())
