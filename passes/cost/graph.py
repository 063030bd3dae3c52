"""What of a candidate runs: its ops less what is folded, dead, computed twice or only a view.

The rest is a list of steps, plain data with known sizes, in the order of the ops.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx import traits
from dialects.onnx.attributes import SEGMENTS, python_values
from dialects.onnx.base import OnnxOp
from dialects.onnx.call import Python
from dialects.onnx.values import constant_of
from dialects.support.constants import constant_attribute, is_static_shape
from dialects.support.dtypes import of_mlir
from dialects.support.shapes import element_type_of, shape_of

UNKNOWN = 32
"""What stands for a size that nothing tells."""

VIEWS = traits.VIEWS
"""Ops whose result shares the memory of its operand, unless it is a result of the graph."""

SMALL = 64
"""Constants of no more elements are compared by value."""


@dataclass(frozen=True)
class Tensor:
    """An operand or result: sizes, bytes of an element, and whether compile time knows its value."""

    shape: tuple[int, ...]
    itemsize: int
    constant: bool = False
    value: SSAValue | None = field(default=None, compare=False, repr=False)

    @cached_property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.elements * self.itemsize

    def known(self) -> list[int] | None:
        """The elements of a small constant of integers."""
        array = constant_of(self.value) if self.value is not None else None
        return None if array is None else [int(x) for x in array.reshape(-1)]


@dataclass(frozen=True)
class Step:
    """One node that runs. `kind` is the op's ONNX name, or a word of `blocked` for what it becomes.

    An operand that is not given is None. `last` are the results that leave the graph.
    """

    kind: str
    operands: tuple[Tensor | None, ...]
    results: tuple[Tensor, ...]
    attributes: Mapping[str, Python]

    def operand(self, index: int) -> Tensor:
        found = self.operands[index]
        assert found is not None
        return found

    @property
    def result(self) -> Tensor:
        return self.results[0]

    def ints(self, name: str, default: Sequence[int]) -> list[int]:
        found: Any = self.attributes.get(name)
        return list(default if found is None else found)

    def int(self, name: str, default: int) -> int:
        found = self.attributes.get(name, default)
        assert isinstance(found, int)
        return found

    def as_kind(self, kind: str) -> Step:
        return replace(self, kind=kind)


@dataclass
class Graph:
    """The steps of a candidate, who reads what, and what leaves it.

    Values are those of the ops, each standing for all that are equal to it.
    """

    steps: list[Step]
    readers: dict[SSAValue, list[Step]]
    results: list[SSAValue]

    @classmethod
    def of(cls, ops: Sequence[Operation], results: Sequence[SSAValue]) -> Graph:
        same: dict[SSAValue, SSAValue] = {}
        seen: dict[object, Operation] = {}
        constant = Constants(ops)
        kept: list[Operation] = []
        for op in live(ops, results):
            if all(constant(value) for value in op.results):
                continue
            key = _key(op, same, constant)
            if key in seen:
                same |= zip(op.results, seen[key].results, strict=True)
                continue
            seen[key] = op
            kept.append(op)
        steps = [step_of(op, same, constant) for op in kept]
        graph = cls(steps, {}, [same.get(value, value) for value in results])
        graph.index()
        return graph

    def index(self) -> None:
        """Make `readers` follow `steps`."""
        self.readers = {}
        for step in self.steps:
            for operand in step.operands:
                if operand is not None and operand.value is not None:
                    self.readers.setdefault(operand.value, []).append(step)

    def makers(self) -> dict[SSAValue, Step]:
        return {t.value: step for step in self.steps for t in step.results if t.value is not None}

    def leaves(self, value: SSAValue | None) -> bool:
        return value in self.results


class Constants:
    """Whether compile time knows a value: it is a constant, or some of `ops` make it of constants alone.

    Beyond these ops nobody looks: the graph that they are a part of may be large.
    """

    def __init__(self, ops: Sequence[Operation]) -> None:
        self._inside = set(ops)
        self._known: set[SSAValue] = set()
        for op in ops:
            if all(map(self, op.operands)) or is_static_shape(op):
                self._known.update(op.results)

    def __call__(self, value: SSAValue) -> bool:
        if value.owner in self._inside:
            return value in self._known
        return constant_attribute(value) is not None


def live(ops: Sequence[Operation], results: Iterable[SSAValue]) -> list[Operation]:
    """The ops that a result needs, in order."""
    needed = set(results)
    live: list[Operation] = []
    for op in reversed(ops):
        if needed.isdisjoint(op.results):
            continue
        live.append(op)
        needed.update(op.operands)
    return live[::-1]


def _key(op: Operation, same: Mapping[SSAValue, SSAValue], constant: Constants) -> object:
    """Equal for ops that compute the same."""
    operands = tuple(_identity(same.get(value, value), constant) for value in op.operands)
    return op.name, operands, tuple(op.properties.items())


def _identity(value: SSAValue, constant: Constants) -> object:
    if not constant(value) or not isinstance(value.owner, Operation):
        return value
    attribute = value.owner.properties.get("value")
    small = math.prod(d for d in shape_of(value) if isinstance(d, int)) <= SMALL
    if small and isinstance(attribute, DenseIntOrFPElementsAttr):
        return attribute, value.type  # pyright: ignore[reportUnknownVariableType]
    return value


def step_of(op: Operation, same: Mapping[SSAValue, SSAValue], constant: Constants) -> Step:
    assert isinstance(op, OnnxOp), op.name
    operands = tuple(
        None if value is None else tensor(same.get(value, value), constant(value))
        for value in op.onnx_inputs()
    )
    own = {name: value for name, value in op.properties.items() if name != SEGMENTS}
    asked = op.results if not isinstance(op, onnx.MaxPoolOp) else _asked(op.results)
    return Step(op.onnx_name(), operands, tuple(map(tensor, asked)), python_values(own))


def _asked(results: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """The maxima, and their places where somebody reads them: those take far longer."""
    return [value for index, value in enumerate(results) if index == 0 or value.first_use is not None]


def tensor(value: SSAValue, constant: bool = False) -> Tensor:
    dtype = of_mlir(element_type_of(value))
    assert dtype is not None
    shape = tuple(dim if isinstance(dim, int) else UNKNOWN for dim in shape_of(value))
    return Tensor(shape, np.dtype(dtype.numpy).itemsize, constant, value)
