"""Inputs perturbed by a few rounding errors, to measure the conditioning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from gradc.verification.widening import wide as in_float64

Name = TypeVar("Name")

ROUNDINGS = 16.0
"""Bound on a difference, relative to the effect of rounding errors in the inputs."""


def perturb(inputs: Mapping[Name, Any], seed: int, *, own: bool = False) -> dict[Name, Any]:
    """Return the inputs in float64, perturbed by a few rounding errors: those of f32 for f32 inputs with
    `own`, else those of float64."""
    rng = np.random.default_rng(seed)
    return {name: _perturb_array(array, rng, own) for name, array in inputs.items()}


def _perturb_array(array: Any, rng: np.random.Generator, own: bool) -> Any:
    wide = in_float64(array)
    if not isinstance(wide, np.ndarray) or wide.dtype != np.float64:
        return wide
    type_ = np.float32 if own and array.dtype == np.float32 else np.float64
    return wide * (1 + np.finfo(type_).eps * rng.integers(-4, 5, wide.shape))
