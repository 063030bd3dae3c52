"""Directional derivatives of single ops in float64, by kernels and finite differences, without VJP rules."""

from gradc.verification.tangents.directional_derivative import jvp
from gradc.verification.tangents.tangent import Run, Tangent

__all__ = ["Run", "Tangent", "jvp"]
