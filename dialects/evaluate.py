"""Execute a module of any of gradc's dialects with numpy: the semantics of every stage of the pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    ReturnedValues,
    impl,
    impl_terminator,
    register_impls,
)
from xdsl.ir import Operation, SSAValue

from dialects.cann import CANN
from dialects.grad import GRAD
from dialects.onednn import CLASSES
from dialects.onednn.spec_classes import classes_in_use
from dialects.onnx.interpreter import OnnxFunctions
from dialects.onnx.numpy import round_to
from dialects.onnx.operands import wide
from dialects.reference_cost.account import new_account
from dialects.reference_cost.module_cost import Meter, check
from dialects.support import dense
from dialects.support.dtypes import known_dtype
from dialects.support.entry import entry_function
from dialects.support.shapes import element_type_of


@register_impls
class ReturnFunctions(InterpreterFunctions):
    """`func.return`. Importing `xdsl.interpreters`, which has it too, takes a fifth of a second."""

    @impl_terminator(func.ReturnOp)
    def run_return(self, interpreter: Interpreter, op: func.ReturnOp, args: tuple[Any, ...]):
        return ReturnedValues(args), ()


@register_impls
class ConstantFunctions(InterpreterFunctions):
    """Dense arith constants, which source text may hold."""

    @impl(arith.ConstantOp)
    def constant(self, interpreter: Interpreter, op: arith.ConstantOp, args: tuple[Any, ...]):
        assert isinstance(op.value, DenseIntOrFPElementsAttr)
        return (dense.to_numpy(op.value),)


def _functions_of(classes: Iterable[type[Operation]]) -> InterpreterFunctions:
    """Return interpreter functions of ops that have a method `evaluate`."""
    body = {cls.name: impl(cls)(_run_evaluate) for cls in classes}
    return register_impls(type("EvaluateFunctions", (InterpreterFunctions,), body))()


def _run_evaluate(
    _functions: InterpreterFunctions, _: Interpreter, op: Any, args: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Run an op's `evaluate` in float64 and round once to the dtypes of its results."""
    operands = args if op.BY_PARTS else map(wide, args)
    with np.errstate(all="ignore"):
        found = op.evaluate(*operands)
    return tuple(_round_result(array, result) for array, result in zip(found, op.results, strict=True))


def _round_result(array: np.ndarray, result: SSAValue) -> np.ndarray:
    return round_to(array, known_dtype(element_type_of(result)).numpy)


Progress = Callable[[int, int, str], None]
"""Callback before each op: number of ops done, total number, the op's name."""


class _Listener(Interpreter.Listener):
    def __init__(self, total: int, progress: Progress):
        self._done, self._total, self._progress = 0, total, progress

    def will_interpret_op(self, op: Operation, args: PythonValues) -> None:
        self._progress(self._done, self._total, op.name)
        self._done += 1


Watch = Callable[[Operation, tuple[np.ndarray, ...], tuple[np.ndarray, ...]], None]
"""Callback after each op: values of its operands and of its results."""


class _Watcher(Interpreter.Listener):
    def __init__(self, watch: Watch):
        self._watch, self._args = watch, ()

    def will_interpret_op(self, op: Operation, args: PythonValues) -> None:
        self._args = args

    def did_interpret_op(self, op: Operation, results: PythonValues) -> None:
        if op.results:
            self._watch(op, self._args, results)


def evaluate(
    module: ModuleOp,
    inputs: Sequence[np.ndarray],
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> tuple[np.ndarray, ...]:
    """Return the outputs of the module's entry function for inputs in argument order.

    Raises LimitError before exceeding reference-reads or reference-bytes.
    """
    function = entry_function(module)
    ends = check(function.body.block)
    listeners = [] if progress is None else [_Listener(len(function.body.block.ops), progress)]
    listeners += [] if watch is None else [_Watcher(watch)]
    with new_account() as account:
        meter = Meter(account, {function.body.block: ends})
        interpreter = interpreter_of(module, (*listeners, meter))
        meter.interpreter = interpreter
        return tuple(interpreter.run_ssacfg_region(function.body, tuple(inputs), function.sym_name.data))


def interpreter_of(module: ModuleOp, listeners: Sequence[Interpreter.Listener] = ()) -> Interpreter:
    """Return an interpreter of the module's ops with numpy."""
    interpreter = Interpreter(module, listeners=tuple(listeners))
    for functions in (
        ReturnFunctions(),
        ConstantFunctions(),
        _functions_of((*CLASSES, *classes_in_use(), *CANN.operations, *GRAD.operations)),
        OnnxFunctions(),
    ):
        interpreter.register_implementations(functions)
    return interpreter
