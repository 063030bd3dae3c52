"""MLIR texts of one gradient of any size, and JSON documents of any number of ops."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from support.documents import CONV


def type_of(shape: Sequence[int]) -> str:
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


def interpolation(src: Sequence[int], dst: Sequence[int], mode: str = "linear", layout: str = "NCX") -> str:
    spatial = dst[2:] if layout == "NCX" else dst[1:-1]
    return f"""func.func @main(%src: {type_of(src)}, %dy: {type_of(dst)}) -> {type_of(src)} {{
  %dx = onednn.interpolate_backward %src, %dy {{
    mode = "{mode}", sizes = {list(spatial)}, data_format = "{layout}"
  }} : ({type_of(src)}, {type_of(dst)}) -> {type_of(src)}
  return %dx : {type_of(src)}
}}
"""


def convolution(
    dst: Sequence[int],
    weights: Sequence[int],
    stride: int = 1,
    dilation: int = 1,
    layout: str = "NCX",
) -> str:
    """ConvolutionBackwardData without pads; `dst` is in the order of the layout, weights in OIX."""
    spatial = dst[2:] if layout == "NCX" else dst[1:-1]
    sizes = [stride * (y - 1) + (k - 1) * dilation + 1 for y, k in zip(spatial, weights[2:], strict=True)]
    src = [dst[0], weights[1], *sizes] if layout == "NCX" else [dst[0], *sizes, weights[1]]
    n = len(spatial)
    return f"""func.func @main(%dy: {type_of(dst)}, %w: {type_of(weights)}) -> {type_of(src)} {{
  %dx = onednn.convolution_backward_data %dy, %w {{
    strides = {[stride] * n}, pads_begin = {[0] * n}, pads_end = {[0] * n}, dilations = {[dilation] * n},
    data_format = "{layout}", weights_format = "OIX", dst_shape = {src}
  }} : ({type_of(dst)}, {type_of(weights)}) -> {type_of(src)}
  return %dx : {type_of(src)}
}}
"""


def parallel(count: int) -> dict[str, Any]:
    """A document of `count` convolutions side by side."""
    document = copy.deepcopy(CONV)
    (first,) = document["graph"]
    ops = []
    for index in range(count):
        op = copy.deepcopy(first)
        op["id"], op["name"] = index, f"op{index}"
        for tensor in (*op["inputs"], *op["outputs"]):
            tensor["id"] += 10 * index
        ops.append(op)
    return document | {"graph": ops, "input_ports": [], "output_ports": []}
