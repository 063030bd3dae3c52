"""Sizes at which a function with dynamic dims is traced."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

GENERIC = 3
"""Traces at sizes that no simple expression relates."""

STEP = 16


@dataclass(frozen=True)
class Attempt:
    """A range of generic sizes: from `low` to `high`, plus `above` times the example's size, and with a
    `step` only from the example's size plus multiples of it."""

    low: int
    high: int
    above: int = 0
    step: int = 1


ATTEMPTS = (Attempt(17, 63), Attempt(1, 47, above=1), Attempt(3, 16), Attempt(0, 8 * STEP, 1, STEP))
"""The first at which the function runs is taken: images have a least size, tables a largest, U-Nets steps."""

LARGE = tuple(STEP * factor for factor in (257, 65, 17, 9))
"""Large sizes, of which the first that works is traced: tables may have a last row."""


def generic_sizes(
    examples: Mapping[str, int], bounds: Mapping[str, tuple[int, int]], number: int, attempt: Attempt
) -> dict[str, int]:
    """Return the sizes of the trace `number`, different for all dims and traces as far as bounds allow."""
    draw = random.Random(number)
    taken: set[int] = set()
    found: dict[str, int] = {}
    for dim, example in examples.items():
        low, high = _range(example, *bounds[dim], attempt, number)
        choices = [size for size in range(low, high + 1) if (size - example) % attempt.step == 0]
        free = [size for size in choices if size not in taken and size != example] or choices or [example]
        found[dim] = draw.choice(free)
        taken.add(found[dim])
    return found


def _range(example: int, least: int, most: int, attempt: Attempt, number: int) -> tuple[int, int]:
    """Return the range of a generic size: numbers for which nothing is special, if the bounds allow."""
    shift = attempt.above * example + (16 * number if attempt.high > STEP else 0)
    low, high = attempt.low + shift, attempt.high + shift
    if most < low + 4:
        return max(least, min(2, most)), most
    return max(low, least), min(high if least <= low else least + 46, most)


def large_sizes(
    examples: Mapping[str, int], bounds: Mapping[str, tuple[int, int]], large: int, step: int = 1
) -> dict[str, int]:
    """Return large sizes, at which code that depends on the size often takes another way."""
    found: dict[str, int] = {}
    for number, (dim, example) in enumerate(examples.items()):
        size = large + 2 * STEP * number + (example % step if step > 1 else 0)
        low, high = bounds[dim]
        found[dim] = min(max(size, low), high)
        if step > 1 and (found[dim] - example) % step:
            found[dim] -= (found[dim] - example) % step
    return found


def small_sizes(examples: Mapping[str, int], bounds: Mapping[str, tuple[int, int]]) -> dict[str, int]:
    """Return sizes of 2 and 3: at them a slice `x[:5]` is shorter."""
    return {
        dim: min(max(2 + number % 2, bounds[dim][0]), bounds[dim][1]) for number, dim in enumerate(examples)
    }


def example_sizes(
    examples: Mapping[str, int], bounds: Mapping[str, tuple[int, int]]
) -> dict[str, int] | None:
    """Return the example's own sizes; None if one is 0 or 1, at which autograd leaves ops out."""
    return None if any(size < 2 for size in examples.values()) else dict(examples)
