"""Upgrades of Resize and Upsample from old opsets."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType, f32, i1, i64
from xdsl.ir import SSAValue

from dialects.onnx import ops
from dialects.onnx.attributes import text_attribute, to_python
from dialects.onnx.values import constant_of
from dialects.support import shapes
from dialects.support.diagnostics import violation
from gradc.importers.onnx import upgrade_steps
from gradc.importers.onnx.source import Source


def upsample(node: Source) -> None:
    """Upgrade Upsample to Resize."""
    node.op_type = "Resize"
    if "scales" in node.attributes:
        upgrade_steps.to_operand(2, "scales", "f32")(node)
    elif "height_scale" in node.attributes or "width_scale" in node.attributes:
        sides: list[Any] = [to_python(node.attributes.pop(n)) for n in ("height_scale", "width_scale")]
        node.set_operand(2, node.constant(np.array([1, 1, *sides], np.float32)))
    else:
        node.operands = [node.operand(0), None, node.operand(1)]
    upgrade_steps.rename_values("mode", {"bilinear": "linear"})(node)
    _at_quotients(node)
    if to_python(node.attributes["mode"]) == "nearest":
        node.attributes["nearest_mode"] = text_attribute("floor")


def resize_10(node: Source) -> None:
    """Upgrade Resize of opset 10. Nearest mode rounds down on axes that grow and up on axes that shrink, as
    in onnxruntime; newer opsets have one rounding for all axes, so mixed scales become gathers."""
    node.operands = [node.operand(0), None, node.operand(1)]
    _at_quotients(node)
    if to_python(node.attributes["mode"]) != "nearest":
        return
    scales = constant_of(node.operand(2))
    if scales is None or (scales.min(initial=1) < 1 < scales.max(initial=1)):
        node.replaced = [_gather_nearest(node, scales)]
        return
    word = "ceil" if scales.min(initial=1) < 1 else "floor"
    node.attributes["nearest_mode"] = text_attribute(word)


def _at_quotients(node: Source) -> None:
    """Map element y of the result to coordinate y / scale."""
    node.attributes.setdefault("mode", text_attribute("nearest"))
    node.attributes["coordinate_transformation_mode"] = text_attribute("asymmetric")


def _gather_nearest(node: Source, scales: np.ndarray | None) -> SSAValue:
    """Gather the nearest elements along each axis. Two Resizes would differ: see the quirk
    resize-of-unchanged-sizes."""
    value, given = node.operand(0), node.operand(2)
    rank = _rank(value, given)
    sizes = upgrade_steps.shape_of(node, value)
    counts = _whole(node, node.emit(ops.MulOp(node.emit(ops.CastOp(sizes, to=f32)), given)))
    unchanged = node.emit(ops.CastOp(node.emit(ops.EqualOp(sizes, counts)), to=i64))
    is_copy = node.emit(ops.CastOp(node.emit(ops.ReduceMinOp(unchanged, keepdims=0)), to=i1))
    for axis in range(rank):
        if scales is not None and scales[axis] == 1:
            continue
        place = node.constant(np.array(axis))
        scale, size, count = (node.emit(ops.GatherOp(vector, place)) for vector in (given, sizes, counts))
        zero, one = (node.constant(np.array(number)) for number in (0, 1))
        numbers = node.emit(ops.RangeOp(zero, count, one))
        nearest = node.emit(ops.MinOp([_nearest(node, numbers, scale), node.emit(ops.SubOp(size, one))]))
        picked = node.emit(ops.WhereOp(is_copy, numbers, nearest))
        value = node.apply(ops.GatherOp, value, picked, axis=axis)
    return value


def _rank(data: SSAValue, scales: SSAValue) -> int:
    size = shapes.shape_of(scales)[0] if isinstance(scales.type, TensorType) else None
    if isinstance(size, int):
        return size
    if not isinstance(data.type, TensorType):
        raise violation("rank of input 0 of Resize", given="unknown", expected="known, for one of opset 10")
    return len(shapes.shape_of(data))


def _nearest(node: Source, numbers: SSAValue, scale: SSAValue) -> SSAValue:
    quotients = node.emit(ops.DivOp(node.emit(ops.CastOp(numbers, to=f32)), scale))
    shrinks = node.emit(ops.LessOp(scale, node.constant(np.array(1, np.float32))))
    up, down = (node.emit(op(quotients)) for op in (ops.CeilOp, ops.FloorOp))
    return _whole(node, node.emit(ops.WhereOp(shrinks, up, down)))


def _whole(node: Source, numbers: SSAValue) -> SSAValue:
    return node.emit(ops.CastOp(numbers, to=i64))


def resize_11(node: Source) -> None:
    """Remove empty operands, which meant absent ones."""
    for index in (1, 2, 3):
        value = node.optional(index)
        if value is not None and isinstance(value.type, TensorType) and shapes.shape_of(value) == (0,):
            node.operands[index] = None


def tf_half_pixel(node: Source) -> None:
    """Upgrade the mode tf_half_pixel_for_nn: (y + 0.5) / scale rounded down equals half_pixel rounded to the
    nearest, ties up. Opset 13 removed the mode; converters still write it and runtimes accept it."""
    words = {name: str(to_python(value)) for name, value in node.attributes.items() if "mode" in name}
    if words.get("coordinate_transformation_mode") != "tf_half_pixel_for_nn":
        return
    if (words.get("mode", "nearest"), words.get("nearest_mode")) != ("nearest", "floor"):
        raise upgrade_steps.unsupported("Resize with tf_half_pixel_for_nn", "opset 13 left that mode out")
    node.attributes["coordinate_transformation_mode"] = text_attribute("half_pixel")
    node.attributes["nearest_mode"] = text_attribute("round_prefer_ceil")
