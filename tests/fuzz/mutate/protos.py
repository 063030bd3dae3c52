"""Changes to ONNX models, whatever they mean: any field of any message, as protobuf says that it is."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from onnx import ModelProto

NUMBERS = (0, 1, -1, 2, 3, 7, 13, 16, 25, 64, 1000, 2**31 - 1, -(2**31))
LARGE = (*NUMBERS, 2**40, 2**62, 2**63 - 1, -(2**63))
FLOATS = (0.0, -0.0, 1.0, -1.0, 1e-45, 3e38, float("inf"), float("nan"))
WORDS = (
    "", "x", "y", "w", "0", "-1", "4096", "../../etc/passwd", "/etc/passwd", "w.bin", "a\x00b",
    "\u202e", "é", "a" * 300,
    "Conv", "If", "Loop", "Constant", "Reshape", "Nothing", "ai.onnx", "com.microsoft", "SAME_UPPER", "VALID",
    "location", "offset", "length", "kernel_shape", "axis", "body",
)  # fmt: skip


def mutated(random: Random, model: ModelProto, others: Sequence[ModelProto]) -> ModelProto:
    """A copy of the model with one to three changes."""
    found = ModelProto()
    found.CopyFrom(model)
    for _ in range(random.choice((1, 1, 2, 3))):
        random.choice(_CHANGES)(random, found, others)
    return found


def _messages(model: ModelProto) -> list[Any]:
    """The model and all messages in it."""
    found, waiting = [], [model]
    while waiting:
        part = waiting.pop()
        found.append(part)
        for field, value in part.ListFields():
            if field.type == field.TYPE_MESSAGE:
                waiting += list(value) if hasattr(value, "extend") else [value]
    return found


def _lists(model: ModelProto) -> list[tuple[Any, Any]]:
    """The repeated fields that are not empty: messages and fields."""
    return [
        (part, field)
        for part in _messages(model)
        for field, value in part.ListFields()
        if hasattr(value, "extend")
    ]


def _value(random: Random, model: ModelProto, field: Any) -> Any:
    match field.type:
        case field.TYPE_STRING:
            return random.choice((random.choice(WORDS), _name(random, model)))
        case field.TYPE_BYTES:
            return random.choice((b"", b"\xff\xfe", random.randbytes(8), random.choice(WORDS).encode()))
        case field.TYPE_FLOAT | field.TYPE_DOUBLE:
            return random.choice(FLOATS)
        case field.TYPE_ENUM:
            return random.choice(list(field.enum_type.values_by_number))
        case field.TYPE_UINT64:
            return abs(random.choice(NUMBERS))
        case field.TYPE_INT64:
            return random.choice(LARGE)
        case _:
            return random.choice(NUMBERS)


def _name(random: Random, model: ModelProto) -> str:
    """A name of a value; what is no UTF-8, which reads as bytes, cannot be written again."""
    names = [name for node in model.graph.node for name in (*node.input, *node.output)]
    return random.choice([name for name in names if isinstance(name, str)] or ["x"])


def _set(random: Random, model: ModelProto, others: Sequence[ModelProto]) -> None:
    """One number or word that is there."""
    places = [
        (part, field, index)
        for part in _messages(model)
        for field, value in part.ListFields()
        if field.type != field.TYPE_MESSAGE
        for index in (range(min(len(value), 50)) if _is_list(value) else (None,))
    ]
    if not places:
        return
    part, field, index = random.choice(places)
    value = _value(random, model, field)
    if index is None:
        setattr(part, field.name, value)
    else:
        getattr(part, field.name)[index] = value


def _is_list(value: Any) -> bool:
    return hasattr(value, "extend") and not isinstance(value, bytearray)


def _add(random: Random, model: ModelProto, others: Sequence[ModelProto]) -> None:
    """A field that may not have been there, of any message."""
    part = random.choice(_messages(model))
    field = random.choice(part.DESCRIPTOR.fields)
    found = getattr(part, field.name)
    if field.type == field.TYPE_MESSAGE:
        found.add() if hasattr(found, "add") else found.SetInParent()
    elif hasattr(found, "extend"):
        found.append(_value(random, model, field))
    else:
        setattr(part, field.name, _value(random, model, field))


def _clear(random: Random, model: ModelProto, others: Sequence[ModelProto]) -> None:
    part = random.choice(_messages(model))
    if fields := part.ListFields():
        part.ClearField(random.choice(fields)[0].name)


def _delete(random: Random, model: ModelProto, others: Sequence[ModelProto]) -> None:
    if places := _lists(model):
        part, field = random.choice(places)
        values = getattr(part, field.name)
        del values[random.randrange(len(values))]


def _repeat(random: Random, model: ModelProto, others: Sequence[ModelProto]) -> None:
    """One of a list, once more, at its end: nodes and names that are given twice."""
    if places := _lists(model):
        part, field = random.choice(places)
        values = getattr(part, field.name)
        values.append(random.choice(values))


def _reverse(random: Random, model: ModelProto, others: Sequence[ModelProto]) -> None:
    if places := _lists(model):
        part, field = random.choice(places)
        values = list(getattr(part, field.name))[::-1]
        copies = [copy.deepcopy(value) for value in values]
        part.ClearField(field.name)
        getattr(part, field.name).extend(copies)


def _nest(random: Random, model: ModelProto, others: Sequence[ModelProto]) -> None:
    """The graph within a node of itself, some times."""
    for _ in range(random.choice((1, 2, 60))):
        if not model.graph.node or model.ByteSize() > 50_000:
            return
        node = random.choice(model.graph.node)
        graph = copy.deepcopy(model.graph)
        node.attribute.add(name="body", type=5).g.CopyFrom(graph)


def _splice(random: Random, model: ModelProto, others: Sequence[ModelProto]) -> None:
    """A node or weight of another model."""
    other = random.choice(others).graph
    if other.node:
        model.graph.node.append(random.choice(other.node))
    if other.initializer:
        model.graph.initializer.append(random.choice(other.initializer))


def _wire(random: Random, model: ModelProto, others: Sequence[ModelProto]) -> None:
    """An input of a node reads something else."""
    nodes = [node for node in model.graph.node if node.input]
    if nodes:
        node = random.choice(nodes)
        node.input[random.randrange(len(node.input))] = _name(random, model)


Change = Callable[[Random, ModelProto, Sequence[ModelProto]], None]

_CHANGES: tuple[Change, ...] = (
    _set, _set, _set, _set, _add, _clear, _delete, _repeat, _reverse, _nest, _splice, _wire,
)  # fmt: skip
