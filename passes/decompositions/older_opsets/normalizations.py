"""Decompositions of normalizations for older opsets."""

from __future__ import annotations

from passes.autodiff.common.primal import Primal
from passes.builder.values import Builder
from passes.decompositions.missing_kernels import normalizations
from passes.decompositions.registry import Results


def batch_normalization(f: Primal, e: Builder) -> Results | None:
    """Before opset 14 there is no training mode with running statistics as results."""
    return normalizations.batch_normalization(f, e)
