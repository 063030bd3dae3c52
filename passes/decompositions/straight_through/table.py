"""Declarations of the ops on quantized codes that straight-through gradients pass as float ops."""

from __future__ import annotations

from passes.decompositions.registry import Decomposition, Reason

_FUNCTIONS = (
    ("QLinearConv", "passes.decompositions.contrib.quantized:qlinear_conv"),
    ("QLinearMatMul", "passes.decompositions.contrib.quantized:qlinear_matmul"),
)

DECOMPOSITIONS = tuple(Decomposition(op, Reason.STRAIGHT_THROUGH, function) for op, function in _FUNCTIONS)
