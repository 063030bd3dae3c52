"""Scales of the quantized weights of a ConvTranspose with groups.

The weights are (C, O / groups, ...). The library takes one scale per output channel O, `groups` times the
size of the weights' axis: index j of group q has scale scales[q O / groups + j].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any

import numpy as np
from xdsl.ir import Operation

from dialects.onednn.spec_classes import spec_class
from dialects.onnx.ops import ConstantOp
from dialects.support.attributes import documented_attributes
from dialects.support.documented_op import DocumentedOp, build
from gradc.importers.onednn.document import Node

WEIGHTS = 1
"""Port of the weights of a ConvTranspose."""

WITHOUT_SCALES: Mapping[str, Any] = MappingProxyType({"scales": [1.0]})
"""Attributes of a Dequantize that does not scale."""


def find_grouped_scales(nodes: Sequence[Node]) -> dict[int, np.ndarray]:
    """Return the scales of each Dequantize of grouped weights, by its id, in a shape that broadcasts."""
    readers: dict[int, list[Node]] = {}
    for node in nodes:
        if node.kind == "ConvTranspose" and len(node.inputs) > WEIGHTS:
            readers.setdefault(node.inputs[WEIGHTS].id, []).append(node)
    found = {}
    for node in nodes:
        of_weights = readers.get(node.outputs[0].id, ()) if node.kind == "Dequantize" and node.outputs else ()
        with suppress(ValueError):  # an attribute of the wrong type, which the op's verifier reports
            factors = _factors(node, of_weights[0]) if of_weights and node.inputs else None
            if factors is not None:
                found[node.id] = factors
    return found


def _factors(node: Node, reader: Node) -> np.ndarray | None:
    """Return the scales for a ConvTranspose's weights, None unless there is one per output channel."""
    shape, scales = node.inputs[0].shape, _attribute_value(node, "scales")
    groups, rank = _attribute_value(reader, "groups"), len(shape or ())
    channels, axis = (0, 1) if _attribute_value(reader, "weights_format") == "IOX" else (rank - 1, rank - 2)
    if shape is None or rank < 3 or groups < 2 or _attribute_value(node, "qtype") != "per_channel":
        return None
    c, each = shape[channels], shape[axis]
    if not isinstance(c, int) or not isinstance(each, int) or c % groups:
        return None
    if (
        _attribute_value(node, "axis") % rank != axis
        or len(scales) != groups * each
        or any(_attribute_value(node, "zps"))
    ):
        return None
    factors = np.array(scales, np.float32).reshape(groups, each).repeat(c // groups, axis=0)
    ordered = factors if channels == 0 else factors.T
    return np.expand_dims(ordered, [place for place in range(rank) if place not in (channels, axis)])


def _attribute_value(node: Node, name: str) -> Any:
    assert node.op is not None
    spec = documented_attributes(node.op)[name].spec
    return spec.plain(node.attributes.get(name, spec.default))


def scale_weights(plain: DocumentedOp, factors: np.ndarray) -> list[Operation]:
    """Return a Dequantize by 1, a constant, and the product that scales the weights."""
    constant = ConstantOp(factors)
    constant.location = plain.location
    product = build(
        spec_class("Multiply"),
        [plain.results[0], constant.output],
        {},
        location=plain.location,
        discardable=plain.attributes,
    )
    return [plain, constant, product]
