# pyright: standard
# (numpy in comprehensions and lambdas, whose elements its stubs do not know)
"""numpy semantics of Attention, LinearAttention, CausalConvWithState and RotaryEmbedding."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dialects.onnx.call import Call
from dialects.onnx.operands import optional, value
from dialects.support.dtypes import of_mlir

Kernel = Callable[[Call], Sequence[np.ndarray]]


def attention(call: Call) -> list[np.ndarray]:
    """Compute softmax(Q K^T scale + bias) V; a fully masked query gives zeros."""
    q, k, v = (value(call, i) for i in range(3))
    packed, groups = q.ndim == 3, (call.attribute("q_num_heads"), call.attribute("kv_num_heads"))
    if packed:
        q, k, v = (_by_heads(x, n) for x, n in ((q, groups[0]), (k, groups[1]), (v, groups[1])))
    past = [optional(call, i) for i in (4, 5)]
    k, v = (x if p is None else np.concatenate([p, x], 2) for x, p in zip((k, v), past, strict=True))
    repeats = q.shape[1] // k.shape[1]
    scale = call.attribute("scale", None)
    scale = 1 / np.sqrt(q.shape[3]) if scale is None else scale
    products = q * scale @ np.repeat(k, repeats, 1).swapaxes(2, 3)
    cap = call.attribute("softcap", 0.0)
    scores = np.tanh(products / cap) * cap if cap else products
    bias = _bias(call, q.shape[2], k.shape[2], 0 if past[0] is None else past[0].shape[2])
    with np.errstate(invalid="ignore"):
        biased = scores + bias
        p = biased.astype(_precision(call, biased.dtype))
        p = np.exp(p - p.max(-1, keepdims=True, initial=-np.inf))
        p = p / p.sum(-1, keepdims=True)
    hidden = np.isneginf(bias.max(-1, keepdims=True, initial=-np.inf))
    p = np.where(hidden, 0, p).astype(q.dtype)
    y = p @ np.repeat(v, repeats, 1)
    if packed:
        y = y.swapaxes(1, 2).reshape(y.shape[0], y.shape[2], y.shape[1] * y.shape[3])
    shown = (products, scores, biased, p)[call.attribute("qk_matmul_output_mode", 0)]
    return [y, k, v, shown.astype(q.dtype)][: call.results]


def linear_attention(call: Call) -> list[np.ndarray]:
    """Per token: decay the state, add the outer product of key and value, multiply by the query."""
    q, k, v = (value(call, i) for i in range(3))
    heads, shared = call.attribute("q_num_heads"), call.attribute("kv_num_heads")
    decay, beta = optional(call, 4), optional(call, 5)
    q, k, v = (_by_heads(x, n) for x, n in ((q, heads), (k, shared), (v, shared)))
    state = optional(call, 3)
    state = np.zeros((*k.shape[:2], k.shape[3], v.shape[3])) if state is None else state
    scale = call.attribute("scale", 0.0) or 1 / np.sqrt(q.shape[3])
    rows: list[np.ndarray] = []
    for t in range(q.shape[2]):
        key, now = k[:, :, t, :, None], v[:, :, t, None]
        if decay is not None:
            state = state * np.exp(_by_heads(decay, shared)[:, :, t, :, None])
        if beta is not None:
            now = beta[:, t, :, None, None] * (now - key.swapaxes(2, 3) @ state)
        state = state + key * now
        read = np.repeat(state, heads // shared, 1)
        rows.append(scale * q[:, :, t, None] @ read)
    y = np.concatenate(rows, 2).swapaxes(1, 2)
    return [y.reshape(*y.shape[:2], heads * v.shape[3]), state]


def causal_conv(call: Call) -> list[np.ndarray]:
    """Depthwise convolution whose last tap reads the current step."""
    x, w = value(call, 0), value(call, 1)
    bias, past = optional(call, 2), optional(call, 3)
    taps = w.shape[2]
    whole = np.concatenate([np.zeros((*x.shape[:2], taps - 1)) if past is None else past, x], 2)
    y = sum(w[:, 0, j, None] * whole[:, :, j : j + x.shape[2]] for j in range(taps))
    y = y if bias is None else y + bias[:, None]
    if call.attribute("activation", "none") != "none":
        y = y * 0.5 * (1 + np.tanh(0.5 * y))
    return [np.asarray(y), whole[:, :, whole.shape[2] - taps + 1 :]]


def _by_heads(x: np.ndarray, heads: int) -> np.ndarray:
    return x.reshape(*x.shape[:2], heads, x.shape[2] // heads).swapaxes(1, 2)


def _precision(call: Call, default: np.dtype) -> np.dtype:
    dtype = of_mlir(call.attribute("softmax_precision", None))
    return default if dtype is None else np.promote_types(dtype.numpy, default)


def _bias(call: Call, queries: int, keys: int, past: int) -> np.ndarray:
    """Return the summand of the scores: -inf where masked."""
    mask, lengths = optional(call, 3), optional(call, 6)
    bias = np.zeros((queries, keys))
    if mask is not None:
        mask = np.where(mask, 0, -np.inf) if mask.dtype == bool else mask
        ends = [(0, 0)] * (mask.ndim - 1) + [(0, max(keys - mask.shape[-1], 0))]
        bias = bias + np.pad(mask, ends, constant_values=-np.inf)
    ahead = np.array(past) if lengths is None else lengths.reshape(-1, 1, 1, 1) - queries
    ahead = ahead + np.arange(queries)[:, None] - np.arange(keys)
    left, right = (call.attribute(f"{side}_window_size", -1) for side in ("left", "right"))
    may = np.ones(ahead.shape, bool)
    may &= ahead >= 0 if call.attribute("is_causal", 0) else True
    may &= ahead <= left if left >= 0 else True
    may &= -ahead <= right if right >= 0 else True
    if lengths is not None:
        may = may & (np.arange(keys) < lengths.reshape(-1, 1, 1, 1))
    return np.where(may, bias, -np.inf)


def rotary_embedding(call: Call) -> list[np.ndarray]:
    """Rotate pairs of numbers by position-dependent angles."""
    x, cos, sin, places = value(call, 0), value(call, 1), value(call, 2), optional(call, 3)
    heads = call.attribute("num_heads", 0)
    rows = x.reshape(*x.shape[:2], heads, x.shape[2] // heads) if x.ndim == 3 else x.swapaxes(1, 2)
    cos, sin = ((c if places is None else c[places])[:, :, None] for c in (cos, sin))
    turned = call.attribute("rotary_embedding_dim", 0) or rows.shape[3]
    apart = call.attribute("interleaved", 0)
    part = rows[..., :turned]
    a, b = (part[..., 0::2], part[..., 1::2]) if apart else np.split(part, 2, -1)
    pair = (cos * a - sin * b, sin * a + cos * b)
    new = np.stack(pair, -1).reshape(part.shape) if apart else np.concatenate(pair, -1)
    y = np.concatenate([new, rows[..., turned:]], -1)
    return [y.reshape(x.shape) if x.ndim == 3 else y.swapaxes(1, 2)]


KERNELS: dict[str, Kernel] = {
    "Attention": attention,
    "CausalConvWithState": causal_conv,
    "LinearAttention": linear_attention,
    "RotaryEmbedding": rotary_embedding,
}
