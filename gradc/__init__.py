"""gradc: a compiler from gradient op graphs to plain ONNX.

    c = gradc.compile("decoder_backward.json")
    gradients = c.run({"t0": diff_dst})

Members are imported on first use, so that `import gradc` is cheap.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dialects.support.diagnostics import (
        Diagnostic,
        GradcError,
        UnsupportedError,
        UsageError,
    )
    from dialects.support.limits import Limits
    from gradc import losses as losses
    from gradc import ops as ops
    from gradc import optim as optim
    from gradc import torch as torch
    from gradc import training as training
    from gradc.builder.graph import Graph
    from gradc.compiler.compiled import Compiled
    from gradc.compiler.driver import compile
    from gradc.crash_reports.crash import InternalError
    from gradc.derivatives.forward import jvp
    from gradc.derivatives.gauss_newton import ggnvp
    from gradc.derivatives.gradient import grad, value_and_grad, vjp
    from gradc.derivatives.hessian import hessian
    from gradc.derivatives.jacobian import jacobian
    from gradc.derivatives.second_order import hvp
    from gradc.reporting.collect import report
    from gradc.reporting.report import Report
    from gradc.training.step import TrainStep
    from gradc.training.train_step import train_step
    from gradc.training.trainer import Trainer, TrainerError
    from gradc.util.version import __version__
    from gradc.verification.gradient_spec import CheckError
    from passes.autodiff.common.primal import ZERO

__all__ = [
    "ZERO",
    "CheckError",
    "Compiled",
    "Diagnostic",
    "GradcError",
    "Graph",
    "InternalError",
    "Limits",
    "Report",
    "TrainStep",
    "Trainer",
    "TrainerError",
    "UnsupportedError",
    "UsageError",
    "__version__",
    "compile",
    "ggnvp",
    "grad",
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "losses",
    "ops",
    "optim",
    "report",
    "torch",
    "train_step",
    "training",
    "value_and_grad",
    "vjp",
]

_HOMES = {
    "ZERO": "passes.autodiff.common.primal",
    "__version__": "gradc.util.version",
    "CheckError": "gradc.verification.gradient_spec",
    "Compiled": "gradc.compiler.compiled",
    "Diagnostic": "dialects.support.diagnostics",
    "GradcError": "dialects.support.diagnostics",
    "Graph": "gradc.builder.graph",
    "InternalError": "gradc.crash_reports.crash",
    "Limits": "dialects.support.limits",
    "Report": "gradc.reporting.report",
    "Trainer": "gradc.training.trainer",
    "TrainerError": "gradc.training.trainer",
    "TrainStep": "gradc.training.step",
    "UnsupportedError": "dialects.support.diagnostics",
    "UsageError": "dialects.support.diagnostics",
    "compile": "gradc.compiler.driver",
    "ggnvp": "gradc.derivatives.gauss_newton",
    "grad": "gradc.derivatives.gradient",
    "hessian": "gradc.derivatives.hessian",
    "hvp": "gradc.derivatives.second_order",
    "jacobian": "gradc.derivatives.jacobian",
    "jvp": "gradc.derivatives.forward",
    "report": "gradc.reporting.collect",
    "train_step": "gradc.training.train_step",
    "value_and_grad": "gradc.derivatives.gradient",
    "vjp": "gradc.derivatives.gradient",
}

_MODULES = ("losses", "ops", "optim", "torch", "training")
"""Members that are modules."""


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"gradc.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'gradc' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)


def _check_siblings() -> None:
    """Raise ImportError if another top-level package `dialects` or `passes` shadows gradc's."""
    for sibling in ("dialects", "passes"):
        spec = find_spec(sibling)
        origin = Path(spec.origin) if spec and spec.origin else None
        if origin is None or not (origin.parent / _MARKERS[sibling]).exists():
            raise ImportError(
                f"gradc needs its own package '{sibling}', but finds '{origin or 'nothing'}'; "
                "remove or rename that package, or install gradc in a separate environment"
            )


_MARKERS = {"dialects": "grad", "passes": "strategies"}

_check_siblings()
