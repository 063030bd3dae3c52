"""Dependence of a graph's outputs on random ops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from dialects.onnx.base import OnnxOp
from dialects.onnx.node import NodeOp
from dialects.onnx.traits import RANDOM, RANDOM_IN_TRAINING
from dialects.support import entry
from dialects.support.diagnostics import name_of

CONTRIBUTED = frozenset(("BiasDropout", "BitmaskBiasDropout", "BitmaskDropout"))
"""Ops of onnxruntime's domain that draw random numbers."""

KINDS = RANDOM | RANDOM_IN_TRAINING | CONTRIBUTED


@dataclass(frozen=True)
class RandomOp:
    """An op that draws random numbers; `seeded` if the model gives its seed."""

    kind: str
    name: str
    seeded: bool

    def __str__(self) -> str:
        return f'{self.kind} "{self.name}"' if self.name else self.kind


Found = Mapping[SSAValue, frozenset[RandomOp]]
NONE: frozenset[RandomOp] = frozenset()


def random_outputs(module: ModuleOp) -> dict[str, tuple[RandomOp, ...]]:
    """Return output name -> the random ops on which it depends, for the outputs that do."""
    function = entry.entry_function(module)
    found: dict[SSAValue, frozenset[RandomOp]] = {}
    _visit(function.body.block, found)
    names = entry.output_names(function)
    values = zip(names, entry.return_op(function).arguments, strict=True)
    return {name: tuple(sorted(ops, key=str)) for name, value in values if (ops := found.get(value))}


def _visit(block: Block, found: dict[SSAValue, frozenset[RandomOp]]) -> None:
    for op in block.ops:
        if op.regions:
            _visit_control(op, found)
        else:
            before = _union(op.operands, found) | _random_ops_of(op)
            _add(op.results, [before] * len(op.results), found)


def _visit_control(op: Operation, found: dict[SSAValue, frozenset[RandomOp]]) -> None:
    if op.name == "onnx.If":
        deciding = _union(op.operands, found)
        made = _random_ops_of_outputs(op, (), found)
    elif op.name == "onnx.Loop":
        trips = [value for value in (getattr(op, "M", None), getattr(op, "cond", None)) if value is not None]
        deciding, made = _loop(op, _union(trips, found), found)
    else:
        deciding, made = NONE, _scan(op, found)
    _add(op.results, [each | deciding for each in made], found)


def _loop(
    op: Operation, deciding: frozenset[RandomOp], found: dict[SSAValue, frozenset[RandomOp]]
) -> tuple[frozenset[RandomOp], list[frozenset[RandomOp]]]:
    """Return the random ops of the trip count and of each result, as a fixed point over the steps."""
    carried = [found.get(value, NONE) for value in getattr(op, "v_initial", ())]
    while True:
        going, *made = _random_ops_of_outputs(op, [deciding, deciding, *carried], found)
        later = [a | b for a, b in zip(carried, made, strict=False)]
        if (later, going | deciding) == (carried, deciding):
            return deciding, made
        carried, deciding = later, going | deciding


def _scan(op: Operation, found: dict[SSAValue, frozenset[RandomOp]]) -> list[frozenset[RandomOp]]:
    """Return the random ops of each result of a Scan, or of a SequenceMap, which has no states."""
    given = [found.get(value, NONE) for value in op.operands]
    states = _states_of(op)
    while True:
        made = _random_ops_of_outputs(op, given, found)
        later = [a | b for a, b in zip(given[:states], made, strict=False)]
        if later == given[:states]:
            return made
        given[:states] = later


def _states_of(op: Operation) -> int:
    if not isinstance(op, OnnxOp) or op.onnx_name() != "Scan":
        return 0
    scanned: Any = op.onnx_attributes()["num_scan_inputs"]
    return len(op.operands) - int(scanned)


def _random_ops_of_outputs(
    op: Operation, given: Sequence[frozenset[RandomOp]], found: dict[SSAValue, frozenset[RandomOp]]
) -> list[frozenset[RandomOp]]:
    """Return the random ops of each output of an op's subgraphs, as the union over the subgraphs."""
    yields = [_yields(region.block, given, found) for region in op.regions]
    return [NONE.union(*each) for each in zip(*yields, strict=True)]


def _yields(
    block: Block, given: Sequence[frozenset[RandomOp]], found: dict[SSAValue, frozenset[RandomOp]]
) -> list[frozenset[RandomOp]]:
    _add(block.args, given, found)
    _visit(block, found)
    return [found.get(value, NONE) for value in block.last_op.operands] if block.last_op else []


def _add(
    values: Iterable[SSAValue],
    ops: Iterable[frozenset[RandomOp]],
    found: dict[SSAValue, frozenset[RandomOp]],
) -> None:
    for value, drawn in zip(values, ops, strict=False):
        if drawn:
            found[value] = found.get(value, NONE) | drawn


def _union(values: Iterable[SSAValue], found: Found) -> frozenset[RandomOp]:
    return NONE.union(*(found.get(value, NONE) for value in values))


def _random_ops_of(op: Operation) -> frozenset[RandomOp]:
    if isinstance(op, OnnxOp):
        return NONE if op.is_deterministic() else _as_random_op(op, op.onnx_attributes())
    if isinstance(op, NodeOp) and op.op_type.data in KINDS:
        return _as_random_op(op, op.given.data)
    return NONE


def _as_random_op(op: Operation, attributes: Mapping[str, object]) -> frozenset[RandomOp]:
    kind = op.title if isinstance(op, NodeOp) else op.name.removeprefix("onnx.")
    return frozenset((RandomOp(kind, name_of(op), "seed" in attributes),))
