"""Names of tensors of floats that may be meant where what is named is none."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import UnrankedTensorType
from xdsl.ir import BlockArgument, Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.node import NodeOp
from dialects.support.diagnostics import name_of, several
from dialects.support.names import name_of_value
from dialects.support.spelling import advice
from passes.vjp.reach.flows import is_float


def next_floats(what: str, value: SSAValue) -> str:
    """Those behind a `wrt` that is none, or before an `of`."""
    if what == "of":
        found = _floats_before(value)
        return f"the last floats before it are {several(found)}" if found else ""
    found = _next_floats(value)
    return f"the next floats behind it are {several(found)}" if found else ""


def what_tells_the_rank(value: SSAValue) -> str:
    """What would tell the rank of a value of which none is known."""
    waiting, inputs, nodes = [value], dict[str, None](), dict[str, None]()
    for one in waiting:
        if isinstance(one, BlockArgument):
            inputs[name_of_value(one)] = None
        elif isinstance(one.owner, NodeOp):
            nodes[one.owner.title] = None
        elif isinstance(one.owner, Operation):
            waiting += [x for x in one.owner.operands if _is_open(x) and x not in waiting]
    shapes = advice("static_shapes", f"says that of {several(list(inputs))}") if inputs else ""
    infos = f"a value_info in the model, of what {several(list(nodes))} gives, would tell it" if nodes else ""
    return "; ".join(filter(None, (shapes, infos)))


def _is_open(value: SSAValue) -> bool:
    return isinstance(value.type, UnrankedTensorType)


def _floats_before(value: SSAValue) -> list[str]:
    """Which tensors of floats come last before a value that is none."""
    waiting, found = [value], list[str]()
    for one in waiting:
        for read in one.owner.operands if isinstance(one.owner, Operation) else ():
            if is_float(read):
                found.append(name_of_value(read))
            elif read not in waiting:
                waiting.append(read)
    return [name for name in dict.fromkeys(found) if name]


def floats_behind_inputs(values: Mapping[str, SSAValue]) -> str:
    """What can be named where no input is a tensor of floats."""
    inputs = [value for value in values.values() if isinstance(value, BlockArgument)]
    found = list(dict.fromkeys(name for value in inputs for name in _next_floats(value)))
    return f" among its inputs; the next floats behind them are {several(found)}" if found else ""


_SIZES = (onnx.ShapeOp, onnx.SizeOp)
"""Ops that read no number of a tensor."""


def _next_floats(value: SSAValue) -> list[str]:
    """Which tensors of floats come first behind a value that is none."""
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
