"""Name resolution in a graph of a model and the graphs around it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from onnx import AttributeProto, OperatorSetIdProto, SparseTensorProto, TensorProto, ValueInfoProto
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from dialects.onnx.node import NodeOp
from dialects.onnx.ops import ConstantOp
from dialects.onnx.tensor_attributes import StringTensorAttr
from dialects.support.diagnostics import GradcError, location, suggest, violation
from dialects.support.names import hint_of
from gradc.importers.onnx import validity
from gradc.importers.onnx.locations import at
from gradc.importers.onnx.types import check_text, type_of
from gradc.importers.onnx.weights import dense_of_sparse, tensor_attribute
from gradc.model.external_data import TensorData

Versions = Mapping[str, int]
"""Opset by domain; the standard domain is ''."""

STANDARD = ("", "ai.onnx")
"""Names of the standard domain."""

MAX_DEPTH = 50
"""Maximum nesting of graphs and functions; the importer is recursive."""


def versions_of(imports: Sequence[OperatorSetIdProto], ir_version: int = 0) -> Versions:
    """Return the opset of each imported domain. Raises GradcError for an unknown one."""
    found: dict[str, int] = {}
    for entry_ in imports:
        domain = "" if entry_.domain in STANDARD else entry_.domain
        validity.check_version(domain, entry_.version, found.get(domain))
        found[domain] = entry_.version
    if not found and ir_version < 3:
        return {"": 1}  # models older than the opset_import field
    return found


@dataclass
class Scope:
    """Values of one graph, which is written into a block.

    `prefix` is prepended to names within a function, which may be called twice. `bindings` are the attributes
    of the call, None outside of functions.
    """

    block: Block
    versions: Versions
    data: TensorData
    parent: Scope | None = None
    prefix: str = ""
    bindings: Mapping[str, AttributeProto] | None = None
    values: dict[str, SSAValue | None] = field(default_factory=dict)
    weights: dict[str, TensorProto | SparseTensorProto] = field(default_factory=dict)
    infos: dict[str, ValueInfoProto] = field(default_factory=dict)
    types: dict[str, Attribute] = field(default_factory=dict)
    """Types of values without a ValueInfoProto."""
    may_not_run: bool = False
    """True in a branch of an If, where an error may never be reached."""
    depth: int = 1
    calls: Sequence[tuple[str, str, str]] = ()
    """Keys of the enclosing functions."""

    def inner(self, block: Block, is_branch: bool) -> Scope:
        """Return the scope of a graph nested in a node of this one."""
        found = Scope(block, self.versions, self.data, self, self.prefix, self.bindings)
        found.depth, found.calls = self.depth + 1, self.calls
        found.may_not_run = self.may_not_run or is_branch
        return found

    def check_depth(self) -> None:
        """Raise if graphs and functions are nested too deeply."""
        if self.depth > MAX_DEPTH:
            raise violation(
                "graphs and functions in each other", given=self.depth, expected=f"at most {MAX_DEPTH}"
            )

    def add_weights(self, dense: Iterable[TensorProto], sparse: Iterable[SparseTensorProto]) -> None:
        """Add initializers; each becomes a constant on first use."""
        named = (*((t.name, t) for t in dense), *((t.values.name, t) for t in sparse))
        for index, (name, tensor) in enumerate(named):
            with at(f"initializer {index}"):
                check_text(name)
            if not name:
                raise violation("an initializer has no name", given=f'"{name}"')
            if name in self.weights:
                raise violation(f'initializer "{name}" is given twice')
            self._check_outer("initializer", name)
            self.weights[name] = tensor

    def add_unused(self) -> None:
        """Add constants for unused weights, which a gradient may name. Errors in them do not matter."""
        for name in list(self.weights):
            with suppress(GradcError):
                self._constant(name)

    def _check_outer(self, role: str, name: str) -> None:
        """Raise if a value shadows one of an enclosing graph.

        ONNX forbids it, and runtimes differ in which one they read. The inputs of a body may shadow: every
        runtime reads the inner value.
        """
        scope = self.parent
        while scope is not None:
            if name in scope.values or name in scope.weights:
                what = f'{role} "{name}" of a nested graph'
                given = "the name of a value of a graph around it"
                raise violation(what, given=given, expected="a unique name")
            scope = scope.parent

    def define_result(self, name: str, value: SSAValue | None) -> None:
        """Define the result of a node."""
        self._check_outer("output", name)
        self.define(name, value)

    def define(self, name: str, value: SSAValue | None) -> None:
        check_text(name)
        if name in self.values or name in self.weights:
            raise violation(f'the name "{name}" is given twice')
        self.values[name] = value
        if value is not None:
            value.name_hint = hint_of(self.prefix + name)

    def value(self, name: str) -> SSAValue | None:
        """Return the value of a name, None for the empty name."""
        scope: Scope | None = self if name else None
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            if name in scope.weights:
                return scope._constant(name)
            scope = scope.parent
        if name:
            hint = suggest(name, self._known())
            raise violation(f'no input, initializer or earlier node defines "{name}"', hint=hint)
        return None

    def required(self, name: str) -> SSAValue:
        """Return the value of a name that must not be empty."""
        found = self.value(name)
        if found is None:
            raise violation("a name is missing")
        return found

    def declared(self, name: str) -> Attribute | None:
        """Return the declared type of a value."""
        info = self.infos.get(name)
        return self.types.get(name) if info is None else type_of(info.type)

    def _known(self) -> list[str]:
        found, scope = [], self
        while scope is not None:
            found += [*scope.values, *scope.weights]
            scope = scope.parent
        return found if len(found) < 5000 else []

    def _constant(self, name: str) -> SSAValue:
        tensor = self.weights.pop(name)
        with at(f'initializer "{name}"'):
            op = constant_op(attribute_of(tensor, self.data))
        op.location = location(self.prefix + name)
        self.block.add_op(op)
        self.define(name, op.results[0])
        return op.results[0]


def attribute_of(
    tensor: TensorProto | SparseTensorProto, data: TensorData
) -> DenseIntOrFPElementsAttr | StringTensorAttr:
    if isinstance(tensor, SparseTensorProto):
        return dense_of_sparse(tensor, data)
    return tensor_attribute(tensor, data)


def constant_op(value: DenseIntOrFPElementsAttr | StringTensorAttr) -> Operation:
    """Return a Constant; strings need a generic node, as the class holds numbers only."""
    if isinstance(value, DenseIntOrFPElementsAttr):
        return ConstantOp(value)
    return NodeOp("", "Constant", [], [value.type], {"value": value})
