"""The opsets in which an op instance is legal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialects.onnx.call import Python
from dialects.support.dtypes import FLOATS

OLDEST = 13
"""The oldest opset that gradc writes."""

ANY = 2**31 - 1
"""The number of inputs of a variadic op."""

WORDS: dict[tuple[str, str, str], int] = {
    ("GridSample", "mode", "linear"): 20,
    ("Pad", "mode", "wrap"): 19,
    ("Resize", "coordinate_transformation_mode", "half_pixel_symmetric"): 19,
    ("ScatterElements", "reduction", "max"): 18,
    ("ScatterElements", "reduction", "min"): 18,
    ("ScatterND", "reduction", "max"): 18,
    ("ScatterND", "reduction", "min"): 18,
}
"""Enumeration values that are newer than their attribute -> first opset; schemas do not list values."""


WORDS_BEFORE: dict[tuple[str, str, str], tuple[str, int]] = {("GridSample", "mode", "cubic"): ("bicubic", 20)}
"""Enumeration value -> its former name, and the opset that renamed it."""


RANKS_BEFORE: dict[str, tuple[int, int]] = {"GridSample": (4, 20)}
"""Op -> the only rank of its data before an opset."""


MOD_OF_FLOATS = 28
"""First opset in which a Mod of floats may have the sign of the divisor."""


ATTRIBUTES_BEFORE: dict[str, tuple[str, int]] = {
    "ReduceL1": ("axes", 18),
    "ReduceL2": ("axes", 18),
    "ReduceLogSum": ("axes", 18),
    "ReduceLogSumExp": ("axes", 18),
    "ReduceMax": ("axes", 18),
    "ReduceMean": ("axes", 18),
    "ReduceMin": ("axes", 18),
    "ReduceProd": ("axes", 18),
    "ReduceSumSquare": ("axes", 18),
}
"""Op -> an operand that was an attribute of the same name before an opset."""


@dataclass(frozen=True)
class Version:
    """Operands, attributes and types that one schema version of an op admits.

    `types` maps a type variable to its dtypes, in the words of `dtypes`, without types that gradc lacks.
    `attributes` lists names, separated by spaces.
    """

    since: int
    attributes: str
    min_inputs: int
    max_inputs: int
    types: Mapping[str, str]


@dataclass(frozen=True)
class Instance:
    """The part of an op that determines its opsets; `types` are pairs of a type variable and a dtype."""

    name: str
    inputs: int
    attributes: Mapping[str, Python]
    types: Sequence[tuple[str, str]]


def opset_range(instance: Instance, versions: Sequence[Version]) -> tuple[int, int | None] | None:
    """Return the opsets [first, last) in which the instance is legal, or None.

    `last` is None if it is legal in the newest opset.
    """
    legal = [_admits(instance, version) for version in versions]
    if not any(legal):
        return None
    first = legal.index(True)
    last = legal.index(False, first) if not all(legal[first:]) else None
    since = max(OLDEST, versions[first].since, _meaning_since(instance))
    return since, None if last is None else versions[last].since


def _admits(instance: Instance, version: Version) -> bool:
    names = version.attributes.split()
    if not version.min_inputs <= instance.inputs <= version.max_inputs:
        return False
    if not set(instance.attributes) <= set(names):
        return False
    if instance.name == "Split" and instance.inputs == 1:
        # Equal parts were implied before `num_outputs` existed; since then it is required.
        return ("num_outputs" in instance.attributes) == ("num_outputs" in names)
    return all(
        dtype in version.types[variable].split()
        for variable, dtype in instance.types
        if variable in version.types
    )


def _meaning_since(instance: Instance) -> int:
    if instance.name == "Mod" and not instance.attributes.get("fmod") and instance.types[0][1] in FLOATS:
        return MOD_OF_FLOATS
    words = [
        WORDS.get((instance.name, name, word), OLDEST)
        for name, word in instance.attributes.items()
        if isinstance(word, str)
    ]
    return max(words, default=OLDEST)
