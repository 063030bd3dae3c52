"""A problem: a graph of source ops with run-time inputs, and the forward op of each node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from dialects.onnx.ops import ConstantOp
from dialects.support import dense, dtypes
from dialects.support.diagnostics import Position, location
from dialects.support.documented_op import Declared, DocumentedOp, build
from dialects.support.entry import update_function_type
from dialects.support.shapes import Shape, tensor_type

FILE = "problem.mlir"


@dataclass(frozen=True)
class Value:
    """A tensor of the graph. `sizes` has its shape in each run."""

    name: str
    dtype: str
    declared: Shape
    sizes: tuple[tuple[int, ...], ...]

    @property
    def varies(self) -> bool:
        return len(set(self.sizes)) > 1


@dataclass(frozen=True)
class Node:
    """`forward[run](x, *weights)` is the op whose gradient with respect to x this is.

    `operand` is the position of diff_dst, `weights` that of the weights, if any.
    """

    op: type[DocumentedOp]
    operands: tuple[Value, ...]
    attributes: Mapping[str, Any]
    result: Value
    declared: Shape | None
    forward: tuple[Callable[..., np.ndarray], ...]
    diff_dst: int = 0
    weights: int | None = None


@dataclass
class Problem:
    """`feeds[run]` are arrays by input name; `constants` by name, with how each is written."""

    seed: int
    runs: int
    inputs: list[Value] = field(default_factory=list)
    given: dict[str, list[np.ndarray]] = field(default_factory=dict)
    constants: dict[str, tuple[str, np.ndarray]] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)

    def add_input(self, name: str, dtype: str, declared: Shape, sizes: Sequence[tuple[int, ...]]) -> Value:
        """A run-time input of random data."""
        value = Value(f"{name}{self._count()}", dtype, declared, tuple(sizes))
        self.inputs.append(value)
        self.given[value.name] = [
            random_array([self.seed, self._count(), run], dtype, shape) for run, shape in enumerate(sizes)
        ]
        return value

    def add_sizes(self, name: str, values: Sequence[Sequence[int]]) -> Value:
        """A run-time s32 vector."""
        count = len(values[0])
        value = Value(f"{name}{self._count()}", "s32", (count,), ((count,),) * self.runs)
        self.inputs.append(value)
        self.given[value.name] = [np.array(v, np.int32) for v in values]
        return value

    def add_constant(self, name: str, array: np.ndarray, form: str) -> Value:
        """A constant, written as `onnx` or `arith`."""
        dtype = dtypes.of_numpy(array.dtype)
        assert dtype is not None
        value = Value(f"{name}{self._count()}", dtype.name, array.shape, (array.shape,) * self.runs)
        self.constants[value.name] = (form, array)
        return value

    def result(self, name: str, dtype: str, declared: Shape, sizes: Sequence[tuple[int, ...]]) -> Value:
        return Value(f"{name}{self._count()}", dtype, declared, tuple(sizes))

    def _count(self) -> int:
        return len(self.inputs) + len(self.constants) + len(self.nodes)

    @property
    def chained(self) -> bool:
        """Whether an op reads another's result, so that roundings add up."""
        results = {node.result.name for node in self.nodes}
        return any(v.name in results for node in self.nodes for v in node.operands)

    def feeds(self, run: int, *, absolute: bool = False) -> list[np.ndarray]:
        arrays = [self.given[value.name][run] for value in self.inputs]
        return [_abs(a) for a in arrays] if absolute else arrays

    def module(self, *, absolute: bool = False) -> ModuleOp:
        """The graph, every op with a location; with `absolute` the constants are made positive."""
        block = Block(arg_types=[_type(v) for v in self.inputs])
        values: dict[str, SSAValue] = {}
        for value, argument in zip(self.inputs, block.args, strict=True):
            argument.name_hint = value.name
            values[value.name] = argument
        for line, (name, (form, array)) in enumerate(self.constants.items(), 100):
            op = _constant(_abs(array) if absolute else array, form)
            op.location = location(name, Position(FILE, line, 1))
            block.add_op(op)
            values[name] = op.results[0]
            values[name].name_hint = name
        for line, node in enumerate(self.nodes, 1):
            op = build(
                node.op,
                [values[v.name] for v in node.operands],
                node.attributes,
                declared=[Declared(node.declared, _mlir(node.result.dtype) if node.declared else None)],
                location=location(f"op{line}", Position(FILE, line, 1)),
            )
            block.add_op(op)
            values[node.result.name] = op.results[0]
            op.results[0].name_hint = node.result.name
        block.add_op(ReturnOp(*(values[v.name] for v in self.outputs)))
        function = FuncOp("main", ([], []), Region(block))
        update_function_type(function)
        module = ModuleOp([function])
        module.verify()
        return module

    def __repr__(self) -> str:
        shapes = {v.name: v.sizes for v in self.inputs}
        try:
            return f"{self.module()}\nruns: {shapes}"
        except Exception as error:
            return f"{self.nodes}\n{error}"


def random_array(seed: Sequence[int], dtype: str, shape: Sequence[int]) -> np.ndarray:
    known = dtypes.by_name(dtype)
    assert known is not None
    return np.random.default_rng(seed).standard_normal(shape).astype(known.numpy)


def _abs(array: np.ndarray) -> np.ndarray:
    """Floats by value; sizes are left alone."""
    return array if array.dtype.kind in "iu" else np.abs(array)


def _mlir(dtype: str):
    known = dtypes.by_name(dtype)
    assert known is not None
    return known.mlir


def _type(value: Value):
    return tensor_type(_mlir(value.dtype), value.declared)


def _constant(array: np.ndarray, form: str):
    if form == "onnx":
        return ConstantOp(array)
    attribute = dense.from_numpy(array)
    return arith.ConstantOp(attribute, attribute.type)
