"""What a command line names as a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Source:
    """Files, of which several are parts of one graph, and new names for inputs and outputs of it."""

    files: Sequence[str]
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def given(self) -> str | list[str]:
        """One file, or all of several."""
        return self.files[0] if len(self.files) == 1 else list(self.files)

    @property
    def is_model(self) -> bool:
        return len(self.files) == 1 and self.files[0].lower().endswith(".onnx")

    def __str__(self) -> str:
        return " ".join(self.files)
