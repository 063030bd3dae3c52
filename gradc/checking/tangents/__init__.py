"""Directional derivatives of single ops in float64, by kernels and finite differences, without VJP rules."""

from gradc.checking.tangents.push import push
from gradc.checking.tangents.tangent import Run, Tangent

__all__ = ["Run", "Tangent", "push"]
