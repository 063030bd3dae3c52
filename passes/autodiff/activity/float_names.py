"""Suggestions of float tensors for a request that names a value of another type."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import UnrankedTensorType
from xdsl.ir import BlockArgument, Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.node import NodeOp
from dialects.support.diagnostics import name_of, several
from dialects.support.names import name_of_value
from dialects.support.option_names import advice
from passes.autodiff.activity.active_values import is_float


def next_floats(what: str, value: SSAValue) -> str:
    """Return a hint: the first floats computed from a non-float `wrt`, or the last before an `of`."""
    if what == "of":
        found = _floats_before(value)
        return f"the last floats before it are {several(found)}" if found else ""
    found = _next_floats(value)
    return f"the next floats behind it are {several(found)}" if found else ""


def rank_hint(value: SSAValue) -> str:
    """Return a hint: the inputs or nodes whose shapes would determine the rank of `value`."""
    waiting, inputs, nodes = [value], dict[str, None](), dict[str, None]()
    for one in waiting:
        if isinstance(one, BlockArgument):
            inputs[name_of_value(one)] = None
        elif isinstance(one.owner, NodeOp):
            nodes[one.owner.title] = None
        elif isinstance(one.owner, Operation):
            waiting += [x for x in one.owner.operands if is_unranked(x) and x not in waiting]
    shapes = advice("static_shapes", f"sets the shape of {several(list(inputs))}") if inputs else ""
    infos = f"a value_info for the results of {several(list(nodes))} would define it" if nodes else ""
    return "; ".join(filter(None, (shapes, infos)))


def is_unranked(value: SSAValue) -> bool:
    """Return whether the rank of `value` is unknown; constant folding may still find it."""
    return isinstance(value.type, UnrankedTensorType)


def _floats_before(value: SSAValue) -> list[str]:
    """Return the names of the last float tensors that a non-float value depends on."""
    waiting, found = [value], list[str]()
    for one in waiting:
        for read in one.owner.operands if isinstance(one.owner, Operation) else ():
            if is_float(read):
                found.append(name_of_value(read))
            elif read not in waiting:
                waiting.append(read)
    return [name for name in dict.fromkeys(found) if name]


def floats_behind_inputs(values: Mapping[str, SSAValue]) -> str:
    """Return a hint naming float tensors computed from the inputs if no input is one."""
    inputs = [value for value in values.values() if isinstance(value, BlockArgument)]
    found = list(dict.fromkeys(name for value in inputs for name in _next_floats(value)))
    return f"the first floats computed from its inputs are {several(found)}" if found else ""


_SIZES = (onnx.ShapeOp, onnx.SizeOp)
"""Ops that read no elements of a tensor."""


def _next_floats(value: SSAValue) -> list[str]:
    """Return the names of the first float tensors computed from a non-float value."""
    waiting, seen = [value], {value}
    found: list[str] = []
    for one in waiting:
        readers = (use.operation for use in one.uses if not isinstance(use.operation, _SIZES))
        for result in (result for reader in readers for result in reader.results):
            if result in seen:
                continue
            seen.add(result)
            name = name_of_value(result) or name_of(result.op)
            if is_float(result) and name:
                found.append(name)
            elif not is_float(result):
                waiting.append(result)
    return found
