"""Gradients of a convolution with a dynamic kernel shape, as ONNX convolutions.

All pads are tensors here, and data is padded before the windowed op.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dialects.grad.conv import take_window
from dialects.onnx import ops as onnx
from passes.autodiff.common.slice_adjoint import size_of, vector
from passes.builder.values import Builder, Value
from passes.conv.dynamic_pads import Sides, begin_of, pad_input


@dataclass(frozen=True)
class DynamicKernel:
    """Convolution windows whose sizes are those of the weights at run time."""

    strides: Sequence[int]
    dilations: Sequence[int]
    groups: int
    sides: Sides

    def emit_conv(self, image: Value, weights: Value) -> Value:
        """Emit the convolution."""
        return self._pad_image(image).apply(
            onnx.ConvOp, weights, group=self.groups, strides=self.strides, dilations=self.dilations
        )

    def by_image(self, values: Value, weights: Value, like: Value) -> Value:
        """Return the gradient with respect to the image: the transposed convolution, cropped to `like`."""
        e, spatial = values.e, range(2, like.rank)
        given = {"group": self.groups, "strides": self.strides, "dilations": self.dilations}
        full = values.apply(onnx.ConvTransposeOp, weights, **given)
        sizes = e.emit.sizes(like.value, spatial)
        return e(e.emit(take_window(full.value, self.sides[0], sizes, spatial)))

    def by_weights(self, image: Value, values: Value, weights: Value) -> Value:
        """Convolve the image with the cotangents, batch and channel axes exchanged, strides and dilations
        exchanged. Entries beyond the kernel size are cropped."""
        e, rank = image.e, image.rank
        swapped = [1, 0, *range(2, rank)]
        kernel = values.transpose(swapped)
        taps = self._groups_aside(self._pad_image(image)).apply(
            onnx.ConvOp, kernel, group=self.groups, strides=self.dilations, dilations=self.strides
        )
        found = taps.transpose(swapped)
        spatial = range(2, rank)
        ends = e(e.emit.sizes(weights.value, spatial))
        cut = found.apply(onnx.SliceOp, e.ints([0] * len(spatial)), ends, e.ints(spatial))
        return cut.assume_shape(weights.shape)

    def _pad_image(self, image: Value) -> Value:
        return image.e(pad_input(image.value, "NCX", self.sides, image.e.emit))

    def _groups_aside(self, image: Value) -> Value:
        """Reshape (N, G C, X...) to (C, G N, X...)."""
        if self.groups == 1:
            return image.transpose([1, 0, *range(2, image.rank)])
        batch, channels, *spatial = (size_of(image, axis) for axis in range(image.rank))
        own = channels // self.groups if isinstance(channels, int) else channels / self.groups
        split = vector(image, [batch, self.groups, own, *spatial])
        apart = image.apply(onnx.ReshapeOp, split, allowzero=1)
        moved = apart.transpose([2, 1, 0, *range(3, apart.rank)])
        return moved.apply(onnx.ReshapeOp, vector(image, [own, batch * self.groups, *spatial]), allowzero=1)


def extents(weights: Value, dilations: Sequence[int]) -> Value:
    """Return the extent of the dilated kernel, d (K - 1) + 1 on each axis."""
    e = weights.e
    kernel = e(e.emit.sizes(weights.value, range(2, weights.rank)))
    return (kernel - 1) * e.ints(dilations) + 1


def static_sides(pads: Sequence[int], e: Builder) -> Sides:
    half = len(pads) // 2
    return e.emit.ints(pads[:half]), e.emit.ints(pads[half:])


def halves(total: Value, word: str) -> Sides:
    """Split total padding; the larger half goes first unless `word` is SAME_UPPER."""
    emit = total.e.emit
    begin = begin_of(total.value, word == "SAME_UPPER", emit)
    return begin, emit.sub(total.value, begin)


def same_total(x: Value, reach: Value, strides: Sequence[int]) -> Value:
    """Return SAME's total padding, max(0, s (ceil(X / s) - 1) + Ke - X)."""
    e = x.e
    size, steps = e(e.emit.sizes(x.value, range(2, x.rank))), e.ints(strides)
    return at_least_0((size - 1) / steps * steps + reach - size)


def spread_total(x: Value, reach: Value, strides: Sequence[int], more: Sequence[int], leave: Value) -> Value:
    """Return how many elements a transposed convolution of X elements yields beyond the sizes `leave`."""
    e = x.e
    size = e(e.emit.sizes(x.value, range(2, x.rank)))
    return at_least_0((size - 1) * e.ints(strides) + reach + e.ints(more) - leave)


def at_least_0(total: Value) -> Value:
    return total.at_least(total.e.ints([0]))
