"""ConvTranspose with `output_shape` whose pads depend on dynamic sizes."""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.infer.spatial import Window, window
from dialects.support.shapes import shape_of
from passes.autodiff.common.primal import Primal
from passes.builder.op_builder import OpBuilder
from passes.builder.values import Builder
from passes.decompositions.missing_kernels.explicit_pads import has_explicit_pads
from passes.decompositions.registry import Results


def has_dynamic_pads(op: OnnxOp) -> bool:
    """Return whether an op has an `output_shape` and unknown pads."""
    assert isinstance(op, onnx.ConvTransposeOp)
    return "output_shape" in op.call().attributes and not has_explicit_pads(op)


def slice_of_full_result(f: Primal, e: Builder) -> Results | None:
    """Return a Slice of the result without pads, which begins where the pads end.

    The result is extended by a stride less 1, as far as `output_shape` may reach beyond the last window.
    """
    op, emit = f.op_as(onnx.ConvTransposeOp), e.emit
    call = op.call()
    view = window(call, call.attribute("kernel_shape") or call.operand(1).shape[2:])
    added = tuple(call.attribute("output_padding", (0,) * view.rank))
    if any(view.extent(i) is None for i in range(view.rank)):
        return None
    attributes: dict[str, Any] = {**call.attributes, "auto_pad": "NOTSET", "pads": [0] * (2 * view.rank)}
    wanted = attributes.pop("output_shape")[-view.rank :]
    attributes["output_padding"] = [max(a, s - 1) for a, s in zip(added, view.strides, strict=True)]
    full = emit(onnx.ConvTransposeOp(*op.operands, **attributes))
    begin = _pads_before(emit, op.X, view, [a - w for a, w in zip(added, wanted, strict=True)])
    axes = range(2, len(shape_of(op.results[0])))
    return [emit(onnx.SliceOp(full, begin, emit.add(begin, emit.ints(wanted)), emit.ints(axes)))]


def _pads_before(emit: OpBuilder, data: SSAValue, view: Window, beyond: list[int]) -> SSAValue:
    """Return the part of stride * (size - 1) + extent + beyond, at least 0, that pads the front."""
    rest = [(view.extent(i) or 1) - view.strides[i] + beyond[i] for i in range(view.rank)]
    sizes = emit.sizes(data, range(2, 2 + view.rank))
    total = emit.max(emit.add(emit.mul(sizes, emit.ints(view.strides)), emit.ints(rest)), 0)
    less = emit.div(total, emit.ints([2]))
    return less if view.auto_pad == "SAME_UPPER" else emit.sub(total, less)
