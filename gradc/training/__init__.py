"""Training steps on stock onnxruntime: the folder of a run, and the loop over it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradc.training.artifacts import LossType, OptimType, generate_artifacts

__all__ = ["LossType", "OptimType", "generate_artifacts"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'gradc.training' has no attribute '{name}'")
    return getattr(import_module("gradc.training.artifacts"), name)
