"""Interface of canonical ops that can be timed, explained and tuned."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from dialects.grad.grad_op import GradOp

SAMPLE_BATCH, SAMPLE_SIZE = 2, 12
"""Sample values of an unknown batch, and of an unknown spatial size of diff_dst."""


class TunableOp(GradOp, ABC):
    """A canonical gradient with a port `diff_dst`, integer attributes and possibly a `layout`."""

    LAYOUT_PORTS: ClassVar[tuple[str, ...]] = ()
    """The ports and results in the axis order of `layout`; the docstring gives that of others."""

    @abstractmethod
    def sample_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Return shapes of the operands: known sizes, and consistent samples for the rest."""

    @abstractmethod
    def flops(self) -> int | None:
        """Return the multiplications and additions of the op's sum; None if sizes are unknown."""
