"""Decompositions of LinearAttention and CausalConvWithState."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from dialects.onnx import ops as onnx
from dialects.onnx.dims import TO_THE_END
from passes.autodiff.common.primal import Primal, refusal
from passes.autodiff.common.slice_adjoint import size_of, vector
from passes.autodiff.rules.quantize import wide
from passes.builder.scans import Exprs, scan
from passes.builder.values import Builder, Value


def linear_attention(f: Primal, e: Builder) -> Sequence[Value]:
    """A Scan over tokens with the running sum of key-value outer products as state.

    Query heads that share a key head are rows of one product.
    """
    q, k, v, past, decay, beta = (f.operand(i) for i in range(6))
    last = f.results[1]
    assert q is not None
    assert k is not None
    assert v is not None
    assert last is not None
    heads, shared = f.value("q_num_heads"), f.value("kv_num_heads")
    dtype = wide(q.dtype)
    q, k, v = (_tokens(x.cast(dtype), shared, n) for x, n in ((q, heads // shared), (k, 1), (v, 1)))
    scanned = [q * _scale(f, q), k, v]
    if decay is not None:
        scanned.append(_tokens(decay.cast(dtype), shared, 1).swap_last_axes().exp())
    if beta is not None:
        rates = beta.cast(dtype).transpose([1, 0, 2])
        scanned.append(rates.unsqueeze([3, 4]))

    def step(inner: Builder, states: Exprs, slices: Exprs) -> tuple[Exprs, Exprs]:
        (state,), (query, key, value, *gates) = states, slices
        if decay is not None:
            state = state * gates[0]
        if beta is not None:
            value = gates[-1] * (value - key.apply(onnx.MatMulOp, state))
        state = (state + key.swap_last_axes() * value).assume_shape(states[0].shape)
        return [state], [query.apply(onnx.MatMulOp, state)]

    first = e.fill_like(0, last) if past is None else past
    (state,), (columns,) = scan(e, [first.cast(dtype).assume_shape(last.shape)], scanned, step)
    rows = columns.transpose([1, 0, 2, 3, 4])
    y = rows.apply(onnx.ReshapeOp, e.shape(f.y), allowzero=1)
    return [y.cast(f.y.dtype), state.cast(last.dtype)]


def _tokens(x: Value, *groups: int) -> Value:
    """Reshape (B, T, heads * size) to (T, B, *groups, size)."""
    hidden, count = size_of(x, 2), prod(groups)
    size = hidden // count if isinstance(hidden, int) else hidden.apply(onnx.DivOp, x.e.ints([count]))
    apart = x.apply(onnx.ReshapeOp, vector(x, [size_of(x, 0), size_of(x, 1), *groups, size]), allowzero=1)
    return apart.transpose([1, 0, *range(2, 3 + len(groups))])


def _scale(f: Primal, q: Value) -> Value | float:
    given, size = f.value("scale", 0.0), size_of(q, 4)
    if given:
        return float(given)
    return size**-0.5 if isinstance(size, int) else 1 / size.cast(q.dtype).sqrt()


def causal_conv(f: Primal, e: Builder) -> Sequence[Value]:
    """A depthwise convolution over past elements, which are the state."""
    x, w, bias, past = (f.operand(i) for i in range(4))
    assert x is not None
    assert w is not None
    channels, taps = w.shape[0], w.shape[2]
    if not isinstance(channels, int) or not isinstance(taps, int):
        raise refusal("sizes of the weights", given="known at run time only", expected="known")
    before = [0, 0, taps - 1, 0, 0, 0]
    whole = x.apply(onnx.PadOp, e.ints(before)) if past is None else e.concat([past, x], 2)
    y = whole.apply(onnx.ConvOp, w, bias, group=channels).assume_shape(x.shape)
    if f.value("activation", "none") != "none":
        y = y * y.sigmoid()
    if taps == 1:
        return [y]  # the state is empty
    state = whole.apply(onnx.SliceOp, e.ints([1 - taps]), e.ints([TO_THE_END]), e.ints([2]))
    return [y, state]
