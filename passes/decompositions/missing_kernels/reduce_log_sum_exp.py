"""ReduceLogSumExp relative to the maximum, so that exponentials are at most 1.

ONNX's function body overflows from 89 on in f32, and from 710 on in f64.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32, f64

from dialects.onnx import ops as onnx
from dialects.support.dtypes import FLOATS, name_of
from dialects.support.shapes import element_type_of
from passes.autodiff.common.primal import Primal
from passes.builder.values import Builder, Value
from passes.decompositions.registry import Results


def reduce_log_sum_exp(f: Primal, e: Builder) -> Results | None:
    """Axes may be dynamic or empty: both reductions read them."""
    op = f.op_as(onnx.ReduceLogSumExpOp)
    dtype = element_type_of(op.data)
    if name_of(dtype) not in FLOATS:
        return None
    call = op.call()
    axes, noop = None if op.axes is None else e(op.axes), call.attribute("noop_with_empty_axes", 0)
    given = call.optional(1)
    if noop and (given is None or given.dims == ()):
        return [op.data]
    x = e(op.data).cast(f64 if dtype == f64 else f32)
    largest = x.apply(onnx.ReduceMaxOp, axes, keepdims=1, noop_with_empty_axes=noop)
    most = float(np.finfo(np.float64 if dtype == f64 else np.float32).max)
    finite = largest.clip_to(-most, most)
    keeps = call.attribute("keepdims", 1)

    def total(value: Value) -> Value:
        return value.apply(onnx.ReduceSumOp, axes, keepdims=keeps, noop_with_empty_axes=noop)

    shift = finite if keeps else total(finite)
    return [(total((x - finite).exp()).log() + shift).cast(dtype).value]
