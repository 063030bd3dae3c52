"""What stands for an op of another domain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from passes.emit.expressions import Expr, Operators
from passes.vjp.common.forward import Forward

Results: TypeAlias = Sequence[Expr | None]
"""In order; None for one that only the op itself makes."""

Body: TypeAlias = Callable[[Forward, Operators], Results]
"""The results of an op, made of ops of ONNX; raises for a form that it does not cover."""
