"""Distances between two sets of points, and their gradient with respect to the first."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from dialects.onnx import ops as onnx
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call, Rule


def _differences(f: Call) -> Value:
    """Return x1[i] - x2[j]: (..., P, R, M)."""
    x, y = f.x1, f.x2
    return x.unsqueeze([x.rank - 1]) - y.unsqueeze([y.rank - 2])


def distances(f: Call, e: Builder) -> Value:
    """The p-norms of the differences: (..., P, R)."""
    d, p = _differences(f), f.p
    last = e.ints([d.rank - 1])
    match p:
        case 0:
            return d.equals(0).apply(onnx.NotOp).cast(d.dtype).sum_axes([d.rank - 1])
        case 1:
            return d.apply(onnx.ReduceL1Op, last, keepdims=0)
        case 2:
            return d.apply(onnx.ReduceL2Op, last, keepdims=0)
        case _ if math.isinf(p):
            return d.abs().apply(onnx.ReduceMaxOp, last, keepdims=0)
        case _:
            return (d.abs() ** p).sum_axes([d.rank - 1]) ** (1 / p)


def distances_backward(f: Call, e: Builder) -> Value:
    """The sum over j of g[i, j] times the derivative of the norm; 0 for a distance of 0."""
    if f.p == 0 or any(0 in x.shape for x in (f.x1, f.x2, f.grad_output)):
        return f.full(0, f.shape, f.dtype)
    d, p, g = _differences(f), f.p, f.grad_output
    is_zero = f.cdist.equals(0)
    if math.isinf(p):
        largest = d.abs().equals(f.cdist.unsqueeze([f.cdist.rank]))
        return _sum_of_rows(g, d.sign() * largest.cast(d.dtype))
    safe = is_zero.where(e.scalar(1, f.cdist), f.cdist)
    shares = is_zero.where(e.scalar(0, g), g if p == 1 else g / (safe if p == 2 else safe ** (p - 1)))
    match p:
        case 1:
            slopes = d.sign()
        case 2:
            slopes = d
        case _:
            at_zero = d.equals(0)
            power = at_zero.where(e.scalar(1, d), d.abs()) ** (p - 1)
            slopes = at_zero.where(e.scalar(0, d), d.sign() * power)
    return _sum_of_rows(shares, slopes)


def _sum_of_rows(shares: Value, rows: Value) -> Value:
    """Return the sum over R of shares (..., P, R) times rows (..., P, R, M)."""
    return (shares.unsqueeze([shares.rank - 1]) @ rows).squeeze([shares.rank - 1])


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "_cdist_backward.default": distances_backward,
        "_cdist_forward.default": distances,
    }
)
