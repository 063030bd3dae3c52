"""Op version changes that many ops share; each function returns one for `upgrade`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from xdsl.dialects.builtin import FloatAttr, TensorType, i64
from xdsl.ir import SSAValue

from dialects.onnx import ops
from dialects.onnx.attributes import text_attribute, to_python
from dialects.onnx.types import UnknownType
from dialects.support import shapes
from dialects.support.attributes import int_attribute
from dialects.support.diagnostics import Diagnostic, UnsupportedError
from dialects.support.dtypes import known_dtype
from gradc.importers.onnx.source import Source

Upgrade = Callable[[Source], None]
"""Changes a node in place."""


def to_operand(index: int, name: str, dtype: str = "s64") -> Upgrade:
    """Turn a list attribute into the operand at `index`."""

    def change(node: Source) -> None:
        value = node.attributes.pop(name, None)
        if value is not None and node.optional(index) is None:
            known = known_dtype(dtype)
            node.set_operand(index, node.constant(np.array(to_python(value), known.numpy)))

    return change


def to_scalar_operand(index: int, name: str) -> Upgrade:
    """Turn a number attribute into an operand with the dtype of the first operand."""

    def change(node: Source) -> None:
        value = node.attributes.pop(name, None)
        if isinstance(value, FloatAttr):
            node.set_operand(index, _scalar_like(node, value.value.data))

    return change


def _scalar_like(node: Source, number: float) -> SSAValue:
    """Return a number as a scalar of the dtype of the first operand."""
    data = node.operand(0)
    dtype = dtype_of(data)
    scalar = node.constant(np.array(number, np.float32 if dtype is None else dtype))
    return node.apply(ops.CastLikeOp, scalar, data) if dtype is None else scalar


def set_default(name: str, value: int | str) -> Upgrade:
    """Set an attribute that is missing to its old default."""

    def change(node: Source) -> None:
        made = int_attribute(value) if isinstance(value, int) else text_attribute(value)
        node.attributes.setdefault(name, made)

    return change


def drop(*names: str) -> Upgrade:
    def change(node: Source) -> None:
        for name in names:
            node.attributes.pop(name, None)

    return change


def rename_values(name: str, changed: Mapping[str, str]) -> Upgrade:
    def change(node: Source) -> None:
        given = node.attributes.get(name)
        if given is not None:
            word = str(to_python(given))
            node.attributes[name] = text_attribute(changed.get(word, word))

    return change


def to_int(name: str) -> Upgrade:
    """Turn a float attribute into an integer."""

    def change(node: Source) -> None:
        value = node.attributes.get(name)
        if isinstance(value, FloatAttr):
            node.attributes[name] = int_attribute(int(value.value.data))

    return change


def to_scalar(*indices: int) -> Upgrade:
    """Reshape operands of one element to scalars: runtimes accept vectors, the specification does not."""

    def change(node: Source) -> None:
        for index in indices:
            value = node.optional(index)
            if value is not None and _rank(value) == 1:
                node.operands[index] = node.emit(ops.ReshapeOp(value, node.ints()))

    return change


def to_vector(index: int) -> Upgrade:
    """Reshape a scalar operand to a vector of one element."""

    def change(node: Source) -> None:
        value = node.optional(index)
        if value is not None and _rank(value) == 0:
            node.operands[index] = node.emit(ops.ReshapeOp(value, node.ints(1)))

    return change


def rank_of(node: Source, index: int) -> SSAValue:
    """Return the rank of an operand, as a vector of one element; it may be dynamic."""
    return node.emit(ops.ShapeOp(shape_of(node, node.operand(index))))


def shape_of(node: Source, value: SSAValue) -> SSAValue:
    return node.apply(ops.ShapeOp, value, result_type=shapes.tensor_type(i64, [None]))


def append_unit_axes(node: Source, index: int, count: SSAValue) -> SSAValue:
    """Append axes of size 1 to an operand; their number is a vector of one element."""
    value = node.operand(index)
    none_less = node.emit(ops.MaxOp([count, node.ints(0)]))
    ones = node.emit(ops.ConstantOfShapeOp(none_less, value=np.ones(1, np.int64)))
    sizes = node.emit(ops.ConcatOp([shape_of(node, value), ones], axis=0))
    return node.apply(ops.ReshapeOp, value, sizes)


def _rank(value: SSAValue) -> int | None:
    return len(shapes.shape_of(value)) if isinstance(value.type, TensorType) else None


def numpy_dtype(value: SSAValue) -> np.dtype:
    return known_dtype(shapes.element_type_of(value)).numpy


def dtype_of(value: SSAValue) -> np.dtype | None:
    """Return the dtype of a value, None if its type is unknown."""
    return None if isinstance(value.type, UnknownType) else numpy_dtype(value)


def unsupported(what: str, why: str) -> UnsupportedError:
    return UnsupportedError(Diagnostic("error", f"{what}: {why}"))
