"""Random geometry of the rows with spatial axes: attributes, and the shapes that go with them."""

from __future__ import annotations

from typing import Any

import numpy as np
from support import window_problems

from dialects.onednn.conv import ConvTransposeForwardOp, ForwardConvOp
from dialects.onednn.conv_backward_weights import WeightsGradientOp
from dialects.onednn.families import TableOp
from dialects.onednn.interpolate import InterpolationOp
from dialects.onednn.pool import AveragePoolingOp, PoolingOp
from dialects.onednn.pool_backward import PoolGradientOp
from dialects.support import layouts
from dialects.support.attributes import documented_attributes

Shapes = list[tuple[int, ...]]


def _chosen(rng: np.random.Generator, *values: Any) -> Any:
    return values[rng.integers(0, len(values))]


def _ints(rng: np.random.Generator, n: int, low: int, high: int) -> list[int]:
    """n numbers from low to high."""
    return [int(value) for value in rng.integers(low, high + 1, n)]


def _words(cls: type[TableOp], rng: np.random.Generator) -> dict[str, Any]:
    """A word for each enumeration, of which some are left out."""
    specs = {name: each.spec for name, each in documented_attributes(cls).items()}
    return {
        name: str(rng.choice(spec.words)) for name, spec in specs.items() if spec.words and rng.random() < 0.8
    }


def _window(cls: type[TableOp], n: int, rng: np.random.Generator) -> dict[str, Any]:
    """The attributes of a window but its kernel. Pads may be as wide as the kernel, or wider."""
    lists = {name: _ints(rng, n, 0, _chosen(rng, 0, 1, 3)) for name in ("pads_begin", "pads_end")}
    return _words(cls, rng) | lists | {"strides": _ints(rng, n, 1, 3)}


def _data(attributes: dict[str, Any], batch: int, channels: int, sizes: list[int]) -> tuple[int, ...]:
    layout = attributes.get("data_format", "NXC")
    return layouts.reorder((batch, channels, *sizes), "NCX", layout)


def _batch(rng: np.random.Generator) -> int:
    return _chosen(rng, 0, 1, 2, 3)


def convolution(cls: type[ForwardConvOp], rng: np.random.Generator) -> tuple[dict[str, Any], Shapes]:
    """Windows that fit, over data of which they may leave something."""
    n, groups = _chosen(rng, 1, 2, 2, 3), _chosen(rng, 1, 1, 2, 3)
    attributes = _window(cls, n, rng) | {"dilations": _ints(rng, n, 1, _chosen(rng, 1, 2, 3))}
    if groups > 1 or rng.random() < 0.5:
        attributes["groups"] = groups
    kernel, each, other = _ints(rng, n, 1, 3), *_ints(rng, 2, 1, 3)
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, attributes["dilations"], strict=True)]
    transposed = issubclass(cls, ConvTransposeForwardOp)
    if transposed and rng.random() < 0.6:
        attributes["output_padding"] = _ints(rng, n, 0, _chosen(rng, 0, 2, 5))
    # a transposed convolution takes pads away from its result, of which something has to stay
    least = [
        1 + -(-max(0, pb + pe - e) // s) + int(pb + pe >= e) if transposed else e
        for e, s, pb, pe in zip(
            extents, *(attributes[name] for name in ("strides", "pads_begin", "pads_end")), strict=True
        )
    ]
    sizes = [low + more for low, more in zip(least, _ints(rng, n, 0, 4), strict=True)]
    first, second = (groups * each, other) if transposed else (groups * other, each)
    spec = documented_attributes(cls)["weights_format"].spec
    weights = layouts.reorder(
        (first, second, *kernel), cls.WEIGHTS, attributes.get("weights_format", spec.default)
    )
    out_channels = groups * other
    shapes = [_data(attributes, _batch(rng), groups * each, sizes), weights, (out_channels,)]
    return attributes, shapes[: 2 + int(rng.random() < 0.5)]


def pool(cls: type[PoolingOp], rng: np.random.Generator) -> tuple[dict[str, Any], Shapes]:
    """Windows that fit; with exclude_pad each of them holds an element."""
    n = _chosen(rng, 1, 2, 2, 3)
    attributes = _window(cls, n, rng) | {"kernel": _ints(rng, n, 1, 4)}
    dilations = [1] * n
    if issubclass(cls, AveragePoolingOp):
        attributes["exclude_pad"] = bool(rng.random() < 0.5)
    elif rng.random() < 0.6:
        attributes["dilations"] = dilations = _ints(rng, n, 1, 3)
    extents = [(k - 1) * d + 1 for k, d in zip(attributes["kernel"], dilations, strict=True)]
    if attributes.get("exclude_pad") and attributes.get("auto_pad", "none") == "none":
        attributes["pads_begin"] = [
            min(p, e - 1) for p, e in zip(attributes["pads_begin"], extents, strict=True)
        ]
        attributes["pads_end"] = [0] * n
        attributes["strides"] = [min(s, e) for s, e in zip(attributes["strides"], extents, strict=True)]
    sizes = [e + more for e, more in zip(extents, _ints(rng, n, 0, 5), strict=True)]
    return attributes, [_data(attributes, _batch(rng), int(rng.integers(1, 4)), sizes)]


def interpolation(cls: type[InterpolationOp], rng: np.random.Generator) -> tuple[dict[str, Any], Shapes]:
    n = _chosen(rng, 1, 2, 2, 3)
    attributes = _words(cls, rng) | {"mode": _chosen(rng, "nearest", "linear", "bilinear", "trilinear")}
    if rng.random() < 0.5:
        attributes["sizes"] = _ints(rng, n, 1, 9)
    else:
        attributes["scales"] = [float(_chosen(rng, 0.5, 1, 1.5, 2, 3)) for _ in range(n)]
    return attributes, [_data(attributes, _batch(rng), int(rng.integers(1, 4)), _ints(rng, n, 2, 7))]


DRAWN = {
    InterpolationOp: interpolation,
    ForwardConvOp: convolution,
    PoolingOp: pool,
    WeightsGradientOp: window_problems.weights_gradient,
    PoolGradientOp: window_problems.pool_backward,
}
"""Base class of a family -> what draws attributes and shapes of its ops."""
