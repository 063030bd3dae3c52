"""Sizes of inputs that the graph computes, such as those of labels, at a sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.evaluate import evaluate
from dialects.support import entry, shapes
from dialects.support.diagnostics import GradcError
from passes.builder.captured_values import values_read_by


def computed_sizes(module: ModuleOp, inputs: Mapping[str, Any]) -> dict[str, int]:
    """Return the sizes of the dims whose names inputs share with a computed result that depends on no input
    with the name. A size that has no value at these inputs is left out."""
    found = dict[str, int]()
    for name, value in _results_by_dim(entry.entry_function(module)).items():
        try:
            array = _value_at(module, value, inputs)
        except GradcError:  # an op does not accept the sample
            continue
        found[name] = array.shape[shapes.dim_names(shapes.shape_of(value)).index(name)]
    return found


def _results_by_dim(function: FuncOp) -> dict[str, SSAValue]:
    """Return the first result with each name that depends on no input with the name."""
    known: dict[SSAValue, frozenset[str]] = {argument: _names(argument) for argument in function.args}
    names, found = frozenset[str]().union(*known.values()), dict[str, SSAValue]()
    for op in function.body.block.ops if names else ():
        before = frozenset[str]().union(*(known.get(value, frozenset()) for value in values_read_by(op)))
        for result in op.results:
            known[result] = before
            for name in names & _names(result) - before - found.keys():
                found[name] = result
    return found


def _names(value: SSAValue) -> frozenset[str]:
    dims = shapes.dim_names(shapes.shape_of(value)) if shapes.has_rank(value) else ()
    return frozenset(dim for dim in dims if isinstance(dim, str))


def _value_at(module: ModuleOp, value: SSAValue, inputs: Mapping[str, Any]) -> Any:
    """Return a result of an op of the entry function, which runs with the ops that it needs."""
    assert isinstance(value, OpResult)
    place = list(entry.entry_function(module).body.block.ops).index(value.op)
    copy = module.clone()
    function = entry.entry_function(copy)
    ops = list(function.body.block.ops)
    result = ops[place].results[value.index]
    needed: set[SSAValue] = {result}
    Rewriter.insert_op(ReturnOp(result), InsertPoint.before(ops[-1]))
    Rewriter.erase_op(ops[-1])
    for op in reversed(ops[:-1]):
        if needed.isdisjoint(op.results):
            Rewriter.erase_op(op)
        else:
            needed.update(values_read_by(op))
    arrays = [inputs[name] for name in entry.input_names(function)]
    (found,) = evaluate(copy, arrays)
    return found
