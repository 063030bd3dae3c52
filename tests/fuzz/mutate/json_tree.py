"""Changes to JSON of any shape, also such as no Python value can say: keys twice, tokens that are no JSON."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from fuzz import words


class Pairs(list[list[Any]]):
    """A JSON object: its [key, value] pairs in order. A key may come twice."""

    def get(self, key: str) -> Any:
        return next((value for name, value in self if name == key), None)

    def set(self, key: str, value: Any) -> None:
        for pair in self:
            if pair[0] == key:
                pair[1] = value
                return
        self.append([key, value])


class Token(str):
    """Text that is written as it is."""


Tree = Any
Place = tuple[list[Any], int]
"""A container and the index in it; in Pairs, the pair's own list and index 1."""


def read(data: bytes) -> Tree | None:
    """The tree of a JSON text, None if it is none."""
    try:
        return json.loads(data, object_pairs_hook=lambda pairs: Pairs(map(list, pairs)))
    except (ValueError, RecursionError):
        return None


def write(tree: Tree) -> bytes:
    """Compact JSON; characters are escaped where UTF-8 cannot spell them."""
    text = "".join(_tokens(tree))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("ascii", "backslashreplace")


def _tokens(tree: Tree) -> Iterator[str]:
    match tree:
        case Token():
            yield str(tree)
        case Pairs():
            yield "{"
            for index, (key, value) in enumerate(tree):
                yield ("," if index else "") + json.dumps(key) + ":"
                yield from _tokens(value)
            yield "}"
        case list():
            yield "["
            for index, value in enumerate(tree):
                yield "," if index else ""
                yield from _tokens(value)
            yield "]"
        case _:
            yield json.dumps(tree)


def places(tree: Tree) -> list[Place]:
    """Every place of a value below the root."""
    found: list[Place] = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, list):
            continue
        here = (
            [(pair, 1) for pair in node] if isinstance(node, Pairs) else [(node, i) for i in range(len(node))]
        )
        found += here
        waiting += [holder[index] for holder, index in here]
    return found


def mutated(random: Random, tree: Tree) -> Tree:
    """A copy with one change or a few."""
    root = [copy.deepcopy(tree)]
    for _ in range(random.choice((1, 1, 2, 3))):
        random.choice(_CHANGES)(random, root)
    return root[0]


def scalar(random: Random) -> Any:
    """Any leaf, from harmless to hostile."""
    kind = random.randrange(8)
    if kind < 3:
        return random.choice(words.INTEGERS)
    options = {
        3: words.FLOATS,
        4: words.STRINGS,
        5: (True, False, None),
        6: (*words.attribute_words(), *words.DTYPES),
    }
    return random.choice(options[kind]) if kind in options else Token(random.choice(words.JSON_NUMBERS))


def _value(random: Random, root: list[Any]) -> None:
    holder, index = random.choice([(root, 0), *places(root[0])])
    holder[index] = scalar(random)


def _nearby(random: Random, root: list[Any]) -> None:
    """An integer becomes another small one: what is almost right goes deep."""
    numbers = [(h, i) for h, i in places(root[0]) if type(h[i]) is int]
    if numbers:
        holder, index = random.choice(numbers)
        holder[index] = random.choice(
            (holder[index] + 1, holder[index] - 1, random.randint(0, 8), -holder[index])
        )


def _retyped(random: Random, root: list[Any]) -> None:
    holder, index = random.choice([(root, 0), *places(root[0])])
    value = holder[index]
    text = write(value).decode(errors="replace")
    options = [
        [value],
        Pairs([["value", value]]),
        text,
        value[0] if isinstance(value, list) and value else [],
    ]
    if type(value) is int and abs(value) < 2**60:
        options += [float(value), str(value), bool(value)]
    holder[index] = random.choice(options)


def _wrapped(random: Random, root: list[Any]) -> None:
    """Deep nesting: brackets around a value."""
    holder, index = random.choice([(root, 0), *places(root[0])])
    depth = random.choice((1, 2, 10, 100, 3000))
    if len(write(root[0])) < 50_000:
        holder[index] = Token("[" * depth + write(holder[index]).decode(errors="replace") + "]" * depth)


def _dropped(random: Random, root: list[Any]) -> None:
    lists = [n for n in _lists(root) if n]
    if lists:
        chosen = random.choice(lists)
        del chosen[random.randrange(len(chosen))]


def _doubled(random: Random, root: list[Any]) -> None:
    """An element or a key twice."""
    lists = [n for n in _lists(root) if n]
    if lists:
        chosen = random.choice(lists)
        chosen.insert(random.randint(0, len(chosen)), copy.deepcopy(random.choice(chosen)))


def _shuffled(random: Random, root: list[Any]) -> None:
    lists = [n for n in _lists(root) if len(n) > 1]
    if lists:
        random.shuffle(random.choice(lists))


def _renamed(random: Random, root: list[Any]) -> None:
    """A key: another known one, another case, a slip, anything."""
    pairs = [pair for node in _lists(root) if isinstance(node, Pairs) for pair in node]
    if pairs:
        pair = random.choice(pairs)
        other = random.choice(pairs)[0]
        key = str(pair[0])
        names = (
            other,
            key.upper(),
            key[:-1],
            key + "s",
            *words.attribute_names(),
            random.choice(words.STRINGS),
        )
        pair[0] = random.choice(names)


def _grafted(random: Random, root: list[Any]) -> None:
    """A subtree in another place."""
    found = places(root[0])
    if len(found) > 1 and len(found) < 3000:
        (source, i), (holder, j) = random.sample(found, 2)
        holder[j] = copy.deepcopy(source[i])


def _lists(root: list[Any]) -> list[list[Any]]:
    found = [holder[index] for holder, index in places(root[0])]
    return [node for node in (root[0], *found) if isinstance(node, list)]


_CHANGES: tuple[Callable[[Random, list[Any]], None], ...] = (
    _value, _value, _nearby, _nearby, _retyped, _wrapped, _dropped, _dropped, _doubled,
    _shuffled, _renamed, _grafted,
)  # fmt: skip
