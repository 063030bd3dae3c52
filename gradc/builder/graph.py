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

from dialects.cann import UpsampleBilinear2dBackwardOp
from dialects.support.attributes import unknown_dims
from gradc.builder.arguments import Dims, Ints
from gradc.builder.base import GraphValue
from gradc.builder.spec_methods import REQUIRED, SpecMethods


class Graph(SpecMethods):
    """A graph under construction; `module()` returns the graph built so far."""

    def upsample_bilinear2d_backward(
        self,
        gradOut: GraphValue = REQUIRED,
        outputSize: Ints = REQUIRED,
        inputSize: Dims = REQUIRED,
        alignCorners: bool | None = None,
        scalesH: float | None = None,
        scalesW: float | None = None,
        *,
        grad_out: GraphValue | None = None,
        output_size: Ints | None = None,
        input_size: Dims | None = None,
        align_corners: bool | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
        format: str | None = None,
        name: str | None = None,
        result_shape: Dims | None = None,
        **unknown: Never,
    ) -> GraphValue:
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


def _with_unknown(sizes: Any) -> Any:
    return unknown_dims(sizes) if isinstance(sizes, list | tuple) else sizes


def _from_snake(camel: Mapping[str, Any], attributes: dict[str, Any]) -> dict[str, Any]:
    """Move snake-case spellings out of `attributes`; an argument given in both spellings stays there."""
    spellings = {"".join("_" + c.lower() if c.isupper() else c for c in name): name for name in camel}
    taken = [s for s, name in spellings.items() if s in attributes and camel[name] is None]
    return {spellings[snake]: attributes.pop(snake) for snake in taken}
