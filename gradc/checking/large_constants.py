"""Constants beside which a sum keeps nothing of its other term, as masks of attention are.

Where all scores of a row are masked by -3e38 their sums are equal in any float, so differences are 0; rules
differentiate the scores all the same, as PyTorch does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp

from dialects.onnx import ops as onnx
from dialects.support import dense

LARGE = 1e6
"""From here on a sum in float64 keeps too few digits of its other term for differences."""

INSTEAD = 1e4
"""Its exponential is 0 with the sign that masks have, and 12 digits of the other term stay."""


def has_large_constants(module: ModuleOp) -> bool:
    return any(_is_large(_floats(op.value)).any() for op in module.walk() if isinstance(op, onnx.ConstantOp))


def without_large_constants(module: ModuleOp) -> ModuleOp:
    """A copy that has INSTEAD, with their signs, in the place of large numbers; infinite ones stay."""
    module = module.clone()
    for op in module.walk():
        if isinstance(op, onnx.ConstantOp) and (large := _is_large(array := _floats(op.value))).any():
            op.value = dense.from_numpy(np.where(large, np.copysign(INSTEAD, array), array))
    return module


def _floats(value: Any) -> np.ndarray:
    """Those of a constant of float64, which is what a module that is checked has."""
    is_dense = isinstance(value, DenseIntOrFPElementsAttr)
    array = dense.to_numpy(value) if is_dense else np.empty(0)
    return array if array.dtype == np.float64 else np.empty(0)


def _is_large(array: np.ndarray) -> np.ndarray:
    return np.isfinite(array) & (np.abs(array) >= LARGE)
