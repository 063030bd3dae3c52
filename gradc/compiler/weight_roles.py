"""Table of the roles of operands by op, and the readers of a weight."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from xdsl.ir import Operation, SSAValue

from dialects.onnx import traits
from dialects.onnx.base import OnnxOp
from dialects.onnx.node import NodeOp
from dialects.support.diagnostics import name_of
from dialects.support.shapes import shape_of

WEIGHT, BIAS, SCALE, SLOPE, TABLE = "weight", "bias", "scale", "slope", "embedding table"
RECURRENT_WEIGHT, PEEPHOLES = "recurrent weight", "peephole weight"
EXPONENT = "exponent"

_WEIGHT_AND_BIAS: Mapping[int, str] = {1: WEIGHT, 2: BIAS}
_SCALE_AND_BIAS: Mapping[int, str] = {1: SCALE, 2: BIAS}
_RECURRENT: Mapping[int, str] = {1: WEIGHT, 2: RECURRENT_WEIGHT, 3: BIAS}

ROLES: Mapping[str, Mapping[int, str]] = {
    "BatchNormalization": _SCALE_AND_BIAS,
    "CausalConvWithState": _WEIGHT_AND_BIAS,
    "Conv": _WEIGHT_AND_BIAS,
    "ConvTranspose": _WEIGHT_AND_BIAS,
    "DeformConv": {1: WEIGHT, 3: BIAS},
    "Einsum": {0: WEIGHT, 1: WEIGHT, 2: WEIGHT},
    "GRU": _RECURRENT,
    "Gemm": {0: WEIGHT, 1: WEIGHT, 2: BIAS},
    "GroupNormalization": _SCALE_AND_BIAS,
    "InstanceNormalization": _SCALE_AND_BIAS,
    "LSTM": {**_RECURRENT, 7: PEEPHOLES},
    "LayerNormalization": _SCALE_AND_BIAS,
    "MatMul": {0: WEIGHT, 1: WEIGHT},
    "PRelu": {1: SLOPE},
    "RMSNormalization": {1: SCALE},
    "RNN": _RECURRENT,
}
"""Op -> operand -> role. An initializer that is read in a role is trainable under any name."""

USES: Mapping[str, Mapping[int, str]] = {
    "Add": {0: "added", 1: "added"},
    "Concat": dict.fromkeys(range(64), "concatenated"),
    "Div": {0: "divided"},
    "Expand": {0: "expanded"},
    "Gather": {0: "gathered"},
    "GatherElements": {0: "gathered"},
    "GatherND": {0: "gathered"},
    "Mul": {0: "multiplied", 1: "multiplied"},
    "Sum": dict.fromkeys(range(64), "added"),
    "Tile": {0: "expanded"},
    **{name: {0: "mapped"} for name in ("Exp", "Sigmoid", "Softmax", "Softplus", "Tanh")},
}
"""Op -> operand -> verb. An initializer that is used so is trainable if it has the name of a parameter."""

OTHER_ROLES: Mapping[str, Mapping[int, str]] = {
    "BatchNormalization": {3: "running mean", 4: "running variance"},
    "Clip": {1: "bound", 2: "bound"},
    "DequantizeLinear": {1: "quantization scale"},
    "Dropout": {1: "ratio"},
    "GRU": {5: "initial state"},
    "LSTM": {5: "initial state", 6: "initial state"},
    "OneHot": {2: "values"},
    "Pad": {2: "padding value"},
    "Pow": {1: EXPONENT},
    "QuantizeLinear": {1: "quantization scale"},
    "RNN": {5: "initial state"},
    "Range": {0: "bound", 1: "bound", 2: "step"},
    "Resize": {1: "region", 2: "factors"},
    "Trilu": {0: "matrix"},
    **{name: {0: "operand", 1: "operand"} for name in traits.COMPARISONS},
    **{name: {0: "operand"} for name in traits.SIZES},
}
"""Op -> operand -> role of a constant that no training changes."""

PASSED = traits.VIEWS | {"Cast", "CastLike", "DequantizeLinear", "Flatten", "QuantizeLinear", "Slice"}
PASSED |= {"Pad", "Split", "Transpose"}
"""Ops whose result is the weight that is their first operand."""


class Kind(Enum):
    """Use of a value by a reader: an entry of one of the tables, or another one."""

    ROLE = "role"
    USE = "use"
    OTHER_ROLE = "other role"
    OTHER = "other"


@dataclass(frozen=True)
class Reader:
    """An op that reads a weight, directly or through the ops of PASSED; `word` is the entry of its table."""

    op: Operation
    index: int
    operand: SSAValue
    kind: Kind
    word: str

    def __str__(self) -> str:
        return f"{type_of(self.op)} {name_of(self.op)}".strip()


def type_of(op: Operation) -> str:
    """Return the op type, qualified by a non-standard domain."""
    return op.title if isinstance(op, NodeOp) else op.name.removeprefix("onnx.")


def is_vector(value: SSAValue) -> bool:
    """Return whether exactly one axis has several elements."""
    return sum(size != 1 for size in shape_of(value)) == 1


def readers_of(value: SSAValue) -> Iterator[Reader]:
    """Yield the readers of a value, also behind ops of PASSED and in loops, nearest first."""
    waiting, seen = [value], {value}
    while waiting:
        value = waiting.pop(0)
        for op, index in reversed([(use.operation, use.index) for use in value.uses]):
            place = _operand_number(op, index)
            behind, reader = _behind(op, place), _reader(op, place, value)
            if reader.kind is not Kind.OTHER or not behind:
                yield reader
            waiting += [one for one in behind if one not in seen]
            seen.update(behind)


def _reader(op: Operation, index: int, value: SSAValue) -> Reader:
    name = type_of(op)
    for kind, table in ((Kind.OTHER_ROLE, OTHER_ROLES), (Kind.ROLE, ROLES), (Kind.USE, USES)):
        if (word := table.get(name, {}).get(index)) is not None:
            return Reader(op, index, value, kind, word)
    return Reader(op, index, value, Kind.OTHER, "operand")


def _behind(op: Operation, index: int) -> list[SSAValue]:
    """Return the values that are the weight once more: moved, converted, or unchanged in each step of a
    loop."""
    name = type_of(op)
    if name in ("Loop", "Scan"):
        body = op.regions[0].block
        returned = body.last_op.operands if body.last_op is not None else ()
        place = index - 1 if name == "Loop" else index
        found = [body.args[index]] if index < len(body.args) and 0 <= place < len(returned) else []
        return [argument for argument in found if returned[place] is argument]
    if (name in PASSED and index == 0) or is_constant_concat(op):
        return list(op.results)
    return []


def is_constant_concat(op: Operation) -> bool:
    """Return whether an op joins constants, as those of the gates of a cell."""
    return type_of(op) == "Concat" and _is_constant(op)


MOST_OPS = 100
"""Ops that are followed back to the constants of a Concat; a longer computation counts as data."""


def _is_constant(op: Operation) -> bool:
    """Return whether an op computes its results from constants alone."""
    waiting, seen = [op], {op}
    while waiting:
        if len(seen) > MOST_OPS:
            return False
        made = [value.owner for value in waiting.pop().operands]
        if not all(isinstance(one, Operation) for one in made):
            return False
        new = {one for one in made if isinstance(one, Operation)} - seen
        seen |= new
        waiting += new
    return True


def _operand_number(op: Operation, index: int) -> int:
    """Return the number of an operand in the schema, which counts absent ones."""
    if not isinstance(op, OnnxOp | NodeOp):
        return index
    present = [number for number, value in enumerate(op.onnx_inputs()) if value is not None]
    return present[index] if index < len(present) else index
