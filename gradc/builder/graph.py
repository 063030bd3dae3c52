"""Construction of source graphs in Python, with one typed method per op.

    g = Graph()
    dy, w = g.input("dy", "f32", ("N", 4, 3, 3)), g.input("w", "f32", (4, 2, 3, 3))
    dx = g.convolution_backward_data(dy, w, (None, 2, 5, 5), strides=(2, 2), ...)
    g.output(dx, "dx")

Errors are GradcErrors at the caller's line, with the same message as for a document. Unknown keyword
arguments are therefore accepted at run time, with the type Never, which a type checker rejects.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Never

from dialects.cann import ResizeBilinearV2GradOp, UpsampleBilinear2dBackwardOp
from dialects.onednn import (
    ConvolutionBackwardDataOp,
    ConvTransposeBackwardDataOp,
    InterpolateBackwardOp,
)
from dialects.support.attributes import unknown_dims
from gradc.builder.arguments import Dims, Floats, Ints
from gradc.builder.base import Value
from gradc.builder.spec_methods import REQUIRED, SpecMethods


class Graph(SpecMethods):
    """A graph under construction; `module()` returns the graph built so far."""

    def convolution_backward_data(
        self,
        diff_dst: Value = REQUIRED,
        weights: Value = REQUIRED,
        dst_shape: Value | Dims | None = None,
        *,
        strides: Ints = REQUIRED,
        pads_begin: Ints = REQUIRED,
        pads_end: Ints = REQUIRED,
        dilations: Ints = REQUIRED,
        auto_pad: str | None = None,
        output_padding: Ints | None = None,
        groups: int | None = None,
        data_format: str | None = None,
        weights_format: str | None = None,
        auto_pad_rule: str | None = None,
        name: str | None = None,
        result_shape: Dims | None = None,
        **unknown: Never,
    ) -> Value:
        """Gradient of a convolution with respect to its input.

        `dst_shape` is the full shape of the result in data_format order: a value (the op's third input)
        or sizes (its attribute). `result_shape` declares the result and may replace `dst_shape`.
        """
        sizes_input, attribute = _split(dst_shape)
        given = {
            "strides": strides,
            "pads_begin": pads_begin,
            "pads_end": pads_end,
            "dilations": dilations,
            "auto_pad": auto_pad,
            "output_padding": output_padding,
            "groups": groups,
            "data_format": data_format,
            "weights_format": weights_format,
            "auto_pad_rule": auto_pad_rule,
            "dst_shape": _with_unknown(attribute),
        }
        operands = (diff_dst, weights, sizes_input)
        return self._build(ConvolutionBackwardDataOp, operands, given, unknown, name, result_shape)

    def conv_transpose_backward_data(
        self,
        diff_dst: Value = REQUIRED,
        weights: Value = REQUIRED,
        *,
        strides: Ints = REQUIRED,
        pads_begin: Ints = REQUIRED,
        pads_end: Ints = REQUIRED,
        dilations: Ints = REQUIRED,
        auto_pad: str | None = None,
        output_padding: Ints | None = None,
        groups: int | None = None,
        data_format: str | None = None,
        weights_format: str | None = None,
        auto_pad_rule: str | None = None,
        name: str | None = None,
        result_shape: Dims | None = None,
        **unknown: Never,
    ) -> Value:
        """Gradient of a transposed convolution with respect to its input."""
        given = {
            "strides": strides,
            "pads_begin": pads_begin,
            "pads_end": pads_end,
            "dilations": dilations,
            "auto_pad": auto_pad,
            "output_padding": output_padding,
            "groups": groups,
            "data_format": data_format,
            "weights_format": weights_format,
            "auto_pad_rule": auto_pad_rule,
        }
        operands = (diff_dst, weights)
        return self._build(ConvTransposeBackwardDataOp, operands, given, unknown, name, result_shape)

    def interpolate_backward(
        self,
        src: Value = REQUIRED,
        diff_dst: Value = REQUIRED,
        sizes: Value | Ints | None = None,
        *,
        mode: str = REQUIRED,
        coordinate_transformation_mode: str | None = None,
        scales: Floats | None = None,
        data_format: str | None = None,
        nearest_rounding: str | None = None,
        name: str | None = None,
        result_shape: Dims | None = None,
        **unknown: Never,
    ) -> Value:
        """Gradient of an interpolation with respect to `src`, of which only the shape is used.

        `sizes` are the spatial sizes of diff_dst: a value (the op's third input) or its attribute.
        """
        sizes_input, attribute = _split(sizes)
        given = {
            "mode": mode,
            "coordinate_transformation_mode": coordinate_transformation_mode,
            "sizes": attribute,
            "scales": scales,
            "data_format": data_format,
            "nearest_rounding": nearest_rounding,
        }
        operands = (src, diff_dst, sizes_input)
        return self._build(InterpolateBackwardOp, operands, given, unknown, name, result_shape)

    def resize_bilinear_v2_grad(
        self,
        grads: Value = REQUIRED,
        original_image: Value = REQUIRED,
        *,
        align_corners: bool | None = None,
        half_pixel_centers: bool | None = None,
        scales: Floats | None = None,
        format: str | None = None,
        name: str | None = None,
        result_shape: Dims | None = None,
        **unknown: Never,
    ) -> Value:
        """Ascend's gradient of a bilinear resize; only the shape and dtype of `original_image` are used."""
        given = {
            "align_corners": align_corners,
            "half_pixel_centers": half_pixel_centers,
            "scales": scales,
            "format": format,
        }
        operands = (grads, original_image)
        return self._build(ResizeBilinearV2GradOp, operands, given, unknown, name, result_shape)

    def upsample_bilinear2d_backward(
        self,
        gradOut: Value = REQUIRED,
        outputSize: Ints = REQUIRED,
        inputSize: Dims = REQUIRED,
        alignCorners: bool | None = None,
        scalesH: float | None = None,
        scalesW: float | None = None,
        *,
        grad_out: Value | None = None,
        output_size: Ints | None = None,
        input_size: Dims | None = None,
        align_corners: bool | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
        format: str | None = None,
        name: str | None = None,
        result_shape: Dims | None = None,
        **unknown: Never,
    ) -> Value:
        """Gradient of a bilinear upsampling as the aclnn function that ResizeBilinearV2Grad implements.

        Every argument has two spellings, the documented one and snake case.
        """
        snake = {
            "grad_out": grad_out,
            "output_size": output_size,
            "input_size": input_size,
            "align_corners": align_corners,
            "scales_h": scales_h,
            "scales_w": scales_w,
        }
        others = dict(unknown) | {key: value for key, value in snake.items() if value is not None}
        camel = {
            "gradOut": gradOut,
            "outputSize": outputSize,
            "inputSize": inputSize,
            "alignCorners": alignCorners,
            "scalesH": scalesH,
            "scalesW": scalesW,
        }
        given = camel | _from_snake(camel, others)
        operands = (given.pop("gradOut"),)
        given["inputSize"] = _with_unknown(given["inputSize"])
        given["outputSize"] = _with_unknown(given["outputSize"])
        given["format"] = format
        return self._build(UpsampleBilinear2dBackwardOp, operands, given, others, name, result_shape)


def _split(given: Any) -> tuple[Value | None, Any]:
    """Return (value, None) or (None, attribute) for an argument that may be either."""
    return (given, None) if isinstance(given, Value) else (None, given)


def _with_unknown(sizes: Any) -> Any:
    return unknown_dims(sizes) if isinstance(sizes, list | tuple) else sizes


def _from_snake(camel: Mapping[str, Any], attributes: dict[str, Any]) -> dict[str, Any]:
    """Move snake-case spellings out of `attributes`; an argument given in both spellings stays there."""
    spellings = {"".join("_" + c.lower() if c.isupper() else c for c in name): name for name in camel}
    taken = [s for s, name in spellings.items() if s in attributes and camel[name] is None]
    return {spellings[snake]: attributes.pop(snake) for snake in taken}
