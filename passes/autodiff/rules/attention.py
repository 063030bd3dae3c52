"""Decompositions of Attention, RotaryEmbedding and SwiGLU."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i1

from dialects.onnx import ops as onnx
from dialects.onnx.dims import TO_THE_END
from passes.autodiff.common.gather_adjoint import iota
from passes.autodiff.common.primal import Primal
from passes.autodiff.common.slice_adjoint import size_of, vector
from passes.builder.values import Builder, Value

INFINITE = float("inf")


def swiglu(f: Primal, e: Builder) -> Sequence[Value]:
    gate, b = f.x, f.required(1)
    return [gate * (f.value("alpha", 1.0) * gate).sigmoid() * b]


def _by_heads(x: Value, heads: int) -> Value:
    """Reshape (B, length, heads * size) to (B, length, heads, size)."""
    hidden = size_of(x, 2)
    size = hidden // heads if isinstance(hidden, int) else hidden.apply(onnx.DivOp, x.e.ints([heads]))
    return x.apply(onnx.ReshapeOp, vector(x, [size_of(x, 0), size_of(x, 1), heads, size]), allowzero=1)


# Attention


def attention(f: Primal, e: Builder) -> Sequence[Value]:
    """softmax(Q K^T scale + bias) V; a fully masked query gives zeros and has no gradient."""
    q, k, v = f.x, f.required(1), f.required(2)
    packed = q.rank == 3
    if packed:
        heads = [f.value(f"{side}_num_heads") for side in ("q", "kv", "kv")]
        pairs = zip((q, k, v), heads, strict=True)
        q, k, v = (_by_heads(x, count).transpose([0, 2, 1, 3]) for x, count in pairs)
    k, v = (
        x if past is None else e.concat([past, x], 2) for x, past in ((k, f.operand(4)), (v, f.operand(5)))
    )
    ours, theirs = (_repeat_heads(x, k, q) for x in (k, v))
    products = (q * _scale(f, q)).apply(onnx.MatMulOp, ours.transpose([0, 1, 3, 2]))
    cap = f.value("softcap", 0.0)
    scores = (products / cap).tanh() * cap if cap else products
    biased, hidden = _mask_scores(f, scores, k)
    p = _softmax(biased, hidden, f.value("softmax_precision"))
    y = p.apply(onnx.MatMulOp, theirs)
    if packed:
        y = y.transpose([0, 2, 1, 3])
        rows = vector(y, [size_of(y, 0), size_of(y, 1), _product(size_of(y, 2), size_of(y, 3), y)])
        y = y.apply(onnx.ReshapeOp, rows, allowzero=1)
    shown = (products, scores, biased, p)[f.value("qk_matmul_output_mode", 0)]
    return [y, k, v, shown]


def _product(a: int | Value, b: int | Value, like: Value) -> int | Value:
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    return vector(like, [a]) * vector(like, [b])


def _scale(f: Primal, q: Value) -> Value | float:
    given, size = f.value("scale"), size_of(q, 3)
    if given is not None:
        return float(given)
    return size**-0.5 if isinstance(size, int) else 1 / size.cast(q.dtype).sqrt()


def _repeat_heads(x: Value, keys: Value, q: Value) -> Value:
    """Repeat each head of keys or values for the query heads that share it."""
    if q.shape[1] == keys.shape[1] is not None:
        return x
    sizes = [size_of(x, axis) for axis in range(4)]
    heads, shared = size_of(q, 1), size_of(keys, 1)
    if isinstance(heads, int) and isinstance(shared, int):
        times: int | Value = heads // shared
    else:
        times = vector(x, [heads]) / vector(x, [shared])
    wide = x.unsqueeze([2])
    wide = wide.apply(onnx.ExpandOp, vector(x, [1, 1, times, 1, 1]))
    return wide.apply(onnx.ReshapeOp, vector(x, [sizes[0], heads, *sizes[2:]]), allowzero=1)


def _mask_scores(f: Primal, scores: Value, keys: Value) -> tuple[Value, Value | None]:
    """Return the scores, -inf where masked, and a mask of fully masked queries if there may be any."""
    e, mask = scores.e, _mask(f, keys)
    may, is_safe = _position_mask(f, scores)
    if mask is not None and mask.dtype == i1:
        may, mask = mask if may is None else mask & may, None
    biased = scores if mask is None else scores + mask.cast(scores.dtype)
    biased = biased if may is None else may.where(biased, -INFINITE)
    if (may is None or is_safe) and f.operand(3) is None:
        return biased, None
    bias = e.scalar(0, scores) if mask is None else mask.cast(scores.dtype)
    bias = bias if may is None else may.where(bias, -INFINITE)
    # no maximum of -inf: OpenVINO and tract give the lowest finite number
    is_hidden = bias.equals(-INFINITE).cast(scores.dtype)
    return biased, is_hidden.apply(onnx.ReduceMinOp, e.ints([-1]), keepdims=1) > 0


def _mask(f: Primal, keys: Value) -> Value | None:
    """Return the mask padded to all keys; keys beyond its end are masked."""
    mask = f.operand(3)
    if mask is None or mask.shape[-1] == keys.shape[2] is not None:
        return mask
    e, have, want = mask.e, size_of(mask, mask.rank - 1), size_of(keys, 2)
    more = want - have if isinstance(want, int) and isinstance(have, int) else None
    more = vector(mask, [want]) - vector(mask, [have]) if more is None else more
    pads = vector(mask, [*[0] * (2 * mask.rank - 1), more])
    if mask.dtype == i1:
        return mask.apply(onnx.CastOp, to=f.x.dtype).apply(onnx.PadOp, pads) > 0
    return mask.apply(onnx.PadOp, pads, e.scalar(-INFINITE, mask))


def _position_mask(f: Primal, scores: Value) -> tuple[Value | None, bool]:
    """Return the mask by positions, or None, and whether it leaves each query at least one key."""
    e, past, lengths = scores.e, f.operand(4), f.operand(6)
    sides = [f.value(f"{side}_window_size", -1) for side in ("left", "right")]
    causal, windows = bool(f.value("is_causal", 0)), any(side >= 0 for side in sides)
    if not causal and not windows and lengths is None:
        return None, True
    queries, keys = (iota(size_of(scores, axis), scores) for axis in (2, 3))
    ahead = queries.unsqueeze([1]) - keys
    if lengths is not None:
        lengths = lengths.as_int64().apply(onnx.ReshapeOp, e.ints([-1, 1, 1, 1]))
        ahead = ahead + (lengths - vector(scores, [size_of(scores, 2)]))
    elif past is not None:
        ahead = ahead + vector(scores, [size_of(past, 2)])
    conditions = [ahead >= 0] if causal else []
    conditions += [ahead <= sides[0]] if sides[0] >= 0 else []
    conditions += [ahead >= -sides[1]] if sides[1] >= 0 else []
    conditions += [keys < lengths] if lengths is not None else []
    first, *others = conditions
    for other in others:
        first = first & other
    return first, not windows and lengths is None


def _softmax(scores: Value, hidden: Value | None, precision: object) -> Value:
    """Softmax over the last axis; zeros in fully masked rows, where it and its gradient would be NaN."""
    dtype = scores.dtype
    scores = scores if hidden is None else hidden.where(scores.e.scalar(0, scores), scores)
    wide = scores if precision is None else scores.apply(onnx.CastOp, to=precision)
    p = wide.apply(onnx.SoftmaxOp, axis=-1).cast(dtype)
    return p if hidden is None else hidden.where(p.e.scalar(0, p), p)


# RotaryEmbedding


def rotary_embedding(f: Primal, e: Builder) -> Sequence[Value]:
    """Rotate pairs of elements by the angles of their positions."""
    x, cos, sin, places = f.x, f.required(1), f.required(2), f.operand(3)
    rows = _by_heads(x, f.value("num_heads")) if x.rank == 3 else x
    axis = 2 if x.rank == 3 else 1
    if places is not None:
        cos, sin = (table.apply(onnx.GatherOp, places, axis=0) for table in (cos, sin))
    cos, sin = (table.unsqueeze([axis]) for table in (cos, sin))
    half, turned = size_of(cos, cos.rank - 1), f.value("rotary_embedding_dim", 0)
    part, rest = rows, None
    if turned and turned != rows.shape[3]:
        part, rest = _cut(rows, 0, turned), _cut(rows, turned, TO_THE_END)
    new = (_rotate_pairs if f.value("interleaved", 0) else _rotate_halves)(part, cos, sin, half)
    new = new if rest is None else e.concat([new, rest], 3)
    return [new.apply(onnx.ReshapeOp, e.shape(x), allowzero=1) if x.rank == 3 else new]


def _cut(x: Value, start: int | Value, end: int | Value) -> Value:
    """Slice the last of four axes."""
    return x.apply(onnx.SliceOp, vector(x, [start]), vector(x, [end]), x.e.ints([3]))


def _rotate(a: Value, b: Value, cos: Value, sin: Value) -> tuple[Value, Value]:
    return cos * a - sin * b, sin * a + cos * b


def _rotate_halves(part: Value, cos: Value, sin: Value, half: int | Value) -> Value:
    e = part.e
    pair = _rotate(_cut(part, 0, half), _cut(part, half, TO_THE_END), cos, sin)
    return e.concat(pair, 3)


def _rotate_pairs(part: Value, cos: Value, sin: Value, half: int | Value) -> Value:
    """Rotate pairs of adjacent elements."""
    e, sizes = part.e, [size_of(part, axis) for axis in range(4)]
    pairs = part.apply(onnx.ReshapeOp, vector(part, [*sizes[:3], half, 2]), allowzero=1)
    columns = e.emit.all(onnx.SplitOp(pairs.value, e.ints([1, 1]).value, axis=4, results=2))
    a, b = (e(column).squeeze([4]) for column in columns)
    pair = [one.unsqueeze([4]).value for one in _rotate(a, b, cos, sin)]
    joined = e(e.emit(onnx.ConcatOp(pair, axis=4)))
    return joined.apply(onnx.ReshapeOp, vector(part, sizes), allowzero=1)
