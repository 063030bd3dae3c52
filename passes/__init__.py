"""What may be done to the dialects: one file, one pass; pipelines are strings."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from xdsl.passes import ModulePass

_PASSES = {
    "materialize-constants": "MaterializeConstantsPass",
    "infer-types": "InferTypesPass",
    "resolve-auto-pad": "ResolveAutoPadPass",
    "canonicalize-layout": "CanonicalizeLayoutPass",
    "legalize-types": "LegalizeTypesPass",
    "convert-cann-to-grad": "ConvertCannToGradPass",
    "convert-onednn-to-grad": "ConvertOneDNNToGradPass",
    "assign-layout": "AssignLayoutPass",
    "select-strategy": "SelectStrategyPass",
    "simplify": "SimplifyPass",
    "legalize-onnx": "LegalizeOnnxPass",
}
"""Pass name -> class; the module is the name with underscores."""

STRATEGY_NAMES = (
    "conv-to-conv",
    "conv-to-conv2d",
    "conv-to-conv-transpose",
    "conv-to-phase-convs",
    "conv-to-upsampled-conv",
    "conv-to-matmul",
    "conv-nxc-to-matmul",
    "conv-to-col2im",
    "conv-to-tap-sums",
    "resize-to-matmul",
    "resize-to-banded-matmul",
    "resize-to-block-matmul",
    "resize-to-conv",
    "resize-to-pool",
    "resize-to-reduce-sum",
    "resize-to-gather",
    "resize-to-gathered-sum",
    "resize-by-axis",
    "resize-dynamic-to-matmul",
    "resize-dynamic-to-gathered-sum",
    "window-to-slice",
)
PASS_NAMES = tuple(_PASSES)


def _pass(name: str) -> type[ModulePass]:
    return getattr(import_module(f"passes.{name.replace('-', '_')}"), _PASSES[name])


def _strategy_pass(name: str) -> type[ModulePass]:
    from passes.strategies import by_name
    from passes.strategies.base import pass_of

    return pass_of(type(by_name()[name]))


def all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """Every pass by name, imported when it is asked for. Each strategy is a pass of its own, too."""
    passes = {name: lambda name=name: _pass(name) for name in _PASSES}
    return passes | {name: lambda name=name: _strategy_pass(name) for name in STRATEGY_NAMES}
