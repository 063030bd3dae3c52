"""Residuals: the operands and results of an op that its derivative reads, measured on the test problems."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

import numpy as np
from support.adjoint import name_results
from support.vjp_problems import Problem, module_of, problems
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.ops import op_class
from dialects.support.entry import entry_function, input_names
from passes.autodiff.table import RULES
from passes.decompositions.registry import Reason, table_of
from passes.differentiate import Request, differentiate
from passes.simplify import simplify

SIZES = (onnx.ShapeOp, onnx.SizeOp)

Residuals = Mapping[str, str]
"""Operand -> the operands and results that its gradient reads, in the order of the schema, e.g. `X scale`."""


def has_residuals() -> list[str]:
    """Return the ops with a rule or a decomposition for their derivative."""
    return sorted({*RULES, *table_of(Reason.GRADIENT)})


def residuals(op: str) -> Residuals:
    """Return the residuals of an op over all its problems of static sizes.

    Sizes, integers and booleans are not counted.
    """
    found: dict[str, set[str]] = defaultdict(set)
    for problem in problems():
        if problem.op == op and problem.sizes == "static":
            for operand, names in _read(problem):
                found[operand] |= names
    signature = op_class(op).SIGNATURE
    order = list(dict.fromkeys(port.name for port in (*signature.operands, *signature.results)))
    ports = [port.name for port in signature.operands]
    return {name: " ".join(sorted(found[name], key=order.index)) for name in sorted(found, key=ports.index)}


def _read(problem: Problem) -> Iterator[tuple[str, set[str]]]:
    floats = np.float64 if problem.op == "Cast" else np.float32
    module, inputs = module_of(problem, floats)
    cls: type[OnnxOp] = getattr(onnx, f"{problem.op}Op")
    ports = [port.name for port in cls.SIGNATURE.operands]
    names = [
        ports[min(i, len(ports) - 1)]
        for i, operand in enumerate(problem.operands)
        if isinstance(operand, tuple) or (problem.given and operand is not None)
    ]
    results = [f"y{i}" for i in range(len(_returned(entry_function(module).body.block.last_op)))]
    for index, array in enumerate(inputs):
        if array.dtype != floats:
            continue
        gradient = module.clone()
        name_results(gradient, results)
        wrt = input_names(entry_function(gradient))[index]
        request = Request(of=results, wrt=[wrt], keep=results, cotangents=True, allow_unused=True)
        differentiate(gradient, request)
        simplify(gradient)
        block = entry_function(gradient).body.block
        primal = _returned(block.last_op)[: len(results)]
        yield names[index], set(_names_read(primal, block.args[: len(inputs)], names, cls))


def _returned(op: Operation | None) -> list[SSAValue]:
    assert isinstance(op, ReturnOp)
    return list(op.arguments)


def _names_read(
    primal: list[SSAValue], operands: tuple[SSAValue, ...], names: list[str], cls: type[OnnxOp]
) -> Iterator[str]:
    makers = {value.owner for value in primal}
    for name, value in zip(names, operands, strict=True):
        if _is_read(value, makers):
            yield name
    for op in makers:
        if isinstance(op, cls):
            ports = [port.name for port in cls.SIGNATURE.results]
            for i, result in enumerate(op.results):
                if _is_read(result, makers):
                    yield ports[min(i, len(ports) - 1)]


def _is_read(value: SSAValue, makers: Collection[object]) -> bool:
    """Return whether an op other than the primal op reads the elements of the value."""
    readers = (use.operation for use in value.uses)
    return any(op not in makers and not isinstance(op, (*SIZES, ReturnOp)) for op in readers)
