"""Decompositions of com.microsoft's fused sums, gates and norms."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32

from dialects.onnx import ops as onnx
from dialects.onnx.call import axis_of
from passes.autodiff.common.primal import Primal, refusal
from passes.autodiff.common.slice_adjoint import size_of, vector
from passes.autodiff.rules.attention import rotary_embedding as turned
from passes.builder.values import Builder, Value
from passes.decompositions.contrib.quantized import to_channels_first, to_channels_last
from passes.decompositions.registry import Results

# With a bias


def bias_add(f: Primal, e: Builder) -> Results:
    return [f.x + f.required(1) + f.required(2)]


def bias_dropout(f: Primal, e: Builder) -> Results:
    """BiasDropout in inference; only the op computes the mask."""
    if f.operand(4) is not None:
        raise refusal("training_mode", expected="none")
    total, residual = f.x + f.required(1), f.operand(2)
    return [total if residual is None else total + residual, None]


def bias_softmax(f: Primal, e: Builder) -> Results:
    """BiasSoftmax over all axes from `axis` on."""
    total, axis = f.x + f.required(1), axis_of(f.value("axis", 1), f.x.rank)
    if axis == total.rank - 1:
        return [total.apply(onnx.SoftmaxOp, axis=axis)]
    rows = total.apply(onnx.FlattenOp, axis=axis).apply(onnx.SoftmaxOp, axis=-1)
    return [rows.apply(onnx.ReshapeOp, e.shape(total), allowzero=1)]


def bias_split_gelu(f: Primal, e: Builder) -> Results:
    """Multiply the first half of the last axis by Gelu of the second."""
    total = f.x + f.required(1)
    width = total.shape[-1]
    if not isinstance(width, int):
        raise refusal("the width of X", given="unknown", expected="known")
    split = onnx.SplitOp(total.value, e.ints([width // 2] * 2).value, axis=total.rank - 1, results=2)
    left, right = map(e, e.emit.all(split))
    return [left * right.apply(onnx.GeluOp)]


# Norms


def group_norm(f: Primal, e: Builder) -> Results:
    return [_normalize_groups(f, f.x)]


def skip_group_norm(f: Primal, e: Builder) -> Results:
    """SkipGroupNorm, with the sum before the norm. The skip may be one row for all pixels."""
    skip, bias, last = f.required(3), f.operand(4), f.value("channels_last", 1)
    if skip.rank == 2:
        skip = skip.unsqueeze([1, 2] if last else [2, 3])
    total = f.x + skip
    if bias is not None:
        total = total + (bias if last else bias.unsqueeze([1, 2]))
    return [_normalize_groups(f, total), total]


def _normalize_groups(f: Primal, x: Value) -> Value:
    last = f.value("channels_last", 1)
    first = to_channels_first(x) if last else x
    scale, bias = f.required(1).cast(x.dtype), f.required(2).cast(x.dtype)
    own = {"num_groups": f.value("groups"), "epsilon": f.value("epsilon", 1e-5)}
    y = first.apply(onnx.GroupNormalizationOp, scale, bias, **own)
    y = y * y.sigmoid() if f.value("activation", 0) else y
    return to_channels_last(y) if last else y


def _rms(x: Value, epsilon: float) -> Value:
    """Normalize by the RMS over the last axis."""
    mean = x.square().apply(onnx.ReduceMeanOp, x.e.ints([x.rank - 1]), keepdims=1)
    return x / (mean + epsilon).sqrt()


def branchwise_rms_norm(f: Primal, e: Builder) -> Results:
    """RMS norm of each branch; branches are contiguous or a separate axis."""
    count, scale = f.value("num_branches", 0), f.operand(1)
    x = _branches(f.x.cast(f32), count)
    y = _rms(x, f.value("epsilon", 1e-5))
    if scale is not None:
        scale = scale.cast(f32)
        branches, width = (size_of(x, x.rank - 2 + i) for i in range(2))
        is_whole = scale.rank == 1 and scale.shape[0] != x.shape[-1]
        y = y * (scale.apply(onnx.ReshapeOp, vector(x, [branches, width])) if is_whole else scale)
    return [_merge_branches(y, f.x, count).cast(f.x.dtype)]


def gated_rms_norm(f: Primal, e: Builder) -> Results:
    scale, gate = f.required(1).cast(f32), f.required(2).cast(f32)
    width = scale.shape[0]
    if not isinstance(width, int):
        raise refusal("the width of scale", given="unknown", expected="known")
    sizes = [size_of(f.x, i) for i in range(f.x.rank - 1)]
    apart = f.x.cast(f32).apply(onnx.ReshapeOp, vector(f.x, [*sizes, -1, width]))
    y = _rms(apart, f.value("epsilon", 1e-5)) * scale
    opened = gate.sigmoid() if f.value("activation", "silu") == "sigmoid" else gate * gate.sigmoid()
    return [(y.apply(onnx.ReshapeOp, e.shape(f.x), allowzero=1) * opened).cast(f.x.dtype)]


# Gates


def gated_add(f: Primal, e: Builder) -> Results:
    if f.operand(3) is not None:
        raise refusal("gate_weight", expected="none", hint="onnxruntime's CPU kernel takes none either")
    return [f.x + f.required(1) * f.required(2)]


def scaled_silu(f: Primal, e: Builder) -> Results:
    scale = f.operand(1)
    x = f.x * f.value("alpha", 1.0) if scale is None else f.x * scale.cast(f.x.dtype)
    return [x * x.sigmoid()]


def linear_attention_gate(f: Primal, e: Builder) -> Results:
    a, b = f.x.cast(f32), f.operand(3)
    decay = ((a + f.required(1)).softplus() * f.required(2)).cast(f.x.dtype)
    return [decay, None if b is None else b.cast(f32).sigmoid().cast(f.x.dtype)]


def engram_gate(f: Primal, e: Builder) -> Results:
    """Return value times the sigmoid of the signed square root of normalized key . query."""
    keys, queries, value = (f.required(i).cast(f32) for i in range(3))
    scale, epsilon = f.operand(5), f.value("epsilon", 1e-5)
    pair = _rms(keys, epsilon) * f.required(3).cast(f32) * (_rms(queries, epsilon) * f.required(4).cast(f32))
    size = size_of(keys, 3)
    by = size**-0.5 if isinstance(size, int) else 1 / size.cast(f32).sqrt()
    dot = pair.apply(onnx.ReduceSumOp, e.ints([3]), keepdims=1) * by
    root = dot.abs().at_least(1e-6).sqrt()
    opened = (dot > 0).where(root, (dot < 0).where(-root, 0)).sigmoid()
    y = opened * value.unsqueeze([2])
    normed = None if scale is None else (_rms(y, epsilon) * scale.cast(f32)).cast(f.x.dtype)
    return [y.cast(f.x.dtype), normed]


# Streams


def _branches(x: Value, count: int) -> Value:
    """Reshape (..., C * H) to (..., C, H) if C is given."""
    if not count:
        return x
    sizes = [size_of(x, i) for i in range(x.rank - 1)]
    return x.apply(onnx.ReshapeOp, vector(x, [*sizes, count, -1]))


def _merge_branches(y: Value, x: Value, count: int) -> Value:
    return y.apply(onnx.ReshapeOp, x.e.shape(x), allowzero=1) if count else y


def _gates(gate: Value, like: Value) -> Value:
    """Broadcast (..., C), (..., C, 1), (..., C, H) or (..., C * H) to (..., C, H)."""
    e = like.e
    if not gate.rank or like.rank < 2:
        raise refusal("rank of streams and gates", given=f"{like.rank} and {gate.rank}", expected="2 and 1")
    if gate.rank == like.rank:
        return gate
    if gate.shape[-1] == like.shape[-2]:
        return gate.unsqueeze([gate.rank])
    return gate.apply(onnx.ReshapeOp, e.shape(like), allowzero=1)


def hyper_connection_pre_mix(f: Primal, e: Builder) -> Results:
    x = _branches(f.x.cast(f32), f.value("num_branches", 0))
    mixed = (x * _gates(f.required(1).cast(f32), x)).apply(onnx.ReduceSumOp, e.ints([x.rank - 2]), keepdims=0)
    return [(mixed * f.value("reduction_scale", 1.0)).cast(f.x.dtype)]


def hyper_connection_post_mix(f: Primal, e: Builder) -> Results:
    count, mix = f.value("num_branches", 0), f.operand(3)
    x = _branches(f.x.cast(f32), count)
    if mix is not None:
        order = [*range(mix.rank - 2), mix.rank - 1, mix.rank - 2]
        streams = mix.cast(f32).transpose(order).apply(onnx.MatMulOp, x)
    else:
        streams = x
    one = f.required(1).cast(f32).unsqueeze([x.rank - 2])
    y = streams + _gates(f.required(2).cast(f32), x) * one
    return [_merge_branches(y, f.x, count).cast(f.x.dtype)]


# Rotations by three positions


def m_rotary_embedding(f: Primal, e: Builder) -> Results:
    """Rotate by three positions, whose table columns are contiguous or interleaved."""
    places, cos, sin = (f.required(i) for i in range(1, 4))
    half, sections = cos.shape[1], f.value("mrope_section")
    if not isinstance(half, int):
        raise refusal("the width of cos_cache", given="unknown", expected="known")
    if f.value("mrope_layout", 0):
        which = np.zeros(half, np.int32)
        for stream in (1, 2):
            which[stream : sections[stream] * 3 : 3] = stream
    else:
        which = np.repeat(np.arange(3, dtype=np.int32), sections)
    heads = f.value("num_heads", 0)
    if f.x.rank == 3 and not heads:
        width = f.x.shape[2]
        if not isinstance(width, int):
            raise refusal("num_heads", expected="given where the width is unknown")
        heads = width // (2 * half)
    chosen = e(e.emit.constant(which[:half]))
    tables = [_select_streams(table.apply(onnx.GatherOp, places, axis=0), chosen) for table in (cos, sin)]
    part = f.value("rotary_embedding_dim", 0) or 2 * half
    own = {"interleaved": f.value("interleaved", 0), "num_heads": heads, "rotary_embedding_dim": part}
    return turned(Primal(e, [f.x, *tables], own), e)


def _select_streams(rows: Value, which: Value) -> Value:
    """Select (B, length, half) from (3, B, length, half): each column from its stream."""
    e = rows.e
    streams = (rows.apply(onnx.GatherOp, e(e.emit.constant(np.array(i, np.int32))), axis=0) for i in range(3))
    first, second, third = streams
    one, two = (which.equals(e(e.emit.constant(np.array(i, np.int32)))) for i in (1, 2))
    return two.where(third, one.where(second, first))
