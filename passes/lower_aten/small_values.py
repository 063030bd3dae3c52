"""Sigmoids whose small values matter. onnxruntime's kernel has an absolute error of 1e-8 and is 0 below -18:
logarithms and quotients of it need `1 / (1 + exp(-x))`, whose relative error is a rounding (quirk
`small-sigmoids`)."""

from __future__ import annotations

from types import MappingProxyType

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from dialects.aten.ops import AtenOp
from dialects.onnx import ops as onnx
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call

FAR = 4
"""Ops that are looked at between a sigmoid and an op that reads small values."""

_READERS = MappingProxyType(
    {
        "log.default": 0,
        "log2.default": 0,
        "log10.default": 0,
        "logit.default": 0,
        "reciprocal.default": 0,
        "rsqrt.default": 0,
        "pow.Tensor_Scalar": 0,
        "pow.Tensor_Tensor": 0,
        "div.Tensor": 1,
        "xlogy.Tensor": 1,
        "binary_cross_entropy.default": 0,
        "binary_cross_entropy_backward.default": 1,
    }
)
"""Ops whose result depends on the relative error of an operand, and the position of that operand."""

_CARRIERS = frozenset(
    [
        "add.Tensor",
        "add.Scalar",
        "mul.Tensor",
        "mul.Scalar",
        "clamp.default",
        "clamp_min.default",
        "clamp_max.default",
        "view.default",
        "squeeze.dim",
        "squeeze.dims",
        "unsqueeze.default",
        "expand.default",
        "permute.default",
        "select.int",
        "slice.Tensor",
        "cat.default",
        "gather.default",
        "index.Tensor",
        "clone.default",
    ]
)
"""Ops whose result has the relative error of an operand."""


def sigmoid(f: Call, e: Builder) -> Value:
    """1 / (1 + exp(-x)), by onnxruntime's kernel where its absolute error is small enough."""
    if f.dtype == f32 and _is_read_when_small(f.op.results[0], FAR):
        return ((-f.self).exp() + 1.0).apply(onnx.ReciprocalOp)
    return f.self.apply(onnx.SigmoidOp)


def _is_read_when_small(value: SSAValue, far: int) -> bool:
    """Return whether an op within `far` ops reads small numbers of a value."""
    for use in value.uses:
        op = use.operation
        if not isinstance(op, AtenOp):
            continue
        if _READERS.get(op.aten_name) == use.index:
            return True
        if far and op.aten_name in _CARRIERS and _is_read_when_small(op.results[0], far - 1):
            return True
    return False
