"""The opsets in which an op instance is legal, from its types, operands and attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from types import MappingProxyType

from xdsl.ir import Attribute

from dialects.onnx import opsets
from dialects.onnx.attributes import python_values, to_attribute
from dialects.onnx.base import OnnxOp
from dialects.onnx.call import Python
from dialects.onnx.result_types import types_in_schema
from dialects.onnx.signature import GRAPH
from dialects.onnx.values import constant_of
from dialects.support.diagnostics import UnsupportedError, error_at
from dialects.support.op_cache_key import once_per_state
from dialects.support.shapes import has_rank, shape_of


@once_per_state
def opset_range(op: OnnxOp) -> tuple[int, int | None]:
    """Return the opsets [first, last) in which the op is legal; last is None if there is none yet. Raises
    UnsupportedError."""
    types, given = types_in_schema(op), _nondefault(op)
    instance = opsets.Instance(op.onnx_name(), len(op.onnx_inputs()), given, types)
    found = opsets.opset_range(instance, op.VERSIONS)
    if found is not None and older_attributes(op):
        own = {name: value for name, value in given.items() if name != "noop_with_empty_axes"}
        older = opsets.opset_range(replace(instance, inputs=1, attributes=own), op.VERSIONS[:1])
        found = found if older is None else (older[0], found[1])
    if found is None:
        what = ", ".join(f"{variable} = {dtype}" for variable, dtype in types)
        raise error_at(op, "no opset has this op", given=what, kind=UnsupportedError)
    return max(found[0], _rank_since(op)), found[1]


def _rank_since(op: OnnxOp) -> int:
    """Return the first opset that has the op for data of this rank."""
    rank, since = opsets.RANKS_BEFORE.get(op.onnx_name(), (0, opsets.OLDEST))
    if not rank or not has_rank(op.operands[0]) or len(shape_of(op.operands[0])) == rank:
        return opsets.OLDEST
    return since


def _nondefault(op: OnnxOp) -> dict[str, Python]:
    """Return the given attributes that differ from their defaults."""
    return python_values({n: v for n, v in op.properties.items() if not is_default(op, n, v)})


def is_default(op: OnnxOp, name: str, value: Attribute) -> bool:
    """Return whether an attribute has its schema default."""
    return _defaults(type(op)).get(name) == value


_WINDOWS: Mapping[str, int] = MappingProxyType({"dilations": 1, "output_padding": 0, "pads": 0, "strides": 1})
"""Window attributes with their default per axis."""


def is_redundant(op: OnnxOp, name: str, value: Attribute) -> bool:
    """Return whether an attribute has its default, including per-axis defaults."""
    if is_default(op, name, value):
        return True
    if name not in _WINDOWS or "kernel_shape" not in _names(type(op)):
        return False
    given = python_values({name: value})[name]
    return isinstance(given, Sequence) and all(number == _WINDOWS[name] for number in given)


def nondefault_attributes(op: OnnxOp) -> dict[str, Attribute]:
    return {name: value for name, value in op.properties.items() if not is_redundant(op, name, value)}


@cache
def _names(cls: type[OnnxOp]) -> frozenset[str]:
    return frozenset(attribute.name for attribute in cls.SIGNATURE.attributes)


@cache
def _defaults(cls: type[OnnxOp]) -> Mapping[str, Attribute]:
    known = (a for a in cls.SIGNATURE.attributes if a.default is not None and a.kind != GRAPH)
    return {a.name: to_attribute(a.default, a.kind) for a in known}


def older_attributes(op: OnnxOp) -> dict[str, Attribute]:
    """Return the constant operand that is an attribute in the op's oldest form, if any.

    Empty axes stay an operand: the older form has only one of their two meanings.
    """
    name, _ = opsets.ATTRIBUTES_BEFORE.get(op.onnx_name(), ("", 0))
    operand = getattr(op, name) if name else None
    value = None if operand is None else constant_of(operand)
    if value is None or not value.size:
        return {}
    return {name: to_attribute([int(x) for x in value.reshape(-1)], "INTS")}
