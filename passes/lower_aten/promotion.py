"""Type promotion of torch, for ops whose result does not have the common dtype, such as comparisons."""

from __future__ import annotations

from functools import reduce

from xdsl.dialects.builtin import bf16, f16, f32, f64, i64
from xdsl.ir import Attribute

from dialects.aten.ratios import Ratio
from dialects.shapes.forms import Size
from dialects.support.dtypes import known_dtype
from passes.builder.values import Value
from passes.lower_aten.call import Number

BOOL, INT, FLOAT = range(3)
"""Categories: a dtype of a higher one wins over any of a lower one."""

_CATEGORIES = {"b": BOOL, "i": INT, "u": INT}


def category(dtype: Attribute) -> int:
    """Return the category of a dtype."""
    return _CATEGORIES.get(known_dtype(dtype).numpy.kind, FLOAT)


def is_float(dtype: Attribute) -> bool:
    """Return whether a dtype is a floating-point one."""
    return category(dtype) == FLOAT


def common_dtype(*given: Value | Number) -> Attribute:
    """Return `torch.result_type`: tensors of some rank, then rank-0 tensors and then numbers, each only where
    their category is higher."""
    tensors = [each for each in given if isinstance(each, Value)]
    ranked = [value.dtype for value in tensors if value.rank]
    scalars = [value.dtype for value in tensors if not value.rank]
    numbers = [_of_number(each) for each in given if not isinstance(each, Value)]
    found: Attribute | None = None
    for dtypes in (ranked, scalars, numbers):
        if not dtypes:
            continue
        dtype = reduce(_join, dtypes)
        if found is None or category(dtype) > category(found):
            found = dtype
    assert found is not None
    return found


def _of_number(number: Number) -> Attribute:
    if isinstance(number, bool):
        return known_dtype("boolean").mlir
    return i64 if isinstance(number, int | Size) and not isinstance(number, Ratio) else f32


def _join(a: Attribute, b: Attribute) -> Attribute:
    """Return the dtype that represents both: of f16 and bf16, f32; of u8 and a signed one, a wider signed."""
    if a == b:
        return a
    if category(a) != category(b):
        return max(a, b, key=category)
    if {a, b} == {f16, bf16}:
        return f32
    if category(a) == FLOAT:
        return f64 if f64 in (a, b) else f32
    wider = max(a, b, key=_bytes)
    both_small = _bytes(a) == _bytes(b)  # s8 and u8
    return known_dtype("s16").mlir if both_small else wider


def _bytes(dtype: Attribute) -> int:
    return known_dtype(dtype).numpy.itemsize
