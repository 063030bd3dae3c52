# pyright: standard
# (lambdas in tables get their types from no annotation)
"""ONNX lowerings of the oneDNN ops that are declared by tables.

A backward kind is the derivative of an ONNX op by the rule of `passes/autodiff`, with oneDNN's convention.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

from xdsl.dialects.builtin import f32, f64, i1

from dialects.onednn.families import BinaryOp, ReductionOp, SelectionOp, TableOp, UnaryBackwardOp, UnaryOp
from dialects.onednn.prelu import ParametricReluBackwardOp, ParametricReluOp, SlopeOp
from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.support.shapes import element_type_of, shape_of
from passes.autodiff.common.gates import mish_tanh
from passes.autodiff.common.primal import Convention, Primal
from passes.autodiff.common.unbroadcast import unbroadcast
from passes.autodiff.rules import pointwise
from passes.builder.long_sums import long_mean, long_sum
from passes.builder.values import Builder, Value
from passes.lower_onednn import (
    conv,
    conv_weights,
    interpolate,
    linear,
    norm,
    pool,
    pool_backward,
    quant,
    softmax,
    structure,
)

Form: TypeAlias = Callable[..., Value]
"""Function of the operands as expressions, and the attributes by keyword."""

ONEDNN = Convention(strict_bounds=True)


def gelu(x: Value, mode: str) -> Value:
    if mode == "gelu_erf":
        return x * ((x * math.sqrt(0.5)).erf() * 0.5 + 0.5)
    scale = 2 * math.sqrt(2 / math.pi)
    return x * (x * (x.square() * (scale * 0.044715) + scale)).sigmoid()


def power(x: Value, beta: float) -> Value:
    return x.square() if beta == 2 else x.apply(onnx.PowOp, beta)


def elu(x: Value, alpha: float) -> Value:
    """Lower an Elu; in f64 by its formula, as an attribute of ONNX is f32."""
    if x.dtype != f64:
        return x.apply(onnx.EluOp, alpha=alpha)
    return (x > 0).where(x, x.apply(onnx.EluOp, alpha=1.0) * alpha)


def hard_sigmoid(x: Value, alpha: float, beta: float) -> Value:
    if x.dtype != f64:
        return x.apply(onnx.HardSigmoidOp, alpha=alpha, beta=beta)
    return (x * alpha + beta).clip_to(0, 1)


def leaky_relu(x: Value, alpha: float) -> Value:
    return x.apply(onnx.LeakyReluOp, alpha=alpha) if x.dtype != f64 else (x > 0).where(x, x * alpha)


FORMS: Mapping[str, Form] = MappingProxyType(
    {
        "Abs": lambda x: x.abs(),
        "Clamp": lambda x, min, max: x.clip_to(min, max),
        "Elu": elu,
        "Exp": lambda x: x.exp(),
        "GELU": gelu,
        "HardSigmoid": hard_sigmoid,
        "HardSwish": lambda x: x * hard_sigmoid(x, 1 / 6, 0.5),
        "LeakyReLU": leaky_relu,
        "Log": lambda x: x.log(),
        "Mish": lambda x: x * mish_tanh(x),
        "Pow": power,
        "ReLU": lambda x: x.apply(onnx.ReluOp),
        "Reorder": lambda x: x,
        "Reciprocal": lambda x: x.apply(onnx.ReciprocalOp),
        "Round": lambda x: x.apply(onnx.RoundOp),
        "Sigmoid": lambda x: x.sigmoid(),
        "SoftPlus": lambda x, beta: x.softplus() if beta == 1 else (x * beta).softplus() * (1 / beta),
        "Sqrt": lambda x: x.sqrt(),
        "Square": lambda x: x.square(),
        "Tanh": lambda x: x.tanh(),
        "Add": lambda a, b: a + b,
        "Divide": lambda a, b: a / b,
        "Maximum": lambda a, b: a.at_least(b),
        "Minimum": lambda a, b: a.at_most(b),
        "Multiply": lambda a, b: a * b,
        "SquaredDifference": lambda a, b: (a - b).square(),
        "Subtract": lambda a, b: a - b,
        "GreaterEqual": lambda a, b: a >= b,
        "Select": lambda condition, a, b: condition.where(a, b),
    }
)
"""Kind -> its lowering, for elementwise ops; the backward ones are of functions that ONNX does not have."""


@dataclass(frozen=True)
class Derivative:
    """The ONNX op whose rule gives a backward kind, and the mapping of operands and attributes.

    `operands` maps src (or dst) and the kind's attributes to the operands; those after the first are bounds
    etc.
    """

    of: str
    operands: Callable[..., tuple[Value, ...]] = lambda x, **_: (x,)
    attributes: Callable[..., Mapping[str, Any]] = lambda **given: given


def _bounds(x: Value, min: float, max: float) -> tuple[Value, ...]:
    return x, x.e.scalar(min, x), x.e.scalar(max, x)


def _approximate(mode: str) -> Mapping[str, Any]:
    return {"approximate": "none" if mode == "gelu_erf" else "tanh"}


DERIVATIVES: Mapping[str, Derivative] = MappingProxyType(
    {
        "AbsBackward": Derivative("Abs"),
        "ClampBackward": Derivative("Clip", _bounds),
        "EluBackward": Derivative("Elu"),
        "GELUBackward": Derivative("Gelu", attributes=_approximate),
        "HardSigmoidBackward": Derivative("HardSigmoid"),
        "HardSwishBackward": Derivative("HardSwish"),
        "MishBackward": Derivative("Mish"),
        "ReLUBackward": Derivative("Relu"),
        "SigmoidBackward": Derivative("Sigmoid"),
        "SoftPlusBackward": Derivative("Softplus", lambda x, beta: (x * beta,)),
        "SqrtBackward": Derivative("Sqrt"),
        "TanhBackward": Derivative("Tanh"),
    }
)
"""Backward kind -> the function that it is the derivative of."""

EMITTED: Mapping[str, Form] = MappingProxyType(
    {"Sigmoid": Value.sigmoid, "Sqrt": Value.sqrt, "Tanh": Value.tanh}
)
"""Forward ops whose result a rule reads if only the operand is given."""

Reduction: TypeAlias = Callable[..., Value]
"""Function of the operand, the axes, static or as an expression, and the attributes of ONNX's reductions."""

Axes: TypeAlias = Sequence[int] | Value


def by(op: type[OnnxOp]) -> Reduction:
    def reduced(x: Value, axes: Axes, **given: int) -> Value:
        return x.apply(op, axes if isinstance(axes, Value) else x.e.ints(axes), **given)

    return reduced


def total(x: Value, axes: Axes, **given: int) -> Value:
    one_stage = by(onnx.ReduceSumOp)
    return one_stage(x, axes, **given) if isinstance(axes, Value) else long_sum(x, axes, **given)


def mean(x: Value, axes: Axes, **given: int) -> Value:
    one_stage = by(onnx.ReduceMeanOp)
    return one_stage(x, axes, **given) if isinstance(axes, Value) else long_mean(x, axes, **given)


REDUCTIONS: Mapping[str, Reduction] = MappingProxyType(
    {
        "ReduceL1": lambda x, axes, **given: total(x.abs(), axes, **given),
        "ReduceL2": lambda x, axes, **given: total(x.square(), axes, **given).sqrt(),
        "ReduceMax": by(onnx.ReduceMaxOp),
        "ReduceMean": mean,
        "ReduceMin": by(onnx.ReduceMinOp),
        "ReduceProd": by(onnx.ReduceProdOp),
        "ReduceSum": total,
    }
)
"""Kind -> its lowering; norms and sums in stages: see the quirks sum-of-squares-in-one-pass and
sum-over-first-axes."""


def in_onnx(op: TableOp, e: Builder) -> Sequence[Value]:
    """Lower an op that is declared by a table."""
    match op:
        case UnaryOp() | SelectionOp():
            return [_form(op, e)]
        case UnaryBackwardOp() if op.KIND in FORMS:
            return [_form(op, e)]
        case BinaryOp():
            return [_binary(op, e)]
        case UnaryBackwardOp():
            return [_derivative(op, e)]
        case ReductionOp():
            return [_reduction(op, e)]
        case _:
            return CONVERSIONS[op.KIND](op, e)


def _form(op: TableOp, e: Builder) -> Value:
    return FORMS[op.KIND](*map(e, op.operands), **op.spec_attributes())


def _binary(op: BinaryOp, e: Builder) -> Value:
    """Compute in f32 if the dtypes differ, and round to the declared one."""
    operands, declared = [e(value) for value in op.operands], element_type_of(op.results[0])
    types = {*(operand.dtype for operand in operands)} | ({declared} - {i1})
    if len(types) > 1:
        operands = [operand.cast(f32) for operand in operands]
    result = FORMS[op.KIND](*operands, **op.spec_attributes())
    return result if declared == i1 else result.cast(declared)


def _derivative(op: UnaryBackwardOp, e: Builder) -> Value:
    entry = DERIVATIVES[op.KIND]
    given, cotangent = e(op.src), e(op.diff_dst)
    first, *others = entry.operands(given, **op.spec_attributes())
    forward = Primal(
        e,
        operands=(None if op.uses_dst else first, *others),
        attributes=entry.attributes(**op.spec_attributes()),
        results=[given if op.uses_dst else None],
        emit=lambda: [EMITTED[entry.of](first)],
        convention=ONEDNN,
    )
    gradient, *_ = pointwise.RULES[entry.of](forward, [cotangent], e)
    assert isinstance(gradient, Value)
    return gradient


def _reduction(op: ReductionOp, e: Builder) -> Value:
    """Lower a reduction; without axes it is the identity."""
    src, known = e(op.src), op.static_axes()
    if known == ():
        return src
    keepdims = int(op.value("keep_dims"))
    if known is not None:
        return REDUCTIONS[op.KIND](src, known, keepdims=keepdims)
    assert op.axes_input is not None
    axes = e(op.axes_input).as_int64()
    return REDUCTIONS[op.KIND](src, axes, keepdims=keepdims, noop_with_empty_axes=1)


# Kinds whose family has one op


def prelu(op: ParametricReluOp, e: Builder) -> Sequence[Value]:
    src, slope = e(op.src), _slope(op, e)
    if e.strict_ieee:
        return [(src > 0).where(src, src * slope)]
    return [src.apply(onnx.PReluOp, slope)]


def prelu_backward(op: ParametricReluBackwardOp, e: Builder) -> Sequence[Value]:
    src, slope = e(op.src), _slope(op, e)
    forward = Primal(e, operands=(src, slope))
    diff_src, repeated = pointwise.RULES["PRelu"](forward, [e(op.diff_dst)], e)
    assert isinstance(diff_src, Value)
    assert isinstance(repeated, Value)
    summed = unbroadcast(repeated, slope, e)
    added = _slope_axes(op)
    return [diff_src, summed.squeeze(added) if added else summed]


def _slope(op: SlopeOp, e: Builder) -> Value:
    """Return the slope in a shape that broadcasts to src."""
    slope, added = e(op.slope), _slope_axes(op)
    return slope.unsqueeze(added) if added else slope


def _slope_axes(op: SlopeOp) -> range:
    """Return the axes to add to a per-channel slope, for the axes of src after the channels."""
    return range(1, len(shape_of(op.src)) - op.channel_axis) if op.is_per_channel else range(0)


CONVERSIONS: Mapping[str, Callable[..., Sequence[Value]]] = MappingProxyType(
    {
        **conv_weights.CONVERSIONS,
        **pool_backward.CONVERSIONS,
        **linear.CONVERSIONS,
        **norm.CONVERSIONS,
        **quant.CONVERSIONS,
        **softmax.CONVERSIONS,
        **conv.CONVERSIONS,
        **interpolate.CONVERSIONS,
        **pool.CONVERSIONS,
        **structure.CONVERSIONS,
        "PReLU": prelu,
        "PReLUBackward": prelu_backward,
    }
)
"""Kind -> function that lowers the op."""
