"""Compile-time knowledge of values' contents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, TypeGuard

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, i32, i64
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from dialects.onnx.dims import (
    add,
    is_at_least,
    largest,
    mod,
    multiply,
    slice_bounds,
    smallest,
    subtract,
    truncdiv,
)
from dialects.shapes.forms import Size
from dialects.support import shapes
from dialects.support.dense import to_numpy
from dialects.support.memo import by_identity
from dialects.support.shapes import Dim

Dims = tuple[Dim, ...]

MAX_DIMS = 64
"""Longer vectors are data, not sizes."""

MAX_TRACE_DEPTH = 32
"""Ops through which a size is traced; beyond that it is unknown."""


def constant_of(value: SSAValue) -> np.ndarray | None:
    """Return the array of an `onnx.Constant` or `arith.constant` tensor, as a view, else None."""
    owner = value.owner
    if not isinstance(owner, Operation) or owner.name not in ("onnx.Constant", "arith.constant"):
        return None
    found = owner.properties.get("value")
    return to_numpy(found) if isinstance(found, DenseIntOrFPElementsAttr) else None


def dims_of(value: SSAValue) -> Dims | None:
    """Return the elements of an integer scalar or vector of static length, None for unknown ones.

    Return None for a tensor of another rank, type or length.
    """
    return None if _length(value.type) is None else _follow(value)


Known = Mapping[SSAValue, Dims | None]
"""Results of `dims_of` by value."""


def _follow(value: SSAValue) -> Dims | None:
    """Trace a value backwards through the graph, operands first."""
    known: dict[SSAValue, Dims | None] = {}
    waiting = [(value, MAX_TRACE_DEPTH)]
    while waiting:
        last, left = waiting[-1]
        if last in known:
            waiting.pop()
            continue
        op = _rule_op(last) if left else None
        unknown = [(operand, left - 1) for operand in _read(op) if operand not in known] if op else []
        if unknown:
            waiting += unknown
            continue
        known[last] = _dims(last, op, known)
        waiting.pop()
    return known[value]


def _read(op: Operation) -> Sequence[SSAValue]:
    """Return the values whose elements the rule of an op reads: also those that an Equal compares for a
    Where."""
    if op.name != "onnx.Where" or not _is_equal_op(op.operands[0].owner):
        return op.operands
    return (*op.operands[0].owner.operands, *op.operands)


def _is_equal_op(owner: Operation | Block) -> TypeGuard[Operation]:
    return isinstance(owner, Operation) and owner.name == "onnx.Equal"


def _rule_op(value: SSAValue) -> Operation | None:
    """Return the op that defines a value's elements, if there is a rule for it."""
    if not isinstance(value, OpResult) or value.op.name not in _RULES or _length(value.type) is None:
        return None
    return value.op


def _dims(value: SSAValue, op: Operation | None, known: Known) -> Dims | None:
    length = _length(value.type)
    if length is None:
        return None
    constant = constant_of(value)
    if constant is not None:
        return tuple(int(x) for x in constant.reshape(-1))
    found = None if op is None else _RULES[op.name](op, known)
    if found is None or len(found) != length:
        return (None,) * length
    bits = 64 if shapes.element_type_of(value) == i64 else 32
    return tuple(dim if _fits(dim, bits) else None for dim in found)


@by_identity
def _length(type_: Attribute) -> int | None:
    if not isinstance(type_, TensorType) or type_.element_type not in (i64, i32):
        return None
    shape = shapes.static(shapes.shape_of(type_))
    if shape is None or len(shape) > 1:
        return None
    length = shape[0] if shape else 1
    return length if length <= MAX_DIMS else None


def _fits(dim: Dim, bits: int) -> bool:
    """Return whether an element cannot wrap around in integer arithmetic; products may exceed 32 bits."""
    if isinstance(dim, Size):
        return bits == 64 or all(len(monomial) < 2 for monomial, _ in dim.terms)
    return dim is None or -(2 ** (bits - 1)) <= dim < 2 ** (bits - 1)


Rule = Callable[[Operation, Known], Dims | None]


def _shape(op: Operation, known: Known) -> Dims | None:
    shape = shapes.shape_of(op.operands[0])
    start, end = _int(op, "start", 0), _int(op, "end", len(shape))
    return shape[slice(start, end)]


def _size(op: Operation, known: Known) -> Dims | None:
    """Return the product of the dims, which may be static even for a dynamic shape, with a size of 0."""
    (data,) = op.operands
    return (reduce(multiply, shapes.shape_of(data), 1),) if shapes.has_rank(data) else None


def _same(op: Operation, known: Known) -> Dims | None:
    """Handle Identity, integer Cast, and changes of rank between scalar and vector."""
    return known[op.operands[0]]


def _concat(op: Operation, known: Known) -> Dims | None:
    parts = [known[operand] for operand in op.operands]
    return tuple(dim for part in parts if part is not None for dim in part)


def _gather(op: Operation, known: Known) -> Dims | None:
    data, indices = known[op.operands[0]], known[op.operands[1]]
    if data is None or indices is None:
        return None
    return tuple(_at(data, index) for index in indices)


def _at(dims: Dims, index: Dim) -> Dim:
    if not isinstance(index, int) or not -len(dims) <= index < len(dims):
        return None
    return dims[index]


def _slice(op: Any, known: Known) -> Dims | None:
    """Handle a Slice of a vector, with optional axes and steps."""
    data, starts, ends = known[op.data], known[op.starts], known[op.ends]
    steps = (1,) if op.steps is None else known[op.steps]
    if data is None or not starts or not ends or not steps:
        return None
    start, end, step = starts[0], ends[0], steps[0]
    if not (isinstance(start, int) and isinstance(end, int) and isinstance(step, int)) or step == 0:
        return None
    return tuple(data[i] for i in range(*slice_bounds(len(data), start, end, step)))


def _negate(dim: Dim) -> Dim:
    return multiply(dim, -1)


def _elementwise(function: Callable[..., Dim]) -> Rule:
    """Return a rule for scalars and vectors, which broadcast."""
    return lambda op, known: _map(function, [known[operand] for operand in op.operands])


def _map(function: Callable[..., Dim], operands: Sequence[Dims | None]) -> Dims | None:
    """Apply a function to the elements of scalars and vectors, which broadcast."""
    given = [dims for dims in operands if dims is not None]
    lengths = {len(dims) for dims in given} - {1} or {1}
    if len(given) < len(operands) or len(lengths) > 1:
        return None
    (length,) = lengths
    columns = (dims * length if len(dims) == 1 else dims for dims in given)
    return tuple(function(*row) for row in zip(*columns, strict=True))


def _mod(op: Operation, known: Known) -> Dims | None:
    """Return remainders that have the sign of the divisor; with `fmod` they have that of the dividend."""
    return None if _int(op, "fmod", 0) else _elementwise(mod)(op, known)


def _constant_of_shape(op: Operation, known: Known) -> Dims | None:
    length, value = _length(op.results[0].type), op.properties.get("value")
    if length is None or not isinstance(value, DenseIntOrFPElementsAttr):
        return None
    return (int(to_numpy(value).item()),) * length


def _where(op: Operation, known: Known) -> Dims | None:
    """Handle a constant condition, and Equal of sizes, as exporters replace -1 in the shape of an Expand."""
    condition, yes, no = op.operands
    return _map(_choose, [_conditions(condition, known), known[yes], known[no]])


def _choose(condition: Dim, yes: Dim, no: Dim) -> Dim:
    if condition is None:
        return yes if yes == no else None
    return yes if condition else no


def _conditions(condition: SSAValue, known: Known) -> Dims | None:
    """Return the elements of a vector of conditions as 0 or 1, None for unknown ones."""
    constant, owner = constant_of(condition), condition.owner
    if constant is not None:
        return tuple(int(x) for x in constant.reshape(-1)) if constant.size <= MAX_DIMS else None
    return _elementwise(_is_equal)(owner, known) if _is_equal_op(owner) else None


def _is_equal(a: Dim, b: Dim) -> Dim:
    """Return 1 for equal sizes, 0 for different ones, None if that is unknown."""
    if a is None or b is None:
        return None
    if a == b:
        return 1
    differ = isinstance(a, int) and isinstance(b, int)
    return 0 if differ or is_at_least(subtract(a, b), 1) or is_at_least(subtract(b, a), 1) else None


def _int(op: Operation, name: str, default: int) -> int:
    found = op.properties.get(name)
    return int(found.value.data) if found is not None else default  # pyright: ignore


_RULES: dict[str, Rule] = {
    "onnx.Shape": _shape,
    "onnx.Size": _size,
    "onnx.Identity": _same,
    "onnx.Cast": _same,
    "onnx.Squeeze": _same,
    "onnx.Unsqueeze": _same,
    "onnx.Reshape": _same,
    "onnx.Concat": _concat,
    "onnx.Gather": _gather,
    "onnx.Slice": _slice,
    "onnx.Add": _elementwise(add),
    "onnx.Sub": _elementwise(subtract),
    "onnx.Mul": _elementwise(multiply),
    "onnx.Div": _elementwise(truncdiv),
    "onnx.Mod": _mod,
    "onnx.ConstantOfShape": _constant_of_shape,
    "onnx.Where": _where,
    "onnx.Max": _elementwise(largest),
    "onnx.Min": _elementwise(smallest),
    "onnx.Neg": _elementwise(_negate),
}
