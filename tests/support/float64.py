"""Modules whose floats are f64, and their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp

from dialects.onnx import ops as onnx
from dialects.support import dense, entry
from gradc.verification.evaluation import run_in_float64
from gradc.verification.widening import wide, widen


def widen_copy(module: ModuleOp) -> ModuleOp:
    """Return a copy in which all floats, also in constants, are f64."""
    module = module.clone()
    widen(module)
    for op in module.walk():
        if isinstance(op, onnx.ConstantOp) and isinstance(op.value, DenseIntOrFPElementsAttr):
            op.value = dense.from_numpy(wide(dense.to_numpy(op.value)))
    return module


def evaluate_in_float64(module: ModuleOp, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Return the results of a module, which is not modified, in float64."""
    module = module.clone()
    widen(module)
    arguments = entry.entry_function(module).args
    return run_in_float64(module, dict(zip(arguments, map(wide, inputs), strict=True)))
