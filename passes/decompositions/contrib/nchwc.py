"""Decompositions of com.microsoft.nchwc ops, which onnxruntime writes for one machine.

Their blocked layout has 8 or 16 channels per block, padded with zeros, for data and weights. The
decompositions keep data between them in NCHW with the padding channels last, which elementwise ops and those
along any axis compute alike.
"""

from __future__ import annotations

from math import prod

import numpy as np

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.domains import BLOCK
from dialects.support.shapes import static
from passes.autodiff.common.primal import Primal, refusal
from passes.builder.values import Builder, Value
from passes.decompositions.contrib.activations import apply_activation
from passes.decompositions.contrib.quantized import to_channels_first, to_channels_last
from passes.decompositions.registry import Body, Results


def conv(f: Primal, e: Builder) -> Results:
    """act(Conv(X, W, B) + Sum)"""
    weights, bias, added = f.required(1), f.operand(2), f.operand(3)
    own = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")
    given = {name: value for name, value in f.attributes.items() if name in own}
    y = f.x.apply(onnx.ConvOp, _unblock_weights(f, weights), bias, **given)
    y = y if added is None else y + added
    return [apply_activation(f.value("activation", ""), y, f.value("activation_params", []))]


def _block(f: Primal) -> int:
    block = f.value(BLOCK)
    if block is None:
        raise refusal("channels of a block", given="unknown", expected="8 or 16, depending on the processor")
    return block


def _unblock_weights(f: Primal, weights: Value) -> Value:
    """Return weights (O, I, ...) from (O / b, I / b, ..., b, b), or from (O / b, I, ..., b) if the input is
    not blocked or the convolution is depthwise."""
    e, block, sizes = weights.e, _block(f), static(weights.shape)
    if sizes is None or len(sizes) < 2 or sizes[0] % block:
        raise refusal("sizes of weights", given="unknown", expected=f"known, for blocks of {block} channels")
    filters, channels, *window = sizes
    places = range(2, 2 + len(window))
    if channels < block:
        lying, order = [filters // block, channels, *window, block], [0, len(sizes), 1, *places]
    else:
        lying = [filters // block, channels // block, *window, block, block]
        order = [0, len(sizes) + 1, 1, len(sizes), *places]
    if prod(lying) != prod(sizes):
        raise refusal("channels of weights", given=channels, expected=f"fewer than {block}, or blocks of it")
    apart = weights.apply(onnx.ReshapeOp, e.ints(lying)).transpose(order)
    return apart.apply(onnx.ReshapeOp, e.ints(sizes))


def reorder_input(f: Primal, e: Builder) -> Results:
    x = to_channels_first(f.x) if f.value("channels_last", 0) else f.x
    channels = x.shape[1] if x.rank > 1 else None
    if not isinstance(channels, int):
        raise refusal("channels", given="unknown", expected="known")
    behind = -channels % _block(f)
    pads = [0] * x.rank * 2
    pads[x.rank + 1] = behind
    return [x.apply(onnx.PadOp, e.ints(pads)) if behind else x.apply(onnx.IdentityOp)]


def reorder_output(f: Primal, e: Builder) -> Results:
    y = f.x.apply(onnx.SliceOp, e.ints([0]), e.ints([f.value("channels")]), e.ints([1]))
    return [to_channels_last(y) if f.value("channels_last", 0) else y]


WINDOW = ("auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "strides")


def pool(op: type[OnnxOp], *own: str) -> Body:
    def body(f: Primal, e: Builder) -> Results:
        return [f.x.apply(op, **{name: value for name, value in f.attributes.items() if name in own})]

    return body


def upsample(f: Primal, e: Builder) -> Results:
    mode, scales = f.value("mode", "nearest"), f.value("scales")
    rule = f.value("coordinate_transformation_mode", "asymmetric")
    own = {"coordinate_transformation_mode": rule, "mode": mode}
    if mode == "nearest":  # integer scales: all coordinate modes repeat
        own = {"coordinate_transformation_mode": "asymmetric", "mode": mode, "nearest_mode": "floor"}
    return [f.x.apply(onnx.ResizeOp, None, e(e.emit.constant(np.array(scales, np.float32))), **own)]


average_pool = pool(onnx.AveragePoolOp, *WINDOW, "count_include_pad")
global_average_pool = pool(onnx.GlobalAveragePoolOp)
global_max_pool = pool(onnx.GlobalMaxPoolOp)
max_pool = pool(onnx.MaxPoolOp, *WINDOW)
