"""Maximum and mean over windows, and their gradients by the VJP rules of MaxPool and AveragePool."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from xdsl.dialects.builtin import f64

from dialects.onnx import ops as onnx
from dialects.shapes.forms import Form
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call, Rule
from passes.lower_aten.derivative import pull_back
from passes.lower_aten.double import window_counts, window_sums
from passes.lower_aten.windows import add_batch, per_axis, remove_batch, sizes_of


@dataclass(frozen=True)
class Pool:
    """A pool over the last n axes; `dilations` is empty if the op has none."""

    f: Call
    kernel: Sequence[int]
    strides: Sequence[int]
    pads: Sequence[int]
    dilations: Sequence[int]

    @classmethod
    def of(cls, f: Call, n: int) -> Pool:
        kernel, pads = per_axis(f, f.kernel_size, n), per_axis(f, f.padding, n)
        strides = per_axis(f, f.stride, n) if f.stride else kernel
        dilations = per_axis(f, f.dilation, n) if f.has("dilation") else []
        return cls(f, kernel, strides, pads, dilations)

    def attributes(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "kernel_shape": self.kernel,
            "strides": self.strides,
            "pads": [*self.pads, *self.pads],
        }
        if any(step > 1 for step in self.dilations):
            found["dilations"] = self.dilations
        return found | ({"ceil_mode": 1} if self.f.ceil_mode else {})

    def end_pads(self, y: Sequence[Form]) -> list[int]:
        """Return end pads up to the last windows, for a result of sizes y. Raises UnsupportedError for sizes
        that depend on dims."""
        if not self.f.ceil_mode:
            return list(self.pads)
        found: list[int] = []
        sizes = self.f.self.shape[-len(self.kernel) :]
        rows = zip(sizes, y[-len(self.kernel) :], self.kernel, self.strides, self.pads, strict=True)
        for size, count, kernel, stride, pad in rows:
            if not isinstance(size, int) or not isinstance(count, int):
                what = "divisor_override or f64 with ceil_mode"
                hint = "ceil_mode=False, or a dim of fixed size"
                raise self.f.refusal(what, given=f"size {size}", hint=hint)
            found.append(max(pad, (count - 1) * stride + kernel - size - pad))
        return found


# Maximum


def _maxima(f: Call, n: int) -> Sequence[Value]:
    """Emit a MaxPool of the data with a batch axis: its maxima and indices."""
    x = add_batch(f.self, n)
    made = onnx.MaxPoolOp(x.value, **Pool.of(f, n).attributes())
    return [x.e(result) for result in x.e.emit.all(made)]


def max_pool_with_indices(n: int) -> Rule:
    """Return the rule of a maximum over windows, with its index in the plane of its channel."""

    def rule(f: Call, e: Builder) -> Sequence[Value | None]:
        values, indices = _maxima(f, n)
        if not f.is_read(1):
            return [remove_batch(values, f.self), None]
        plane = e.emit.product([e.emit.sizes(f.self.value, [f.self.rank + axis]) for axis in range(-n, 0)])
        return [remove_batch(values, f.self), remove_batch(indices.apply(onnx.ModOp, e(plane)), f.self)]

    return rule


def max_pool(n: int) -> Rule:
    return lambda f, e: remove_batch(_maxima(f, n)[0], f.self)


def max_pool_backward(n: int) -> Rule:
    """Return the rule of the gradient, which computes the maxima again and ignores the indices."""

    def rule(f: Call, e: Builder) -> Value:
        (found,) = pull_back(_maxima(f, n)[0], add_batch(f.grad_output, n))
        return remove_batch(found, f.self)

    return rule


# Mean


def _means(f: Call, n: int, y: Sequence[Form]) -> tuple[Value, float]:
    """Emit an AveragePool of the data with a batch axis; return it, and the factor from it to the mean."""
    pool, x = Pool.of(f, n), add_batch(f.self, n)
    attributes, factor = pool.attributes(), 1.0
    if f.has("divisor_override"):
        attributes |= {"ceil_mode": 0, "count_include_pad": 1, "pads": [*pool.pads, *pool.end_pads(y)]}
        factor = math.prod(pool.kernel) / f.divisor_override
    elif f.count_include_pad and any(pool.pads):
        attributes["count_include_pad"] = 1
    return x.apply(onnx.AveragePoolOp, **attributes), factor


def avg_pool(n: int) -> Rule:
    def rule(f: Call, e: Builder) -> Value:
        if f.dtype == f64:
            return remove_batch(_means_in_double(f, n), f.self)
        means, factor = _means(f, n, f.shape)
        return remove_batch(means if factor == 1 else means * factor, f.self)

    return rule


def _means_in_double(f: Call, n: int) -> Value:
    """Return the means in f64, as sums over windows divided by their numbers of elements."""
    pool, x, e = Pool.of(f, n), add_batch(f.self, n), f.e
    windows = pool.kernel, pool.strides
    begin, end = pool.pads, pool.end_pads(f.shape)
    sums, over = window_sums(x, *windows, begin, end), list(end) != list(begin)
    if f.has("divisor_override") or not any(end) or (f.count_include_pad and not over):
        divisor = f.divisor_override if f.has("divisor_override") else math.prod(pool.kernel)
        return sums / float(divisor)
    sizes = e(e.emit.sizes(x.value, range(2, 2 + n)))
    if f.count_include_pad:
        sizes = sizes + e.ints([2 * pad for pad in begin])
        begin, end = [0] * n, [after - pad for pad, after in zip(begin, end, strict=True)]
    return sums / window_counts(sizes, *windows, begin, end).cast(f64)


def avg_pool_backward(n: int) -> Rule:
    def rule(f: Call, e: Builder) -> Value:
        means, factor = _means(f, n, sizes_of(f.grad_output))
        g = add_batch(f.grad_output, n)
        (found,) = pull_back(means, g if factor == 1 else g * factor)
        return remove_batch(found, f.self)

    return rule


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "avg_pool1d.default": avg_pool(1),
        "avg_pool2d.default": avg_pool(2),
        "avg_pool2d_backward.default": avg_pool_backward(2),
        "avg_pool3d.default": avg_pool(3),
        "avg_pool3d_backward.default": avg_pool_backward(3),
        "max_pool1d.default": max_pool(1),
        "max_pool2d.default": max_pool(2),
        "max_pool2d_with_indices.default": max_pool_with_indices(2),
        "max_pool2d_with_indices_backward.default": max_pool_backward(2),
        "max_pool3d.default": max_pool(3),
        "max_pool3d_with_indices.default": max_pool_with_indices(3),
        "max_pool3d_with_indices_backward.default": max_pool_backward(3),
    }
)
