"""Blocked (NCHWc) equivalents of ops between convolutions, for onnxruntime's CPU provider."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.values import constant_of
from dialects.support.shapes import element_type_of, has_rank, static_shape
from passes.builder.op_builder import OpBuilder
from passes.builder.step_as_hard_sigmoid import Line, line_from, step_of_square
from passes.builder.values import MASK, SUM
from passes.cost.graph import Constants, step_of
from passes.layout.orders import reduction_axes
from passes.onnxruntime.optimizer_model import ALIGNED, BLOCK, ELEMENTWISE, blocked_kind

MOST_READERS = 64
"""Limit on the readers of a tensor: each would be compared with all others."""

MOST_POOLED = 2**14
"""Limit on the terms of a mean computed by a pool: 112 x 112 and less."""

WRITTEN, REPEATED = 0.5, 0.7
"""Additional passes over a result: of a 1 x 1 convolution, of an upsampling."""

NATIVE = (onnx.ReluOp, onnx.SigmoidOp, onnx.TanhOp, onnx.HardSigmoidOp, onnx.HardSwishOp)
"""Blocked activations. The runtime decomposes HardSwish into HardSigmoid and Mul before it chooses blocks."""

ABSORBED = (onnx.EqualOp, onnx.AbsOp)
"""Ops that a form may absorb if nothing else reads them."""

POOLS = (onnx.MaxPoolOp, onnx.AveragePoolOp, onnx.GlobalAveragePoolOp)

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Form:
    """Blocked equivalent of an op: its blocked operands, and `extra` passes over its result.

    `write` takes the blocked operands. `inner` are operands of absorbed ops.
    """

    operands: tuple[SSAValue, ...]
    write: Callable[[OpBuilder, list[SSAValue]], SSAValue]
    extra: float = 0.0
    inner: tuple[SSAValue, ...] = ()


def blocked_shape(value: SSAValue) -> Shape | None:
    """Return the shape of a tensor that may be blocked."""
    if not has_rank(value) or element_type_of(value) != f32:
        return None
    shape = static_shape(value)
    if shape is None or len(shape) != 4 or shape[1] % ALIGNED or shape[1] < BLOCK or not math.prod(shape):
        return None
    return shape


def kernel_of(op: Operation) -> str | None:
    """Return the blocked kernel of a convolution or a pool."""
    if not isinstance(op, (onnx.ConvOp, *POOLS)) or blocked_shape(op.results[0]) is None:
        return None
    if isinstance(op, onnx.GlobalAveragePoolOp):
        return op.onnx_name() if _is_whole(op.operands[0]) else None
    if not has_rank(op.operands[0]) or static_shape(op.operands[0]) is None:
        return None
    return blocked_kind(step_of(op, {}, Constants(())))


def _is_whole(value: SSAValue) -> bool:
    """Return whether all blocks are full, as pools and upsampling require."""
    shape = blocked_shape(value)
    return shape is not None and shape[1] % BLOCK == 0


# Blocked forms


def form_of(op: Operation) -> Form | None:
    """Return the blocked form of an op, or None."""
    writer = _FORMS.get(type(op))
    if writer is None or blocked_shape(op.results[0]) is None:
        return None
    if any(map(_has_many_readers, (*op.operands, *op.results))):
        return None
    form = writer(op)
    if form is None or any(constant_of(value) is not None for value in form.operands):
        return None
    return form


def _has_many_readers(value: SSAValue) -> bool:
    readers = islice(value.uses, MOST_READERS + 1)
    return constant_of(value) is None and len(list(readers)) > MOST_READERS


def stays(op: Operation, form: Form) -> bool:
    """Return whether onnxruntime keeps an op blocked, given blocked operands: by a kernel, or a per-channel
    product that becomes a convolution."""
    is_native = isinstance(op, NATIVE) or (isinstance(op, OnnxOp) and op.onnx_name() in ELEMENTWISE)
    return is_native and (form.extra == 0 or (isinstance(op, onnx.MulOp) and _is_scaling(op)))


def _is_scaling(op: onnx.MulOp) -> bool:
    shape = blocked_shape(op.results[0])
    known = [constant_of(value) for value in op.operands if shape and _per_channel(value, shape) is not None]
    return any(value is not None and value.size > 1 for value in known)


def _native(op: Operation) -> Form | None:
    same = all(blocked_shape(value) == blocked_shape(op.results[0]) for value in op.operands)
    if not same:
        return None
    return Form(
        tuple(op.operands), lambda emit, given: emit(op.clone(dict(zip(op.operands, given, strict=True))))
    )


def _per_channel(value: SSAValue, shape: Shape) -> np.ndarray | None:
    """Return a constant of one element, or one per channel, as a vector."""
    known = constant_of(value)
    if known is None:
        return None
    if known.size == 1:
        return np.full(shape[1], known.reshape(()), np.float32)
    sizes = (1,) * (4 - known.ndim) + known.shape
    return known.reshape(-1) if sizes == (1, shape[1], 1, 1) else None


def scale_channels(
    emit: OpBuilder, data: SSAValue, factor: np.ndarray, offset: np.ndarray | None
) -> SSAValue:
    """Compute data * factor + offset, both per channel."""
    channels = len(factor)
    bias = None if offset is None else emit.constant(offset.astype(np.float32))
    weights = emit.constant(factor.astype(np.float32).reshape(channels, 1, 1, 1))
    return emit(onnx.ConvOp(data, weights, bias, group=channels))


def _affine(data: SSAValue, factor: np.ndarray, offset: np.ndarray | None) -> Form:
    return Form((data,), lambda emit, given: scale_channels(emit, given[0], factor, offset), WRITTEN)


def _product(op: Operation) -> Form | None:
    shape = blocked_shape(op.results[0])
    assert shape is not None
    for data, other in (op.operands, reversed(op.operands)):
        if blocked_shape(data) != shape:
            continue
        if (known := _per_channel(other, shape)) is not None:
            return _affine(data, known, None)
        if constant_of(other) is None and static_shape(other) == (shape[0], shape[1], 1, 1) != shape:
            return _product_with_channels(data, other, shape) if shape[1] % BLOCK == 0 else None
    return _native(op)


def _product_with_channels(data: SSAValue, other: SSAValue, shape: Shape) -> Form:
    def write(emit: OpBuilder, given: list[SSAValue]) -> SSAValue:
        scales = emit.constant(np.array([1, 1, *shape[2:]], np.float32))
        repeated = onnx.ResizeOp(
            given[1],
            None,
            scales,
            None,
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        )
        return emit(onnx.MulOp(given[0], emit(repeated)))

    return Form((data, other), write, REPEATED)


def _sum(op: Operation) -> Form | None:
    shape = blocked_shape(op.results[0])
    assert shape is not None
    for data, other in (op.operands, reversed(op.operands)):
        if blocked_shape(data) == shape and (known := _per_channel(other, shape)) is not None:
            return _affine(data, np.ones(shape[1]), known)
    return _native(op)


def _difference(op: Operation) -> Form | None:
    shape = blocked_shape(op.results[0])
    assert shape is not None
    minuend, subtrahend = op.operands
    one = np.ones(shape[1])
    if blocked_shape(subtrahend) == shape and (known := _per_channel(minuend, shape)) is not None:
        return _affine(subtrahend, -one, known)
    if blocked_shape(minuend) == shape and (known := _per_channel(subtrahend, shape)) is not None:
        return _affine(minuend, one, -known)
    if blocked_shape(minuend) != shape or blocked_shape(subtrahend) != shape:
        return None
    return Form(
        (minuend, subtrahend),
        lambda emit, v: emit(onnx.AddOp(v[0], scale_channels(emit, v[1], -one, None))),
        WRITTEN,
    )


def _negation(op: Operation) -> Form | None:
    shape = blocked_shape(op.results[0])
    assert shape is not None
    return _affine(op.operands[0], -np.ones(shape[1]), None)


def _bounds(op: onnx.ClipOp) -> tuple[float, float] | None:
    low, high = (None if v is None else constant_of(v) for v in (op.min, op.max))
    if low is None or high is None or low.size != 1 or high.size != 1:
        return None
    least, most = float(low.reshape(())), float(high.reshape(()))
    return (least, most) if least < most else None


def _clip(op: Operation) -> Form | None:
    assert isinstance(op, onnx.ClipOp)
    shape = blocked_shape(op.input)
    if shape is None or _bounds(op) is None:
        return None
    if _bounds(op) == (0, 1):
        return Form((op.input,), lambda emit, v: emit(onnx.HardSigmoidOp(v[0], alpha=1.0, beta=0.0)))

    def write(emit: OpBuilder, given: list[SSAValue]) -> SSAValue:
        data = scale_channels(emit, given[0], np.ones(shape[1]), None)
        return emit(onnx.ClipOp(data, op.min, op.max))

    return Form((op.input,), write, WRITTEN)


def _hard_sigmoid(op: Operation) -> Form | None:
    """Return the form of HardSigmoid(|x|): of x * x if it is a step, or, if it falls from above 1, the
    product of both sides, one of which is 1."""
    assert isinstance(op, onnx.HardSigmoidOp)
    inner = op.operands[0].owner
    alpha, beta = op.call().attribute("alpha", 0.2), op.call().attribute("beta", 0.5)
    if not isinstance(inner, onnx.AbsOp) or not op.operands[0].has_one_use() or alpha >= 0 or beta < 1:
        return _native(op)
    squared = step_of_square((alpha, beta))

    def write(emit: OpBuilder, given: list[SSAValue]) -> SSAValue:
        if squared is not None:
            square = emit(onnx.MulOp(given[0], given[0]))
            return emit(onnx.HardSigmoidOp(square, alpha=squared[0], beta=squared[1]))
        sides = (emit(onnx.HardSigmoidOp(given[0], alpha=slope, beta=beta)) for slope in (alpha, -alpha))
        return emit(onnx.MulOp(*sides))

    return Form((inner.operands[0],), write, WRITTEN, tuple(op.operands))


def _clip_mask(op: Operation) -> Form | None:
    """Return the form of a derivative's Cast(Clip(x) == x): two steps. NaN gives NaN, unlike a comparison."""
    compared = op.operands[0].owner
    if MASK not in op.attributes:
        return None
    if not isinstance(compared, onnx.EqualOp) or not op.operands[0].has_one_use():
        return None
    for result, data in (compared.operands, reversed(compared.operands)):
        clip = result.owner
        if isinstance(clip, onnx.ClipOp) and clip.input is data:
            return _within(compared, data, _bounds(clip))
    return None


def _within(compared: onnx.EqualOp, data: SSAValue, bounds: tuple[float, float] | None) -> Form | None:
    steps = None if bounds is None else _steps(*bounds)
    if steps is None or blocked_shape(data) is None:
        return None

    def write(emit: OpBuilder, given: list[SSAValue]) -> SSAValue:
        above, below = (emit(onnx.HardSigmoidOp(given[0], alpha=alpha, beta=beta)) for alpha, beta in steps)
        return emit(onnx.MulOp(above, below))

    return Form((data,), write, inner=tuple(compared.operands))


def _steps(low: float, high: float) -> tuple[Line, Line] | None:
    """Return the lines of the steps at both inclusive bounds."""
    first, second = line_from(low), line_from(-high)
    if first is None or second is None:
        return None
    return first, (-second[0], second[1])


def _mean(op: Operation) -> Form | None:
    """Return the form of a mean, or of a derivative's sum, whose rounding it changes."""
    if isinstance(op, onnx.ReduceSumOp) and SUM not in op.attributes:
        return None
    data = op.operands[0]
    shape = blocked_shape(data)
    if shape is None or shape[1] % BLOCK or list(reduction_axes(op)) != [2, 3]:
        return None
    if static_shape(op.results[0]) != (*shape[:2], 1, 1) or math.prod(shape[2:]) > MOST_POOLED:
        return None

    def write(emit: OpBuilder, given: list[SSAValue]) -> SSAValue:
        mean = emit(onnx.GlobalAveragePoolOp(given[0]))
        if isinstance(op, onnx.ReduceMeanOp):
            return mean
        return scale_channels(emit, mean, np.full(shape[1], math.prod(shape[2:])), None)

    return Form((data,), write)


_FORMS: Mapping[type[Operation], Callable[[Operation], Form | None]] = MappingProxyType(
    {
        **dict.fromkeys((*NATIVE, onnx.SumOp), _native),
        onnx.HardSigmoidOp: _hard_sigmoid,
        onnx.MulOp: _product,
        onnx.AddOp: _sum,
        onnx.SubOp: _difference,
        onnx.NegOp: _negation,
        onnx.ClipOp: _clip,
        onnx.CastOp: _clip_mask,
        onnx.ReduceMeanOp: _mean,
        onnx.ReduceSumOp: _mean,
    }
)
