"""What a command line names as a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gradc.files.kinds import is_onnx

if TYPE_CHECKING:
    from gradc.compiler.gradient_request import GradientRequest


@dataclass(frozen=True)
class Source:
    """Files, of which several are parts of one graph, new names for its inputs and outputs, another batch and
    shapes of inputs; or the gradient of that, where one is asked for."""

    files: Sequence[str]
    names: Mapping[str, str] = field(default_factory=dict)
    gradient: GradientRequest | None = None
    rebatch: int | str | None = None
    static_shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @property
    def given(self) -> str | list[str]:
        """One file, or all of several."""
        return self.files[0] if len(self.files) == 1 else list(self.files)

    @property
    def is_model(self) -> bool:
        """Whether what is meant is a model of ONNX as it stands in a file."""
        return self.gradient is None and len(self.files) == 1 and is_onnx(self.files[0])

    def __str__(self) -> str:
        return " ".join(self.files)
