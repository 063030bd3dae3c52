"""ResizeBilinearV2Grad (Ascend CANN), as registered, and the aclnn call that its page names."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, result_def, traits_def
from xdsl.traits import Pure

from dialects.grad.reference import resize
from dialects.grad.sampling import ResizeRule, scale_step
from dialects.support import dtypes, layouts, shapes
from dialects.support.attributes import FLAG, FLOAT, FLOATS, INTS, defaulted, required, word
from dialects.support.diagnostics import Diagnostic, GradcError
from dialects.support.documented_op import DocumentedOp, documented_op
from dialects.support.interfaces import InfersOperands, Remarks, matching_batch_and_channels
from dialects.support.shapes import Dim, Shape, element_type_of, shape_of, tensor_type

FORMAT = word(
    "NCHW",
    "NHWC",
    default="NCHW",
    hints={
        "nd": "the page says ND, the registered op takes NCHW or NHWC",
        "ncx": "did you mean NCHW?",
        "nxc": "did you mean NHWC?",
    },
)
DTYPES = ("f32", "f16", "bf16")


class CannResizeOp(DocumentedOp, Remarks, InfersOperands, ABC):
    """Shared checks of the registered op and the aclnn call: formats, 4-D shapes, scales."""

    KIND: ClassVar[str]

    BY_PARTS: ClassVar = True

    format = defaulted(FORMAT)

    def check_tensor(self, port: str, value: SSAValue) -> str:
        """Check rank 4, positive sizes and a documented dtype; return the dtype's name."""
        shape = shape_of(value)
        dtype = dtypes.name_of(element_type_of(value))
        if dtype not in DTYPES:
            raise self.error(f"dtype of {port}", given=dtype, expected=f"one of {', '.join(DTYPES)}")
        if len(shape) != 4:
            raise self.error(
                f"rank of {port}",
                given=f"{len(shape)} {shapes.show(shape)}",
                expected=4,
                hint="for 1-D and 3-D data use oneDNN's InterpolateBackward",
            )
        for letter, dim in zip(self.format, shape, strict=True):
            if dim == 0 and letter != "N":
                raise self.error(f"{port} axis {letter}", given=0, expected="a positive size")
        return dtype

    def spatial(self, shape: Shape) -> tuple[Dim, ...]:
        """Return (H, W) of a shape in the op's format."""
        return tuple(shape[axis] for axis in layouts.spatial_axes(self.format, 2))

    def check_batch_and_channels(self, names: tuple[str, str], first: Shape, second: Shape) -> None:
        for letter in "NC":
            axis = layouts.axis_of(self.format, letter, 2)
            if not shapes.same_dim(first[axis], second[axis]):
                raise self.error(
                    f"axis {letter} (axis {axis} of {self.value('format')}) differs",
                    given=f"{names[0]} {first[axis]}, {names[1]} {second[axis]}",
                    expected="equal",
                    hint=f"both are in {self.value('format')} order: {names[0]} {shapes.show(first)}, "
                    f"{names[1]} {shapes.show(second)}",
                )

    @abstractmethod
    def rule(self) -> ResizeRule:
        """Return the interpolation and coordinates of the forward op."""

    def backward(self, grads: np.ndarray, shape: Sequence[int], scales: Sequence[float]) -> np.ndarray:
        """Return the gradient of an image of a shape."""
        mode = self.rule().coordinate_mode
        axes: list[resize.Axis] = []
        for axis, scale in zip(layouts.spatial_axes(self.format, 2), scales, strict=True):
            x, y = shape[axis], grads.shape[axis]
            if scale > 0 and mode != "align_corners":
                coordinate = resize.scale_coordinate(mode, scale)
            else:
                coordinate = resize.size_coordinate(mode, x, y)
            axes.append(resize.Axis(axis, x, coordinate, "linear"))
        return resize.resize_backward(grads, axes)

    def check_scale(self, name: str, scale: float) -> None:
        if math.isnan(scale) or scale == math.inf:
            raise self.error(name, given=scale, expected="a finite number (<= 0 means unset)")

    def scale_remarks(
        self, names: tuple[str, str], scales: tuple[float, float], sizes: tuple[Shape, Shape], corners: bool
    ) -> Iterator[Diagnostic]:
        """Yield remarks on scales; `sizes` are (H, W) of the result and of the incoming gradient."""
        if corners and any(scale != 0 for scale in scales):
            yield self.remark(f"{' and '.join(dict.fromkeys(names))}: ignored, align_corners is true")
            return
        for name, letter, scale, x, y in zip(names, "HW", scales, *sizes, strict=True):
            if scale < 0:
                yield self.remark(f"{name} {letter}: {scale:g} is negative, which means unset")
            if scale > 0 and not (isinstance(x, int) and isinstance(y, int)):
                yield self.remark(
                    f"{name} {letter}: coordinates follow the given {scale:g}; the ratio of the sizes is "
                    "not checked, as they are dynamic"
                )
            ratio = f"{y}/{x}"
            if scale > 0 and isinstance(x, int) and isinstance(y, int) and not _close(scale, x, y):
                yield self.remark(
                    f"{name} {letter}: {scale:g} differs from the ratio {ratio} = {y / x:g} of the sizes; "
                    "coordinates follow the given scale"
                ).with_severity("warning")
        if any(s > 0 for s in scales) and any(s <= 0 for s in scales):
            given = ", ".join(
                f"{letter} uses {f'1/{s:g}' if s > 0 else 'the ratio of the sizes'}"
                for letter, s in zip("HW", scales, strict=True)
            )
            yield self.remark(f"{names[0]}: {given}")


def _close(scale: float, x: int, y: int) -> bool:
    return math.isclose(scale * x, y, rel_tol=1e-5)


@documented_op
class ResizeBilinearV2GradOp(CannResizeOp):
    """Gradient of a bilinear resize with respect to the image.

    y[n, c, h, w] = sum over p, q of grads[n, c, p, q] M_h[p, h] M_w[q, w]; row p of M holds 1 - d at
    the lower and d at the upper neighbour of the coordinate t of output position p: t = (p + 1/2) S -
    1/2 with half_pixel_centers, else p S; t is clamped to the image. The step S is (X - 1)/(Y - 1)
    with align_corners (0 if Y = 1), else 1/scale where the scale is positive, else X/Y.

    grads (N, C, H', W') and original_image (N, C, H, W) in `format`; y has original_image's shape and
    dtype, whose values are not read.

    C1 all ports are 4-D with positive sizes; C2 the format is NCHW or NHWC; C3 dtypes f32, f16, bf16:
    half grads need the same image, f32 grads take any; C4 N and C agree; C5 at most one of
    align_corners and half_pixel_centers; C6 two scales, neither NaN nor infinite.
    """

    name = "cann.resize_bilinear_v2_grad"
    KIND: ClassVar[str] = "ResizeBilinearV2Grad"

    FOREIGN_ATTRIBUTES: ClassVar = {
        "alignCorners": "did you mean align_corners? alignCorners is the aclnn call's spelling",
        "halfPixelCenters": "did you mean half_pixel_centers?",
        "data_format": "did you mean format?",
        "scalesH": "did you mean scales? scalesH is the aclnn call's spelling",
        "scalesW": "did you mean scales? scalesW is the aclnn call's spelling",
    }

    grads = operand_def(TensorType)
    original_image = operand_def(TensorType)
    align_corners = defaulted(FLAG.with_default(False))
    half_pixel_centers = defaulted(FLAG.with_default(False))
    scales = defaulted(FLOATS.with_default((0.0, 0.0)))
    y = result_def(TensorType)

    traits = traits_def(Pure())

    def infer_result_types(self) -> tuple[TensorType, ...]:
        self.check()
        assert isinstance(self.original_image.type, TensorType)
        return (self.original_image.type,)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        grads, image = operands
        return (self.backward(grads, image.shape, self.scales),)

    def operand_shapes(self) -> Iterator[tuple[SSAValue, Shape]]:
        self.check()
        yield from matching_batch_and_channels(self.grads, self.original_image, self.format)

    def check(self) -> None:
        """Check C1 to C6."""
        grads = self.check_tensor("grads", self.grads)
        image = self.check_tensor("original_image", self.original_image)
        if grads != "f32" and image != grads:
            raise self.error(
                "dtypes of grads and original_image",
                given=f"{grads} and {image}",
                expected=f"{grads} and {grads}",
                hint="only f32 grads go with an image of another dtype",
            )
        if self.align_corners and self.half_pixel_centers:
            raise self.error(
                "align_corners and half_pixel_centers are both true", expected="at most one of them"
            )
        if len(self.scales) != 2:
            raise self.error("length of scales", given=len(self.scales), expected="2 (H, W)")
        for scale in self.scales:
            self.check_scale("scales", scale)
        shapes_ = (shape_of(self.grads), shape_of(self.original_image))
        self.check_batch_and_channels(("grads", "original_image"), *shapes_)
        declared = shape_of(self.y)
        if not shapes.compatible(declared, shapes_[1]):
            raise self.error(
                "shape of y",
                given=shapes.show(declared),
                expected=f"{shapes.show(shapes_[1])}, that of original_image",
            )

    def rule(self) -> ResizeRule:
        if self.align_corners:
            return ResizeRule("linear", "align_corners")
        mode = "half_pixel" if self.half_pixel_centers else "asymmetric"
        return ResizeRule("linear", mode)

    def steps(self) -> tuple[Fraction | None, ...]:
        """Return the user's step per axis (H, W), None to derive it from the sizes."""
        if self.align_corners:
            return (None, None)
        return tuple(scale_step(s) if s > 0 else None for s in self.scales)

    def remarks(self) -> Iterator[Diagnostic]:
        sizes = (self.spatial(shape_of(self.original_image)), self.spatial(shape_of(self.grads)))
        corners = self.align_corners
        yield from self.scale_remarks(("scales", "scales"), self.value("scales"), sizes, corners)


@documented_op
class UpsampleBilinear2dBackwardOp(CannResizeOp):
    """aclnnUpsampleBilinear2dBackward: the call through which frameworks reach ResizeBilinearV2Grad.

    It is ResizeBilinearV2Grad with half_pixel_centers = not alignCorners. outputSize is (H, W) of
    gradOut, inputSize the full shape of the result in the tensor's own format order; scalesH and
    scalesW (<= 0: unset) are output over input sizes.

    C1 gradOut is 4-D with positive sizes; C2 outputSize has 2 entries and is gradOut's (H, W);
    C3 inputSize has 4 positive entries with gradOut's N and C; C4 scales are finite.
    """

    name = "cann.upsample_bilinear2d_backward"
    KIND: ClassVar[str] = "UpsampleBilinear2dBackward"

    PORTS: ClassVar = ("gradOut",)
    FOREIGN_ATTRIBUTES: ClassVar = {
        "align_corners": "did you mean alignCorners?",
        "output_size": "did you mean outputSize?",
        "input_size": "did you mean inputSize?",
    }

    grad_out = operand_def(TensorType)
    outputSize = required(INTS)
    inputSize = required(INTS)
    alignCorners = defaulted(FLAG.with_default(False))
    scalesH = defaulted(FLOAT.with_default(0.0))
    scalesW = defaulted(FLOAT.with_default(0.0))
    out = result_def(TensorType)

    traits = traits_def(Pure())

    def infer_result_types(self) -> tuple[TensorType, ...]:
        self.check()
        sizes = self.input_shape()
        batch = layouts.axis_of(self.format, "N", 2)
        known = shape_of(self.grad_out)[batch]
        shape = tuple(known if axis == batch else dim for axis, dim in enumerate(sizes))
        return (tensor_type(element_type_of(self.grad_out), shape),)

    def rule(self) -> ResizeRule:
        return ResizeRule("linear", "align_corners" if self.alignCorners else "half_pixel")

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return (self.backward(operands[0], self.inputSize, (self.scalesH, self.scalesW)),)

    def input_shape(self) -> Shape:
        return tuple(None if dim == DYNAMIC_INDEX else dim for dim in self.inputSize)

    def operand_shapes(self) -> Iterator[tuple[SSAValue, Shape]]:
        self.check()
        shape: list[Dim] = list(self.input_shape())
        spatial = layouts.spatial_axes(self.format, 2)
        for axis, size in zip(spatial, self.outputSize, strict=True):
            shape[axis] = None if size == DYNAMIC_INDEX else size
        yield self.grad_out, tuple(shape)

    def check(self) -> None:
        """Check C1 to C4."""
        self.check_tensor("gradOut", self.grad_out)
        for name, count in (("outputSize", 2), ("inputSize", 4)):
            if len(self.value(name)) != count:
                raise self.error(f"length of {name}", given=len(self.value(name)), expected=count)
        grad = shape_of(self.grad_out)
        rows = zip("HW", self.outputSize, self.spatial(grad), strict=True)
        for letter, given, y in rows:
            if not shapes.same_dim(None if given == DYNAMIC_INDEX else given, y):
                raise self.error(f"outputSize axis {letter}", given=given, expected=f"{y}, that of gradOut")
        sizes = self.input_shape()
        for letter, dim in zip(self.format, sizes, strict=True):
            if (dim is None and letter != "N") or (isinstance(dim, int) and dim < (letter != "N")):
                raise self.error(f"inputSize axis {letter}", given=dim, expected="a positive size")
        self._check_order(sizes, grad)
        for name in ("scalesH", "scalesW"):
            self.check_scale(name, self.value(name))

    def _check_order(self, sizes: Shape, grad: Shape) -> None:
        try:
            self.check_batch_and_channels(("inputSize", "gradOut"), sizes, grad)
        except GradcError as error:
            raise self.error(
                f"{error.diagnostic.message}; inputSize follows the tensor's own format order"
            ) from None

    def remarks(self) -> Iterator[Diagnostic]:
        sizes = (self.spatial(self.input_shape()), self.spatial(shape_of(self.grad_out)))
        scales = (self.scalesH, self.scalesW)
        yield from self.scale_remarks(("scalesH", "scalesW"), scales, sizes, self.alignCorners)
