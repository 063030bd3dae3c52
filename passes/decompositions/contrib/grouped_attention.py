"""Body of com.microsoft's GroupQueryAttention, whose query heads share key heads."""

from __future__ import annotations

import numpy as np

from dialects.onnx import ops as onnx
from passes.autodiff.common.gather_adjoint import iota
from passes.autodiff.common.primal import Primal, refusal
from passes.autodiff.common.slice_adjoint import size_of, vector
from passes.autodiff.rules.attention import rotary_embedding as turned
from passes.builder.values import Builder, Value
from passes.decompositions.contrib.heads import LOWEST, by_heads, inverse_sqrt_size, split_last_axis
from passes.decompositions.registry import Results

BEFORE_SOFTMAX = 1
"""`qk_output` of the softmax's argument, 0 for masked keys. 2: its result."""


def group_query_attention(f: Primal, e: Builder) -> Results:
    """softmax(Q K^T scale + bias) V, causal by default. New keys are rounded first if the past is 8-bit."""
    _check(f)
    q, k, v = _by_heads(f)
    places, total = _query_positions(f, q)
    if f.operand(14) is not None:
        q, k = _normalize_heads(f, q, "q", 14), _normalize_heads(f, k, "k", 15)
    if f.value("do_rotary", 0):
        q, k = (_rotate(f, x, places) for x in (q, k))
    new, past = (k, v), (f.operand(3), f.operand(4))
    if f.value("kv_cache_bit_width", 0) and past[0] is not None:
        k, v = (_round_to_cache(f, x, kind, place) for x, kind, place in ((k, "k", 12), (v, "v", 13)))
        past = tuple(
            _dequantize_past(f, x, kind, place) for x, kind, place in zip(past, "kv", (12, 13), strict=True)
        )
    if past[0] is not None:
        first = places.apply(onnx.SliceOp, e.ints([0]), e.ints([1]), e.ints([1]))
        k, v = (_append_to_past(old, x, first, total) for old, x in zip(past, (k, v), strict=True))
    kept = [None, None] if past[0] is not None else list(new)
    y, read = _attend(f, (q, k, v), places)
    return [y, *kept, read]


def _check(f: Primal) -> None:
    for name, expected in (("sliding_window_cache", 0), ("kv_cache_bit_width", 8)):
        if f.value(name, 0) not in (0, expected):
            raise refusal(name, given=f.value(name), expected=expected)
    if f.operand(16) is not None:
        raise refusal("query_seqlens", expected="none")


def _normalize_heads(f: Primal, x: Value, which: str, place: int) -> Value:
    """Normalize each head by its RMS."""
    weights = f.operand(place)
    if weights is None:
        raise refusal("q_norm_weight and k_norm_weight", expected="both")
    epsilon = f.value(f"{which}_norm_epsilon", f.value("qk_norm_epsilon", 1e-6))
    return x.apply(onnx.RMSNormalizationOp, weights, axis=-1, epsilon=epsilon)


def _scale_of(f: Primal, which: str, place: int) -> Value:
    """Return the scale: a scalar, or (1, heads, 1, size)."""
    scale, kind = f.operand(place), f.value(f"{which}_quant_type", "NONE")
    if scale is None or kind not in ("PER_TENSOR", "PER_CHANNEL"):
        raise refusal(f"{which}_quant_type", given=kind, expected="PER_TENSOR or PER_CHANNEL, with a scale")
    if kind == "PER_TENSOR":
        return scale.apply(onnx.ReshapeOp, scale.e.ints([])) if scale.rank else scale
    return scale.apply(onnx.ReshapeOp, scale.e.ints([1, f.value("kv_num_heads"), 1, -1]))


def _dequantize_past(f: Primal, past: Value | None, which: str, place: int) -> Value:
    """Dequantize the past."""
    assert past is not None
    scale = _scale_of(f, which, place)
    return (past.cast(scale.dtype) * scale).cast(f.x.dtype)


def _round_to_cache(f: Primal, x: Value, which: str, place: int) -> Value:
    """Round new keys or values (B, heads, length, size) as in the past."""
    e, scale = x.e, _scale_of(f, which, place)
    zero, rows = e(e.emit.constant(np.zeros((), np.int8))), x
    if scale.rank:
        scale = scale.apply(onnx.ReshapeOp, e.ints([-1]))
        zero = zero.apply(onnx.ExpandOp, vector(scale, [size_of(scale, 0)]))
        by_token = x.transpose([0, 2, 1, 3])
        rows = by_token.apply(onnx.ReshapeOp, e.ints([0, 0, -1]))
    own = {"axis": 2} if scale.rank else {}
    codes = rows.apply(onnx.QuantizeLinearOp, scale.cast(x.dtype), zero, **own)
    found = codes.apply(onnx.DequantizeLinearOp, scale.cast(x.dtype), zero, **own)
    return by_heads(found, f.value("kv_num_heads")) if scale.rank else found


def _by_heads(f: Primal) -> tuple[Value, Value, Value]:
    """Return queries, keys and values, separate or packed, as (B, heads, length, size)."""
    heads, shared = f.value("num_heads"), f.value("kv_num_heads")
    q, k, v = f.x, f.operand(1), f.operand(2)
    if k is None or v is None:
        width = q.shape[2]
        if not isinstance(width, int):
            raise refusal("the width of the packed query", given="unknown", expected="known")
        size = width // (heads + 2 * shared)
        q, k, v = split_last_axis(q, [heads * size, shared * size, shared * size])
    return by_heads(q, heads), by_heads(k, shared), by_heads(v, shared)


def _query_positions(f: Primal, q: Value) -> tuple[Value, Value]:
    """Return the position of each query in its sequence (B, length), and the maximum length.

    Positions of a first prompt start at 0; shorter sequences are padded at the end.
    """
    e, lengths, total = q.e, f.required(5), f.required(6)
    total = total.as_int64().apply(onnx.ReshapeOp, e.ints([1]))
    count = vector(q, [size_of(q, 2)])
    ends = lengths.as_int64().apply(onnx.ReshapeOp, e.ints([-1, 1])) + e.ints([1])
    first = total.equals(count).where(e.ints([0]), ends - count)
    if f.operand(3) is None:
        first = ends * e.ints([0])
    return first + iota(size_of(q, 2), q), total


def _rotate(f: Primal, x: Value, places: Value) -> Value:
    cos, sin = f.operand(7), f.operand(8)
    if cos is None or sin is None or not isinstance(cos.shape[1], int):
        raise refusal("cos_cache and sin_cache", given="absent, or of unknown width", expected="given")
    own = {"interleaved": f.value("rotary_interleaved", 0), "rotary_embedding_dim": 2 * cos.shape[1]}
    (found,) = turned(Primal(x.e, [x, cos, sin, _rotation_positions(f, x, places)], own), x.e)
    return found


def _rotation_positions(f: Primal, x: Value, places: Value) -> Value:
    """Return the rotation steps of each row. For a first prompt the kernel uses the first given position for
    all sequences."""
    e, given, total = x.e, f.operand(9), f.required(6)
    if given is None:
        return places
    length = size_of(x, 2)
    is_first = total.as_int64().apply(onnx.ReshapeOp, e.ints([1])).equals(vector(x, [length]))
    start = given.apply(onnx.ReshapeOp, e.ints([-1])).apply(onnx.SliceOp, e.ints([0]), e.ints([1]))
    return is_first.where(iota(length, x) + start, given)


def _append_to_past(past: Value | None, x: Value, first: Value, total: Value) -> Value:
    """Return the first `first` keys or values of the past, followed by the new ones."""
    assert past is not None
    e = x.e
    both = e.concat([past, x], 2)
    number = iota(total, x)
    kept, most = vector(x, [size_of(past, 2)]), vector(both, [size_of(both, 2)]) - e.ints([1])
    index = (number < first).where(number, number - first + kept).at_most(most)
    rows = both.transpose([0, 2, 1, 3])
    found = rows.apply(onnx.GatherNDOp, index.unsqueeze([2]), batch_dims=1)
    return found.transpose([0, 2, 1, 3])


def _attend(f: Primal, qkv: tuple[Value, Value, Value], places: Value) -> tuple[Value, Value | None]:
    """Return the result, and the output that `qk_output` selects. Query heads of a group are a separate
    axis."""
    q, k, v = qkv
    e, heads, shared = q.e, f.value("num_heads"), f.value("kv_num_heads")
    batch, length, size = (size_of(q, axis) for axis in (0, 2, 3))
    group = vector(q, [batch, shared, heads // shared, length, size])
    q = (q * (f.value("scale", 0.0) or inverse_sqrt_size(q))).apply(onnx.ReshapeOp, group, allowzero=1)
    k, v = (x.unsqueeze([2]) for x in (k, v))
    scores = q.apply(onnx.MatMulOp, k.transpose([0, 1, 2, 4, 3]))
    if cap := f.value("softcap", 0.0):
        scores = (scores / cap).tanh() * cap
    if (bias := f.operand(10)) is not None:
        scores = scores + _group_bias(bias, heads, shared)
    seen = _key_mask(f, places, size_of(k, 3), scores)
    weights = _softmax(f, seen.where(scores, LOWEST))
    rows, read = weights.apply(onnx.MatMulOp, v), None
    if kind := f.value("qk_output", 0):
        read = seen.where(scores, 0.0) if kind == BEFORE_SOFTMAX else weights
        read = read.apply(onnx.ReshapeOp, vector(q, [batch, heads, length, size_of(k, 3)]), allowzero=1)
    by_head = vector(q, [batch, heads, length, size_of(v, 4)])
    rows = rows.apply(onnx.ReshapeOp, by_head, allowzero=1).transpose([0, 2, 1, 3])
    width = size_of(v, 4)
    width = width * heads if isinstance(width, int) else width * e.ints([heads])
    return rows.apply(onnx.ReshapeOp, vector(q, [batch, length, width]), allowzero=1), read


def _group_bias(bias: Value, heads: int, shared: int) -> Value:
    if bias.shape[1] == 1:
        return bias.unsqueeze([2])
    sizes = [size_of(bias, 0), shared, heads // shared, size_of(bias, 2), size_of(bias, 3)]
    return bias.apply(onnx.ReshapeOp, vector(bias, sizes), allowzero=1)


def _key_mask(f: Primal, places: Value, count: int | Value, scores: Value) -> Value:
    """Return the visible keys: those up to the query's position, perhaps in a window; all of the sequence if
    not causal."""
    e, lengths = scores.e, f.required(5)
    if not f.value("causal", 1):
        ends = lengths.as_int64().apply(onnx.ReshapeOp, e.ints([-1, 1, 1, 1, 1]))
        return iota(count, scores) <= ends
    own = places.unsqueeze([1, 2, 4])
    keys, window = iota(count, scores), f.value("local_window_size", -1)
    seen = keys <= own
    return seen & (keys > own - e.ints([window])) if window > 0 else seen


def _softmax(f: Primal, scores: Value) -> Value:
    """Softmax, with an additional term in the denominator for `smooth_softmax` (1) or a head's sink."""
    e, sink = scores.e, f.operand(11)
    if sink is None and f.value("smooth_softmax", 0) != 1:
        return scores.apply(onnx.SoftmaxOp, axis=-1)
    sizes = [*(size_of(scores, axis) for axis in range(4)), 1]
    term = e.scalar(0, scores)
    if sink is not None:
        split = [1, f.value("kv_num_heads"), f.value("num_heads") // f.value("kv_num_heads"), 1, 1]
        term = sink.cast(scores.dtype).apply(onnx.ReshapeOp, e.ints(split))
    term = term.apply(onnx.ExpandOp, vector(scores, sizes))
    longer = e.concat([scores, term], 4).apply(onnx.SoftmaxOp, axis=-1)
    return longer.apply(onnx.SliceOp, e.ints([0]), e.ints([-1]), e.ints([4])).assume_shape(scores.shape)
