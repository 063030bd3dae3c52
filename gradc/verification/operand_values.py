"""Valid values of inputs that are read as sizes, axes, indices or similar operands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, SSAValue

from dialects.onnx.base import OnnxOp
from dialects.onnx.types import word_of
from dialects.support import entry, shapes
from gradc.verification.operand_value_rules import CHOICES, VALUES, Reader

FORWARDING = ("onnx.Cast", "onnx.CastLike", "onnx.Identity", "onnx.Squeeze", "onnx.Unsqueeze", "onnx.Reshape")
"""Ops that pass the values of a size through."""

FILLS = (1, 2, 0, 3, 4, -1)


def operand_values(function: FuncOp, arrays: Mapping[str, np.ndarray], other: int) -> dict[str, np.ndarray]:
    """Return input name -> valid values for inputs with an entry in `VALUES`; from CHOICES on, one of FILLS
    for other integer inputs."""
    names = dict(zip(function.args, entry.input_names(function), strict=True))
    defaults = entry.defaults(function)
    given: dict[SSAValue, np.ndarray] = {
        argument: arrays[name] for argument, name in names.items() if isinstance(arrays[name], np.ndarray)
    }
    sizes = _sizes_by_name(given)
    found, filled = {}, 0
    for argument, name in names.items():
        if argument not in given or name in defaults:
            continue
        values = _values_of(argument, given, sizes, other % CHOICES)
        if values is None and other >= CHOICES and given[argument].dtype.kind in "iu":
            filled += 1
            fill = FILLS[(other // CHOICES + other * (filled - 1)) % len(FILLS)]
            values = np.full_like(
                given[argument], max(fill, 0) if given[argument].dtype.kind == "u" else fill
            )
        if values is not None:
            found[name] = given[argument] = values
    return found


def has_restricted_values(argument: BlockArgument) -> bool:
    """Return whether the values of an input are restricted: integers, and operands in `VALUES`."""
    kind = word_of(argument.type)
    return kind[:1] in "su" or any((op.onnx_name(), index) in VALUES for op, index in _readers(argument))


def _sizes_by_name(arrays: Mapping[SSAValue, np.ndarray]) -> dict[str, int]:
    found: dict[str, int] = {}
    for argument, array in arrays.items():
        dims = shapes.dim_names(shapes.shape_of(argument)) if shapes.has_rank(argument) else ()
        found |= {d: n for d, n in zip(dims, array.shape, strict=False) if isinstance(d, str)}
    return found


def _values_of(
    argument: BlockArgument, arrays: Mapping[SSAValue, np.ndarray], sizes: Mapping[str, int], other: int
) -> np.ndarray | None:
    dims = shapes.shape_of(argument) if shapes.has_rank(argument) else (None,)
    length = dims[0] if len(dims) == 1 and isinstance(dims[0], int) else None
    like = arrays[argument]
    for op, index in _readers(argument):
        rule = VALUES.get((op.onnx_name(), index))
        numbers = None if rule is None else rule(Reader(op, length, other, arrays, sizes))
        if numbers is None:
            continue
        array = np.asarray(numbers).astype(like.dtype)
        if len(dims) == 0 and array.size == 1:
            array = array.reshape(())
        elif len(dims) == 1 and array.ndim == 0:
            array = array.reshape(1)
        if shapes.compatible(array.shape, dims) or not shapes.has_rank(argument):
            return array
    return None


def _readers(value: SSAValue) -> Iterator[tuple[OnnxOp, int]]:
    """Yield the ops that read a value, directly or through FORWARDING ops, with the operand's index."""
    waiting = list(value.uses)
    while waiting:
        use = waiting.pop(0)
        op = use.operation
        if not isinstance(op, OnnxOp):
            continue
        place = next(i for i, each in enumerate(_given_indices(op)) if each == use.index)
        if op.name in FORWARDING and place == 0:
            waiting[:0] = op.results[0].uses
        else:
            yield op, place


def _given_indices(op: OnnxOp) -> list[int | None]:
    """Return, for each ONNX operand, its index among the given ones, None if it is omitted."""
    count, found = 0, list[int | None]()
    for value in op.onnx_inputs():
        found.append(None if value is None else count)
        count += value is not None
    return found
