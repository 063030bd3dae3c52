"""Types of decompositions of ops of other domains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from passes.autodiff.common.primal import Forward
from passes.builder.values import Expr, Operators

Results: TypeAlias = Sequence[Expr | None]
"""Results in order; None for one that only the op itself can compute."""

Body: TypeAlias = Callable[[Forward, Operators], Results]
"""Decomposition of an op; raises for variants that it does not cover."""
