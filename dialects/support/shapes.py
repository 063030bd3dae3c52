"""Shapes with static, symbolic and unknown dims, and their encoding in tensor types.

A dim is an int, a `Size` (an expression over names; equal ones are equal at run time) or None. In a type,
unknown and symbolic dims are both `?`; the encoding lists the sizes. A name is written verbatim, any other
size after a `=`: `tensor<?x4x?xf32, ["N", "", "=2*N + 1"]>`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

from dialects.shapes.forms import Form, Size, TooComplex, form_text, name
from dialects.shapes.size_text import InvalidSize, parse
from dialects.shapes.sizes import substitute
from dialects.support.diagnostics import Diagnostic, GradcError, violation
from dialects.support.memo import MEMO_SIZE, by_identity

MOST_ELEMENTS = 2**62
"""Models store sizes and their products in 64 bits; sums of two must fit."""

Dim = int | Size | None
Shape = tuple[Dim, ...]

DimLike = int | Size | str | None
"""A dim as given by callers: a string is a name of the source's."""

NamedShape = tuple[int | str | None, ...]
"""The shape of a model's input or output: ints, the source's names, and None for all else."""

_FORM = "="
"""Prefix of an encoding entry that is not a plain name, or is a name that begins with it."""


class UnknownRank(GradcError):
    """Shape requested of a tensor without a known rank."""

    def __init__(self, what: object = "a tensor without a known rank", others: Sequence[Diagnostic] = ()):
        made = isinstance(what, Diagnostic)
        super().__init__(what if made else Diagnostic("error", str(what)), others)


def tensor_type(element_type: Attribute, shape: Sequence[DimLike]) -> TensorType:
    """Return the tensor type of a shape; raises ValueError on a negative dim."""
    return _tensor_type(element_type, tuple(shape))


def dim_of(written: DimLike) -> Dim:
    """Return a dim that may be given as a name; an empty name is an unknown dim."""
    if not isinstance(written, str):
        return written
    return name(written) if written else None


@lru_cache(MEMO_SIZE)
def _tensor_type(element_type: Attribute, shape: tuple[DimLike, ...]) -> TensorType:
    if any(isinstance(dim, int) and dim < 0 for dim in shape):
        raise ValueError(f"negative dim in {shape}")
    if any(isinstance(dim, int) and dim > MOST_ELEMENTS for dim in shape):
        raise violation("size", given=show(shape), expected=f"at most {MOST_ELEMENTS:,}, for 64 bits")
    dims = [dim if isinstance(dim, int) else DYNAMIC_INDEX for dim in shape]
    entries = [_entry(dim_of(dim)) for dim in shape]
    if not any(entries):
        return TensorType(element_type, dims)
    return TensorType(element_type, dims, ArrayAttr(map(StringAttr, entries)))


def _entry(dim: Dim) -> str:
    """Return the encoding entry of a dim."""
    if not isinstance(dim, Size):
        return ""
    is_plain = dim.name is not None and not dim.name.startswith(_FORM)
    return str(dim) if is_plain else _FORM + form_text(dim)


def _of_entry(entry: str) -> Dim:
    if not entry.startswith(_FORM):
        return dim_of(entry)
    try:
        form = parse(entry.removeprefix(_FORM))
    except InvalidSize as error:
        raise violation("size in an encoding", given=entry, hint=str(error)) from None
    if isinstance(form, int):
        raise violation("size in an encoding", given=entry, expected="an expression over names")
    return form


def shape_of(value: SSAValue | Attribute) -> Shape:
    """Return the shape of a ranked tensor value or type. Raises UnknownRank for an unranked tensor."""
    type_ = value.type if isinstance(value, _VALUES) else value
    if type(type_) is not TensorType:
        if isinstance(type_, UnrankedTensorType):
            raise UnknownRank(f"not a ranked tensor: {type_}")
        raise violation(f"not a ranked tensor: {type_}")
    return _shape_of(type_)


_VALUES = (OpResult, BlockArgument, SSAValue)
"""Common concrete classes first: isinstance on an abstract class takes ten times as long."""


@by_identity
def _shape_of(type_: TensorType) -> Shape:
    return tuple(
        dim if dim != DYNAMIC_INDEX else _of_entry(entry)
        for dim, entry in zip(type_.get_shape(), _entries(type_), strict=True)
    )


def _entries(type_: TensorType) -> tuple[str, ...]:
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
    """Return whether a value or type is a ranked tensor."""
    return isinstance(value.type if isinstance(value, _VALUES) else value, TensorType)


def is_static(shape: Sequence[DimLike]) -> bool:
    return all(isinstance(dim, int) for dim in shape)


def static(shape: Sequence[DimLike]) -> tuple[int, ...] | None:
    """Return the shape as ints, or None if a dim is not known at compile time."""
    return tuple(d for d in shape if isinstance(d, int)) if is_static(shape) else None


def static_size(value: SSAValue, axis: int) -> int:
    """Return a size that is known."""
    size = shape_of(value)[axis]
    assert isinstance(size, int)
    return size


def static_shape(value: SSAValue) -> tuple[int, ...] | None:
    """Return `static` of a ranked tensor's shape."""
    return _static_shape(value.type)


@by_identity
def _static_shape(type_: Attribute) -> tuple[int, ...] | None:
    return static(shape_of(type_))


def same_dim(a: DimLike, b: DimLike) -> bool:
    """Return whether two dims can be equal at run time: only two different ints cannot."""
    return not (isinstance(a, int) and isinstance(b, int)) or a == b


def compatible(a: Sequence[DimLike], b: Sequence[DimLike]) -> bool:
    return len(a) == len(b) and all(map(same_dim, a, b))


def merge_dim(a: Dim, b: Dim) -> Dim:
    """Return the more precise of two statements about one dim, the first if equally precise.

    In decreasing precision: a number, a source name, an expression, an expression with fresh symbols, None.
    """
    assert same_dim(a, b), (a, b)
    return min(a, b, key=_vagueness)


def _vagueness(dim: Dim) -> int:
    if not isinstance(dim, Size):
        return 0 if isinstance(dim, int) else 4
    return 3 if dim.is_fresh else (1 if dim.name is not None else 2)


def merge(a: Sequence[Dim], b: Sequence[Dim]) -> Shape:
    return tuple(merge_dim(x, y) for x, y in zip(a, b, strict=True))


def with_sizes(shape: Sequence[Dim], sizes: Mapping[str, Form]) -> Shape:
    """Substitute sizes for names in a shape."""
    return tuple(_with_sizes(dim, sizes) for dim in shape)


def _with_sizes(dim: Dim, sizes: Mapping[str, Form]) -> Dim:
    try:
        return substitute(dim, sizes) if isinstance(dim, Size) else dim
    except (TooComplex, ZeroDivisionError):
        return None


def dim_names(shape: Sequence[Dim]) -> NamedShape:
    """Return the shape with expressions other than names replaced by None."""
    return tuple(dim.name if isinstance(dim, Size) else dim for dim in shape)


def dim_texts(shape: Sequence[Dim]) -> NamedShape:
    """Return the shape with sizes as text, if the source names all of their leaves."""
    texts = (str(dim) if isinstance(dim, Size) and not dim.is_fresh else None for dim in shape)
    return tuple(text or dim for text, dim in zip(texts, dim_names(shape), strict=True))


def size_with(text: str, sizes: Mapping[str, int]) -> int | None:
    """Evaluate a size expression such as `(H + 1)//2`; None for a bare name or if a name has no value."""
    try:
        form = parse(text)
    except InvalidSize:
        return None
    if not isinstance(form, Size) or form.name is not None:
        return None
    (found,) = with_sizes([form], sizes)
    return found if isinstance(found, int) else None


def show(shape: Sequence[DimLike]) -> str:
    return "[" + ", ".join("?" if dim is None else str(dim) for dim in shape) + "]"
