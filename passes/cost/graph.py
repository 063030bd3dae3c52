"""The ops of a candidate that run: without folded, dead, duplicate and view ops.

The steps are plain data with static sizes, in the order of the ops.
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
from dialects.support.dtypes import known_dtype
from dialects.support.shapes import element_type_of, shape_of

UNKNOWN = 32
"""Size assumed for an unknown size."""

VIEWS = traits.VIEWS
"""Ops whose result shares the memory of its operand, unless it is a result of the graph."""

SMALL = 64
"""Limit on the elements of constants that are compared by value."""


@dataclass(frozen=True)
class Tensor:
    """An operand or result: sizes, bytes per element, and whether it is constant."""

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
        """Return the elements of a small integer constant."""
        array = constant_of(self.value) if self.value is not None else None
        return None if array is None else [int(x) for x in array.reshape(-1)]


@dataclass(frozen=True)
class Step:
    """A node that runs. `kind` is its ONNX op, or the kernel of `rewrites` that replaces it.

    An absent operand is None.
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
    """Steps of a candidate, their readers, and the graph's results.

    Values are those of the ops, one representing all equal ones.
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
        """Recompute `readers` from `steps`."""
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
    """Predicate of compile-time constants: constants, and results of those of `ops` that read only constants.

    Ops outside `ops` are not visited: their graph may be large.
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
    """Return the ops that a result needs, in order."""
    needed = set(results)
    live: list[Operation] = []
    for op in reversed(ops):
        if needed.isdisjoint(op.results):
            continue
        live.append(op)
        needed.update(op.operands)
    return live[::-1]


def _key(op: Operation, same: Mapping[SSAValue, SSAValue], constant: Constants) -> object:
    """Return a key that is equal for ops that compute the same."""
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
    results = op.results if not isinstance(op, onnx.MaxPoolOp) else _read_results(op.results)
    return Step(op.onnx_name(), operands, tuple(map(tensor, results)), python_values(own))


def _read_results(results: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Return the maxima, and the indices if they are read: those take far longer."""
    return [value for index, value in enumerate(results) if index == 0 or value.first_use is not None]


def tensor(value: SSAValue, constant: bool = False) -> Tensor:
    dtype = known_dtype(element_type_of(value))
    shape = tuple(dim if isinstance(dim, int) else UNKNOWN for dim in shape_of(value))
    return Tensor(shape, np.dtype(dtype.numpy).itemsize, constant, value)
