"""What names stand for, in a graph of a model and in those around it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from onnx import AttributeProto, SparseTensorProto, TensorProto, ValueInfoProto
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from dialects.onnx.node import NodeOp
from dialects.onnx.ops import ConstantOp
from dialects.onnx.tensor_attributes import StringTensorAttr
from dialects.support.diagnostics import GradcError, location, nearest, violation
from dialects.support.names import hint_of
from gradc.importers.onnx.places import at
from gradc.importers.onnx.types import check_text, type_of
from gradc.importers.onnx.weights import dense_of_sparse, tensor_attribute
from gradc.model.foreign import TensorData

Versions = Mapping[str, int]
"""The opset of each domain that a graph may use; the standard one is ''."""


DEEPEST = 50
"""Graphs and functions around a node, at most: reading one calls itself for those within."""


@dataclass
class Scope:
    """The values of one graph, which is written into a block.

    `prefix` is put before the names of what a function holds, as a function may be called twice. `bindings`
    are the attributes of its call, None outside of functions.
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
    """What is known of values that no proto tells of."""
    may_not_run: bool = False
    """Whether the graph is, or is in, a branch of an If: what is wrong in it may never be met."""
    depth: int = 1
    calls: Sequence[tuple[str, str, str]] = ()
    """The functions around."""

    def inner(self, block: Block, is_branch: bool) -> Scope:
        """That of a graph which a node of this one holds."""
        found = Scope(block, self.versions, self.data, self, self.prefix, self.bindings)
        found.depth, found.calls = self.depth + 1, self.calls
        found.may_not_run = self.may_not_run or is_branch
        return found

    def check_depth(self) -> None:
        """Raise for a graph in more others than one may be."""
        if self.depth > DEEPEST:
            raise violation(
                "graphs and functions in each other", given=self.depth, expected=f"at most {DEEPEST}"
            )

    def add_weights(self, dense: Iterable[TensorProto], sparse: Iterable[SparseTensorProto]) -> None:
        """Initializers; each becomes a constant when it is first read."""
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

    def add_unread(self) -> None:
        """Make constants of the weights that nothing has read: a gradient may be asked for with respect to
        them. What is wrong in one does not matter."""
        for name in list(self.weights):
            with suppress(GradcError):
                self._constant(name)

    def _check_outer(self, role: str, name: str) -> None:
        """Raise for a value with the name of one that the graph can read from a graph around it.

        ONNX forbids it, and onnxruntime reads one or the other. The inputs of a body may have such names:
        every runtime reads the inner value.
        """
        scope = self.parent
        while scope is not None:
            if name in scope.values or name in scope.weights:
                what = f'{role} "{name}" of a nested graph'
                given = "the name of a value of a graph around it"
                raise violation(what, given=given, expected="a name of its own")
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
        """What a name stands for, None for one that is left out."""
        scope: Scope | None = self if name else None
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            if name in scope.weights:
                return scope._constant(name)
            scope = scope.parent
        if name:
            hint = nearest(name, self._known())
            raise violation(f'the name "{name}" is read, and nothing before gives it', hint=hint)
        return None

    def required(self, name: str) -> SSAValue:
        """What a name stands for, where one has to be given."""
        found = self.value(name)
        if found is None:
            raise violation("a name is missing")
        return found

    def declared(self, name: str) -> Attribute | None:
        """The type that the model says of a value."""
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
    """Strings are no dense numbers: the class of Constant cannot hold them."""
    if isinstance(value, DenseIntOrFPElementsAttr):
        return ConstantOp(value)
    return NodeOp("", "Constant", [], [value.type], {"value": value})
