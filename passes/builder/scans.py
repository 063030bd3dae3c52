"""Scan built from a Python function of one step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.ir import Block, Region

from dialects.onnx import ops as onnx
from dialects.onnx.control import YieldOp
from dialects.support.shapes import tensor_type
from passes.builder.values import Builder, Value

Exprs: TypeAlias = Sequence[Value]
Step: TypeAlias = Callable[[Builder, Exprs, Exprs], tuple[Exprs, Exprs]]
"""(builder of the body, states, slices) -> (next states, outputs of the step)."""


def scan(
    e: Builder, states: Exprs, scanned: Exprs, step: Step, *, backward: bool = False
) -> tuple[list[Value], list[Value]]:
    """Return the final states, and the outputs of all steps stacked along a new first axis.

    The steps follow the first axis of `scanned`, from its end if `backward`; outputs have the index of their
    slice. State types are constant; a step may capture outer values.
    """
    slices = [tensor_type(x.dtype, x.shape[1:]) for x in scanned]
    block = Block(arg_types=[*(state.value.type for state in states), *slices])
    inner = Builder(strict_ieee=e.strict_ieee)
    given = list(map(inner, block.args))
    after, kept = step(inner, given[: len(states)], given[len(states) :])
    block.add_ops([*inner.emit.ops, YieldOp(*(x.value for x in (*after, *kept)))])
    count = scanned[0].shape[0]
    columns = [tensor_type(x.dtype, (count, *x.shape)) for x in kept]
    results = e.emit.all(
        onnx.ScanOp(
            [x.value for x in (*states, *scanned)],
            num_scan_inputs=len(scanned),
            scan_input_directions=[int(backward)] * len(scanned),
            scan_output_directions=[int(backward)] * len(kept),
            body=Region(block),
            result_types=[*(state.value.type for state in states), *columns],
        )
    )
    found = list(map(e, results))
    return found[: len(states)], found[len(states) :]
