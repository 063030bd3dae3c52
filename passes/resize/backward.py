"""A resize gradient in canonical form: static axes in one op, dynamic axes in its dynamic counterpart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from dialects.grad.resize import resize_backward, resize_backward_dynamic
from dialects.grad.sampling import AxisSampling, ResizeRule
from dialects.onnx import ops as onnx
from dialects.support.dtypes import HALVES, name_of
from dialects.support.shapes import Dim, element_type_of, shape_of
from passes.builder.op_builder import OpBuilder


@dataclass(frozen=True)
class ResizeAxis:
    """One axis: its index, the size X of the result, and a user's step, None if sizes imply it."""

    axis: int
    x: Dim
    step: Fraction | None = None


def emit_resize_backward(
    emit: OpBuilder,
    diff_dst: SSAValue,
    axes: Sequence[ResizeAxis],
    rule: ResizeRule,
    shape_donor: SSAValue,
) -> SSAValue:
    """Lower the gradient along `axes`; dynamic sizes X are read off `shape_donor`.

    The gradient is separable, so static and dynamic axes are contracted one after the other, in f32 in
    between: a half type is rounded once. Identity axes are skipped: a step implied by equal sizes, or sizes
    of equal name, is 1.
    """
    shape = shape_of(diff_dst)
    known: list[tuple[int, AxisSampling]] = []
    unknown: list[ResizeAxis] = []
    for axis in axes:
        y = shape[axis.axis]
        if axis.step is None and axis.x is not None and axis.x == y:
            continue
        if not isinstance(axis.x, int) or not isinstance(y, int):
            unknown.append(axis)
            continue
        sampling = rule.sampling(axis.x, y, axis.step)
        if not sampling.is_identity:
            known.append((axis.axis, sampling))
    value = diff_dst
    dtype = element_type_of(diff_dst)
    widen = bool(known and unknown) and name_of(dtype) in HALVES
    if widen:
        value = emit(onnx.CastOp(value, to=f32))
    if known:
        value = emit(resize_backward(value, [axis for axis, _ in known], [s for _, s in known]))
    if unknown:
        value = _emit_dynamic(emit, value, unknown, rule, shape_donor)
    return emit(onnx.CastOp(value, to=dtype)) if widen else value


def _emit_dynamic(
    emit: OpBuilder, value: SSAValue, axes: Sequence[ResizeAxis], rule: ResizeRule, donor: SSAValue
) -> SSAValue:
    positions = [axis.axis for axis in axes]
    x, y = emit.sizes(donor, positions), emit.sizes(value, positions)
    steps = _steps(emit, x, y, rule, [axis.step for axis in axes])
    op = resize_backward_dynamic(value, x, steps, positions, rule.interpolation, rule.coordinates)
    return emit(op)


def _steps(
    emit: OpBuilder,
    x: SSAValue,
    y: SSAValue,
    rule: ResizeRule,
    given: Sequence[Fraction | None],
) -> tuple[SSAValue, SSAValue]:
    """Return numerators and denominators of the steps: X / Y, or (X - 1) / (Y - 1) with 0 / 1 for Y = 1."""
    numerator, denominator = x, y
    if rule.coordinate_mode == "align_corners":
        one = emit.ints([1])
        above = emit.sub(y, one)
        # Y = 1 samples only t(0) = 0 for any numerator, so only the denominator must be legal
        numerator, denominator = emit.sub(x, one), emit.max(above, 1)
    if all(step is None for step in given):
        return numerator, denominator
    parts = [
        (emit.take(numerator, [i]), emit.take(denominator, [i]))
        if step is None
        else (emit.ints([step.numerator]), emit.ints([step.denominator]))
        for i, step in enumerate(given)
    ]
    return emit.concat([n for n, _ in parts]), emit.concat([q for _, q in parts])
