"""Base of gradients of ops that slide windows over data."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue

from dialects.grad.geometry import Window, axis_letters
from dialects.grad.tunable import SAMPLE_BATCH, TunableOp
from dialects.support import layouts, shapes
from dialects.support.diagnostics import violation
from dialects.support.dtypes import name_of
from dialects.support.shapes import Dim, Shape, element_type_of, shape_of

MOST = 5
"""The highest rank: three spatial axes."""


class WindowedGradOp(TunableOp, ABC):
    """A gradient whose operands are all in `layout`, with window lists of one entry per spatial axis.

    Subclasses declare the attributes, in the order in which they are printed.
    """

    if TYPE_CHECKING:
        diff_dst: Any
        kernel: tuple[int, ...]
        strides: tuple[int, ...]
        dilations: tuple[int, ...]
        pads_begin: tuple[int, ...]
        layout: str

    @property
    def windows(self) -> tuple[Window, ...]:
        rows = zip(self.kernel, self.strides, self.dilations, strict=True)
        return tuple(Window(*row) for row in rows)

    @property
    def spatial_rank(self) -> int:
        return len(shape_of(self.diff_dst)) - 2

    def channels_first(self, value: SSAValue) -> Shape:
        """Return a shape as (N, channels, spatial sizes...)."""
        return layouts.reorder(shape_of(value), self.layout, "NCX")

    def samples_of(
        self, channels: Sequence[int], sizes: Sequence[tuple[int, ...]]
    ) -> tuple[tuple[int, ...], ...]:
        """Return shapes of the operands, from the channels of each and, per axis, the size in each."""
        batch = first_known([shape_of(value)[0] for value in self.operands])
        found = [(batch, count, *own) for count, own in zip(channels, zip(*sizes, strict=True), strict=True)]
        return tuple(layouts.reorder(shape, "NCX", self.layout) for shape in found)

    def check_operands(self) -> None:
        """Check that the operands have one rank, one dtype and one batch."""
        ports = " and ".join(self.PORTS)
        several = len(self.PORTS) > 1
        ranks = [len(shape_of(value)) for value in self.operands]
        if len(set(ranks)) > 1 or not 3 <= ranks[0] <= MOST:
            expected = f"{'equal, ' if several else ''}3 to {MOST}"
            what = f"rank{'s' if several else ''} of {ports}"
            raise violation(what, given=" and ".join(map(str, ranks)), expected=expected)
        names = [name_of(element_type_of(value)) for value in self.operands]
        if len(set(names)) > 1:
            raise violation(f"dtypes of {ports}", given=" and ".join(names), expected="equal")
        self.check_same("batch", 0)

    def check_same(self, what: str, axis: int) -> None:
        """Check that diff_dst, the last operand, agrees with the first along an axis, channels first."""
        own, other = (self.channels_first(value)[axis] for value in (self.operands[-1], self.operands[0]))
        if not shapes.same_dim(own, other):
            raise violation(f"{what} of {self.PORTS[-1]}", given=own, expected=f"{other}, that of src")

    def check_lists(self, *further: str) -> None:
        """Check that lists have one entry per spatial axis: >= 1, or >= 0 for pads and residues."""
        n = self.spatial_rank
        for name in ("kernel", "strides", "dilations", "pads_begin", *further):
            low = 1 if name in ("kernel", "strides", "dilations") else 0
            values = self.value(name)
            if len(values) != n or any(value < low for value in values):
                letters = f", those of {axis_letters(n)}" if len(values) != n else ""
                raise violation(name, given=list(values), expected=f"{n} values >= {low}{letters}")


def first_known(dims: Sequence[Dim], otherwise: int = SAMPLE_BATCH) -> int:
    return next((size for size in dims if isinstance(size, int)), otherwise)
