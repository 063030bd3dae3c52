"""Result types of ops on sequences and optionals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import TensorType, UnrankedTensorType, f32, i1, i64
from xdsl.ir import Attribute

from dialects.onnx.types import OptionalType, SequenceType, without_shape
from dialects.support import shapes
from dialects.support.diagnostics import violation

Types = Sequence[Attribute | None]
Rule = Callable[[Types, Mapping[str, Attribute]], Types]


def _at_position(index: int, rule: Rule) -> Rule:
    """Wrap a rule to reject an empty position, whose first element runtimes read unchecked."""

    def check_position(operands: Types, properties: Mapping[str, Attribute]) -> Types:
        position = operands[index] if index < len(operands) else None
        if isinstance(position, TensorType) and 0 in shapes.shape_of(position):
            raise violation("position in a sequence", given=f"none: {position}", expected="one number")
        return rule(operands, properties)

    return check_position


def _construct(operands: Types, properties: Mapping[str, Attribute]) -> Types:
    first, *others = (operand for operand in operands if operand is not None)
    for other in others:
        first = join_types(first, other)
    return [SequenceType(first)]


def _empty(operands: Types, properties: Mapping[str, Attribute]) -> Types:
    return [SequenceType(UnrankedTensorType(properties.get("dtype", f32)))]


def _first(operands: Types, properties: Mapping[str, Attribute]) -> Types:
    return operands[:1]


def _insert(operands: Types, properties: Mapping[str, Attribute]) -> Types:
    sequence, tensor = operands[:2]
    if not isinstance(sequence, SequenceType) or tensor is None:
        return [sequence]
    return [SequenceType(join_types(sequence.element, tensor))]


def _element(operands: Types, properties: Mapping[str, Attribute]) -> Types:
    """Return the element type of a sequence or optional; any other type is its own element."""
    (container, *_) = operands
    return [container.element if isinstance(container, SequenceType | OptionalType) else container]


def _scalar(element_type: Attribute) -> Rule:
    return lambda operands, properties: [TensorType(element_type, [])]


def _tensors(operands: Types, properties: Mapping[str, Attribute]) -> Types:
    (data, *_) = operands
    return [SequenceType(without_shape(data)) if data is not None else None]


def _tensor(operands: Types, properties: Mapping[str, Attribute]) -> Types:
    (sequence, *_) = operands
    return [without_shape(sequence.element) if isinstance(sequence, SequenceType) else None]


def _optional(operands: Types, properties: Mapping[str, Attribute]) -> Types:
    element = operands[0] if operands else properties.get("type")
    return [OptionalType(element) if element is not None else None]


def join_types(a: Attribute, b: Attribute) -> Attribute:
    """Return the join of two types; differing sizes become dynamic."""
    if a == b or not isinstance(a, TensorType) or not isinstance(b, TensorType):
        return a if a == b else without_shape(a)
    ours, theirs = shapes.shape_of(a), shapes.shape_of(b)
    if len(ours) != len(theirs):
        return without_shape(a)
    dims = [x if x == y else None for x, y in zip(ours, theirs, strict=True)]
    return shapes.tensor_type(a.element_type, dims)


RULES: dict[str, Rule] = {
    "ConcatFromSequence": _tensor,
    "Optional": _optional,
    "OptionalGetElement": _element,
    "OptionalHasElement": _scalar(i1),
    "SequenceAt": _at_position(1, _element),
    "SequenceConstruct": _construct,
    "SequenceEmpty": _empty,
    "SequenceErase": _at_position(1, _first),
    "SequenceInsert": _at_position(2, _insert),
    "SequenceLength": _scalar(i64),
    "SplitToSequence": _tensors,
}
