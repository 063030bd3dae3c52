"""What a canonical op declares so that it is timed, explained and tuned like any other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from dialects.support.documented_op import DocumentedOp

SAMPLE_BATCH, SAMPLE_SIZE = 2, 12
"""What an unknown batch and an unknown spatial size of diff_dst are in samples."""


class TunableOp(DocumentedOp, ABC):
    """A canonical gradient with a port `diff_dst`, attributes of integers and, at times, a `layout`."""

    LAYOUT_PORTS: ClassVar[tuple[str, ...]] = ()
    """The ports and results whose axes have the order of `layout`; others have that of the docstring."""

    @abstractmethod
    def sample_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of the operands: what is known, and sizes that fit that for the rest."""

    @abstractmethod
    def flops(self) -> int | None:
        """Multiplications and additions of the op's sum; None where sizes are unknown."""
