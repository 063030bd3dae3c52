"""Types of decompositions of ops of other domains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from passes.autodiff.common.primal import Primal
from passes.builder.values import Value, ValueBuilder

Results: TypeAlias = Sequence[Value | None]
"""Results in order; None for one that only the op itself can compute."""

Decomposition: TypeAlias = Callable[[Primal, ValueBuilder], Results]
"""Decomposition of an op; raises for variants that it does not cover."""
