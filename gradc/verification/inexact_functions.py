"""Evaluation of a module with the errors that a runtime's functions may have, such as Tanh and Exp.

Arithmetic rounds correctly everywhere, but functions are off by some units in the last place. A saturated
function amplifies that: a derivative of 1 - y y at y = 0.99999 loses five digits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from dialects.evaluate import evaluate
from dialects.onnx.base import OnnxOp

INEXACT = frozenset((
    "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Celu", "Cos", "Cosh", "Elu", "Erf", "Exp", "Gelu",
    "Log", "LogSoftmax", "Mish", "Pow", "Selu", "Sigmoid", "Sin", "Sinh", "Softmax", "Softplus", "Softsign",
    "Sqrt", "Swish", "Tan", "Tanh",
))  # fmt: skip
"""Functions that need not round correctly."""

UNITS = 4
"""Largest error of a function in units in the last place."""


def evaluate_inexactly(module: ModuleOp, inputs: Sequence[np.ndarray], seed: int) -> tuple[np.ndarray, ...]:
    """Return the results of a module whose functions have random errors, also within bodies of loops."""
    generator = np.random.default_rng(seed)

    def add_errors(op: Operation, _: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> None:
        if not isinstance(op, OnnxOp) or op.onnx_name() not in INEXACT:
            return
        for array in results:
            finite = np.where(np.isfinite(array), array, 0)
            error = np.spacing(np.abs(finite)) * generator.integers(-UNITS, UNITS + 1, array.shape)
            array += error.astype(array.dtype)

    return evaluate(module, list(inputs), watch=add_errors)
