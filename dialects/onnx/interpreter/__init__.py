"""The ONNX ops for xDSL's interpreter: values are numpy arrays, and lists of them for sequences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    ReturnedValues,
    TerminatorValue,
    impl,
    impl_terminator,
    register_impls,
)
from xdsl.ir import Operation

from dialects.onnx import numpy
from dialects.onnx.base import OnnxOp
from dialects.onnx.call import Call
from dialects.onnx.control import YieldOp
from dialects.onnx.interpreter import containers, control
from dialects.onnx.node import NodeOp
from dialects.onnx.ops import loaded_ops
from dialects.support import shapes
from dialects.support.diagnostics import UnsupportedError, error_at
from dialects.support.dtypes import of_mlir
from dialects.support.limits import LimitError

Values = tuple[Any, ...]


def evaluate(op: OnnxOp, operands: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """Return the op's results for the values of its present operands, in order."""
    given = iter(operands)
    arrays = [None if value is None else next(given) for value in op.onnx_inputs()]
    dtypes = [of_mlir(shapes.element_type_of(result)) for result in op.results]
    assert None not in dtypes, op
    try:
        call = Call(op.onnx_name(), (), op.onnx_attributes(), len(op.results))
        return tuple(numpy.evaluate(call, arrays, [d.numpy for d in dtypes if d]))
    except LimitError as error:
        raise error.at_op(op) from None


@impl(OnnxOp)
def run(_functions: InterpreterFunctions, interpreter: Interpreter, op: Any, args: Values) -> Values:
    name = op.onnx_name()
    if name in control.MEANINGS:
        return control.MEANINGS[name](interpreter, op, args)
    if name in containers.MEANINGS:
        return (containers.evaluate(op, args),)
    if name == "Identity":
        return args
    if name == "Constant":
        return (op.onnx_attributes()["value"],)  # no copy: weights may be large
    return evaluate(op, args)


@register_impls
class OnnxFunctions(InterpreterFunctions):
    """Implementations of the `onnx` ops for an `Interpreter`.

    Only loaded classes are registered, since every existing op has its class loaded.
    """

    @classmethod
    def _impls(cls) -> Iterable[tuple[type[Operation], Any]]:
        return [*super()._impls(), *((op, run) for op in loaded_ops())]

    @impl_terminator(YieldOp)
    def run_yield(self, _: Interpreter, op: YieldOp, args: Values) -> tuple[TerminatorValue, PythonValues]:
        return ReturnedValues(args), ()

    @impl(NodeOp)
    def run_node(self, _: Interpreter, op: NodeOp, args: Values) -> Values:
        what = f"{op.title} cannot be evaluated: only its runtime implements it"
        raise error_at(op, what, kind=UnsupportedError)
