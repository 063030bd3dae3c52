"""Domains and versions of a model's opaque nodes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import onnx
from onnx import GraphProto, ModelProto, NodeProto, OperatorSetIdProto

from dialects.onnx.node import NodeOp
from dialects.onnx.opsets import OLDEST
from dialects.support.diagnostics import GradcError, UnsupportedError, error_at
from dialects.support.option_names import option
from gradc.model.raised_forms import means_the_same, schema_at

UNCHECKED = "gradc.unchecked"
"""A domain that onnx's checker does not know."""


@dataclass
class Domains:
    """Imports of opaque nodes, apart from the model's opset."""

    opset: int
    versions: dict[str, int] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    """Ops of the standard domain without a schema in the installed onnx."""

    def add(self, op: NodeOp) -> str:
        """Return the domain of a node; UnsupportedError if the model cannot import its version."""
        if op.is_standard:
            self._add_standard(op)
            return ""
        domain, version = op.domain.data, 1 if op.version is None else op.version.value.data
        known = self.versions.setdefault(domain, version)
        if known != version:
            what = f"version of the domain {domain}"
            expected = f"{known}, as of the nodes before: a model has one"
            raise error_at(op, what, given=version, expected=expected, kind=UnsupportedError)
        return domain

    def _add_standard(self, op: NodeOp) -> None:
        name = op.op_type.data
        version = self.opset if op.version is None else op.version.value.data
        if not onnx.defs.has(name) and version <= onnx.defs.onnx_opset_version():
            self.unknown.add(name)  # a runtime's op, the same in all opsets
            return
        if version == self.opset:
            if not onnx.defs.has(name) or schema_at(name, self.opset) is None:
                self.unknown.add(name)
            return
        if not is_of_opset(op, self.opset):
            raise self._wrong_form(op, version)

    def _wrong_form(self, op: NodeOp, version: int) -> GradcError:
        what = f"{op.op_type.data} in the form of opset {version}"
        if version < OLDEST:
            hint = "add a value_info for the results of the ops of other domains that it reads"
            return error_at(op, f"{what} reads a value of unknown type", hint=hint, kind=UnsupportedError)
        given, expected = option("opset", self.opset), option("opset", version)
        return error_at(op, what, given=given, expected=expected, kind=UnsupportedError)

    def imports(self) -> list[OperatorSetIdProto]:
        return [onnx.helper.make_opsetid(*item) for item in sorted(self.versions.items())]

    @contextmanager
    def set_aside(self, model: ModelProto) -> Iterator[None]:
        """Move the unknown ops to UNCHECKED during the block, so that the checker needs no schema."""
        nodes = [n for n in _nodes(model.graph) if n.op_type in self.unknown] if self.unknown else []
        for node in nodes:
            node.domain = UNCHECKED
        if nodes:
            model.opset_import.append(onnx.helper.make_opsetid(UNCHECKED, 1))
        try:
            yield
        finally:
            for node in nodes:
                node.domain = ""
            if nodes:
                model.opset_import.pop()


def is_of_onnx(op: NodeOp) -> bool:
    """Return whether a node is an op of the standard domain that onnx has."""
    return op.is_standard and onnx.defs.has(op.op_type.data)


def is_of_opset(op: NodeOp, opset: int) -> bool:
    """Return whether a standard node has the same meaning at an opset."""
    if op.version is None or op.version.value.data == opset:
        return True
    own, there = (schema_at(op.op_type.data, version) for version in (op.version.value.data, opset))
    if own is None or there is None:
        return False
    return own.since_version == there.since_version or means_the_same(op, opset)


def _nodes(graph: GraphProto) -> Iterator[NodeProto]:
    """Yield all nodes of a graph and its subgraphs."""
    waiting = [graph]
    while waiting:
        for node in waiting.pop().node:
            yield node
            waiting += (attribute.g for attribute in node.attribute if attribute.HasField("g"))
