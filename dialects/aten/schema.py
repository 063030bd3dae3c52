"""Signatures of ATen ops, parsed from their text: `Tensor self, int[] size -> Tensor`.

It is the text of torch's schema without defaults, aliases, and the arguments that change no value on a CPU
(device, layout, memory format, generator, pinned memory).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

TENSOR, OPTIONAL_TENSOR, TENSORS, OPTIONAL_TENSORS = "Tensor", "Tensor?", "Tensor[]", "Tensor?[]"
TENSOR_KINDS = (TENSOR, OPTIONAL_TENSOR, TENSORS, OPTIONAL_TENSORS)


@dataclass(frozen=True)
class Argument:
    """An argument: its name, and its kind, such as `Tensor?`, `int[]`, `float?`, `Scalar`, `ScalarType`."""

    name: str
    kind: str

    @property
    def is_tensor(self) -> bool:
        """Return whether the argument is one or several operands."""
        return self.kind in TENSOR_KINDS

    @property
    def is_optional(self) -> bool:
        """Return whether the argument may be None."""
        return self.kind.endswith("?")


@dataclass(frozen=True)
class AtenSignature:
    """The arguments of an op in torch's order, and its results: `Tensor` each, or one `Tensor[]`."""

    arguments: tuple[Argument, ...]
    results: tuple[str, ...]


@cache
def parse(text: str) -> AtenSignature:
    """Parse `Tensor self, int dim -> Tensor, Tensor`."""
    arguments, _, results = text.partition("->")
    pairs = [part.split() for part in arguments.split(",") if part.strip()]
    kinds = tuple(part.strip() for part in results.split(",") if part.strip())
    return AtenSignature(tuple(Argument(name, kind) for kind, name in pairs), kinds)
