"""Operands and attributes of nodes at an opset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

import onnx
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, SSAValue, Use

from dialects.onnx.attributes import to_attribute
from dialects.onnx.base import OnnxOp
from dialects.onnx.node import NodeOp, kind_of_attribute
from dialects.onnx.opset_range import is_default, older_attributes, opset_range
from dialects.onnx.opsets import ATTRIBUTES_BEFORE, WORDS, WORDS_BEFORE
from dialects.support.diagnostics import UnsupportedError, error_at
from dialects.support.option_names import option


class NodeForms:
    """The forms of nodes at one opset."""

    def __init__(self, opset: int):
        self.opset = opset

    def is_attribute(self, use: Use) -> bool:
        """Return whether an operand, the op's last, is written as an attribute."""
        op = use.operation
        return isinstance(op, OnnxOp) and use.index > 0 and bool(self._older(op))

    def inputs(self, op: OnnxOp | NodeOp) -> list[SSAValue | None]:
        """Return the operands in schema order, None for omitted ones."""
        inputs = op.onnx_inputs()
        return inputs[:1] if self._older(op) else inputs

    def attributes(self, op: OnnxOp | NodeOp) -> Iterator[tuple[str, str, Attribute]]:
        """Yield name, kind and value of each attribute that is no graph, sorted by name."""
        if isinstance(op, NodeOp):
            for name, value in sorted(op.given.data.items()):
                kind = kind_of_attribute(value)
                assert kind is not None, value
                yield name, kind, value
            return
        kinds = _attribute_kinds(op.onnx_name(), self.opset)
        older = self._older(op)
        given = _explicit_defaults(op) | op.onnx_properties() | older
        if older:
            given.pop("noop_with_empty_axes", None)
        for name, value in sorted(given.items()):
            if is_default(op, name, value) and not self._has(op, kinds, name, value):
                continue
            assert name in kinds, f"{op.name} has no attribute {name} at {self.opset}"
            yield name, kinds[name], self._with_older_word(op, name, value)

    def check(self, op: OnnxOp) -> None:
        """Raise UnsupportedError for an op whose form the opset does not have."""
        first, end = opset_range(op)
        if first <= self.opset and (end is None or self.opset < end):
            return
        raise error_at(
            op,
            f"{op.name} with these types and attributes",
            given=option("opset", self.opset),
            expected=f"{option('opset')} {first}{' or newer' if end is None else f' to {end - 1}'}",
            kind=UnsupportedError,
        )

    def _older(self, op: OnnxOp | NodeOp) -> dict[str, Attribute]:
        """Return the attributes that a later opset has as an operand."""
        if isinstance(op, NodeOp) or self.opset >= ATTRIBUTES_BEFORE.get(op.onnx_name(), ("", 0))[1]:
            return {}
        return older_attributes(op)

    def _with_older_word(self, op: OnnxOp, name: str, value: Attribute) -> Attribute:
        """Return the attribute with the opset's spelling of its value."""
        word = value.data if isinstance(value, StringAttr) else ""
        older, since = WORDS_BEFORE.get((op.onnx_name(), name, word), (word, 0))
        return StringAttr(older) if self.opset < since else value

    def _has(self, op: OnnxOp, kinds: Mapping[str, str], name: str, value: Attribute) -> bool:
        """Return whether the opset has the attribute and its value."""
        word = value.data if isinstance(value, StringAttr) else ""
        return name in kinds and WORDS.get((op.onnx_name(), name, word), 0) <= self.opset


EXPLICIT_DEFAULTS = {"MeanVarianceNormalization": "axes", "STFT": "onesided"}
"""Attributes that are written even with their default, because onnx's inference requires them, or takes
another default."""


def _explicit_defaults(op: OnnxOp) -> dict[str, Attribute]:
    name = EXPLICIT_DEFAULTS.get(op.onnx_name())
    found = (attribute for attribute in op.SIGNATURE.attributes if attribute.name == name)
    return {attribute.name: to_attribute(attribute.default, attribute.kind) for attribute in found}


@cache
def _attribute_kinds(op_type: str, opset: int) -> dict[str, str]:
    schema = onnx.defs.get_schema(op_type, max_inclusive_version=opset)
    kinds = {name: attribute.type for name, attribute in schema.attributes.items()}
    return {name: str(kind).rpartition(".")[2] for name, kind in kinds.items()}
