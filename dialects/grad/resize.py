"""Canonical resize gradients: on explicit axes, so that no layout needs a transpose."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, result_def

from dialects.grad.grad_op import GradOp
from dialects.grad.reference import resize as reference
from dialects.grad.sampling import COORDINATES, INTERPOLATIONS, AxisSampling
from dialects.support import shapes
from dialects.support.attributes import INTS, required, word
from dialects.support.diagnostics import violation
from dialects.support.documented_op import DocumentedOp, build, documented_op
from dialects.support.memo import SMALL_MEMO_SIZE
from dialects.support.shapes import Shape, element_type_of, shape_of, tensor_type


@documented_op
class ResizeBackwardOp(GradOp):
    """Gradient of a resize with respect to its input, sizes known at compile time.

    diff_src[.., x, ..] = sum over y of diff_dst[.., y, ..] prod over axes a of M_a[y_a, x_a], where
    M_a (Y, X) holds the weights of `sampling.AxisSampling`: t(y) = (y + h) S - h with the step
    S = step_numerators / step_denominators and h = 1/2 (half_pixel) or 0 (corner).

    C1 the four lists have one entry per axis; C2 axes are distinct and lie in diff_dst; C3 sizes of
    both sides are known and positive; C4 step numerators are >= 0 and denominators > 0.
    """

    name = "grad.resize_backward"

    BY_PARTS: ClassVar = True

    diff_dst = operand_def(TensorType)
    axes = required(INTS)
    input_sizes = required(INTS)
    step_numerators = required(INTS)
    step_denominators = required(INTS)
    interpolation = required(word(*INTERPOLATIONS))
    coordinates = required(word(*COORDINATES))
    diff_src = result_def(TensorType)

    @property
    def samplings(self) -> tuple[AxisSampling, ...]:
        """One sampling per entry of `axes`, for verified ops only."""
        lists = (tuple(self.value(name)) for name in _AXIS_LISTS)
        rule = (self.interpolation, self.coordinates)
        return _samplings(shape_of(self.diff_dst), *rule, *lists)

    def _infer(self) -> tuple[TensorType, ...]:
        shape: list[shapes.Dim] = list(shape_of(self.diff_dst))
        _check_axes(self, _AXIS_LISTS, len(shape))
        lists = [self.value(name) for name in _AXIS_LISTS]
        for axis, x, numerator, denominator in zip(*lists, strict=True):
            size: shapes.Dim = shape[int(axis)]
            if not isinstance(size, int) or min(size, x) < 1:
                raise violation(
                    f"sizes of axis {axis}", given=shapes.show([size, x]), expected="known, positive sizes"
                )
            if numerator < 0 or denominator < 1:
                raise violation(f"step of axis {axis}", given=f"{numerator}/{denominator}")
            shape[axis] = x
        return (tensor_type(element_type_of(self.diff_dst), shape),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        steps = zip(self.step_numerators, self.step_denominators, strict=True)
        return (_evaluate(self, operands[0], self.input_sizes, [Fraction(n, q) for n, q in steps]),)


@lru_cache(SMALL_MEMO_SIZE)
def _samplings(
    shape: Shape, interpolation: str, coordinates: str, *lists: tuple[int, ...]
) -> tuple[AxisSampling, ...]:
    found: list[AxisSampling] = []
    for axis, x, numerator, denominator in zip(*lists, strict=True):
        y = shape[int(axis)]
        assert isinstance(y, int)
        found.append(AxisSampling(x, y, Fraction(numerator, denominator), interpolation, coordinates))
    return tuple(found)


@documented_op
class ResizeBackwardDynamicOp(GradOp):
    """`grad.resize_backward` with dynamic sizes and steps.

    input_sizes, step_numerators and step_denominators are int64 operands with one entry per axis, as in the
    static op; the sizes of diff_dst are read from its shape.

    C1 the operands are 1-D with one entry per axis; C2 axes are distinct and lie in diff_dst.
    """

    name = "grad.resize_backward_dynamic"

    BY_PARTS: ClassVar = True

    diff_dst = operand_def(TensorType)
    input_sizes = operand_def(TensorType)
    step_numerators = operand_def(TensorType)
    step_denominators = operand_def(TensorType)
    axes = required(INTS)
    interpolation = required(word(*INTERPOLATIONS))
    coordinates = required(word(*COORDINATES))
    diff_src = result_def(TensorType)

    def _infer(self) -> tuple[TensorType, ...]:
        shape: list[shapes.Dim] = list(shape_of(self.diff_dst))
        _check_axes(self, ("axes",), len(shape))
        axes = self.axes
        for port in self.operands[1:]:
            if not shapes.compatible(shape_of(port), (len(axes),)):
                raise violation(
                    "shape of a size operand",
                    given=shapes.show(shape_of(port)),
                    expected=f"[{len(axes)}]",
                )
        for axis in axes:
            shape[axis] = None
        return (tensor_type(element_type_of(self.diff_dst), shape),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        diff_dst, sizes, numerators, denominators = operands
        pairs = zip(numerators.tolist(), denominators.tolist(), strict=True)
        steps = [Fraction(n, q) if q else Fraction(0) for n, q in pairs]  # without positions no step is used
        return (_evaluate(self, diff_dst, sizes.tolist(), steps),)


def _evaluate(
    op: ResizeBackwardOp | ResizeBackwardDynamicOp,
    diff_dst: np.ndarray,
    sizes: Sequence[int],
    steps: Sequence[Fraction],
) -> np.ndarray:
    of = reference.half_pixel if op.coordinates == "half_pixel" else reference.corner
    axes = [
        reference.Axis(axis, x, of(step), op.interpolation)
        for axis, x, step in zip(op.axes, sizes, steps, strict=True)
    ]
    return reference.resize_backward(diff_dst, axes)


_AXIS_LISTS = ("axes", "input_sizes", "step_numerators", "step_denominators")


def _check_axes(op: DocumentedOp, lists: Sequence[str], rank: int) -> None:
    axes = op.value("axes")
    check_distinct(axes, rank)
    for name in lists:
        if len(op.value(name)) != len(axes):
            raise violation(name, given=list(op.value(name)), expected=f"{len(axes)} values")


def check_distinct(axes: Sequence[int], rank: int) -> None:
    if len(set(axes)) != len(axes) or any(not 0 <= axis < rank for axis in axes):
        raise violation("axes", given=list(axes), expected=f"distinct axes below {rank}")


def resize_backward(
    diff_dst: SSAValue, axes: Sequence[int], samplings: Sequence[AxisSampling]
) -> ResizeBackwardOp:
    """Return the static op; the samplings share interpolation and coordinate rule."""
    return build(
        ResizeBackwardOp,
        (diff_dst,),
        {
            "axes": axes,
            "input_sizes": [s.x for s in samplings],
            "step_numerators": [s.step.numerator for s in samplings],
            "step_denominators": [s.step.denominator for s in samplings],
            **_rule(samplings[0].interpolation, samplings[0].coordinates),
        },
    )


def resize_backward_dynamic(
    diff_dst: SSAValue,
    input_sizes: SSAValue,
    steps: tuple[SSAValue, SSAValue],
    axes: Sequence[int],
    interpolation: str,
    coordinates: str,
) -> ResizeBackwardDynamicOp:
    operands = (diff_dst, input_sizes, *steps)
    return build(ResizeBackwardDynamicOp, operands, {"axes": axes, **_rule(interpolation, coordinates)})


def _rule(interpolation: str, coordinates: str) -> dict[str, Any]:
    return {"interpolation": interpolation, "coordinates": coordinates}
