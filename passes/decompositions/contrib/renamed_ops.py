"""Decompositions of com.microsoft ops that match ONNX ops up to version, attributes or axis order."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import i64

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.call import axis_of
from dialects.onnx.dims import TO_THE_END
from dialects.onnx.values import constant_of
from passes.autodiff.common.gather_adjoint import iota
from passes.autodiff.common.primal import Primal, refusal
from passes.autodiff.common.slice_adjoint import size_of, vector
from passes.builder.values import Builder, Value
from passes.decompositions.contrib.activations import apply_activation
from passes.decompositions.contrib.quantized import to_channels_first, to_channels_last
from passes.decompositions.registry import Body, Results

_WINDOW_ATTRIBUTES = ("auto_pad", "dilations", "kernel_shape", "pads", "strides")

_UNSUPPORTED_ATTRIBUTES = (
    *("input_channel_offset", "input_channels", "state_length", "state_update_capacity", "state_window"),
)


def same_as(op: type[OnnxOp], *attributes: str) -> Body:
    """Return a decomposition to `op` with the same operands, and these attributes."""

    def body(f: Primal, e: Builder) -> Results:
        others = [f.operand(i) for i in range(1, len(f.operands))]
        return [f.x.apply(op, *others, **_select_attributes(f, *attributes))]

    return body


def _select_attributes(f: Primal, *names: str) -> dict[str, object]:
    return {name: f.attributes[name] for name in names if name in f.attributes}


def identity(f: Primal, e: Builder) -> Results:
    return [f.x.apply(onnx.IdentityOp)]


def expand_dims(f: Primal, e: Builder) -> Results:
    axis = f.required(1)
    known = constant_of(axis.value)
    if known is None:
        raise refusal("axis", given="known at run time", expected="a constant")
    return [f.x.unsqueeze([int(known.reshape(-1)[0])])]


def pad(f: Primal, e: Builder) -> Results:
    pads, value = f.required(1), f.operand(2)
    if pads.rank == 2:
        pads = pads.apply(onnx.ReshapeOp, e.ints([-1]))
    if value is not None and value.rank:
        value = value.apply(onnx.ReshapeOp, e.ints([]))
    return [f.x.apply(onnx.PadOp, pads, value, **_select_attributes(f, "mode"))]


def range_(f: Primal, e: Builder) -> Results:
    start, limit, delta = f.x, f.required(1), f.operand(2)
    step = e.scalar(1, start) if delta is None else delta
    first, *others = (x.apply(onnx.ReshapeOp, e.ints([])) if x.rank else x for x in (start, limit, step))
    return [first.apply(onnx.RangeOp, *others)]


def unique(f: Primal, e: Builder) -> Results:
    """Return the values in order of occurrence, the inverse indices, and the counts."""
    y, _, inverse, counts = map(e, e.emit.all(onnx.UniqueOp(f.x.value, sorted=0)))
    return [y, inverse, counts]


def grid_sample(f: Primal, e: Builder) -> Results:
    given = _select_attributes(f, "align_corners", "padding_mode")
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(f.value("mode", "bilinear"), "nearest")
    return [f.x.apply(onnx.GridSampleOp, f.operand(1), mode=mode, **given)]


def unfold_tensor(f: Primal, e: Builder) -> Results:
    """Windows along an axis, with their elements on a new last axis."""
    axis, size, step = axis_of(f.value("dim", -1), f.x.rank), f.value("size"), f.value("step", 1)
    length = size_of(f.x, axis)
    if isinstance(length, int):
        rows = [[start + i for i in range(size)] for start in range(0, length - size + 1, step)]
        places = np.array(rows, np.int64).reshape(len(rows), size)
        windows = f.x.apply(onnx.GatherOp, e(e.emit.constant(places)), axis=axis)
    else:
        count = (length - (size - step)).apply(onnx.DivOp, e.ints([step]))
        starts = (iota(count, f.x) * step).unsqueeze([1])
        windows = f.x.apply(onnx.GatherOp, starts + e.ints(range(size)), axis=axis)
    order = [i for i in range(windows.rank) if i != axis + 1]
    return [windows.transpose([*order, axis + 1])]


def conv_transpose_with_dynamic_pads(f: Primal, e: Builder) -> Results:
    pads, given = (
        f.operand(2),
        _select_attributes(f, "auto_pad", "dilations", "group", "kernel_shape", "output_padding", "strides"),
    )
    if pads is not None:
        known = constant_of(pads.value)
        if known is None:
            raise refusal("Pads", given="known at run time", expected="a constant")
        given["pads"] = [int(n) for n in known.reshape(-1)]
    return [f.x.apply(onnx.ConvTransposeOp, f.operand(1), f.operand(3), **given)]


def nhwc_max_pool(f: Primal, e: Builder) -> Results:
    return [
        to_channels_last(
            to_channels_first(f.x).apply(
                onnx.MaxPoolOp, **_select_attributes(f, *_WINDOW_ATTRIBUTES, "ceil_mode")
            )
        )
    ]


def nhwc_conv(f: Primal, e: Builder) -> Results:
    """act(Conv(X, W, B) + Z), channels last; weights as in ONNX."""
    given, added = _select_attributes(f, *_WINDOW_ATTRIBUTES, "group"), f.operand(3)
    y = to_channels_last(to_channels_first(f.x).apply(onnx.ConvOp, f.operand(1), f.operand(2), **given))
    y = y if added is None else y + added
    return [apply_activation(f.value("activation", ""), y, f.value("activation_params", []))]


def linear_attention(f: Primal, e: Builder) -> Results:
    if f.value("state_window", 0):
        raise refusal("state_window", given=f.value("state_window"), expected=0)
    if f.value("q_num_heads") < f.value("kv_num_heads"):
        raise refusal("q_num_heads", given=f.value("q_num_heads"), expected="no fewer than kv_num_heads")
    names = ("chunk_size", "kv_num_heads", "q_num_heads", "scale", "update_rule")
    q, k, v = (f.required(i).value for i in range(3))
    others = [None if x is None else x.value for x in map(f.operand, range(3, 6))]
    return list(map(e, e.emit.all(onnx.LinearAttentionOp(q, k, v, *others, **_select_attributes(f, *names)))))


def causal_conv(f: Primal, e: Builder) -> Results:
    """A depthwise convolution over past elements, which are the state; channels may be last."""
    for name in _UNSUPPORTED_ATTRIBUTES:
        if f.value(name, 0):
            raise refusal(name, given=f.value(name), expected=0)
    last, apart, weights, past = (
        f.value("channels_last", 0),
        f.value("dilation", 1),
        f.required(1),
        f.operand(3),
    )
    channels, taps = weights.shape[0], weights.shape[2]
    if f.value("ndim", 1) != 1 or f.x.rank != 3 or not isinstance(channels, int) or not isinstance(taps, int):
        raise refusal("CausalConvWithState", expected="one spatial axis, and weights of known sizes")
    x, length = to_channels_first(f.x) if last else f.x, (taps - 1) * apart
    if past is None:
        whole = x.apply(onnx.PadOp, e.ints([0, 0, length, 0, 0, 0]))
    else:
        past = to_channels_first(past) if last else past
        whole = e.concat([past, x], 2)
    y = whole.apply(onnx.ConvOp, weights, f.operand(2), group=channels, dilations=[apart]).assume_shape(
        x.shape
    )
    if f.value("activation", "none") != "none":
        y = y * y.sigmoid()
    if not length:
        return [to_channels_last(y) if last else y, None]
    state = whole.apply(onnx.SliceOp, e.ints([-length]), e.ints([TO_THE_END]), e.ints([2]))
    return [to_channels_last(part) if last else part for part in (y, state)]


def cdist(f: Primal, e: Builder) -> Results:
    """Return the distance of each row of A from each row of B, (M, N)."""
    b, metric = f.required(1), f.value("metric", "sqeuclidean")
    if metric not in ("euclidean", "sqeuclidean"):
        raise refusal("metric", given=metric, expected="euclidean or sqeuclidean")
    apart = f.x.unsqueeze([1]) - b.unsqueeze([0])
    op = onnx.ReduceL2Op if metric == "euclidean" else onnx.ReduceSumSquareOp
    return [apart.apply(op, e.ints([2]), keepdims=0)]


def crop_and_resize(f: Primal, e: Builder) -> Results:
    """Sample the region's image on a grid with the region's corners."""
    regions, images, size = f.required(1), f.required(2), f.required(3)
    known, is_nearest = constant_of(size.value), f.value("mode", "bilinear") == "nearest"
    if known is None:
        raise refusal("crop_size", given="known at run time", expected="a constant")
    ends = e.emit.all(onnx.SplitOp(regions.value, e.ints([1] * 4).value, axis=1, results=4))
    top, left, bottom, right = map(e, ends)
    ways = [np.linspace(0, 1, int(n), dtype=np.float32) for n in known]
    rows, columns = (
        (start + (end - start) * e(e.emit.constant(way))) * 2 - 1 if len(way) > 1 else start + end - 1
        for start, end, way in ((top, bottom, ways[0]), (left, right, ways[1]))
    )
    shape = vector(f.x, [size_of(regions, 0), *map(len, ways), 1])
    row = rows.unsqueeze([2, 3]).apply(onnx.ExpandOp, shape)
    column = columns.unsqueeze([1, 3]).apply(onnx.ExpandOp, shape)
    row, column = (x * 0 if f.x.shape[axis] == 1 else x for x, axis in ((row, 2), (column, 3)))
    places = [_nearest(x, size_of(f.x, axis)) if is_nearest else x for x, axis in ((column, 3), (row, 2))]
    grid = e.concat(places, 3)
    chosen = f.x.apply(onnx.GatherOp, images.cast(i64), axis=0)
    found = chosen.apply(onnx.GridSampleOp, grid, align_corners=1, mode="linear", padding_mode="zeros")
    inside = [(x <= 1.0) & (x >= -1.0) for x in (row, column)]
    seen = (inside[0] & inside[1]).transpose([0, 3, 1, 2])
    return [seen.where(found, f.value("extrapolation_value", 0.0))]


def _nearest(x: Value, size: int | Value) -> Value:
    """Round a coordinate in [-1, 1] to the nearest pixel, halves away from 0."""
    steps = max(size - 1, 1) / 2 if isinstance(size, int) else (size - 1).cast(x.dtype).at_least(1) / 2
    return ((x + 1) * steps + 0.5).apply(onnx.FloorOp) / steps - 1


gather_nd = same_as(onnx.GatherNDOp)
trilu = same_as(onnx.TriluOp, "upper")
