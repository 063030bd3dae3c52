"""Sequence and optional ops in Python: a sequence is a list, an optional its value or None."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dialects.onnx.base import OnnxOp
from dialects.onnx.numpy import OPERAND_ERRORS
from dialects.support.diagnostics import violation

Values = tuple[Any, ...]


def _index(value: Any) -> int:
    return int(np.reshape(value, ()))


def _construct(op: OnnxOp, args: Values) -> Any:
    return list(args)


def _empty(op: OnnxOp, args: Values) -> Any:
    return []


def _at(op: OnnxOp, args: Values) -> Any:
    sequence, position = args
    return sequence[_index(position)]


def _insert(op: OnnxOp, args: Values) -> Any:
    sequence = list(args[0])
    tensor, *position = args[1:]
    sequence.insert(_index(position[0]) if position else len(sequence), tensor)
    return sequence


def _erase(op: OnnxOp, args: Values) -> Any:
    (given, *position) = args
    sequence = list(given)
    sequence.pop(_index(position[0]) if position else -1)
    return sequence


def _length(op: OnnxOp, args: Values) -> Any:
    return np.array(len(args[0]), np.int64)


def _concat(op: OnnxOp, args: Values) -> Any:
    attributes: Any = op.onnx_attributes()
    join = np.stack if attributes.get("new_axis", 0) else np.concatenate
    return join(args[0], axis=attributes["axis"])


def _split(op: OnnxOp, args: Values) -> Any:
    """Split into parts of one size, the last one smaller, or of given sizes; of size 1 by default.

    `keepdims` applies if the one size is 1, as in onnxruntime.
    """
    attributes: Any = op.onnx_attributes()
    (data, *split), axis = args, attributes.get("axis", 0)
    size, sizes = data.shape[axis], split[0] if split else np.array(1)
    if np.ndim(sizes):
        if np.min(sizes, initial=0) < 0 or np.sum(sizes) != size:
            raise violation("sizes of SplitToSequence", given=sizes.tolist(), expected=f"parts of {size}")
        return np.split(data, np.cumsum(sizes)[:-1], axis)
    step = _index(sizes)
    if step < 1:
        raise violation("size of the parts of SplitToSequence", given=step, expected="at least 1")
    parts = np.split(data, range(step, size, step), axis)
    keeps = attributes.get("keepdims", 1) or step != 1
    return parts if keeps else [np.squeeze(part, axis) for part in parts]


def _optional(op: OnnxOp, args: Values) -> Any:
    return args[0] if args else None


def _element(op: OnnxOp, args: Values) -> Any:
    return args[0]


def _has_element(op: OnnxOp, args: Values) -> Any:
    return np.array(bool(args) and args[0] is not None)


MEANINGS: dict[str, Callable[[OnnxOp, Values], Any]] = {
    "ConcatFromSequence": _concat,
    "Optional": _optional,
    "OptionalGetElement": _element,
    "OptionalHasElement": _has_element,
    "SequenceAt": _at,
    "SequenceConstruct": _construct,
    "SequenceEmpty": _empty,
    "SequenceErase": _erase,
    "SequenceInsert": _insert,
    "SequenceLength": _length,
    "SplitToSequence": _split,
}
"""Implementations; each op has one result."""


def evaluate(op: OnnxOp, args: Values) -> Any:
    """Return the result of a sequence or optional op. Raises GradcError for invalid operand values."""
    name = op.onnx_name()
    try:
        return MEANINGS[name](op, args)
    except OPERAND_ERRORS as error:
        raise violation(f"operands of {name}: {error}") from error
