"""The inputs of an op's verifier and type inference, as the key of a Memo.

Most ops are unchanged between passes, and many ops of real graphs are alike. Results of inference and
verification are shared between ops in the same state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, TypeVar

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerType, TensorType
from xdsl.ir import Attribute, ErasedSSAValue, Operation, SSAValue

from dialects.support import shapes, size_guards
from dialects.support.constants import constant_attribute
from dialects.support.memo import Memo, by_identity

V = TypeVar("V")

MOST_SIZES = 64
"""Larger constants are data: inference does not read them, except integer vectors, such as those of Split."""

State = tuple[Any, ...]


def state_of(op: Operation) -> State | None:
    """Return `call_state` with the result types and the names of the attributes."""
    call = call_state(type(op), op.operands, op.properties)
    if call is None:
        return None
    return (*call, *op.result_types, *op.attributes)


def call_state(
    cls: type[Operation], operands: Iterable[SSAValue | None], properties: Mapping[str, Attribute]
) -> State | None:
    """Return what type inference reads: class, operand types, small constant operands, and properties.

    None if the op reads computed sizes or erased values, or large constants or long integer vectors, which a
    Memo would keep alive.
    """
    state: list[Any] = [cls]
    for operand in operands:
        if operand is None:
            state.append(None)
            continue
        if type(operand) is ErasedSSAValue:
            return None
        type_ = operand.type
        state.append(type_)
        if _is_small(type_):
            constant = constant_attribute(operand)
            if constant is None and _is_computed_size(operand):
                return None
            state.append(constant)
        elif _is_integer_vector(type_) and isinstance(operand.owner, Operation):
            return None
    for name, value in properties.items():
        if type(value) is DenseIntOrFPElementsAttr and not _is_small(value.type):
            return None
        state += (name, value)
    return tuple(state)


@by_identity
def _is_small(type_: Attribute) -> bool:
    """Return whether a tensor is small enough for sizes, scales or axes."""
    if not isinstance(type_, TensorType):
        return False
    shape = shapes.static(shapes.shape_of(type_))
    return shape is not None and math.prod(shape) <= MOST_SIZES


@by_identity
def _is_integer_vector(type_: Attribute) -> bool:
    """Return whether a tensor is a vector of integers."""
    return (
        isinstance(type_, TensorType)
        and isinstance(type_.element_type, IntegerType)
        and type_.get_num_dims() == 1
    )


def _is_computed_size(value: SSAValue) -> bool:
    computed = isinstance(value.owner, Operation)
    return computed and isinstance(shapes.element_type_of(value), IntegerType)


def once_per_state(method: Callable[[Any], V]) -> Callable[[Any], V]:
    """Memoize a method that reads nothing but the op's state."""
    memo = Memo()

    @wraps(method)
    def lookup(op: Operation) -> V:
        state = None if size_guards.is_collecting() else state_of(op)
        return method(op) if state is None else memo.get(state, lambda: method(op))

    return lookup


_VERIFIED = Memo()


class VerifiedOnce(Operation):
    """An op without regions or successors whose verifier reads only its state and its position in the block.

    Each state is verified once. Terminators, whose position matters, are verified every time.
    """

    def verify(self, verify_nested_ops: bool = True) -> None:
        block = self.parent
        state = None if block is not None and block.last_op is self else self.verification_key()
        if state is None:
            self.verify_all()
        else:
            _VERIFIED.get(state, self.verify_all)

    def verification_key(self) -> State | None:
        return state_of(self)

    def verify_all(self) -> None:
        """Run the whole verification."""
        super().verify(verify_nested_ops=True)
