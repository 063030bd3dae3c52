"""What rules read of the forward ops is what they declare to keep alive, no more and no less."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

import numpy as np
import pytest
from support.adjoint import name_results
from support.vjp_problems import Problem, module_of, problems
from xdsl.context import Context
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.support.entry import entry_function, input_names
from passes.autodiff.residuals import RESIDUALS
from passes.autodiff.table import RULES
from passes.builder.rewriting import simplify
from passes.decompositions.registry import Reason, table_of
from passes.differentiate import Request, differentiate

SIZES = (onnx.ShapeOp, onnx.SizeOp)


def test_every_rule_declares_what_it_keeps():
    assert set(RESIDUALS) == {*RULES, *table_of(Reason.GRADIENT)}


@pytest.mark.sweep
@pytest.mark.parametrize("op", sorted({*RULES, *table_of(Reason.GRADIENT)}))
def test_a_rule_reads_what_it_declares(op: str):
    found = read_by_gradient(op)
    declared = RESIDUALS[op]
    for operand, names in found.items():
        kept = declared if isinstance(declared, str) else declared[operand]
        assert set(names) == set(kept.split()), f"{op}, the gradient by {operand}"
    if not isinstance(declared, str):
        assert set(declared) == set(found)


def read_by_gradient(op: str) -> Mapping[str, set[str]]:
    """For each operand, by all problems of an op, what its gradient reads of the operands and the results."""
    found: dict[str, set[str]] = defaultdict(set)
    for problem in problems():
        if problem.op == op and problem.sizes == "static":
            for operand, names in _read(problem):
                found[operand] |= names
    return found


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
        simplify(Context(), gradient)
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
    """Beside the forward op itself, for its elements."""
    readers = (use.operation for use in value.uses)
    return any(op not in makers and not isinstance(op, (*SIZES, ReturnOp)) for op in readers)
