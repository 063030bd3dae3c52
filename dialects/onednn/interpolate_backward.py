"""InterpolateBackward (oneDNN 3.13, dev_guide_op_interpolatebackward)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import (
    operand_def,
    opt_operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from dialects.grad.geometry import axis_letters
from dialects.grad.reference import resize
from dialects.grad.sampling import ResizeRule
from dialects.onednn.base import DATA_FORMAT, OneDNNOp, axis_names, show
from dialects.support import layouts, shapes
from dialects.support.attributes import FLOATS, INTS, defaulted, optional, required, word
from dialects.support.constants import constant_value
from dialects.support.diagnostics import Diagnostic
from dialects.support.documented_op import documented_op
from dialects.support.interfaces import InfersOperands, matching_batch_and_channels
from dialects.support.shapes import Dim, Shape, shape_of

F32_MAX = float(np.finfo(np.float32).max)

RANK_WORDS = {1: "linear", 2: "bilinear", 3: "trilinear"}


@documented_op
class InterpolateBackwardOp(OneDNNOp, InfersOperands):
    """Gradient of an interpolation with respect to its input.

    diff_src[n, c, x] = sum over y of diff_dst[n, c, y] prod over axes a of M_a[y_a, x_a], where row y
    of M_a (Y, X) holds the weights with which Interpolate samples input a at output position y. The
    coordinate is (y + 1/2) X / Y - 1/2 (half_pixel) or y (X - 1) / (Y - 1), 0 if Y = 1
    (align_corners); `nearest` rounds it half up. X and Y are the true sizes, never the scales.

    src (N, C, X...) gives its shape only; diff_dst (N, C, Y...); sizes, s32, equals Y; diff_src has
    src's shape. `nearest_rounding` is gradc's extension, for importers: `pytorch_nearest` is
    floor(y X / Y), `onnx_prefer_floor` rounds half down.

    C1 one float dtype on all data ports, sizes s32 1-D; C2 rank 3 to 5, equal; C3 N and C equal;
    C4 sizes positive; C5 at least one of: attribute sizes, attribute scales, input sizes; C6 each of
    them agrees with diff_dst, one value per spatial axis.
    """

    name = "onednn.interpolate_backward"
    KIND: ClassVar[str] = "InterpolateBackward"

    BY_PARTS: ClassVar = True

    src = operand_def(TensorType)
    diff_dst = operand_def(TensorType)
    sizes_input = opt_operand_def(TensorType)
    mode = required(word("nearest", "linear", "bilinear", "trilinear"))
    coordinate_transformation_mode = defaulted(
        word(
            "half_pixel",
            "align_corners",
            default="half_pixel",
            hints={"asymmetric": "ResizeBilinearV2Grad has the asymmetric rule"},
        )
    )
    sizes = optional(INTS)
    scales = optional(FLOATS)
    data_format = defaulted(DATA_FORMAT)
    nearest_rounding = defaulted(word("exact", "pytorch_nearest", "onnx_prefer_floor", default="exact"))
    diff_src = result_def(TensorType)

    traits = traits_def(Pure())

    def infer_result_types(self) -> tuple[TensorType, ...]:
        self.check()
        assert isinstance(self.src.type, TensorType)
        return (self.src.type,)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        src, diff_dst = operands[:2]
        rule = self.rule()
        axes: list[resize.Axis] = []
        for axis in layouts.spatial_axes(self.data_format, src.ndim - 2):
            x, y = src.shape[axis], diff_dst.shape[axis]
            coordinate = resize.size_coordinate(rule.coordinate_mode, x, y)
            axes.append(resize.Axis(axis, x, coordinate, rule.interpolation))
        return (resize.resize_backward(diff_dst, axes),)

    def operand_shapes(self) -> Iterator[tuple[SSAValue, Shape]]:
        """Yield equal N and C, and the spatial sizes of diff_dst from `sizes`."""
        self.check()
        yield from matching_batch_and_channels(self.src, self.diff_dst, self.data_format)
        spatial = layouts.spatial_axes(self.data_format, len(shape_of(self.src)) - 2)
        sizes = dict(zip(spatial, self._static_sizes() or (), strict=False))
        yield self.diff_dst, tuple(sizes.get(axis) for axis in range(len(shape_of(self.src))))

    def _static_sizes(self) -> Sequence[int] | None:
        if self.is_given("sizes"):
            return self.sizes
        value = None if self.sizes_input is None else constant_value(self.sizes_input)
        return None if value is None else value.ravel().tolist()

    def rule(self) -> ResizeRule:
        coordinate_mode = self.coordinate_transformation_mode
        if self.mode != "nearest":
            return ResizeRule("linear", coordinate_mode)
        match self.nearest_rounding:
            case "pytorch_nearest":
                return ResizeRule("nearest_floor", "asymmetric")
            case "onnx_prefer_floor":
                return ResizeRule("nearest_half_down", coordinate_mode)
            case _:
                return ResizeRule("nearest_half_up", coordinate_mode)

    def check(self) -> None:
        """Check C1 to C6."""
        self.check_same_dtype([("src", self.src), ("diff_dst", self.diff_dst)])
        n = self.check_rank("src", self.src)
        if self.check_rank("diff_dst", self.diff_dst) != n:
            given = f"src {show(self.src)}, diff_dst {show(self.diff_dst)}"
            raise self.error("ranks differ", given=given, expected="equal ranks")
        for port, value in (("src", self.src), ("diff_dst", self.diff_dst)):
            self.check_sizes(port, shape_of(value), self.data_format)
        self._check_batch_and_channels(n)
        self._check_result()
        dst = self.spatial(shape_of(self.diff_dst))
        src = self.spatial(shape_of(self.src))
        self._check_sizes_attribute(dst)
        self._check_scales(src, dst)
        self._check_sizes_input(dst)
        if not (self.is_given("sizes") or self.is_given("scales") or self.sizes_input):
            raise self.error(
                "the size of diff_dst is not given",
                expected="one of: the sizes attribute, the scales attribute, the sizes input",
            )
        if self.nearest_rounding == "pytorch_nearest":
            self._check_pytorch_nearest()

    def _check_pytorch_nearest(self) -> None:
        if self.coordinate_transformation_mode == "align_corners":
            raise self.error(
                "nearest_rounding pytorch_nearest defines its own coordinate rule",
                given="coordinate_transformation_mode align_corners",
                expected="half_pixel",
            )

    def spatial(self, shape: Sequence[Dim]) -> tuple[Dim, ...]:
        axes = layouts.spatial_axes(self.data_format, len(shape) - 2)
        return tuple(shape[axis] for axis in axes)

    def _check_batch_and_channels(self, n: int) -> None:
        names = axis_names(self.data_format, n)
        rows = zip(names, shape_of(self.src), shape_of(self.diff_dst), strict=True)
        for index, (name, x, y) in enumerate(rows):
            if name in "NC" and not shapes.same_dim(x, y):
                raise self.error(
                    f"axis {name} (axis {index} of {self.value('data_format')}) differs",
                    given=f"src {x}, diff_dst {y}",
                    expected="equal",
                    hint=self.default_hint("data_format"),
                )

    def _check_result(self) -> None:
        declared, expected = shape_of(self.diff_src), shape_of(self.src)
        if not shapes.compatible(declared, expected):
            raise self.error(
                "shape of diff_src",
                given=shapes.show(declared),
                expected=f"{shapes.show(expected)}, that of src",
            )

    def _check_length(self, name: str, count: int, n: int) -> None:
        if count == n:
            return
        hint = "spatial axes only, without N and C" if count == n + 2 else ""
        raise self.error(
            f"length of {name}", given=count, expected=f"{n}, one value per spatial axis", hint=hint
        )

    def _check_sizes_attribute(self, dst: Sequence[Dim]) -> None:
        if not self.is_given("sizes"):
            return
        self._check_length("sizes", len(self.value("sizes")), len(dst))
        for letter, given, y in zip(axis_letters(len(dst)), self.value("sizes"), dst, strict=True):
            if given < 1:
                raise self.error(f"sizes axis {letter}", given=given, expected="a positive size")
            if not shapes.same_dim(given, y):
                raise self.error(
                    f"sizes axis {letter}",
                    given=given,
                    expected=f"{y}, that of diff_dst",
                    hint=self.default_hint("data_format"),
                )

    def _check_scales(self, src: Sequence[Dim], dst: Sequence[Dim]) -> None:
        if not self.is_given("scales"):
            return
        self._check_length("scales", len(self.value("scales")), len(dst))
        for letter, given, x, y in zip(axis_letters(len(dst)), self.value("scales"), src, dst, strict=True):
            if not 0 < given <= F32_MAX:
                raise self.error(f"scales axis {letter}", given=given, expected="positive and finite")
            # sizes takes precedence, so a different scale is a remark only
            if self.is_given("sizes") or scale_fits(given, x, y):
                continue
            raise self.error(
                f"scales axis {letter}",
                given=f"{given:g}: trunc({x} * {given:g}) = {math.trunc(given * _int(x))}",
                expected=f"{y}, that of diff_dst",
                hint=self.default_hint("data_format"),
            )

    def _check_sizes_input(self, dst: Sequence[Dim]) -> None:
        if self.sizes_input is None:
            return
        self.check_shape_input("sizes", self.sizes_input, len(dst))
        value = constant_value(self.sizes_input)
        if value is None:
            return
        for letter, given, y in zip(axis_letters(len(dst)), value.ravel().tolist(), dst, strict=True):
            if not shapes.same_dim(given, y):
                raise self.error(
                    f"the sizes input axis {letter}", given=given, expected=f"{y}, that of diff_dst"
                )

    def remarks(self) -> Iterator[Diagnostic]:
        n = len(shape_of(self.src)) - 2
        mode = self.mode
        if mode in ("bilinear", "trilinear") and RANK_WORDS[n] != mode:
            yield self.warning(
                f"mode {mode} on a tensor of rank {n + 2}: it has {n} spatial axes, for which the word is "
                f"{RANK_WORDS[n]}; read as linear on every spatial axis",
                strict=True,
            )
        if self.is_given("sizes") and self.is_given("scales"):
            yield self.warning(
                f"sizes {list(self.value('sizes'))} and scales {list(self.value('scales'))} are both "
                "given: sizes wins",
                strict=True,
            )
        corners = self.coordinate_transformation_mode == "align_corners"
        if mode == "nearest" and corners and not self.is_given("nearest_rounding"):
            yield self.remark(
                "nearest with align_corners: the page leaves the rounding open; coordinates are rounded "
                "half up (nearest_rounding exact)"
            )


def scale_fits(scale: float, x: Dim, y: Dim) -> bool:
    """Return whether X scaled can be Y: exactly, by truncation, or up to the error of six printed digits."""
    if not isinstance(x, int) or not isinstance(y, int):
        return True
    exact = x * float(np.float32(scale))
    product = float(np.float32(exact)) if exact <= F32_MAX else exact
    return math.trunc(product) == y or abs(scale * x - y) < 1e-3 * max(1, y)


def _int(dim: Dim) -> int:
    assert isinstance(dim, int)
    return dim
