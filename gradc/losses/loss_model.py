"""A second ONNX model as the loss."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from dialects.shapes.forms import Size
from dialects.support.diagnostics import several, suggest
from dialects.support.dtypes import HALVES, name_of
from dialects.support.entry import entry_function, input_names, return_op
from dialects.support.interfaces import InfersTypes, refine_results, set_type
from dialects.support.shapes import (
    Dim,
    compatible,
    has_rank,
    shape_of,
    show,
    tensor_type,
)
from gradc.losses.base import Loss, as_scalar
from gradc.ops import Builder, Value
from passes.infer_types import infer_types, refine_with_regions


@dataclass(frozen=True)
class Model(Loss):
    """A second ONNX model that computes the loss: a path or an onnx.ModelProto, with one output of one float.

    Its inputs are bound to values of the first model by name; `inputs` binds those of other names: name of an
    input of the loss -> name of a value. The others are label inputs. Its weights are constants.
    """

    READS: ClassVar[tuple[int, ...]] = ()

    source: Any
    inputs: Mapping[str, str] = field(default_factory=dict[str, str])
    bound: tuple[str, ...] = field(default=(), init=False, repr=False)
    module: ModuleOp = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        from gradc.compiler.driver import load

        module = load(self.source, for_gradients=())
        infer_types(module)
        self._store("module", module)
        results = return_op(self._function).arguments
        if len(results) != 1:
            raise self.error("outputs", len(results), "one, the loss")
        for name in self.inputs:
            if name not in self._names:
                raise self.error(
                    f"has no input {name}", hint=suggest(name, self._names) or self._inputs_hint()
                )

    @property
    def title(self) -> str:
        is_path = isinstance(self.source, str | os.PathLike)
        return f"loss model {os.path.basename(self.source)}" if is_path else "loss model"

    @property
    def _function(self) -> FuncOp:
        return entry_function(self.module)

    @property
    def _names(self) -> tuple[str, ...]:
        return input_names(self._function)

    def _inputs_hint(self) -> str:
        return f"its inputs are {several(self._names)}"

    def reads(self, outputs: Sequence[str]) -> Sequence[str]:
        found = [self.inputs.get(name, name) for name in self._names]
        named = set(self.inputs.values())
        found = [value for value in found if value in outputs or value in named]
        if not found:
            given, hint = several(list(outputs)), f"{self._inputs_hint()}; inputs= binds them to values"
            raise self.error("has no input of the name of an output", given, hint=hint)
        return found

    def bind(self, of: Sequence[str]) -> Loss:
        values = {self.inputs.get(name, name): name for name in self._names}
        for name in of:
            if name not in values:
                hint = f"{self._inputs_hint()}; inputs= binds them to values"
                raise self.error(f"has no input for the value {name}", hint=hint)
        found = replace(self)
        object.__setattr__(found, "bound", tuple(values[name] for name in of))
        return found

    def labels(self, of: Sequence[TensorType]) -> Mapping[str, TensorType]:
        sizes, bound = self._sizes(of), self._bound(len(of))
        return {
            name: tensor_type(type_.element_type, [_size(dim, sizes) for dim in shape_of(type_)])
            for name, type_ in self._types().items()
            if name not in bound
        }

    def write(self, of: Sequence[Value], labels: Mapping[str, Value], e: Builder) -> Value:
        types = self._types()
        given = dict(zip(self._bound(len(of)), of, strict=True)) | dict(labels)
        values: dict[SSAValue, SSAValue] = {
            argument: given[name].cast(types[name].element_type).value
            for name, argument in zip(self._names, self._function.args, strict=True)
        }
        for op in list(self._function.body.block.ops)[:-1]:
            e.emit(_clone(op, values))
        return as_scalar(self, e(values[return_op(self._function).arguments[0]]), "returns")

    def _bound(self, count: int) -> Sequence[str]:
        return self.bound or self._names[:count]

    def _types(self) -> dict[str, TensorType]:
        """Return the types of the inputs. Raises UsageError for one that is no tensor of known rank."""
        found = dict[str, TensorType]()
        for name, argument in zip(self._names, self._function.args, strict=True):
            if not isinstance(argument.type, TensorType):
                raise self.error(f"input {name}", argument.type, "a tensor of known rank")
            found[name] = argument.type
        return found

    def _sizes(self, of: Sequence[TensorType]) -> dict[str, Dim]:
        """Return the sizes of the values by their names in the loss model.

        Raises UsageError for a value that an input cannot have.
        """
        types, found = self._types(), dict[str, Dim]()
        for name, type_ in zip(self._bound(len(of)), of, strict=True):
            own = types[name]
            if not _accepts(own, type_):
                expected = f"{name_of(own.element_type)} {show(shape_of(own))}"
                given = f"{name_of(type_.element_type)} {show(shape_of(type_))}"
                raise self.error(f"input {name}", given, expected)
            for dim, size in zip(shape_of(own), shape_of(type_), strict=True):
                if isinstance(dim, Size) and dim.name is not None:
                    found.setdefault(dim.name, size)
        return found


def _accepts(own: TensorType, given: TensorType) -> bool:
    """Return whether an input of a type accepts a value of another: halves are widened."""
    if not has_rank(given) or not compatible(shape_of(own), shape_of(given)):
        return False
    widens = name_of(given.element_type) in HALVES and name_of(own.element_type) == "f32"
    return widens or own.element_type == given.element_type


def _size(dim: Dim, sizes: Mapping[str, Dim]) -> Dim:
    """Return a size of the loss model as one of the first model; None if that has no name for it."""
    return sizes.get(dim.name or "") if isinstance(dim, Size) else dim


def _clone(op: Operation, values: dict[SSAValue, SSAValue]) -> Operation:
    """Return a copy of an op of the loss model, without names, whose types follow from its operands."""
    made = op.clone(values)
    for value in _values_of(made):
        value.name_hint = None
        set_type(value, _without_names(value.type))
    if made.regions:
        refine_with_regions(made)
    elif isinstance(made, InfersTypes):
        refine_results(made)
    return made


def _values_of(op: Operation) -> Iterator[SSAValue]:
    """Return the results of an op and of those within it, and the arguments of its blocks."""
    for inner in op.walk():
        yield from inner.results
        for region in inner.regions:
            for block in region.blocks:
                yield from block.args


def _without_names(type_: Attribute) -> Attribute:
    if not isinstance(type_, TensorType):
        return type_
    return tensor_type(type_.element_type, [None if isinstance(d, Size) else d for d in shape_of(type_)])
