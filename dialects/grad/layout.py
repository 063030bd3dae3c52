"""Base of gradients whose data is in NCX or NXC layout."""

from __future__ import annotations

from abc import ABC
from typing import TYPE_CHECKING, Any

from dialects.grad.grad_op import GradOp
from dialects.support import layouts
from dialects.support.shapes import Dim, Shape, shape_of

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

DATA_LAYOUTS = ("NCX", "NXC")


class LayoutOp(GradOp, ABC):
    """A gradient in either data layout.

    `layout` is the axis order of diff_dst, the first operand, and of diff_src, the result. Other operands
    have a fixed order.
    """

    if TYPE_CHECKING:
        diff_dst: Any
        layout: str

    @property
    def spatial_rank(self) -> int:
        return len(shape_of(self.diff_dst)) - 2

    @property
    def batch(self) -> Dim:
        return shape_of(self.diff_dst)[0]

    @property
    def channels(self) -> Dim:
        """The channels of diff_dst."""
        return layouts.reorder(shape_of(self.diff_dst), self.layout, "NCX")[1]

    @property
    def spatial_axes(self) -> tuple[int, ...]:
        """The spatial axes of diff_dst and diff_src."""
        return layouts.spatial_axes(self.layout, self.spatial_rank)

    def spatial(self, value: SSAValue) -> Shape:
        """Return the spatial sizes of diff_dst or diff_src."""
        shape = shape_of(value)
        return tuple(shape[axis] for axis in self.spatial_axes)
