"""Replace `auto_pad` and `output_shape` by explicit pads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.call import Call
from dialects.onnx.infer.spatial import Window, window, with_explicit_pads
from dialects.support.shapes import UnknownRank, static
from passes.autodiff.common.primal import Primal
from passes.builder.values import Builder
from passes.decompositions.registry import Results


def has_explicit_pads(op: OnnxOp) -> bool:
    """Return whether an op has `auto_pad` or `output_shape` with statically known pads."""
    return explicit_pads(op) is not None


def with_pads(f: Primal, e: Builder) -> Results | None:
    """Return the results of the same op with `pads` instead of `auto_pad` and `output_shape`."""
    op, emit = f.op, e.emit
    found = explicit_pads(op)
    if found is None:
        return None
    attributes: dict[str, Any] = {**op.call().attributes, "auto_pad": "NOTSET", **found}
    attributes.pop("output_shape", None)
    cls: Any = type(op)
    return emit.all(cls(*op.operands, **attributes))


def explicit_pads(op: OnnxOp) -> dict[str, Any] | None:
    """Return attributes equivalent to `auto_pad` and `output_shape`; None without them or for unknown
    pads."""
    call = op.call()
    transposed = isinstance(op, onnx.ConvTransposeOp)
    if call.attribute("auto_pad", "NOTSET") == "NOTSET" and not (
        transposed and "output_shape" in call.attributes
    ):
        return None
    try:
        view, data = window(call, _kernel(call)), call.operand(0).shape[2:]
    except UnknownRank:
        return None
    kernel = static(view.kernel)
    if kernel is None:
        return None
    if transposed:
        return _of_transposed(call, view, static(data))
    if not view.auto_pad.startswith("SAME"):
        return _pads_attribute(view)
    sizes = static(data) or _any_sizes(view)
    return None if sizes is None else _pads_attribute(with_explicit_pads(view, sizes)) | _floors(call)


def _kernel(call: Call) -> Sequence[Any]:
    given = call.attribute("kernel_shape")
    return call.operand(1).shape[2:] if given is None else given


def _any_sizes(view: Window) -> list[int] | None:
    """Return sizes that represent all others for strides of 1: the pads depend on the kernel only."""
    extents = [view.extent(i) for i in range(view.rank)]
    return [extent or 1 for extent in extents] if set(view.strides) <= {1} else None


def _pads_attribute(view: Window) -> dict[str, Any]:
    return {"pads": [*view.begin, *view.end]}


def _floors(call: Call) -> dict[str, Any]:
    """Drop `ceil_mode`: windows of SAME leave no remainder to round."""
    return {"ceil_mode": 0} if call.attribute("ceil_mode", 0) else {}


def _of_transposed(call: Call, view: Window, sizes: Sequence[int] | None) -> dict[str, Any] | None:
    """For SAME the result has `strides` times the size of the data, for any size; pads are the excess of the
    windows. `output_shape` needs the sizes of the data."""
    given = call.attribute("output_shape")
    added = tuple(call.attribute("output_padding", (0,) * view.rank))
    extents = [view.extent(i) or 1 for i in range(view.rank)]
    if given is None:
        totals = [e + a - s for e, a, s in zip(extents, added, view.strides, strict=True)]
        return _split_pads(view, totals, added) if view.auto_pad.startswith("SAME") else _pads_attribute(view)
    if sizes is None:
        return None
    whole = [s * (x - 1) + e + a for s, x, e, a in zip(view.strides, sizes, extents, added, strict=True)]
    totals = [w - g for w, g in zip(whole, given[-view.rank :], strict=True)]
    beyond = [a - min(0, total) for a, total in zip(added, totals, strict=True)]
    if any(b >= max(s, d) for b, s, d in zip(beyond, view.strides, view.dilations, strict=True)):
        return None  # ONNX has no such output_padding
    return _split_pads(view, totals, beyond)


def _split_pads(view: Window, totals: Sequence[int], added: Sequence[int]) -> dict[str, Any]:
    totals = [max(0, total) for total in totals]
    less, more = [t // 2 for t in totals], [t - t // 2 for t in totals]
    sides = [*less, *more] if view.auto_pad == "SAME_UPPER" else [*more, *less]
    return {"pads": sides} | ({"output_padding": list(added)} if any(added) else {})
