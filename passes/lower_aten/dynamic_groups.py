"""Convolutions whose number of groups depends on a dim, as vmap makes them of weights for each sample.

Each group is a product of its weights (O, C K) and the columns (C K, N P) of its data: C channels, K taps,
N samples, P windows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dialects.grad.geometry import ConvAxis
from dialects.onnx import ops as onnx
from dialects.shapes.forms import Form
from dialects.shapes.sizes import floordiv
from passes.autodiff.rules.col2im import columns_of
from passes.builder.values import Value
from passes.lower_aten.call import Call
from passes.lower_aten.windows import sizes_of


@dataclass(frozen=True)
class GroupedConvolution:
    """A convolution of x (N, G C, X...) with weights (G O, C, K...) to (N, G O, Y...)."""

    f: Call
    axes: Sequence[ConvAxis]
    groups: Form
    x: Sequence[Form]
    y: Sequence[Form]
    weights: Sequence[Form]

    def forward(self, x: Value, weights: Value) -> Value:
        rows = self._reshape(weights, [self.groups, self._results, self._taps])
        found = rows @ self._columns(x)
        spatial = self.y[2:]
        parts = self._reshape(found, [self.groups, self._results, self.y[0], *spatial])
        moved = parts.transpose([2, 0, 1, *range(3, 3 + len(spatial))])
        return self._reshape(moved, self.y)

    def by_weights(self, x: Value, g: Value) -> Value:
        columns = self._columns(x)
        found = self._of_groups(g) @ columns.swap_last_axes()
        return self._reshape(found, self.weights)

    def by_data(self, weights: Value, g: Value) -> Value:
        """Sum the gradients of the columns at their places."""
        e, n = g.e, len(self.axes)
        rows = self._reshape(weights, [self.groups, self._results, self._taps])
        columns = rows.swap_last_axes() @ self._of_groups(g)
        windows = math.prod(self.y[2:], start=1)
        split = self._reshape(columns, [self.groups, self._taps, self.x[0], windows])
        flat = self._reshape(split.transpose([0, 2, 1, 3]), [self.groups * self.x[0], self._taps, windows])
        image = flat.apply(
            onnx.Col2ImOp,
            self.f.vector(self.x[2:]),
            e.ints([axis.window.kernel for axis in self.axes]),
            dilations=[axis.window.dilation for axis in self.axes],
            strides=[axis.window.stride for axis in self.axes],
            pads=[axis.pad_begin for axis in self.axes] + [axis.pad_end for axis in self.axes],
        )
        sizes = [self.groups, self.x[0], self._channels, *self.x[2:]]
        moved = self._reshape(image, sizes).transpose([1, 0, 2, *range(3, 3 + n)])
        return self._reshape(moved, self.x)

    @property
    def _channels(self) -> Form:
        return self.weights[1]

    @property
    def _results(self) -> Form:
        return floordiv(self.weights[0], self.groups)

    @property
    def _taps(self) -> Form:
        return math.prod(self.weights[1:], start=1)

    def _columns(self, x: Value) -> Value:
        """Return the columns (G, C K, N P) of the data."""
        n, e = len(self.axes), x.e
        spatial = self.x[2:]
        split = self._reshape(x, [self.x[0], self.groups, self._channels, *spatial])
        moved = split.transpose([1, 0, 2, *range(3, 3 + n)])
        samples = self._reshape(moved, [self.groups * self.x[0], self._channels, *spatial])
        pads = [0, 0, *(axis.pad_begin for axis in self.axes), 0, 0, *(axis.pad_end for axis in self.axes)]
        if any(pads):
            samples = samples.apply(onnx.PadOp, e.ints(pads))
        windows = [axis.window for axis in self.axes]
        columns = columns_of(
            samples,
            e.ints([window.kernel for window in windows]),
            [window.stride for window in windows],
            [window.dilation for window in windows],
        )
        each = math.prod(self.y[2:], start=1)
        parts = self._reshape(columns, [self.groups, self.x[0], self._taps, each])
        return self._reshape(parts.transpose([0, 2, 1, 3]), [self.groups, self._taps, self.x[0] * each])

    def _of_groups(self, y: Value) -> Value:
        """Return (N, G O, Y...) as (G, O, N P)."""
        each = math.prod(self.y[2:], start=1)
        parts = self._reshape(y, [self.y[0], self.groups, self._results, each])
        moved = parts.transpose([1, 2, 0, 3])
        return self._reshape(moved, [self.groups, self._results, self.y[0] * each])

    def _reshape(self, x: Value, sizes: Sequence[Form]) -> Value:
        return x.apply(onnx.ReshapeOp, self.f.vector(sizes), allowzero=1).assume_shape(sizes)


def convolution_of_groups(f: Call, axes: Sequence[ConvAxis], y: Sequence[Form]) -> GroupedConvolution:
    """Return the convolution of a call whose result has the sizes y."""
    return GroupedConvolution(f, axes, f.groups, sizes_of(f.input), y, sizes_of(f.weight))
