"""Per-channel factors and offsets of ops with constant operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from xdsl.ir import Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.values import constant_of
from dialects.support.shapes import has_rank, shape_of
from passes.fold_affine.channel_axes import attributes_of

EPSILON = 1e-5
"""Default `epsilon` of ONNX's normalization ops."""

LEAST, MOST = 2.0**-40, 2.0**40
"""Range of factors; weights scaled by others might leave the range of f32."""


@dataclass(frozen=True)
class Affine:
    """factor x + offset in f64, per channel or uniform."""

    factor: np.ndarray
    offset: np.ndarray

    @property
    def is_uniform(self) -> bool:
        return self.factor.size == 1 and self.offset.size == 1

    @property
    def is_safe(self) -> bool:
        sizes = np.abs(self.factor)
        in_range = (sizes == 0) | ((sizes >= LEAST) & (sizes <= MOST))
        return bool(in_range.all() and np.isfinite(self.offset).all())

    @property
    def is_identity(self) -> bool:
        return bool((self.factor == 1).all() and not self.offset.any())


CENTRED = "gradc.centred"
"""Marks a LayerNormalization whose cotangents have mean 0 along the axis, while it is differentiated."""

NONE, ONE = np.zeros(1), np.ones(1)


def data_of(op: Operation) -> SSAValue | None:
    """Return the data operand of a normalization, or of an op with exactly one constant operand."""
    if isinstance(op, onnx.BatchNormalizationOp):
        return op.operands[0]
    found = [value for value in op.operands if constant_of(value) is None]
    return found[0] if len(found) == 1 else None


def is_one(value: SSAValue) -> bool:
    """Return whether a value is a constant of ones."""
    known = constant_of(value)
    return known is not None and bool((known == 1).all())


def upper_bound(op: onnx.ClipOp) -> float | None:
    """Return the upper bound of a Clip to [0, bound] with bound > 0."""
    low, high = (None if v is None else constant_of(v) for v in (op.min, op.max))
    if low is None or high is None or low.size != 1 or high.size != 1 or low.any():
        return None
    bound = float(high.reshape(()))
    return bound if bound > 0 else None


def affine_of(op: Operation, value: SSAValue, axis: int | None, channels: int) -> Affine | None:
    """Return an op's affine map of a value with `channels` channels along `axis`, None if uniform."""
    if type(op) not in AFFINE or not has_rank(value) or data_of(op) is not value:
        return None
    found = AFFINE[type(op)](op)
    if found is None or isinstance(op, onnx.LayerNormalizationOp | onnx.RMSNormalizationOp):
        return None
    own, affine = found
    if affine.is_uniform:
        return affine
    is_along = own == axis and max(affine.factor.size, affine.offset.size) == channels
    return affine if is_along else None


_AxisAffine = tuple[int | None, Affine]
"""Channel axis (None if uniform) and affine map."""


def _by_number(of: Callable[[np.ndarray, bool], Affine | None]) -> Callable[[Operation], _AxisAffine | None]:
    """Lift `of`, a function of a constant and whether it comes first, to ops with one constant."""

    def found(op: Operation) -> _AxisAffine | None:
        data = data_of(op)
        if data is None or not has_rank(data):
            return None
        is_first = op.operands[1] is data
        constant = constant_of(op.operands[0 if is_first else 1])
        assert constant is not None
        rank, axes = len(shape_of(data)), [i for i, n in enumerate(constant.shape) if n != 1]
        if constant.ndim > rank or len(axes) > 1 or not constant.size or constant.dtype.kind != "f":
            return None
        axis = axes[0] + rank - constant.ndim if axes else None
        if axis is not None and shape_of(data)[axis] != constant.size:
            return None
        affine = of(constant.astype(np.float64).reshape(-1), is_first)
        return None if affine is None else (axis, affine)

    return found


def _quotient(number: np.ndarray, is_first: bool) -> Affine | None:
    return None if is_first or not number.all() else Affine(1 / number, NONE)


def _difference(number: np.ndarray, is_first: bool) -> Affine:
    return Affine(-ONE, number) if is_first else Affine(ONE, -number)


def _batch(op: Operation) -> _AxisAffine | None:
    assert isinstance(op, onnx.BatchNormalizationOp)
    given = attributes_of(op)
    arrays = [constant_of(value) for value in op.operands[1:]]
    is_read = any(result.first_use for result in op.results[1:])
    if given.get("training_mode", 0) or is_read or any(array is None for array in arrays):
        return None
    scale, bias, mean, variance = (array.astype(np.float64) for array in arrays if array is not None)
    factor = scale / np.sqrt(variance + given.get("epsilon", EPSILON))
    return 1, Affine(factor, bias - mean * factor)


def _last(op: Operation) -> _AxisAffine | None:
    """Return scale and shift of a normalization along the last axis."""
    assert isinstance(op, OnnxOp)
    rank = len(shape_of(op.results[0]))
    scale = constant_of(op.operands[1])
    bias = constant_of(op.operands[2]) if len(op.operands) > 2 else NONE
    is_last = attributes_of(op).get("axis", -1) % rank == rank - 1
    if not is_last or scale is None or bias is None or scale.dtype.kind != "f" or scale.ndim > 1:
        return None
    return rank - 1, Affine(scale.astype(np.float64).reshape(-1), bias.astype(np.float64).reshape(-1))


AFFINE: Mapping[type[Operation], Callable[[Operation], _AxisAffine | None]] = MappingProxyType(
    {
        onnx.AddOp: _by_number(lambda number, is_first: Affine(ONE, number)),
        onnx.BatchNormalizationOp: _batch,
        onnx.DivOp: _by_number(_quotient),
        onnx.LayerNormalizationOp: _last,
        onnx.MulOp: _by_number(lambda number, is_first: Affine(number, NONE)),
        onnx.RMSNormalizationOp: _last,
        onnx.SubOp: _by_number(_difference),
    }
)
"""Op class -> function that returns the op's affine map, if known."""
