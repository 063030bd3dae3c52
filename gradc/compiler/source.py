"""Source graph of a command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gradc.files.kinds import is_onnx

if TYPE_CHECKING:
    from gradc.compiler.gradient_request import GradientRequest


@dataclass(frozen=True)
class Source:
    """Files of one graph, with new names, batch and input shapes; or its gradient, if one is requested."""

    files: Sequence[str]
    names: Mapping[str, str] = field(default_factory=dict)
    gradient: GradientRequest | None = None
    rebatch: int | str | None = None
    static_shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @property
    def given(self) -> str | list[str]:
        """The only file, or the list of files."""
        return self.files[0] if len(self.files) == 1 else list(self.files)

    @property
    def is_model(self) -> bool:
        """True for an ONNX model in one file, without a gradient."""
        return self.gradient is None and len(self.files) == 1 and is_onnx(self.files[0])

    def __str__(self) -> str:
        return " ".join(self.files)
