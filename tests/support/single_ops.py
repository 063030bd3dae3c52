"""Run single ops of the problems of `vjp_problems` in float64, and push tangents through their modules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from dialects.evaluate import interpreter_of
from dialects.support.entry import entry_function
from gradc.verification.tangents import Run, jvp


@dataclass(frozen=True)
class Step:
    """One op of a module with the values of its operands and results, and what `push` finds of the latter."""

    op: Operation
    operands: Sequence[Any]
    tangents: Sequence[Any]
    run: Run
    results: Sequence[Any]
    pushed: Sequence[Any]


def runner(module: ModuleOp, op: Operation) -> Run:
    interpreter = interpreter_of(module)
    return lambda operands: interpreter.run_op(op, tuple(operands))


def steps(
    module: ModuleOp, inputs: Sequence[Any], tangents: Sequence[Any], found: dict[SSAValue, tuple[Any, Any]]
) -> Iterator[Step]:
    """The ops of the entry function in order; `found` gets the value and the tangent of each SSA value."""
    function = entry_function(module)
    found.update(zip(function.args, zip(inputs, tangents, strict=True), strict=True))
    for op in list(function.body.block.ops)[:-1]:
        operands = [found[value] for value in op.operands]
        values, moved = [value for value, _ in operands], [tangent for _, tangent in operands]
        run = runner(module, op)
        results = [np.asarray(r) if isinstance(r, np.generic) else r for r in run(values)]
        still = all(tangent is None for tangent in moved)
        pushed = [None] * len(results) if still else jvp(op, values, moved, run, results)
        yield Step(op, values, moved, run, results, pushed)
        for value, result, tangent in zip(op.results, results, pushed, strict=True):
            found[value] = (result, _array(tangent))


def _array(tangent: Any) -> Any:
    if isinstance(tangent, list):
        return [*map(_array, tangent)]
    return None if tangent is None else tangent.found
