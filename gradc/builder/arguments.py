"""Checks of the arguments of graph construction, with errors at the caller's line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeGuard

import numpy as np
from xdsl.ir import Attribute

from dialects.support import dtypes
from dialects.support.attributes import entries, whole_number
from dialects.support.diagnostics import (
    Diagnostic,
    GradcError,
    Position,
    sentence,
    suggest,
)
from dialects.support.documented_op import Declared, DocumentedOp
from dialects.support.names import is_text
from dialects.support.shapes import NamedShape, Shape, dim_of
from gradc.builder.callers import caller

A_NAME = "text that is not empty and that UTF-8 can spell"

Ints = Sequence[int]
Floats = Sequence[float]
Dims = Sequence[int | str | None]
"""Sizes; None or a name is a dynamic size."""


def misuse(
    what: str,
    subject: str = "",
    given: object = None,
    expected: object = None,
    hint: str = "",
    otherwise: Position | None = None,
) -> GradcError:
    """Return the error at the caller's line, or at `otherwise` if no user code calls."""
    place = caller() or otherwise
    return GradcError(Diagnostic("error", sentence(what, given, expected, hint), subject, place))


def resolve_dtype(dtype: Any, subject: str, argument: str = "dtype") -> dtypes.DType:
    """Return the dtype for oneDNN's name, a numpy dtype or its name."""
    word = dtype.lower() if isinstance(dtype, str) else ""
    for entry in dtypes.DTYPES:
        if word in (entry.name, entry.numpy.name):
            return entry
    found = None if isinstance(dtype, str) or dtype is None else _of_numpy(dtype)
    if found is None:
        names = [entry.name for entry in dtypes.DTYPES]
        expected = f"one of {', '.join(names)}"
        raise misuse(argument, subject, given=dtype, expected=expected, hint=suggest(word, names))
    return found


def _of_numpy(dtype: Any) -> dtypes.DType | None:
    try:
        found = dtypes.of_numpy(np.dtype(dtype))
    except (TypeError, ValueError):  # ValueError: a tuple, or an object with an invalid attribute `dtype`
        return None
    return found if found in dtypes.DTYPES else None


def result_declarations(
    cls: type[DocumentedOp],
    result_shapes: Sequence[Dims | None] | None,
    result_dtypes: Sequence[Any] | None,
    dtype: Any,
    subject: str,
) -> list[Declared]:
    """Return the results as declared by shapes and dtypes, or by the dtype of the first result."""
    if dtype is not None and result_dtypes is not None:
        both = f"result_dtype {dtype} and result_dtypes {result_dtypes!r}"
        raise misuse("dtypes of the results", subject, given=both, expected="one of the two")
    declared = [Declared(shape) for shape in _result_shapes(cls, result_shapes, subject)]
    if dtype is not None:
        declared[0] = replace(declared[0], dtype=resolve_dtype(dtype, subject, "result_dtype").mlir)
    if result_dtypes is None:
        return declared
    given = _one_per_result(cls, result_dtypes, subject, "result_dtypes")
    named = zip(cls.RESULTS, declared, given, strict=True)
    return [
        each if word is None else replace(each, dtype=_result_dtype(word, subject, role))
        for role, each, word in named
    ]


def _result_dtype(given: Any, subject: str, role: str) -> Attribute:
    return resolve_dtype(given, subject, f"result_dtypes {role}").mlir


def _result_shapes(
    cls: type[DocumentedOp], given: Sequence[Dims | None] | None, subject: str
) -> list[Shape | None]:
    """Return the declared shape of each result, or None."""
    if given is None:
        return [None] * len(cls.RESULTS)
    if len(cls.RESULTS) == 1:
        return [_result_shape(given[0], subject, "result_shape")]
    shapes = _one_per_result(cls, given, subject, "result_shapes")
    return [
        None if shape is None else _result_shape(shape, subject, f"result_shapes {role}")
        for role, shape in zip(cls.RESULTS, shapes, strict=True)
    ]


def _one_per_result(cls: type[DocumentedOp], given: Any, subject: str, what: str) -> Sequence[Any]:
    """Check that a list has one entry for each result of an op."""
    if isinstance(given, list | tuple) and len(given) == len(cls.RESULTS):
        return given
    expected = f"a list of {len(cls.RESULTS)}, of {', '.join(cls.RESULTS)}, None for any"
    raise misuse(what, subject, given=repr(given), expected=expected)


def is_name(given: Any) -> TypeGuard[str]:
    """Return whether a model can have the name."""
    return isinstance(given, str) and bool(given) and is_text(given)


def variadic_operands(given: Any, subject: str, port: str) -> Sequence[Any]:
    """Return the operands of a variadic port."""
    if isinstance(given, list | tuple):
        return given
    raise misuse(f"input {port}", subject, given=type(given).__name__, expected="a list of Values")


def resolve_shape(shape: Any, subject: str, what: str = "shape") -> NamedShape:
    dims = entries(shape)
    if dims is None:
        raise misuse(what, subject, given=repr(shape), expected="sizes, names and None in a tuple or list")
    return tuple(_dim(dim, subject, f"{what} axis {axis}") for axis, dim in enumerate(dims))


def _result_shape(shape: Any, subject: str, what: str) -> Shape:
    return tuple(map(dim_of, resolve_shape(shape, subject, what)))


def _dim(dim: Any, subject: str, what: str) -> int | str | None:
    if dim is None or is_name(dim):
        return dim
    size = whole_number(dim)
    if size is not None and 0 <= size < 2**63:
        return size
    expected = "a size, or a name or None for a dynamic size"
    raise misuse(what, subject, given=repr(dim), expected=expected)
