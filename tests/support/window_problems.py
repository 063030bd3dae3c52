"""Sizes and attributes that fit together, for ops with a window that slides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dialects.onednn.families import TableOp

WORDS = ("none", "same_upper", "same_lower", "valid")
Drawn = tuple[Mapping[str, Any], list[tuple[int, ...]]]


@dataclass(frozen=True)
class Axis:
    """One spatial axis: `image` positions, over which `values` windows lie."""

    kernel: int
    stride: int
    dilation: int
    begin: int
    end: int
    image: int
    values: int


def axis(rng: np.random.Generator, word: str, *, is_transposed: bool = False, dilates: bool = True) -> Axis:
    kernel, stride = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    dilation = int(rng.integers(1, 3)) if dilates else 1
    extent, values = dilation * (kernel - 1) + 1, int(rng.integers(1, 5))
    window = (kernel, stride, dilation)
    if word.startswith("same"):
        image = values * stride - (0 if is_transposed else int(rng.integers(0, stride)))
        return Axis(*window, 0, 0, image, values)
    full = stride * (values - 1) + extent
    begin, end = (int(rng.integers(0, extent + 1)) for _ in range(2)) if word == "none" else (0, 0)
    while full - begin - end < 1:
        begin, end = begin // 2, end // 2
    return Axis(*window, begin, end, full - begin - end + int(rng.integers(0, stride)), values)


def lists_of(axes: Sequence[Axis]) -> dict[str, list[int]]:
    return {
        "strides": [a.stride for a in axes],
        "pads_begin": [a.begin for a in axes],
        "pads_end": [a.end for a in axes],
        "dilations": [a.dilation for a in axes],
    }


def in_format(shape: Sequence[int], layout: str) -> tuple[int, ...]:
    """A shape from NCX order."""
    n, c, *spatial = shape
    return (n, c, *spatial) if layout == "NCX" else (n, *spatial, c)


def weights_gradient(cls: type[TableOp], rng: np.random.Generator) -> Drawn:
    """A problem of ConvolutionBackwardWeights or ConvTransposeBackwardWeights."""
    is_transposed = "Transpose" in cls.KIND
    word, layout = str(rng.choice(WORDS)), str(rng.choice(["NCX", "NXC"]))
    axes = [axis(rng, word, is_transposed=is_transposed) for _ in range(rng.integers(1, 4))]
    groups = int(rng.choice([1, 1, 2, 3]))
    first, second = (groups * int(rng.integers(1, 3)) for _ in range(2))
    batch = int(rng.choice([1, 2, 2, 0]))
    image = in_format((batch, second, *(a.image for a in axes)), layout)
    values = in_format((batch, first, *(a.values for a in axes)), layout)
    kernel = [a.kernel for a in axes]
    onnx_first = bool(rng.random() < 0.5)
    shape = [first, second // groups, *kernel] if onnx_first else [*kernel, second // groups, first]
    attributes = lists_of(axes) | {"groups": groups, "data_format": layout, "auto_pad": word}
    attributes |= {"weights_shape": shape, "weights_format": _weights_format(is_transposed, onnx_first)}
    return attributes, [values, image] if is_transposed else [image, values]


def _weights_format(is_transposed: bool, onnx_first: bool) -> str:
    return {
        (False, True): "OIX",
        (False, False): "XIO",
        (True, True): "IOX",
        (True, False): "XOI",
    }[is_transposed, onnx_first]


def pool_backward(cls: type[TableOp], rng: np.random.Generator) -> Drawn:
    """A problem of MaxPoolBackward or AvgPoolBackward, of a pool that rounds down or up."""
    is_max = cls.KIND.startswith("Max")
    word, layout = str(rng.choice(WORDS)), str(rng.choice(["NCX", "NXC"]))
    axes = [axis(rng, word, dilates=is_max) for _ in range(rng.integers(1, 4))]
    batch, channels = int(rng.choice([1, 2, 2, 0])), int(rng.integers(1, 4))
    image = in_format((batch, channels, *(a.image for a in axes)), layout)
    counts = [a.values + int(word == "none" and _rounds_up(a, rng)) for a in axes]
    values = in_format((batch, channels, *counts), layout)
    attributes = lists_of(axes) | {
        "kernel": [a.kernel for a in axes],
        "data_format": layout,
        "auto_pad": word,
    }
    if is_max:
        return attributes, [image, values]
    del attributes["dilations"]
    return attributes | {"exclude_pad": bool(rng.random() < 0.5), "src_shape": list(image)}, [values]


def _rounds_up(a: Axis, rng: np.random.Generator) -> bool:
    """Whether another window begins, which does not end in the padded image."""
    left = a.image + a.begin + a.end - a.dilation * (a.kernel - 1) - 1
    return left % a.stride > 0 and bool(rng.random() < 0.5)
