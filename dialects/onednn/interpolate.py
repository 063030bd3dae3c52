"""Interpolate (oneDNN 3.13), the forward op."""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import operand_def, opt_operand_def, result_def

from dialects.grad.geometry import axis_letters
from dialects.grad.sampling import ResizeRule
from dialects.onednn.base import DATA_FORMAT
from dialects.onednn.families import TableOp
from dialects.onednn.interpolate_backward import F32_MAX, scale_fits
from dialects.onednn.op_spec import OpSpec
from dialects.onnx.dims import floordiv, largest, multiply
from dialects.support import layouts, size_guards
from dialects.support.attributes import FLOATS, INTS, AttributeSpec, word
from dialects.support.diagnostics import Diagnostic
from dialects.support.shapes import Dim, NamedShape, element_type_of, shape_of, tensor_type

MAX_DENOMINATOR = 2**10
"""Largest denominator of a scale that is applied exactly, as a fraction, to dynamic sizes."""


class InterpolationOp(TableOp, ABC):
    """Interpolation: dst samples src between its elements, on each spatial axis."""

    SUMMARY: ClassVar = "The input at other positions along its spatial axes."
    CONSTRAINTS: ClassVar = (
        "src (N, C, X...) in data_format, dst (N, C, Y...), Y as sizes say (the input precedes the "
        "attribute), else the whole part of X times scales. C1 a float dtype; C2 rank 3 to 5; C3 one of "
        "sizes, the attribute or the s32 input, and scales is given, with a positive value per spatial axis."
    )
    COMMON_ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec[Any]]] = {
        "mode": word("nearest", "linear", "bilinear", "trilinear"),
        "coordinate_transformation_mode": word("half_pixel", "align_corners", default="half_pixel"),
        "sizes": INTS.with_default(()),
        "scales": FLOATS.with_default(()),
        "data_format": DATA_FORMAT,
    }
    UNSET_WHEN_ZERO: ClassVar[tuple[str, ...]] = ("sizes",)
    RANKS: ClassVar = (3, 4, 5)
    SAMPLE: ClassVar = {"mode": "linear", "sizes": [6]}

    if TYPE_CHECKING:
        mode: str
        coordinate_transformation_mode: str
        sizes: tuple[int, ...]
        scales: tuple[float, ...]
        data_format: str

    src = operand_def(TensorType)
    sizes_input = opt_operand_def(TensorType)
    dst = result_def(TensorType)

    @property
    def rule(self) -> ResizeRule:
        """The sampling rule; nearest rounds half up, as the library does."""
        interpolation = "nearest_half_up" if self.mode == "nearest" else "linear"
        return ResizeRule(interpolation, self.coordinate_transformation_mode)

    @property
    def axes(self) -> tuple[int, ...]:
        """The spatial axes of src."""
        return layouts.spatial_axes(self.data_format, len(shape_of(self.src)) - 2)

    def infer_result_types(self) -> tuple[TensorType, ...]:
        self.check_float("src", self.src)
        n = self.check_rank("src", self.src)
        self.check_sizes("src", shape_of(self.src), self.data_format)
        self._check_given(n)
        shape = list(shape_of(self.src))
        for index, axis in enumerate(self.axes):
            shape[axis] = self.axis_size(index, shape[axis])
        return (tensor_type(element_type_of(self.src), shape),)

    def _check_given(self, n: int) -> None:
        for name, values in (("sizes", self.sizes), ("scales", self.scales)):
            if values and len(values) != n:
                expected = f"{n}, one value per spatial axis"
                raise self.error(f"length of {name}", given=len(values), expected=expected)
            for letter, value in zip(axis_letters(n), values, strict=False):
                if not 0 < value <= F32_MAX:
                    raise self.error(f"{name} axis {letter}", given=value, expected="a positive value")
        if self.sizes_input is not None:
            self.check_shape_input("sizes", self.sizes_input, n)
        if not (self.sizes or self.scales or self.sizes_input is not None):
            expected = "one of: the sizes attribute, the scales attribute, the sizes input"
            raise self.error("the size of dst is not given", expected=expected)

    def axis_size(self, index: int, size: Dim) -> Dim:
        """Return the size of a spatial axis of dst from that of src; None if unknown at compile time."""
        if self.sizes_input is not None:
            given = size_guards.elements_of(self.sizes_input)
            if given is None:
                return None
            wanted = given[index]
            if isinstance(wanted, int) and wanted < 1:
                letter = axis_letters(len(given))[index]
                raise self.error(f"sizes input axis {letter}", given=wanted, expected="a positive size")
            size_guards.positive(f"sizes[{index}]", wanted)
            return wanted
        if self.sizes:
            return self.sizes[index]
        scale = self.scales[index]
        declared = shape_of(self.dst)[self.axes[index]]
        if isinstance(size, int):
            fits = isinstance(declared, int) and scale_fits(scale, size, declared)
            return declared if fits else max(1, math.trunc(size * float(np.float32(scale))))
        ratio = exact_ratio(scale)
        if ratio is None:
            return None
        found = floordiv(multiply(size, ratio.numerator), ratio.denominator)
        return found if ratio >= 1 else largest(1, found)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        src, *given = operands
        dst, rule = src, self.rule
        rows: list[tuple[int, int, int]] = []
        for index, axis in enumerate(self.axes):
            x = src.shape[axis]
            y = int(given[0].ravel()[index]) if given else self.axis_size(index, x)
            assert isinstance(y, int)
            rows.append((y - x, axis, y))
        # shrink axes first, so that no intermediate is larger than src or dst
        for _, axis, y in sorted(rows):
            dst = self.SPEC.meaning(dst, axis, *rule.sampling(src.shape[axis], y).taps())
        return (dst,)

    @classmethod
    def port_dtype(cls, port: str, dtype: str) -> str:
        return "s32" if port == "sizes" else dtype

    @classmethod
    def port_shape(cls, port: str, shape: NamedShape) -> NamedShape:
        return (len(shape) - 2,) if port == "sizes" else shape

    def remarks(self) -> Iterator[Diagnostic]:
        if self.scales and (self.sizes or self.sizes_input is not None):
            yield self.warning(
                f"sizes and scales {list(self.scales)} are both given: sizes wins", strict=True
            )


def exact_ratio(scale: float) -> Fraction | None:
    """Return a scale as a fraction with a small denominator, else None."""
    ratio = Fraction(float(np.float32(scale)))
    return ratio if ratio.denominator <= MAX_DENOMINATOR else None


def interpolate_axis(
    data: np.ndarray, axis: int, lower: np.ndarray, upper: np.ndarray, fraction: np.ndarray
) -> np.ndarray:
    """Interpolate along one axis; an exactly sampled position ignores its neighbour."""
    along: Sequence[int] = [-1 if i == axis else 1 for i in range(data.ndim)]
    part = fraction.reshape(along)
    first, second = data.take(lower, axis), data.take(upper, axis)
    second *= part
    mixed = first * (1 - part)
    mixed += second
    np.copyto(mixed, first, where=part == 0)
    return mixed


INTERPOLATION = (
    OpSpec(
        "Interpolate",
        "src[n, c, t], t = (y + 1/2) X / Y - 1/2 (half_pixel) or y (X - 1) / (Y - 1), 0 if Y = 1 "
        "(align_corners), on each axis: nearest rounds half up, the others weigh the two neighbours",
        interpolate_axis,
    ),
)
