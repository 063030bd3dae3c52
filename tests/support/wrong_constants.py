"""Operands that ops cannot read: out of range, of other lengths or ranks, zeros, negative, empty."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

Operands = Sequence[np.ndarray | None]


def _filled(value: int) -> Callable[[np.ndarray], np.ndarray]:
    def change(array: np.ndarray) -> np.ndarray:
        return np.full_like(array, value if array.dtype.kind != "u" else abs(value))

    return change


def _longer(array: np.ndarray) -> np.ndarray:
    return np.concatenate([array, array[-1:]]) if array.ndim and array.size else np.zeros(2, array.dtype)


CHANGES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "zeros": _filled(0),
    "negative": _filled(-1),
    "far": _filled(100),
    "far below": _filled(-100),
    "shorter": lambda array: array[:-1] if array.ndim else array.reshape(1),
    "longer": _longer,
    "empty": lambda array: array[:0] if array.ndim else np.zeros(0, array.dtype),
    "narrow": lambda array: array[..., :-1] if array.ndim else array,
    "flat": lambda array: array.reshape(-1),
    "raised": lambda array: array[None],
    "no number": lambda array: np.full_like(array, np.nan) if array.dtype.kind == "f" else array,
    "huge": lambda array: np.full_like(array, 2**40) if array.dtype == np.int64 else array,
    "turned": lambda array: np.swapaxes(array, 0, -1) if array.ndim else array,
    "scalar": lambda array: array.reshape(-1)[:1].reshape(()) if array.size else array,
}


def changed(operands: Operands) -> Iterator[tuple[str, list[np.ndarray | None]]]:
    """The operands with one of them changed, each by each change that its dtype has."""
    for index, array in enumerate(operands):
        if array is None or array.dtype.kind in "OUST" or not array.dtype.isnative:
            continue
        for name, change in CHANGES.items():
            if array.dtype.kind == "b" and name in ("negative", "far", "far below"):
                continue
            try:
                other = change(array)
            except (OverflowError, TypeError):
                continue
            yield f"{index} {name}", [*operands[:index], other, *operands[index + 1 :]]
