"""A source graph under construction: values, names, outputs. `graph.py` has the ops."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from dialects import source_ops
from dialects.cann.resize import CannResizeOp
from dialects.onednn.base import OneDNNOp
from dialects.support import dense, dtypes, shapes
from dialects.support.attributes import documented_attributes
from dialects.support.diagnostics import (
    MIXED_GRAPHS,
    GradcError,
    location,
    suggest,
)
from dialects.support.documented_op import build
from dialects.support.entry import set_names
from dialects.support.shapes import NamedShape
from gradc.builder.arguments import (
    A_NAME,
    Dims,
    is_name,
    misuse,
    resolve_dtype,
    resolve_shape,
    result_declarations,
    variadic_operands,
)
from gradc.builder.block_state import block_of, block_state, values_of
from gradc.builder.callers import caller
from gradc.graph.tensors import TensorInfo, tensor_info
from gradc.util.arguments import array as as_array
from gradc.util.arguments import path as checked_path

if TYPE_CHECKING:
    import numpy.typing as npt


Operand: TypeAlias = "GraphValue | Sequence[GraphValue] | None"
"""Operand of an op: a tensor, the tensors of a variadic port, or None if omitted."""


@dataclass(frozen=True, eq=False)
class GraphValue:
    """A tensor of a source graph. No arithmetic: a source graph has ops of oneDNN and CANN only."""

    _graph: GraphBuilder = field(repr=False)
    _ssa: SSAValue = field(repr=False)

    @property
    def shape(self) -> NamedShape:
        """The sizes; a name or None is a dynamic size."""
        return shapes.dim_names(shapes.shape_of(self._ssa))

    @property
    def dtype(self) -> str:
        """oneDNN's name: f32, bf16, f16, s32, ..."""
        return dtypes.name_of(shapes.element_type_of(self._ssa))

    def __repr__(self) -> str:
        return f"GraphValue({self.dtype} {shapes.show(self.shape)})"

    def __reduce__(self):
        return (GraphBuilder._value, (self._graph, values_of(self._graph._block).index(self._ssa)))


class GraphBuilder:
    """A graph under construction; `module()` returns the graph built so far."""

    def __init__(self, name: str = "main"):
        if not is_name(name):
            raise misuse("name of the graph", given=repr(name), expected=A_NAME)
        self._name = name
        self._position = caller()
        self._block = Block()
        self._inputs: dict[str, None] = {}
        self._outputs: dict[str, SSAValue] = {}
        self._op_names: dict[SSAValue, str] = {}

    if not TYPE_CHECKING:  # a checker would take any name for an attribute

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(_no_such_op(name))

    def input(self, name: str, dtype: npt.DTypeLike, shape: Dims) -> GraphValue:
        """Add an input.

        `dtype` is oneDNN's name or anything that numpy accepts as a dtype; a dim of `shape` is a size, a name
        (equal names are equal sizes) or None.
        """
        subject = f'input "{name}"'
        self._check_name(name, self._inputs, subject)
        type_ = shapes.tensor_type(resolve_dtype(dtype, subject).mlir, resolve_shape(shape, subject))
        argument = self._block.insert_arg(type_, len(self._block.args))
        _hint(argument, name)
        self._inputs[name] = None
        return GraphValue(self, argument)

    def constant(self, array: npt.ArrayLike, name: str | None = None) -> GraphValue:
        """Add a constant: weights, or the values of `dst_shape` and `sizes`."""
        from dialects.onnx.ops import ConstantOp

        self._check_op_name(name, "constant")
        try:
            op = ConstantOp(dense.from_numpy(as_array(array)))
        except (GradcError, ValueError) as error:
            message = error.diagnostic.message if isinstance(error, GradcError) else str(error)
            raise misuse(message, f'constant "{name}"' if name else "constant") from None
        op.location = location(name or "", caller())
        (value,) = self._add(op, name)
        return value

    def output(self, value: GraphValue, name: str | None = None) -> None:
        """Make a value an output. Its default name is that of its op, else `result<i>`."""
        ssa = self._operand(value, "output", "value")
        if name is None:
            name = self._default_output(ssa)
        subject = f'output "{name}"'
        self._check_name(name, self._outputs, subject)
        self._outputs[name] = ssa

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the graph as MLIR text, the input of every command."""
        from gradc.files.writing import write_atomically
        from gradc.graph.printing import module_text

        write_atomically(checked_path("path", path), module_text(self.module()).encode())

    def module(self) -> ModuleOp:
        """Return a verified copy of the graph, which can still be extended."""
        module = self.unverified_module()
        module.verify()
        return module

    def unverified_module(self) -> ModuleOp:
        """Return a copy of the graph for callers that verify it themselves."""
        if not self._outputs:
            expected = "at least one g.output(value)"
            raise misuse("the graph has no outputs", expected=expected, otherwise=self._position)
        for name in self._outputs:
            if name in self._inputs:
                what = "the name is that of an input"
                raise misuse(what, f'output "{name}"', given=name, otherwise=self._position)
        return self._to_module()

    def _to_module(self) -> ModuleOp:
        """Return the graph as a module of cloned ops; the block itself stays, also after an interrupt."""
        copies: dict[SSAValue, SSAValue] = {}
        block = Block()
        for index, argument in enumerate(self._block.args):
            copies[argument] = block.insert_arg(argument.type, index, argument.location)
            copies[argument].name_hint = argument.name_hint
        for op in self._block.ops:
            block.add_op(op.clone(copies))
        returned = [copies[value] for value in self._outputs.values()]
        last = ReturnOp(*returned)
        block.add_op(last)
        types = (list(block.arg_types), [value.type for value in returned])
        function = FuncOp(self._name, types, Region(block))
        set_names(function, list(self._inputs), list(self._outputs))
        module = ModuleOp([function])
        for op in (last, function, module):
            op.location = location(position=self._position)
        return module

    def __getstate__(self) -> dict[str, Any]:
        number = {value: index for index, value in enumerate(values_of(self._block))}
        return self.__dict__ | {
            "_block": block_state(self._block),
            "_inputs": dict(self._inputs),
            "_outputs": {name: number[value] for name, value in self._outputs.items()},
            "_op_names": {number[value]: name for value, name in self._op_names.items()},
        }

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)
        self._block = block_of(state["_block"])
        values = values_of(self._block)
        self._outputs = {name: values[number] for name, number in state["_outputs"].items()}
        self._op_names = {values[number]: name for number, name in state["_op_names"].items()}

    def _value(self, number: int) -> GraphValue:
        return GraphValue(self, values_of(self._block)[number])

    def __repr__(self) -> str:
        """Return the inputs, the outputs so far and the number of ops."""
        edges = map(self._edge, (self._arguments, self._outputs))
        sides = [", ".join(map(str, edge)) or "nothing" for edge in edges]
        count = len(self._block.ops)
        return f"<gradc.Graph {' -> '.join(sides)}; {count} op{'s' * (count != 1)}>"

    def __str__(self) -> str:
        """Return the graph as MLIR text, without the elements of large constants."""
        from gradc.graph.printing import elided_text

        return elided_text(self._to_module())

    @property
    def _arguments(self) -> dict[str, SSAValue]:
        return dict(zip(self._inputs, self._block.args, strict=True))

    @staticmethod
    def _edge(values: Mapping[str, SSAValue]) -> list[TensorInfo]:
        return [tensor_info(name, value) for name, value in values.items()]

    def _repr_html_(self) -> str:
        from gradc.drawing.notebook import html_of_graph

        return html_of_graph(self._arguments, self._outputs, self._block.ops)

    def _build(
        self,
        cls: type[OneDNNOp | CannResizeOp],
        operands: Sequence[Operand],
        documented: Mapping[str, Any],
        others: Mapping[str, Any],
        name: str | None,
        result_shape: Dims | None,
        result_dtype: npt.DTypeLike | None = None,
    ) -> GraphValue:
        """Add an op of one result. A documented argument of None is not given."""
        given = {key: value for key, value in documented.items() if value is not None} | dict(others)
        shapes_given = None if result_shape is None else (result_shape,)
        (result,) = self._build_all(cls, operands, given, name, shapes_given, None, result_dtype)
        return result

    def _build_all(
        self,
        cls: type[OneDNNOp | CannResizeOp],
        operands: Sequence[Operand],
        attributes: Mapping[str, Any],
        name: str | None,
        result_shapes: Sequence[Dims | None] | None,
        result_dtypes: Sequence[npt.DTypeLike | None] | None = None,
        result_dtype: npt.DTypeLike | None = None,
    ) -> Sequence[GraphValue]:
        """Add an op and return its results. A documented attribute of None is not given."""
        self._check_op_name(name, cls.KIND)
        subject = f'{cls.KIND} "{name}"' if name else cls.KIND
        known = documented_attributes(cls)
        op = build(
            cls,
            self._operands(cls, operands, subject),
            {name: value for name, value in attributes.items() if value is not None or name not in known},
            declared=result_declarations(cls, result_shapes, result_dtypes, result_dtype, subject),
            location=location(name or "", caller()),
        )
        return self._add(op, name)

    def _operands(
        self, cls: type[OneDNNOp | CannResizeOp], operands: Sequence[Operand], subject: str
    ) -> list[SSAValue]:
        """Return the operands up to the first omitted one; none may follow it."""
        given = list(takewhile(lambda operand: operand is not None, operands))
        if any(operand is not None for operand in operands[len(given) :]):
            raise misuse(f"input {cls.port(len(given))} is missing", subject, hint="a later input is given")
        if cls.is_variadic() and given:
            given = [*given[:-1], *variadic_operands(given[-1], subject, cls.PORTS[-1])]
        return [self._operand(v, subject, f"input {cls.port(i)}") for i, v in enumerate(given)]

    def _operand(self, value: Any, subject: str, role: str) -> SSAValue:
        if not isinstance(value, GraphValue):
            hint = "g.constant(array) makes one of an array"
            raise misuse(
                role, subject, given=type(value).__name__, expected="a GraphValue of this graph", hint=hint
            )
        if value._graph is not self:
            raise misuse(role, subject, given="a GraphValue of another graph", expected="one of this graph")
        return value._ssa

    def _add(self, op: Operation, name: str | None) -> Sequence[GraphValue]:
        """Append an op. Its first result gets the op's name, the others `<name>_<role>`."""
        self._block.add_op(op)
        if name:
            others = [f"{name}_{role}" for role in getattr(op, "RESULTS", ())[1:]]
            for result, hint in zip(op.results, (name, *others), strict=True):
                _hint(result, hint)
                self._op_names[result] = hint
        return [GraphValue(self, result) for result in op.results]

    def _default_output(self, value: SSAValue) -> str:
        wanted = self._op_names.get(value, "")
        taken = {*self._outputs, *self._inputs}
        if wanted and wanted not in taken:
            return wanted
        return next(n for i in range(len(taken) + 1) if (n := f"result{len(self._outputs) + i}") not in taken)

    def _check_op_name(self, name: Any, subject: str) -> None:
        if name is not None:
            self._check_name(name, (), subject)

    def _check_name(self, name: Any, taken: Sequence[str] | Mapping[str, Any], subject: str) -> None:
        if not is_name(name):
            raise misuse("name", subject, given=repr(name), expected=A_NAME)
        if name in taken:
            raise misuse("the name is taken", subject, given=name, expected="another one")


def _no_such_op(name: str) -> str:
    """Return the message of the AttributeError for an op that Graph does not have."""
    if name.startswith("_"):
        return f"gradc.Graph has no attribute {name}"
    ops = [cls.name.partition(".")[2] for cls in source_ops().values()]
    hint = suggest(name, ops) or f"{MIXED_GRAPHS} lists the other ops that MLIR text accepts"
    return f"gradc.Graph has no op {name}: expected one of {', '.join(ops)}; {hint}"


def _hint(value: SSAValue, name: str) -> None:
    if SSAValue.is_valid_name(name):
        value.name_hint = name
