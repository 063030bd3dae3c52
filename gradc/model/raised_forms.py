"""Comparison of a node's meaning at two opsets."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import onnx

from dialects.onnx.node import NodeOp, kind_of_attribute

CHANGED_MEANING: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        **dict.fromkeys(("Softmax", "LogSoftmax", "Hardmax"), (13,)),
        "BatchNormalization": (14,),
        "DFT": (20,),
        "Dropout": (12,),
        "GridSample": (20,),
        "GroupNormalization": (21,),
        "PRelu": (7,),
        "Resize": (11, 13),
        "RoiAlign": (16,),
        "Split": (18,),
    }
)
"""Op -> opsets that changed the meaning of the same inputs and attributes."""


def means_the_same(node: NodeOp, opset: int) -> bool:
    """Return whether a standard node is legal, with the same meaning, at a newer opset.

    Newer schemas that only admit more types, inputs or attributes do not change older nodes.
    """
    assert node.version is not None
    older, newer = schema_at(node.op_type.data, node.version.value.data), schema_at(node.op_type.data, opset)
    if older is None or newer is None or newer.since_version < older.since_version:
        return False
    changes = CHANGED_MEANING.get(node.op_type.data, ())
    if any(older.since_version < change <= newer.since_version for change in changes):
        return False
    inputs, outputs = len(node.onnx_inputs()), len(node.results)
    if not newer.min_input <= inputs <= newer.max_input or outputs > newer.max_output:
        return False
    given = {name: kind_of_attribute(value) for name, value in node.given.data.items()}
    given |= dict.fromkeys(node.regions_by_name(), "GRAPH")
    return _has_attributes(newer, given) and _has_defaults(older, newer, given)


def schema_at(op_type: str, opset: int) -> Any:
    """Return the schema at an opset, None if there is none or the op is deprecated."""
    try:
        schema = onnx.defs.get_schema(op_type, max_inclusive_version=opset)
    except onnx.defs.SchemaError:
        return None
    return None if schema.deprecated else schema


def _has_attributes(schema: Any, given: Mapping[str, str | None]) -> bool:
    """Return whether a schema has attributes of these kinds and requires no others."""
    kinds = {name: str(attribute.type).rpartition(".")[2] for name, attribute in schema.attributes.items()}
    required = {name for name, attribute in schema.attributes.items() if attribute.required}
    return required <= given.keys() and all(kinds.get(name) == kind for name, kind in given.items())


def _has_defaults(older: Any, newer: Any, given: Mapping[str, str | None]) -> bool:
    """Return whether both schemas have the same defaults for omitted attributes."""
    names = (older.attributes.keys() & newer.attributes.keys()) - given.keys()
    return all(older.attributes[n].default_value == newer.attributes[n].default_value for n in names)
