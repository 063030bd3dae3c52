"""Pseudo-random 32-bit numbers from a seed, a stream and an element's index, in plain integer ops.

A number is a hash, so that a mask can be computed anywhere, in any order, and again after a restart. With
t(h) = h (2 (h >> 15) + 1), modulo 2^32, and two keys of the stream:
    h = i C1 + k1;  h = t(h) + k2;  h = t(h) + k1;  h = t(h) C2
t is a product of two variable words: sums with shifted words alone are almost linear, and give masks that
depend on each other. tests/property/test_hashed_dropout.py measures the numbers.

Two forms give the same numbers: u32 with BitShift, and s64 with Mod and Div where a target lacks these.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from passes.builder.values import Value

WORD = 2**32

u32 = IntegerType(32, Signedness.UNSIGNED)

_INDEX, _LAST = 0x6C8E9CF5, 0x297A2D39
"""C1 and C2, odd numbers below 2^31: products of the s64 form do not overflow."""

_KEYS = (0x1B873593, 0x4F1BBCDD)
"""First keys of the two hashes of a seed."""

SHIFT = 15


class Words(ABC):
    """Arithmetic modulo 2^32 in one form."""

    OPS: ClassVar[Mapping[type[OnnxOp], str]]
    """The ops of the form, with the dtype for which the target needs a kernel."""

    @abstractmethod
    def split(self, number: Value) -> tuple[Value, Value]:
        """Return the low and the high word of s64 numbers."""

    @abstractmethod
    def indices(self, number: Value) -> Value:
        """Return words from non-negative s64 numbers below 2^32."""

    @abstractmethod
    def affine(self, word: Value, factor: int, offset: int | Value = 0) -> Value:
        """Return word x factor + offset."""

    @abstractmethod
    def twist(self, word: Value, offset: int | Value = 0) -> Value:
        """Return word x (2 (word >> 15) + 1) + offset."""

    @abstractmethod
    def constant(self, word: int, like: Value) -> Value:
        """Return a word as a constant of one element."""

    def _plus(self, word: Value, offset: int | Value) -> Value:
        if isinstance(offset, Value):
            return word.apply(onnx.AddOp, offset)
        return word.apply(onnx.AddOp, self.constant(offset, word)) if offset else word


class ShiftedWords(Words):
    """Words as u32."""

    OPS = dict.fromkeys((onnx.MulOp, onnx.AddOp, onnx.BitShiftOp, onnx.LessOp, onnx.CastOp), "u32")

    def split(self, number: Value) -> tuple[Value, Value]:
        high = number.apply(onnx.DivOp, number.e.ints([2**16])).apply(onnx.DivOp, number.e.ints([2**16]))
        return number.cast(u32), high.cast(u32)

    def indices(self, number: Value) -> Value:
        return number.cast(u32)

    def affine(self, word: Value, factor: int, offset: int | Value = 0) -> Value:
        return self._plus(word.apply(onnx.MulOp, self.constant(factor, word)), offset)

    def twist(self, word: Value, offset: int | Value = 0) -> Value:
        high = word.apply(onnx.BitShiftOp, self.constant(SHIFT, word), direction="RIGHT")
        return self._plus(word.apply(onnx.MulOp, self.affine(high, 2, 1)), offset)

    def constant(self, word: int, like: Value) -> Value:
        return like.e.constant(np.array([word], np.uint32))


class DividedWords(Words):
    """Words as s64 from 0 to 2^32 - 1."""

    OPS = dict.fromkeys((onnx.MulOp, onnx.AddOp, onnx.DivOp, onnx.ModOp, onnx.LessOp), "s64")

    def split(self, number: Value) -> tuple[Value, Value]:
        high = number.apply(onnx.DivOp, number.e.ints([2**16])).apply(onnx.DivOp, number.e.ints([2**16]))
        return self._reduce(number), self._reduce(high)

    def indices(self, number: Value) -> Value:
        return number

    def affine(self, word: Value, factor: int, offset: int | Value = 0) -> Value:
        return self._reduce(self._plus(word.apply(onnx.MulOp, self.constant(factor, word)), offset))

    def twist(self, word: Value, offset: int | Value = 0) -> Value:
        high = word.apply(onnx.DivOp, word.e.ints([2**SHIFT]))
        odd = self._plus(high.apply(onnx.MulOp, word.e.ints([2])), 1)
        return self._reduce(self._plus(word.apply(onnx.MulOp, odd), offset))

    def constant(self, word: int, like: Value) -> Value:
        return like.e.ints([word])

    def _reduce(self, number: Value) -> Value:
        return number.apply(onnx.ModOp, number.e.ints([WORD]))


FORMS = (ShiftedWords(), DividedWords())


@dataclass(frozen=True)
class Keys:
    """Two words of a seed, each a vector of one element."""

    words: Words
    first: Value
    second: Value

    @classmethod
    def of_seed(cls, words: Words, seed: Value) -> Keys:
        """Hash an s64 vector of one element."""
        low, high = words.split(seed)
        first = _hash(words, low, words.constant(_KEYS[0], low), high)
        return cls(words, first, _hash(words, first, words.constant(_KEYS[1], low), high))

    def less(self, indices: Value, stream: int, limit: int) -> Value:
        """Return for each index whether the number of a stream is below `limit`, from 0 to 2^32 - 1.

        indices: s64 numbers below 2^32.
        """
        words, (a, b, c, d) = self.words, _constants_of_stream(stream)
        first, second = words.affine(self.first, a, b), words.affine(self.second, c, d)
        h = _hash(words, words.indices(indices), first, second)
        return h.apply(onnx.LessOp, words.constant(limit, h))


def _hash(words: Words, word: Value, first: Value, second: Value) -> Value:
    h = words.affine(word, _INDEX, first)
    for key in (second, first):
        h = words.twist(h, key)
    return words.affine(words.twist(h), _LAST)


def _constants_of_stream(stream: int) -> tuple[int, int, int, int]:
    """Return two pairs of an odd factor and an offset, hashed from the number of a stream (SplitMix64)."""
    found: list[int] = []
    state = stream
    for _ in range(2):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        z = state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        z ^= z >> 31
        found += [z % 2**31 | 1, z >> 32]
    a, b, c, d = found
    return a, b, c, d
