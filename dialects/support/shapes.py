"""Shapes with static, symbolic and unknown dims, and their place in tensor types.

A dim is an int, a name (two dims of one name are equal at run time) or None. In a type, unknown and
symbolic dims are both `?`; the names live in the encoding: `tensor<?x4xf32, ["N", ""]>`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    NoneAttr,
    StringAttr,
    TensorType,
    UnrankedTensorType,
)
from xdsl.ir import Attribute, BlockArgument, OpResult, SSAValue

from dialects.support.diagnostics import Diagnostic, GradcError, violation
from dialects.support.memo import MOST, by_identity

MOST_ELEMENTS = 2**62
"""Sizes and their products are numbers of 64 bits in a model, with room for sums of two."""

Dim = int | str | None
Shape = tuple[Dim, ...]


class UnknownRank(GradcError):
    """The shape was asked of a tensor that is not even known to have a rank."""

    def __init__(self, what: object = "a tensor without a known rank", others: Sequence[Diagnostic] = ()):
        made = isinstance(what, Diagnostic)
        super().__init__(what if made else Diagnostic("error", str(what)), others)


def tensor_type(element_type: Attribute, shape: Sequence[Dim]) -> TensorType:
    """The tensor type of a shape; raises ValueError on a negative dim."""
    return _tensor_type(element_type, tuple(shape))


@lru_cache(MOST)
def _tensor_type(element_type: Attribute, shape: Shape) -> TensorType:
    if any(isinstance(dim, int) and dim < 0 for dim in shape):
        raise ValueError(f"negative dim in {shape}")
    if any(isinstance(dim, int) and dim > MOST_ELEMENTS for dim in shape):
        raise violation("size", given=show(shape), expected=f"at most {MOST_ELEMENTS:,}, for 64 bits")
    dims = [dim if isinstance(dim, int) else DYNAMIC_INDEX for dim in shape]
    if not any(isinstance(dim, str) for dim in shape):
        return TensorType(element_type, dims)
    names = ArrayAttr([StringAttr(dim if isinstance(dim, str) else "") for dim in shape])
    return TensorType(element_type, dims, names)


def shape_of(value: SSAValue | Attribute) -> Shape:
    """The shape of a ranked tensor value or type; UnknownRank for a tensor of which no rank is known."""
    type_ = value.type if isinstance(value, _VALUES) else value
    if type(type_) is not TensorType:
        if isinstance(type_, UnrankedTensorType):
            raise UnknownRank(f"not a ranked tensor: {type_}")
        raise violation(f"not a ranked tensor: {type_}")
    return _shape_of(type_)


_VALUES = (OpResult, BlockArgument, SSAValue)
"""The classes that most values are of come first: to be of an abstract one takes Python ten times as long."""


@by_identity
def _shape_of(type_: TensorType) -> Shape:
    names = _names(type_)
    return tuple(
        dim if dim != DYNAMIC_INDEX else (name or None)
        for dim, name in zip(type_.get_shape(), names, strict=True)
    )


def _names(type_: TensorType) -> tuple[str, ...]:
    rank = type_.get_num_dims()
    if isinstance(type_.encoding, NoneAttr):
        return ("",) * rank
    entries = type_.encoding.data if isinstance(type_.encoding, ArrayAttr) else ()
    names = tuple(e.data for e in entries if isinstance(e, StringAttr))
    if len(names) != rank or len(entries) != rank:
        expected = f'{rank} dim names ("" for none)'
        raise violation(f"encoding of {type_}", given=type_.encoding, expected=expected)
    return names


def element_type_of(value: SSAValue) -> Attribute:
    assert isinstance(value.type, TensorType | UnrankedTensorType)
    return value.type.element_type


def has_rank(value: SSAValue | Attribute) -> bool:
    """Whether a value or type is that of a tensor of known rank."""
    return isinstance(value.type if isinstance(value, _VALUES) else value, TensorType)


def is_static(shape: Sequence[Dim]) -> bool:
    return all(isinstance(dim, int) for dim in shape)


def static(shape: Sequence[Dim]) -> tuple[int, ...] | None:
    """The shape as ints, or None if a dim is not known at compile time."""
    return tuple(d for d in shape if isinstance(d, int)) if is_static(shape) else None


def same_dim(a: Dim, b: Dim) -> bool:
    """Whether two dims can be equal at run time: only two different ints cannot."""
    return not (isinstance(a, int) and isinstance(b, int)) or a == b


def compatible(a: Sequence[Dim], b: Sequence[Dim]) -> bool:
    return len(a) == len(b) and all(map(same_dim, a, b))


def merge_dim(a: Dim, b: Dim) -> Dim:
    """What two statements about one dim say together: a size beats a name, a name beats nothing."""
    assert same_dim(a, b), (a, b)
    if isinstance(a, int) or b is None:
        return a
    return b if isinstance(b, int) or a is None else a


def merge(a: Sequence[Dim], b: Sequence[Dim]) -> Shape:
    return tuple(merge_dim(x, y) for x, y in zip(a, b, strict=True))


def show(shape: Sequence[Dim]) -> str:
    return "[" + ", ".join("?" if dim is None else str(dim) for dim in shape) + "]"
