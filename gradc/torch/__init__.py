"""PyTorch functions that call autograd, as plain ONNX. Needs the extra `torch`.

gradc.torch.export(function, args)    a function or module, its derivatives included, as an ONNX model
gradc.torch.module("model.onnx")      an ONNX model as an nn.Module whose backward is gradc's
gradc.torch.train_step(step, batch)   a training step written in PyTorch, as a gradc.TrainStep
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gradc.util.extras import check_torch

if TYPE_CHECKING:
    from gradc.torch.export_function import export
    from gradc.torch.onnx_module import module
    from gradc.torch.training_step import train_step

__all__ = ["export", "module", "train_step"]

_HOMES = {
    "export": "gradc.torch.export_function",
    "module": "gradc.torch.onnx_module",
    "train_step": "gradc.torch.training_step",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'gradc.torch' has no attribute '{name}'")
    check_torch()
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
