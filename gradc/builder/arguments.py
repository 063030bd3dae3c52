"""What a graph under construction is given: dtypes, sizes, lists; refused at the caller's line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dialects.support import dtypes
from dialects.support.attributes import entries, whole_number
from dialects.support.diagnostics import (
    Diagnostic,
    GradcError,
    Position,
    nearest,
    sentence,
)
from dialects.support.documented_op import Declared, DocumentedOp
from dialects.support.shapes import NamedShape, Shape, dim_of
from gradc.builder.callers import caller

Ints = Sequence[int]
Floats = Sequence[float]
Dims = Sequence[int | str | None]
"""Sizes; None or a name is one that only run time knows."""


def misuse(
    what: str,
    subject: str = "",
    given: object = None,
    expected: object = None,
    hint: str = "",
    otherwise: Position | None = None,
) -> GradcError:
    """Placed at the caller's line, or `otherwise` where nobody of the user's calls."""
    place = caller() or otherwise
    return GradcError(Diagnostic("error", sentence(what, given, expected, hint), subject, place))


def given_dtype(dtype: Any, subject: str, argument: str = "dtype") -> dtypes.DType:
    """The table's entry for oneDNN's word, a numpy dtype or its name."""
    word = dtype.lower() if isinstance(dtype, str) else ""
    for entry in dtypes.DTYPES:
        if word in (entry.name, entry.numpy.name):
            return entry
    found = None if isinstance(dtype, str) or dtype is None else _of_numpy(dtype)
    if found is None:
        names = [entry.name for entry in dtypes.DTYPES]
        expected = f"one of {', '.join(names)}"
        raise misuse(argument, subject, given=dtype, expected=expected, hint=nearest(word, names))
    return found


def _of_numpy(dtype: Any) -> dtypes.DType | None:
    try:
        found = dtypes.of_numpy(np.dtype(dtype))
    except (TypeError, ValueError):  # the latter for a tuple, and what has an attribute dtype that is none
        return None
    return found if found in dtypes.DTYPES else None


def declared_results(
    cls: type[DocumentedOp], result_shapes: Sequence[Dims | None] | None, dtype: Any, subject: str
) -> list[Declared]:
    """What shapes of the results, and a dtype of the first, declare of them."""
    declared = _declared_shapes(cls, result_shapes, subject)
    if dtype is None:
        return declared
    first, *others = declared or [Declared()]
    return [replace(first, dtype=given_dtype(dtype, subject, "result_dtype").mlir), *others]


def _declared_shapes(
    cls: type[DocumentedOp], given: Sequence[Dims | None] | None, subject: str
) -> list[Declared]:
    """What the shapes that are given for the results declare of them."""
    if given is None:
        return []
    if len(cls.RESULTS) == 1:
        return [Declared(_result_shape(given[0], subject, "result_shape"))]
    if not isinstance(given, list | tuple) or len(given) != len(cls.RESULTS):
        expected = f"a list of {len(cls.RESULTS)}, of {', '.join(cls.RESULTS)}, None for any"
        raise misuse("result_shapes", subject, given=repr(given), expected=expected)
    return [
        Declared(None if shape is None else _result_shape(shape, subject, f"result_shapes {role}"))
        for role, shape in zip(cls.RESULTS, given, strict=True)
    ]


def several(given: Any, subject: str, port: str) -> Sequence[Any]:
    """The operands of a port that takes any number of them."""
    if isinstance(given, list | tuple):
        return given
    raise misuse(f"input {port}", subject, given=type(given).__name__, expected="a list of Values")


def given_shape(shape: Any, subject: str, what: str = "shape") -> NamedShape:
    dims = entries(shape)
    if dims is None:
        raise misuse(what, subject, given=repr(shape), expected="sizes, names and None in a tuple or list")
    return tuple(_dim(dim, subject, f"{what} axis {axis}") for axis, dim in enumerate(dims))


def _result_shape(shape: Any, subject: str, what: str) -> Shape:
    return tuple(map(dim_of, given_shape(shape, subject, what)))


def _dim(dim: Any, subject: str, what: str) -> int | str | None:
    if dim is None or (isinstance(dim, str) and dim):
        return dim
    size = whole_number(dim)
    if size is not None and 0 <= size < 2**63:
        return size
    expected = "a size, or a name or None for one that only run time knows"
    raise misuse(what, subject, given=repr(dim), expected=expected)
