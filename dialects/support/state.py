"""All that an op's own checks and its type inference look at, as the key of a Memo.

Between passes most ops are as they were, and in real graphs most ops are like another. What was
inferred of an op, or found good about it, need not be asked of the next op in the same state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, TypeVar

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerType, TensorType
from xdsl.ir import Attribute, ErasedSSAValue, Operation, SSAValue

from dialects.support import demands, shapes
from dialects.support.constants import constant_attribute
from dialects.support.memo import Memo, by_identity

V = TypeVar("V")

MOST_SIZES = 64
"""Constants of more elements are data: nothing is inferred from their values, but for vectors of integers, of
which Split may have many."""

State = tuple[Any, ...]


def state_of(op: Operation) -> State | None:
    """`call_state`, and the result types and the names of the attributes."""
    call = call_state(type(op), op.operands, op.properties)
    if call is None:
        return None
    return (*call, *op.result_types, *op.attributes)


def call_state(
    cls: type[Operation], operands: Iterable[SSAValue | None], properties: Mapping[str, Attribute]
) -> State | None:
    """Class, operand types and small constant operands, properties: what results are inferred from.

    None for an op that reads sizes which another op computes, or a value that is erased, and for a
    large constant, or a long one of integers, which a Memo would keep alive.
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
        if _few(type_):
            constant = constant_attribute(operand)
            if constant is None and _is_computed_size(operand):
                return None
            state.append(constant)
        elif _are_integers(type_) and isinstance(operand.owner, Operation):
            return None
    for name, value in properties.items():
        if type(value) is DenseIntOrFPElementsAttr and not _few(value.type):
            return None
        state += (name, value)
    return tuple(state)


@by_identity
def _few(type_: Attribute) -> bool:
    """Whether a tensor's elements may be sizes, scales or axes."""
    if not isinstance(type_, TensorType):
        return False
    shape = shapes.static(shapes.shape_of(type_))
    return shape is not None and math.prod(shape) <= MOST_SIZES


@by_identity
def _are_integers(type_: Attribute) -> bool:
    """Whether a tensor is a vector of integers."""
    return (
        isinstance(type_, TensorType)
        and isinstance(type_.element_type, IntegerType)
        and type_.get_num_dims() == 1
    )


def _is_computed_size(value: SSAValue) -> bool:
    computed = isinstance(value.owner, Operation)
    return computed and isinstance(shapes.element_type_of(value), IntegerType)


def once_per_state(method: Callable[[Any], V]) -> Callable[[Any], V]:
    """A method that looks at nothing but the op's state, computed once for it."""
    memo = Memo()

    @wraps(method)
    def cached(op: Operation) -> V:
        state = None if demands.are_collected() else state_of(op)
        return method(op) if state is None else memo.get(state, lambda: method(op))

    return cached


_VERIFIED = Memo()


class VerifiedOnce(Operation):
    """An op without regions or successors whose verifier looks at nothing but its state and its place.

    A state that was verified is not verified again. Its place is: only a terminator ends a block.
    """

    def verify(self, verify_nested_ops: bool = True) -> None:
        block = self.parent
        state = None if block is not None and block.last_op is self else self.verified_state()
        if state is None:
            self.verify_all()
        else:
            _VERIFIED.get(state, self.verify_all)

    def verified_state(self) -> State | None:
        return state_of(self)

    def verify_all(self) -> None:
        """The whole verification."""
        super().verify(verify_nested_ops=True)
