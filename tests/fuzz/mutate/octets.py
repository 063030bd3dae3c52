"""Changes to bytes, whatever they mean."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

MOST_BYTES = 200_000
"""No mutator makes inputs larger than this: files of many megabytes are another test's business."""

EDGES = (
    b"\x00",
    b"\xff",
    b"\x7f",
    b"\x80",
    b"\xff\xff\xff\xff",
    b"\x00\x00\x00\x80",
    b"\xc0\x80",
    b"\xed\xa0\x80",
)


def mutated(random: Random, data: bytes) -> bytes:
    """The bytes with one to four changes."""
    found = bytearray(data)
    for _ in range(random.randint(1, 4)):
        random.choice(_CHANGES)(random, found)
    return bytes(found[:MOST_BYTES])


def spliced(random: Random, first: bytes, second: bytes) -> bytes:
    """The begin of one and the end of another."""
    return (first[: random.randint(0, len(first))] + second[random.randint(0, len(second)) :])[:MOST_BYTES]


def _flip(random: Random, data: bytearray) -> None:
    if data:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def _overwrite(random: Random, data: bytearray) -> None:
    at = random.randint(0, len(data))
    edge = random.choice(EDGES)
    data[at : at + len(edge)] = edge


def _insert(random: Random, data: bytearray) -> None:
    at = random.randint(0, len(data))
    data[at:at] = random.choice((random.choice(EDGES), random.randbytes(random.randint(1, 8))))


def _delete(random: Random, data: bytearray) -> None:
    at = random.randint(0, len(data))
    del data[at : at + random.choice((1, 1, 2, 8, 64))]


def _repeat(random: Random, data: bytearray) -> None:
    at = random.randint(0, len(data))
    part = data[at : at + random.randint(1, 32)]
    data[at:at] = part * random.choice((1, 2, 50))


def _truncate(random: Random, data: bytearray) -> None:
    del data[random.randint(0, len(data)) :]


_CHANGES: tuple[Callable[[Random, bytearray], None], ...] = (
    _flip, _flip, _overwrite, _insert, _delete, _repeat, _truncate,
)  # fmt: skip
