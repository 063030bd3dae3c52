"""Inference of the channel block size (NCHWc) of a model that onnxruntime optimized for one machine."""

from __future__ import annotations

import platform

from onnx import ModelProto, NodeProto, helper

from dialects.onnx.domains import NCHWC
from gradc.util.machine import cpu_features

SHORT, LONG = 8, 16
"""Channels per block: processors with AVX, and those with AVX-512 or Arm's."""


def channels_of_block(model: ModelProto) -> int | None:
    """Infer the block size from padded shapes, else from this machine; None without blocks or evidence."""
    if not any(node.domain == NCHWC for node in model.graph.node):
        return None
    return _from_shapes(model) or _from_machine()


def _from_machine() -> int | None:
    if platform.machine().lower() in ("aarch64", "arm64"):
        return LONG
    features = cpu_features()
    return None if features is None else LONG if "avx512f" in features else SHORT


def _from_shapes(model: ModelProto) -> int | None:
    """Infer the block size from the padded filters of convolutions and results."""
    sizes = {array.name: list(array.dims) for array in model.graph.initializer}
    blocked: dict[str, int | None] = {}
    for node in model.graph.node:
        is_conv = node.op_type == "Conv" and node.domain == NCHWC and len(node.input) > 1
        filters = sizes.get(node.input[1], []) if is_conv else []
        reads = [name for name in node.input if name in blocked]
        known = _from_conv(node, filters, node.input[0] in blocked) if filters else None
        if node.op_type == "ReorderOutput" and reads:
            known = _from_reorder(node, blocked[reads[0]])
        if known is not None:
            return known
        if node.op_type != "ReorderOutput" and (reads or node.domain == NCHWC):
            padded = filters[0] if filters else next(filter(None, map(blocked.get, reads)), None)
            blocked |= dict.fromkeys(node.output, padded)
    return None


def _from_conv(node: NodeProto, sizes: list[int], reads_blocks: bool) -> int | None:
    if sizes[0] % LONG:
        return SHORT
    if not reads_blocks:
        return LONG if sizes[1] >= SHORT and _number(node, "group", 1) == 1 else None
    return SHORT if sizes[1] > 1 and sizes[1] % LONG else None


def _from_reorder(node: NodeProto, filled: int | None) -> int | None:
    return LONG if filled is not None and filled - _number(node, "channels", filled) >= SHORT else None


def _number(node: NodeProto, name: str, default: int) -> int:
    return next((int(helper.get_attribute_value(a)) for a in node.attribute if a.name == name), default)
