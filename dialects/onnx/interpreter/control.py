"""If, Loop, Scan and SequenceMap for xDSL's interpreter: each step runs a region. Sequences are lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any, Protocol

import numpy as np
from xdsl.ir import Region, SSAValue

from dialects.onnx.base import OnnxOp
from dialects.onnx.interpreter.pairs import slices, stack_pairs, value_of
from dialects.onnx.types import SequenceType
from dialects.reference_cost.account import loop_storage
from dialects.support import shapes
from dialects.support.diagnostics import violation
from dialects.support.dtypes import known_dtype

Values = tuple[Any, ...]


class RunsRegions(Protocol):
    """An object that runs the block of a region with values of its arguments, such as an interpreter."""

    def run_ssacfg_region(self, region: Region, args: Values, name: str = ..., /) -> Values: ...


Meaning = Callable[[RunsRegions, OnnxOp, Values], Values]


def _if(interpreter: RunsRegions, op: OnnxOp, args: Values) -> Values:
    name = "then_branch" if np.all(args[0]) else "else_branch"
    return interpreter.run_ssacfg_region(op.regions_by_name()[name], (), name)


def _loop(interpreter: RunsRegions, op: OnnxOp, args: Values) -> Values:
    given = iter(args)
    most, going = (None if value is None else next(given) for value in op.onnx_inputs()[:2])
    carried = tuple(given)
    steps: list[Values] = []
    going = True if going is None else bool(np.all(going))
    with loop_storage() as keep:
        for index in count():
            if not going or (most is not None and index >= int(np.reshape(most, ()))):
                break
            counters = (np.array(index, np.int64), np.array(going))
            inputs = (*map(_as_declared, counters, op.regions[0].block.args[:2]), *carried)
            condition, *found = interpreter.run_ssacfg_region(op.regions[0], inputs, op.name)
            going = bool(np.all(condition))
            carried, made = tuple(found[: len(carried)]), tuple(found[len(carried) :])
            steps.append(keep(made))
    kept = op.results[len(carried) :]
    return (*carried, *(_stack_steps([step[i] for step in steps], value) for i, value in enumerate(kept)))


def _as_declared(number: np.ndarray, argument: SSAValue) -> np.ndarray:
    """Return a number as scalar or one-element vector, whichever the body declares, as onnxruntime does."""
    is_vector = shapes.has_rank(argument) and len(shapes.shape_of(argument)) == 1
    return number.reshape(1) if is_vector else number


def _stack_steps(parts: Sequence[Any], result: SSAValue, axis: int = 0) -> Any:
    """Stack the values of all steps; without steps return an empty tensor, with dynamic sizes 0."""
    if parts:
        return _join(parts, axis)
    dtype = known_dtype(shapes.element_type_of(result))
    known = [dim if isinstance(dim, int) else 0 for dim in shapes.shape_of(result)]
    known[axis] = 0
    return np.zeros(known, dtype.numpy)


def _join(parts: Sequence[Any], axis: int) -> Any:
    sizes = sorted({np.shape(value_of(part)) for part in parts})
    if len(sizes) > 1:
        raise violation(
            "shapes of the steps' results", given=" and ".join(map(shapes.show, sizes)), expected="one"
        )
    return stack_pairs(parts, axis)


def _scan(interpreter: RunsRegions, op: OnnxOp, args: Values) -> Values:
    attributes: Any = op.onnx_attributes()
    count = attributes["num_scan_inputs"]
    states, scanned = args[: len(args) - count], args[len(args) - count :]
    kept = op.results[len(states) :]
    axes = attributes.get("scan_input_axes", [0] * count)
    backward = attributes.get("scan_input_directions", [0] * count)
    moved = [slices(value, axis) for value, axis in zip(scanned, axes, strict=True)]
    inputs = [value[::-1] if back else value for value, back in zip(moved, backward, strict=True)]
    lengths = sorted({len(value) for value in inputs})
    if len(lengths) > 1:
        what = "lengths of the scan inputs"
        raise violation(what, given=" and ".join(map(str, lengths)), expected="one").at_op(op)
    steps: list[Values] = []
    with loop_storage() as keep:
        for index in range(lengths[0]):
            each = (*states, *(value[index] for value in inputs))
            found = interpreter.run_ssacfg_region(op.regions[0], each, op.name)
            states, made = found[: len(states)], found[len(states) :]
            steps.append(keep(made))
    axes = attributes.get("scan_output_axes", [0] * len(kept))
    reversed_ = attributes.get("scan_output_directions", [0] * len(kept))
    columns = ([step[i] for step in steps][:: -1 if back else 1] for i, back in enumerate(reversed_))
    outputs = (_stack_steps(*given) for given in zip(columns, kept, axes, strict=True))
    return (*states, *outputs)


def _map(interpreter: RunsRegions, op: OnnxOp, args: Values) -> Values:
    """Run the region on each element; non-sequence operands after the first are the same for all."""
    with loop_storage() as keep:
        steps = [
            keep(interpreter.run_ssacfg_region(op.regions[0], tuple(each), op.name))
            for each in _elements(op, args)
        ]
    return tuple([step[i] for step in steps] for i in range(len(op.results)))


def _elements(op: OnnxOp, args: Values) -> Iterator[list[Any]]:
    split = [isinstance(type_, SequenceType) for type_ in op.operand_types]
    for index in range(len(args[0])):
        yield [value[index] if its else value for value, its in zip(args, split, strict=True)]


MEANINGS: dict[str, Meaning] = {"If": _if, "Loop": _loop, "Scan": _scan, "SequenceMap": _map}
