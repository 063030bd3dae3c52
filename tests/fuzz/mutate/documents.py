"""Changes to oneDNN Graph documents that stay documents: what is wrong with them is what they say."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from fuzz import words
from fuzz.mutate.json_tree import Pairs, scalar

UNKNOWN = -(2**63)


def mutated(random: Random, tree: Any) -> Any:
    """A copy with one or two changes; anything that is no document comes back as it is."""
    tree = copy.deepcopy(tree)
    for _ in range(random.randint(1, 2)):
        ops = _ops(tree)
        if ops:
            random.choice(_CHANGES)(random, tree, ops)
    return tree


def _ops(tree: Any) -> list[Pairs]:
    graph = tree.get("graph") if isinstance(tree, Pairs) else None
    return [op for op in graph if isinstance(op, Pairs)] if _is_array(graph) else []


def _is_array(value: Any) -> bool:
    return isinstance(value, list) and not isinstance(value, Pairs)


def _records(ops: list[Pairs]) -> Iterator[Pairs]:
    """The tensor records of all ops."""
    for op in ops:
        for port in ("inputs", "outputs"):
            records = op.get(port)
            if _is_array(records):
                yield from (record for record in records if isinstance(record, Pairs))


def _attributes(random: Random, ops: list[Pairs]) -> Pairs | None:
    found = [op.get("attrs") for op in ops if isinstance(op.get("attrs"), Pairs)]
    return random.choice(found) if found else None


def _tensor_says(random: Random, tree: Any, ops: list[Pairs]) -> None:
    """All records of one tensor change alike, so that the document does not contradict itself."""
    records = list(_records(ops))
    if not records:
        return
    chosen = random.choice(records)
    identifier, shape = chosen.get("id"), copy.deepcopy(chosen.get("shape"))
    dtype = chosen.get("dtype")
    if random.random() < 0.25:
        dtype = random.choice(words.DTYPES)
    elif _is_array(shape):
        shape = _other_shape(random, shape)
    for record in records:
        if record.get("id") == identifier:
            record.set("shape", copy.deepcopy(shape))
            record.set("dtype", dtype)
            record.set("stride", [UNKNOWN])


def _other_shape(random: Random, shape: list[Any]) -> list[Any]:
    if not shape or random.random() < 0.2:
        return random.choice(([], [UNKNOWN], [*shape, 1], shape[1:], [0, *shape[1:]]))
    at = random.randrange(len(shape))
    size = random.choice((UNKNOWN, 0, 1, random.randint(1, 9), random.choice(words.INTEGERS)))
    return [*shape[:at], size, *shape[at + 1 :]]


def _attribute_says(random: Random, tree: Any, ops: list[Pairs]) -> None:
    """One value of an attribute, or its type."""
    attributes = _attributes(random, ops)
    entries = [value for _, value in attributes or () if isinstance(value, Pairs)]
    if not entries:
        return
    entry = random.choice(entries)
    value = entry.get("value")
    if random.random() < 0.1:
        entry.set("type", random.choice(words.TAGS))
    elif _is_array(value) and value:
        value[random.randrange(len(value))] = random.choice((random.randint(-1, 6), scalar(random)))
    elif isinstance(value, str):
        entry.set("value", random.choice(words.attribute_words()))
    else:
        entry.set("value", random.choice((random.randint(-1, 6), scalar(random))))


def _batch_says(random: Random, tree: Any, ops: list[Pairs]) -> None:
    """One batch for all tensors, also in attributes that say whole shapes: mostly still a valid graph."""
    batch = random.choice((0, 1, 3, UNKNOWN))
    for record in _records(ops):
        shape = record.get("shape")
        if _is_array(shape) and len(shape) > 1:
            record.set("shape", [batch, *shape[1:]])
    for op in ops:
        for name, entry in op.get("attrs") if isinstance(op.get("attrs"), Pairs) else ():
            value = entry.get("value") if isinstance(entry, Pairs) else None
            if name in ("dst_shape", "inputSize") and _is_array(value) and value:
                entry.set("value", [batch, *value[1:]])


def _traded(random: Random, tree: Any, ops: list[Pairs]) -> None:
    """A unit goes from one number to another of the same kind, so that sums stay."""
    attributes = _attributes(random, ops)
    lists = [
        entry.get("value")
        for name, entry in attributes or ()
        if name in ("pads_begin", "pads_end", "output_padding") and isinstance(entry, Pairs)
    ]
    lists = [values for values in lists if _is_array(values) and values]
    if not lists:
        return
    source, target = random.choice(lists), random.choice(lists)
    i, j = random.randrange(len(source)), random.randrange(len(target))
    if type(source[i]) is int and type(target[j]) is int:
        source[i] -= 1
        target[j] += 1


def _another_attribute(random: Random, tree: Any, ops: list[Pairs]) -> None:
    """An attribute more, of a name that some op has; or one less."""
    attributes = _attributes(random, ops)
    if attributes is None:
        return
    if attributes and random.random() < 0.3:
        attributes.pop(random.randrange(len(attributes)))
        return
    name = random.choice(words.attribute_names())
    every = [pair for op in ops if isinstance(op.get("attrs"), Pairs) for pair in op.get("attrs")]
    alike = [value for key, value in every if key == name]
    numbers = [random.randint(-1, 5) for _ in range(random.choice((0, 1, 2, 2, 3, 12)))]
    made = [
        Pairs([["type", "s64[]"], ["value", numbers]]),
        Pairs([["type", "f32[]"], ["value", [random.choice(words.FLOATS) for _ in range(2)]]]),
        Pairs([["type", "string"], ["value", random.choice(words.attribute_words())]]),
        Pairs([["type", "bool"], ["value", random.choice((0, 1, 2, True, False))]]),
        Pairs([["type", "s64"], ["value", random.randint(-1, 6)]]),
        Pairs([["type", "f32"], ["value", random.choice(words.FLOATS)]]),
    ]
    attributes.set(name, copy.deepcopy(random.choice((*alike, *made))))


def _ids_collide(random: Random, tree: Any, ops: list[Pairs]) -> None:
    """An op or a tensor takes the id of another: duplicates, cycles, two producers."""
    holders = random.choice((ops, list(_records(ops))))
    if holders:
        other = random.choice(holders).get("id")
        random.choice(holders).set("id", random.choice((other, other, scalar(random))))


def _ops_move(random: Random, tree: Any, ops: list[Pairs]) -> None:
    """Ops are repeated, left out or put in another order."""
    graph = tree.get("graph")
    kind = random.randrange(3)
    if kind == 0:
        random.shuffle(graph)
    elif kind == 1:
        graph.append(copy.deepcopy(random.choice(ops)))
    else:
        graph.remove(random.choice(ops))


def _another_kind(random: Random, tree: Any, ops: list[Pairs]) -> None:
    random.choice(ops).set("kind", random.choice(words.kinds()))


def _another_name(random: Random, tree: Any, ops: list[Pairs]) -> None:
    random.choice(ops).set("name", random.choice(words.STRINGS))


def _ports_move(random: Random, tree: Any, ops: list[Pairs]) -> None:
    """Inputs change places, come or go; the document's lists of ports change."""
    records = list(_records(ops))
    port = random.choice([op.get("inputs") for op in ops])
    kind = random.randrange(4)
    if kind == 0 and _is_array(port):
        random.shuffle(port)
    elif kind == 1 and _is_array(port) and records:
        port.insert(random.randint(0, len(port)), copy.deepcopy(random.choice(records)))
    elif kind == 2 and _is_array(port) and port:
        del port[random.randrange(len(port))]
    elif records:
        ids = [random.choice(records).get("id") for _ in range(random.randint(0, 3))]
        tree.set(random.choice(("input_ports", "output_ports")), ids)


_CHANGES: tuple[Callable[[Random, Any, list[Pairs]], None], ...] = (
    _tensor_says, _tensor_says, _tensor_says, _attribute_says, _attribute_says, _attribute_says,
    _batch_says, _batch_says, _traded, _traded, _another_attribute,
    _ids_collide, _ops_move, _another_kind, _another_name, _ports_move,
)  # fmt: skip
