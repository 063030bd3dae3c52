"""Decompositions of com.microsoft's attention ops, with masks, past and biases."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import i32

from dialects.onnx import ops as onnx
from dialects.onnx.values import constant_of
from passes.autodiff.common.gather_adjoint import iota
from passes.autodiff.common.primal import Primal, refusal
from passes.autodiff.common.slice_adjoint import size_of, vector
from passes.autodiff.rules.attention import rotary_embedding as turned
from passes.builder.values import Builder, Value
from passes.decompositions.contrib.heads import LOWEST, by_heads, inverse_sqrt_size, split_last_axis
from passes.decompositions.registry import Results


def attention(f: Primal, e: Builder) -> Results:
    """Attention of one input, whose projections are queries, keys and values."""
    weights, bias, past = f.required(1), f.operand(2), f.operand(4)
    if f.value("do_rotary", 0):
        hint = "onnxruntime's CPU kernel has none either: MultiHeadAttention and RotaryEmbedding have"
        raise refusal("do_rotary", given=1, expected=0, hint=hint)
    if f.operand(6) is not None:
        raise refusal("past_sequence_length", expected="none")
    sizes, width = f.value("qkv_hidden_sizes"), weights.shape[1]
    if not sizes:
        if not isinstance(width, int):
            raise refusal("the width of weights", given="unknown", expected="known")
        sizes = [width // 3] * 3
    product = f.x.apply(onnx.MatMulOp, weights)
    product = product if bias is None else product + bias
    q, k, v = split_last_axis(product, sizes)
    heads = f.value("num_heads")
    q, k, v = (by_heads(part, heads) for part in (q, k, v))
    pasts = (
        [None, None]
        if past is None
        else [past.apply(onnx.GatherOp, e(e.emit.constant(np.array(i))), axis=0) for i in (0, 1)]
    )
    k, v = (_append_to_past(old, new) for old, new in zip(pasts, (k, v), strict=True))
    y, _ = _attend(f, (q, k, v), mask=f.operand(3), bias=f.operand(5), past=pasts[0])
    if sizes[1] != sizes[2]:
        return [y, None]
    pair = [x.unsqueeze([0]).value for x in (k, v)]
    return [y, e(e.emit(onnx.ConcatOp(pair, axis=0)))]


def multi_head_attention(f: Primal, e: Builder) -> Results:
    """Attention of queries, keys and values, packed or not; keys and values may be in heads."""
    q, k, v, bias = f.x, f.operand(1), f.operand(2), f.operand(3)
    if f.operand(9) is not None:
        raise refusal("cache_indirection", expected="none")
    q, k, v = _unpack(q, k, v)
    heads = f.value("num_heads")
    if bias is not None:
        q, k, v = _add_bias(q, k, v, bias)
    q, k, v = (x if x.rank == 4 else by_heads(x, heads) for x in (q, k, v))
    pasts, length = (f.operand(6), f.operand(7)), f.operand(8)
    if length is not None:  # buffers longer than their contents
        pasts = tuple(None if past is None else _first_rows(past, length) for past in pasts)
    k, v = (_append_to_past(past, x) for past, x in zip(pasts, (k, v), strict=True))
    y, scores = _attend(f, (q, k, v), mask=f.operand(4), bias=f.operand(5), past=pasts[0])
    return [y, *((k, v) if length is None else (None, None)), scores]


def decoder_masked_multi_head_attention(f: Primal, e: Builder) -> Results:
    """Attention of one query per sequence; the present buffers are not computed."""
    beams = f.operand(8)
    known = None if beams is None else constant_of(beams.value)
    if f.operand(9) is not None and (known is None or known.reshape(-1)[0] != 1):
        raise refusal(
            "beam_width", given="unknown" if known is None else int(known.reshape(-1)[0]), expected=1
        )
    q, k, v, past = f.x, f.operand(1), f.operand(2), f.operand(5)
    if k is None or v is None:
        width = q.shape[2]
        if not isinstance(width, int) or width % 3:
            raise refusal("the width of the packed query", given=width, expected="three equal parts")
        q, k, v = split_last_axis(q, [width // 3] * 3)
    length = f.operand(7) if f.value("past_present_share_buffer", 0) else None
    others = [f.operand(10), f.operand(3), f.operand(4), past, f.operand(6), length]
    return multi_head_attention(Primal(e, [q, k, v, *others], f.attributes), e)[:1]


def _first_rows(past: Value, length: Value) -> Value:
    count = length.as_int64().apply(onnx.ReshapeOp, past.e.ints([1]))
    return past.apply(onnx.SliceOp, past.e.ints([0]), count, past.e.ints([2]))


def _unpack(q: Value, k: Value | None, v: Value | None) -> tuple[Value, Value, Value]:
    """Unpack (B, length, heads, 3, size), or such keys and values, to (B, length, heads * size)."""
    if k is None and q.rank == 5:
        return _flat(q, 0), _flat(q, 1), _flat(q, 2)
    if v is None and k is not None and k.rank == 5 and q.rank == 3:
        return q, _flat(k, 0), _flat(k, 1)
    if k is None or v is None or q.rank != 3 or not {k.rank, v.rank} <= {3, 4}:
        raise refusal("query, key and value", expected="three tensors, or a packed one of rank 5")
    return q, k, v


def _flat(packed: Value, index: int) -> Value:
    """Select a tensor on the last axis but one, and merge its heads."""
    e = packed.e
    one = packed.apply(onnx.GatherOp, e(e.emit.constant(np.array(index))), axis=3)
    batch, length, heads, size = (size_of(one, axis) for axis in range(4))
    if isinstance(heads, int) and isinstance(size, int):
        return one.apply(onnx.ReshapeOp, vector(one, [batch, length, heads * size]), allowzero=1)
    width = vector(one, [heads]) * vector(one, [size])
    return one.apply(onnx.ReshapeOp, vector(one, [batch, length, width]), allowzero=1)


def _add_bias(q: Value, k: Value, v: Value, bias: Value) -> tuple[Value, Value, Value]:
    """Add the biases; keys and values in heads already include theirs."""
    widths = [x.shape[-1] for x in (q, k, v)]
    known = [width for width in widths if isinstance(width, int)]
    if k.rank == 4 and v.rank == 4:
        return q + bias.apply(onnx.SliceOp, bias.e.ints([0]), vector(q, [size_of(q, 2)])), k, v
    if len(known) < 3 or 4 in (k.rank, v.rank):
        raise refusal("bias of keys whose width is unknown", expected="none")
    b = split_last_axis(bias, known)
    return q + b[0], k + b[1], v + b[2]


def _append_to_past(past: Value | None, x: Value) -> Value:
    return x if past is None else x.e.concat([past, x], 2)


def _attend(
    f: Primal, qkv: tuple[Value, Value, Value], mask: Value | None, bias: Value | None, past: Value | None
) -> tuple[Value, Value]:
    """Return softmax(Q K^T scale + masks + bias) V, and the softmax's argument."""
    q, k, v = qkv
    scale = f.value("scale", 0.0) or inverse_sqrt_size(q)
    scores = (q * scale).apply(onnx.MatMulOp, k.transpose([0, 1, 3, 2]))
    added = [] if bias is None else [bias]
    if mask is not None:
        hidden = scores.e.scalar(f.value("mask_filter_value", -10000.0), scores)
        added.append(_key_mask(mask, scores).where(scores.e.scalar(0, scores), hidden))
    for term in added:
        scores = scores + term
    if f.value("unidirectional", 0):
        scores = _causal_mask(scores, past).where(scores, LOWEST)
    rows = scores.apply(onnx.SoftmaxOp, axis=-1).apply(onnx.MatMulOp, v)
    rows = rows.transpose([0, 2, 1, 3])
    sizes = [size_of(rows, axis) for axis in range(4)]
    heads, size = (vector(rows, [size]) for size in sizes[2:])
    return rows.apply(onnx.ReshapeOp, vector(rows, [*sizes[:2], heads * size]), allowzero=1), scores


def _causal_mask(scores: Value, past: Value | None) -> Value:
    """Return the causal mask; past keys come first. The last query sees all keys: onnxruntime does not mask
    it."""
    lengths = [size_of(scores, axis) for axis in (2, 3)]
    queries, keys = (iota(length, scores) for length in lengths)
    rows = queries.unsqueeze([1])
    places = rows if past is None else rows + vector(scores, [size_of(past, 2)])
    last = vector(scores, [lengths[0]]) - 1
    return (places >= keys).apply(onnx.OrOp, rows.equals(last))


def _key_mask(mask: Value, scores: Value) -> Value:
    """Return the visible keys by a mask of end (and start) indices, or by a mask of keys."""
    e = mask.e
    if mask.rank in (2, 3):
        return (mask > 0).unsqueeze([1, 2] if mask.rank == 2 else [1])
    if mask.rank != 1:
        raise refusal("mask", given=f"{mask.rank}D", expected="1D to 3D")
    first = vector(scores, [size_of(scores, 0)])
    ends = mask.as_int64().apply(onnx.SliceOp, e.ints([0]), first)
    ends = ends.apply(onnx.ReshapeOp, e.ints([-1, 1, 1, 1]))
    places = iota(size_of(scores, 3), scores)
    return (places < ends) & (places >= _starts(mask.as_int64(), first))


def _starts(mask: Value, first: Value) -> Value:
    """Return the starts, which follow the ends; with 3 B + 2 entries those are cumulative, and starts are
    0."""
    e, count = mask.e, vector(mask, [size_of(mask, 0)])
    zeros = e.ints([0]).apply(onnx.ExpandOp, first)
    both = e.concat([mask, zeros], 0)
    starts = count.equals(first * 2).where(both.apply(onnx.SliceOp, first, first * 2), zeros)
    return starts.apply(onnx.ReshapeOp, e.ints([-1, 1, 1, 1]))


def embed_layer_normalization(f: Primal, e: Builder) -> Results:
    scale, bias = f.required(5), f.required(6)

    def rows(table: int, index: Value) -> Value:
        found = f.required(table)
        return found.apply(onnx.GatherOp, index, axis=0)

    y, total = sum_embeddings(f, rows, scale, bias, f.operand(8))
    return [y, unmasked_words(f), total]


def unmasked_words(f: Primal) -> Value:
    """Return the number of unmasked words in each row; 0 without a mask."""
    mask, e = f.operand(7), f.e
    if mask is None:
        zero = e(e.emit.constant(np.array(0, np.int32)))
        return zero.apply(onnx.ExpandOp, vector(f.x, [size_of(f.x, 0)]))
    one = e(e.emit.constant(np.array(1, np.int32)))
    return mask.equals(one).cast(i32).apply(onnx.ReduceSumOp, e.ints([1]), keepdims=0)


def sum_embeddings(
    f: Primal, rows: Callable[[int, Value], Value], scale: Value, bias: Value, places: Value | None
) -> tuple[Value, Value]:
    """Return the normalized sum of word, position and segment embeddings, and the sum. `rows` gathers from an
    operand."""
    segments = f.operand(1)
    places = iota(size_of(f.x, 1), f.x) if places is None else places
    total = rows(2, f.x) + rows(3, places)
    if segments is not None and f.operand(4) is not None:
        total = total + rows(4, segments)
    given = {"axis": -1, "epsilon": f.value("epsilon", 1e-12)}
    return total.apply(onnx.LayerNormalizationOp, scale, bias, **given), total


def rotary_embedding(f: Primal, e: Builder) -> Results:
    """A single position is that of the first row; the next ones follow. onnxruntime ignores `scale`;
    `is_packed_batching` only allows more rows than the tables have."""
    places, cos, sin = (f.required(i) for i in (1, 2, 3))
    x, heads, part = f.x, f.value("num_heads", 0), f.value("rotary_embedding_dim", 0)
    if x.rank == 3 and not heads:
        width, half = x.shape[2], cos.shape[1]
        if not isinstance(width, int) or not isinstance(half, int):
            raise refusal("num_heads", expected="given where the width is unknown")
        heads = width // (2 * half)
    if places.rank == 1:
        length, batch = (size_of(x, axis) for axis in (1 if x.rank == 3 else 2, 0))
        counts = iota(length, x) + places
        places = counts.unsqueeze([0]).apply(onnx.ExpandOp, vector(x, [batch, 1]))
    own = {"interleaved": f.value("interleaved", 0), "num_heads": heads, "rotary_embedding_dim": part}
    return turned(Primal(e, [x, cos, sin, places], own), e)
