"""What is left of a gradient where its terms cancel: roundings, which tell nothing of whether it is right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from gradc.checking.widening import wide as in_float64

Name = TypeVar("Name")

ROUNDINGS = 16.0
"""What the compiled model may differ by, over what the gradient itself does in its own types."""
NUDGED = 1e-3
"""What a gradient may change by, over its size, where inputs change by a few roundings of float64."""


NUDGES = 4
"""Points that are tried, as roundings may be the same by chance."""


def nudged(inputs: Mapping[Name, Any], seed: int, *, own: bool = False) -> dict[Name, Any]:
    """Inputs in float64 that differ from these by a few roundings of float64, or of their own type if that is
    f32: a result may differ as much that is computed in it."""
    rng = np.random.default_rng(seed)
    return {name: _nudged(array, rng, own) for name, array in inputs.items()}


def _nudged(array: Any, rng: np.random.Generator, own: bool) -> Any:
    wide = in_float64(array)
    if not isinstance(wide, np.ndarray) or wide.dtype != np.float64:
        return wide
    type_ = np.float32 if own and array.dtype == np.float32 else np.float64
    return wide * (1 + np.finfo(type_).eps * rng.integers(-4, 5, wide.shape))


def is_of_roundings(before: np.ndarray, after: np.ndarray) -> bool:
    """Whether a gradient in float64 is another one after its inputs were nudged."""
    with np.errstate(invalid="ignore"):
        moved = np.abs(after - before).max(initial=0.0)
    return bool(moved > NUDGED * np.abs(before).max(initial=0.0))


def rounding(narrow: np.ndarray, wide: np.ndarray, moved: Sequence[np.ndarray]) -> float:
    """How far a result is from what it is in float64, and that from what it is of nudged inputs;
    over its size, which may be all roundings."""
    narrow = narrow.astype(np.float64)
    off = size = 0.0
    for other in (narrow, *moved):
        finite = np.isfinite(wide) & np.isfinite(narrow) & np.isfinite(other)
        off = max(off, float(np.abs(other - wide)[finite].max(initial=0.0)))
        size = max(size, float(np.abs(narrow[finite]).max(initial=0.0)))
    return off / (size or 1.0)
