"""Gradients of one tensor of data, whose axes have one of two orders."""

from __future__ import annotations

from abc import ABC
from typing import TYPE_CHECKING, Any

from dialects.support import layouts
from dialects.support.documented_op import DocumentedOp
from dialects.support.shapes import Dim, Shape, shape_of

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

DATA_LAYOUTS = ("NCX", "NXC")


class LayoutOp(DocumentedOp, ABC):
    """A gradient that can be written in either layout of its data.

    `layout` is the order of the axes of diff_dst, its first operand, and of diff_src, its result: (N,
    channels, spatial axes...), or with the channels last. What else it reads has an order of its own.
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
        """Where the spatial axes of diff_dst and diff_src lie."""
        return layouts.spatial_axes(self.layout, self.spatial_rank)

    def spatial(self, value: SSAValue) -> Shape:
        """The spatial sizes of diff_dst or diff_src."""
        shape = shape_of(value)
        return tuple(shape[axis] for axis in self.spatial_axes)
