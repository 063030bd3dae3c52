"""Conditions on dynamic sizes, and ONNX nodes that fail if one does not hold.

A row is an affine expression of sizes that must lie in [0, bound]. The rows of an op become one vector R in
the graph; max(1 - R, R - bound + 1, 1) is a vector of ones if all hold. A tensor of one element is reshaped
to that shape, which fails in any runtime if an entry is larger.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.ir import Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.support.shapes import shape_of
from dialects.support.size_guards import SIZE_LIMIT
from passes.builder.op_builder import OpBuilder


@dataclass(frozen=True)
class Element:
    """A dynamic size: one element of an int64 vector in the graph."""

    vector: SSAValue
    index: int


Size = int | Element


@dataclass(frozen=True)
class Row:
    """0 <= sum of factors times sizes + constant <= bound; `label` describes it."""

    label: str = field(compare=False)
    terms: tuple[tuple[int, Element], ...]
    constant: int
    bound: int


def row(label: str, terms: Iterable[tuple[int, Size]], constant: int = 0, bound: int = 0) -> list[Row]:
    """Return the row of a sum of factors times sizes; none if all are static, and were verified."""
    open_: dict[Element, int] = {}
    for factor, size in terms:
        if isinstance(size, Element):
            open_[size] = open_.get(size, 0) + factor
        else:
            constant += factor * size
    left = tuple((factor, size) for size, factor in open_.items() if factor)
    if not left and 0 <= constant <= bound:
        return []
    return [Row(label, left, constant, bound)]


def equal(label: str, a: Size, b: Size) -> list[Row]:
    return row(label, [(1, a), (-1, b)])


def positive(label: str, size: Size) -> list[Row]:
    return row(label, [(1, size)], -1, SIZE_LIMIT)


def elements(vector: SSAValue) -> tuple[Element, ...]:
    (length,) = shape_of(vector)
    assert isinstance(length, int)
    return tuple(Element(vector, index) for index in range(length))


def vector_of(sizes: Sequence[Size], emit: OpBuilder) -> SSAValue:
    """Return the sizes as one vector in the graph."""
    known = tuple(size for size in sizes if isinstance(size, int))
    vectors = list(dict.fromkeys(size.vector for size in sizes if isinstance(size, Element)))
    if not vectors:
        return emit.ints(known)
    starts: dict[SSAValue, int] = {}
    count = 0
    for vector in vectors:
        starts[vector], count = count, count + len(elements(vector))
    indices: list[int] = []
    constants = iter(range(count, count + len(known)))
    for size in sizes:
        indices.append(starts[size.vector] + size.index if isinstance(size, Element) else next(constants))
    parts = [*vectors, *([emit.ints(known)] if known else [])]
    whole = parts[0] if len(parts) == 1 else emit.concat(parts)
    return whole if indices == list(range(count + len(known))) else emit.take(whole, indices)


def guard(rows: Sequence[Row], emit: OpBuilder) -> tuple[SSAValue, Operation]:
    """Return a scalar 0 that can be computed only if all rows hold, and the op that fails otherwise."""
    value = emit.ints([row.constant for row in rows])
    for place in range(max((len(row.terms) for row in rows), default=0)):
        terms = [row.terms[place] if place < len(row.terms) else (0, 0) for row in rows]
        sizes = vector_of([size for _, size in terms], emit)
        value = emit.add(value, emit.mul(sizes, emit.ints([factor for factor, _ in terms])))
    below = emit.sub(emit.ints([1]), value)
    above = emit.sub(value, emit.ints([row.bound - 1 for row in rows]))
    ones = emit(onnx.MaxOp([below, above, emit.ints([1])]))
    zero = emit(onnx.ReshapeOp(emit.constant(np.zeros(1, np.int64)), ones))
    return emit(onnx.ReduceSumOp(zero, keepdims=0)), zero.op
