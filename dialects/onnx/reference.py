"""The ONNX ops for xDSL's interpreter: values are numpy arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from xdsl.interpreter import Interpreter, InterpreterFunctions, impl, register_impls
from xdsl.ir import Operation

from dialects.onnx import kernels
from dialects.onnx.base import OnnxOp
from dialects.onnx.ops import loaded_ops
from dialects.support import shapes
from dialects.support.dtypes import of_mlir


def evaluate(op: OnnxOp, operands: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """The op's results for the values of the operands that it has, in order."""
    given = iter(operands)
    arrays = [None if value is None else next(given) for value in op.onnx_inputs()]
    dtypes = [of_mlir(shapes.element_type_of(result)) for result in op.results]
    assert None not in dtypes, op
    return tuple(kernels.evaluate(op.call(), arrays, [d.numpy for d in dtypes if d]))


@impl(OnnxOp)
def run(_functions: InterpreterFunctions, _: Interpreter, op: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    return evaluate(op, args)


@register_impls
class OnnxFunctions(InterpreterFunctions):
    """Register an instance with an `Interpreter` to run the `onnx` ops of its module.

    An op that is there has its class loaded, so those that are loaded are all that can be met.
    """

    @classmethod
    def _impls(cls) -> Iterable[tuple[type[Operation], Any]]:
        return [(op, run) for op in loaded_ops()]
