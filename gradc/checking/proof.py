"""The outcome of a gradient check, for people and for programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

FINITE_DIFFERENCES, REFERENCE = "finite differences", "onnxruntime against numpy"


@dataclass(frozen=True)
class Proof:
    """The outcome of a gradient check.

    methods: the comparisons that succeeded for every gradient.
    reason: why a comparison is missing, '' where none is.
    """

    methods: tuple[str, ...] = ()
    reason: str = ""

    @property
    def status(self) -> str:
        if not self.methods:
            return "not checked"
        return "partly checked" if self.reason else "checked"

    def __str__(self) -> str:
        by = f" by {' and '.join(self.methods)}" if self.methods else ""
        return f"{self.status}{by}" + (f" ({self.reason})" if self.reason else "")

    def as_data(self) -> dict[str, Any]:
        return {"status": self.status, "methods": list(self.methods), "reason": self.reason or None}
