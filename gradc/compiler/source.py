"""Source graph of a command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp

from gradc.compiler.sizes import resize_inputs
from gradc.files.kinds import is_onnx
from gradc.graph.renaming import rename_edges


@dataclass(frozen=True)
class Source:
    """Files of one graph, with new names, batch and input shapes."""

    files: Sequence[str]
    names: Mapping[str, str] = field(default_factory=dict)
    rebatch: int | str | None = None
    static_shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @property
    def given(self) -> str | list[str]:
        """The only file, or the list of files."""
        return self.files[0] if len(self.files) == 1 else list(self.files)

    @property
    def is_model(self) -> bool:
        """True for an ONNX model in one file."""
        return len(self.files) == 1 and is_onnx(self.files[0])

    @property
    def for_gradients(self) -> tuple[str, ...] | None:
        """The ops with user rules if the graph is to be differentiated, else None."""
        return None

    def transform(self, module: ModuleOp) -> ModuleOp:
        """Return the graph of the files with the new names and shapes."""
        return resize_inputs(rename_edges(module, self.names), self.rebatch, self.static_shapes)

    def __str__(self) -> str:
        return " ".join(self.files)
