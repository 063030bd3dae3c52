"""Replacement of sequences and optionals by tensors, if the elements are known one by one or are parts of an
axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.control import YieldOp
from dialects.onnx.types import OptionalType, SequenceType
from dialects.onnx.values import constant_of
from dialects.support.diagnostics import GradcError
from dialects.support.interfaces import InfersTypes, refine_results, set_type
from dialects.support.limits import check
from dialects.support.shapes import element_type_of, has_rank, merge, shape_of, tensor_type
from passes.builder.op_builder import OpBuilder
from passes.builder.pattern_driver import ops_within
from passes.builder.rewriting import functions
from passes.infer_types import infer_types
from passes.unpack_sequences.axis_parts import EqualParts, ListedParts, parts_of
from passes.unpack_sequences.mapped_parts import map_parts


def unpack_sequences(module: ModuleOp) -> bool:
    """Unpack sequences and infer types; return whether anything changed."""
    unpacking = _Unpacking()
    for function in functions(module):
        unpacking.unpack(ops_within(function.body))
    if not unpacking.unpacked:
        return False
    infer_types(module)
    return True


@dataclass
class _Unpacking:
    sequences: dict[SSAValue, Sequence[SSAValue]] = field(default_factory=dict)
    """Sequence -> its elements."""
    parts: dict[SSAValue, EqualParts | ListedParts] = field(default_factory=dict)
    """Sequence of parts of an axis, of static or dynamic length -> the parts."""
    optionals: dict[SSAValue, SSAValue | None] = field(default_factory=dict)
    """Optional -> its value, None if empty."""
    unpacked: list[Operation] = field(default_factory=list)

    def unpack(self, ops: Sequence[Operation]) -> None:
        """Unpack ops, outer before inner, then erase those without readers."""
        waiting = list(reversed(ops))
        while waiting:
            op = waiting.pop()
            if isinstance(op, InfersTypes) and not all(map(has_rank, op.results)):
                refine_results(op)  # a rank may have become known
            rule = _RULES.get(op.name)
            if rule is None or not isinstance(op, OnnxOp):
                continue
            emit = OpBuilder()
            try:
                results = rule(self, op, emit)
            except GradcError:  # in a branch that these shapes never take
                emit.discard()
                continue
            if results is None:
                continue
            self.unpacked.append(op)
            self._put(op, emit, results)
            copies = [inner for new in emit.ops for region in new.regions for inner in ops_within(region)]
            waiting += reversed([*emit.ops, *copies])
        for op in reversed(self.unpacked):
            if is_trivially_dead(op):
                Rewriter.erase_op(op)

    def _put(self, op: OnnxOp, emit: OpBuilder, results: Mapping[int, SSAValue]) -> None:
        for new in emit.ops:
            if isinstance(new.location, UnknownLoc):
                new.location = op.location
        Rewriter.insert_op(emit.ops, InsertPoint.before(op))
        for index, value in results.items():
            old = op.results[index]
            if has_rank(value) and has_rank(old) and isinstance(value.owner, Operation):
                known = merge(shape_of(value), shape_of(old))
                set_type(value, tensor_type(element_type_of(value), known))
            value.name_hint = value.name_hint or old.name_hint
            old.replace_all_uses_with(value)

    def elements(self, value: SSAValue | None) -> Sequence[SSAValue] | None:
        return None if value is None else self.sequences.get(value)


Rule = Callable[[_Unpacking, OnnxOp, OpBuilder], Mapping[int, SSAValue] | None]
"""New values for the results of an op by index; None leaves the op alone. A sequence with known elements
keeps its value, which gets no new reader."""


def _identity(emit: OpBuilder, value: SSAValue, old: SSAValue) -> Mapping[int, SSAValue]:
    """Copy a tensor with Identity, so that both values keep their names."""
    new = emit(onnx.IdentityOp(value))
    if not has_rank(new):
        set_type(new, old.type)
    return {0: new}


def _construct(of: _Unpacking, op: OnnxOp, emit: OpBuilder) -> Mapping[int, SSAValue] | None:
    of.sequences[op.results[0]] = tuple(op.operands)
    return {}


def _insert(of: _Unpacking, op: OnnxOp, emit: OpBuilder) -> Mapping[int, SSAValue] | None:
    found = of.elements(op.operands[0])
    place = None if found is None else _static_index(op.operands[2:], found, len(found))
    if found is None or place is None or not 0 <= place <= len(found):
        return None
    elements = list(found)
    elements.insert(place, op.operands[1])
    of.sequences[op.results[0]] = elements
    return {}


def _erase(of: _Unpacking, op: OnnxOp, emit: OpBuilder) -> Mapping[int, SSAValue] | None:
    found = of.elements(op.operands[0])
    place = None if found is None else _static_index(op.operands[1:], found, -1)
    if found is None or place is None or not 0 <= place < len(found):
        return None
    elements = list(found)
    elements.pop(place)
    of.sequences[op.results[0]] = elements
    return {}


def _at(of: _Unpacking, op: OnnxOp, emit: OpBuilder) -> Mapping[int, SSAValue] | None:
    sequence, position = op.operands
    parts, found = of.parts.get(sequence), of.elements(sequence)
    place = None if found is None else _static_index([position], found, 0)
    if found is not None and place is not None:
        return _identity(emit, found[place], op.results[0]) if 0 <= place < len(found) else None
    if parts is not None:
        return {0: parts.at(_scalar(position, emit), emit)}
    if not found or not _are_alike(found):
        return None
    return {0: _select(found, _scalar(position, emit), emit)}


def _scalar(position: SSAValue, emit: OpBuilder) -> SSAValue:
    """Reshape an index to a scalar; exporters also write vectors of one element."""
    if has_rank(position) and not shape_of(position):
        return position
    return emit(onnx.ReshapeOp(position, emit.ints([])))


def _are_alike(values: Sequence[SSAValue]) -> bool:
    """Return whether all values have the same known or symbolic shape."""
    if not all(map(has_rank, values)):
        return False
    shape, *others = map(shape_of, values)
    return None not in shape and all(shape == other for other in others)


def _select(values: Sequence[SSAValue], place: SSAValue, emit: OpBuilder) -> SSAValue:
    """Select one of several values of the same shape by a dynamic index."""
    axes = emit.ints([0])
    stack = emit(onnx.ConcatOp([emit(onnx.UnsqueezeOp(value, axes)) for value in values], axis=0))
    return emit(onnx.GatherOp(stack, place, axis=0))


def _length(of: _Unpacking, op: OnnxOp, emit: OpBuilder) -> Mapping[int, SSAValue] | None:
    parts, found = of.parts.get(op.operands[0]), of.elements(op.operands[0])
    if found is not None:
        return {0: emit.constant(np.array(len(found), np.int64))}
    return None if parts is None else {0: parts.count(emit)}


def _concat(of: _Unpacking, op: OnnxOp, emit: OpBuilder) -> Mapping[int, SSAValue] | None:
    attributes = op.onnx_attributes()
    axis = attributes["axis"]
    assert isinstance(axis, int)
    run_time = of.parts.get(op.operands[0])
    if run_time is not None:
        joined = run_time.concat_parts(axis, bool(attributes.get("new_axis", 0)), emit)
        return None if joined is None else {0: joined}
    found = of.elements(op.operands[0])
    if not found or not all(map(has_rank, found)):
        return None
    parts = found
    if attributes.get("new_axis", 0):
        axes = emit.ints([axis])
        parts = [emit(onnx.UnsqueezeOp(part, axes)) for part in found]
    return {0: emit(onnx.ConcatOp(list(parts), axis=axis))}


def _split(of: _Unpacking, op: OnnxOp, emit: OpBuilder) -> Mapping[int, SSAValue] | None:
    data, *given = op.operands
    attributes = op.onnx_attributes()
    axis = attributes.get("axis", 0)
    assert isinstance(axis, int)
    if not has_rank(data) or not -len(shape_of(data)) <= axis < len(shape_of(data)):
        return None
    split = constant_of(given[0]) if given else np.array(1)
    sizes = _sizes(shape_of(data)[axis], split, bool(given))
    # onnxruntime also honours `keepdims` for a scalar `split` of 1, as PyTorch's exporter expects
    single = not attributes.get("keepdims", 1) and split is not None and split.ndim == 0 and int(split) == 1
    axis %= len(shape_of(data))
    found = None
    if split is None and has_rank(given[0]):
        found = parts_of(data, axis, given[0], not attributes.get("keepdims", 1))
    elif split is not None and split.ndim == 0 and int(split) >= 1:
        found = EqualParts(data, axis, int(split), single)
    if found is not None:
        of.parts[op.results[0]] = found
    if not sizes:
        return {} if sizes is None and op.results[0] in of.parts else None
    check("ops", len(sizes), "parts of a sequence")
    parts: Sequence[SSAValue] = emit.all(onnx.SplitOp(data, emit.ints(sizes), axis=axis, results=len(sizes)))
    if single:
        axes = emit.ints([axis])
        parts = [emit(onnx.SqueezeOp(part, axes)) for part in parts]
    of.sequences[op.results[0]] = tuple(parts)
    return {}


def _sizes(size: object, split: np.ndarray | None, given: bool) -> list[int] | None:
    """Return the sizes of the parts along an axis, None if dynamic."""
    if split is None:
        return None
    if given and split.ndim:
        return [int(part) for part in split]
    step = int(split)
    if not isinstance(size, int) or step < 1:
        return None
    return [min(step, size - start) for start in range(0, size, step)]


def _optional(of: _Unpacking, op: OnnxOp, emit: OpBuilder) -> Mapping[int, SSAValue] | None:
    of.optionals[op.results[0]] = op.operands[0] if op.operands else None
    return {}


def _get(of: _Unpacking, op: OnnxOp, emit: OpBuilder) -> Mapping[int, SSAValue] | None:
    (given,) = op.operands
    value = of.optionals.get(given) if isinstance(given.type, OptionalType) else given
    if value is None:
        return None
    if isinstance(value.type, SequenceType):
        return {0: value}
    return _identity(emit, value, op.results[0])


def _has(of: _Unpacking, op: OnnxOp, emit: OpBuilder) -> Mapping[int, SSAValue] | None:
    given = op.operands[0] if op.operands else None
    if given is not None and isinstance(given.type, OptionalType):
        if given not in of.optionals:
            return None
        given = of.optionals[given]
    return {0: emit.constant(np.array(given is not None))}


def _same(of: _Unpacking, op: OnnxOp, emit: OpBuilder) -> Mapping[int, SSAValue] | None:
    (given,) = op.operands
    if given not in of.sequences and given not in of.optionals and given not in of.parts:
        return None
    return {0: given}


def _map(of: _Unpacking, op: OnnxOp, emit: OpBuilder) -> Mapping[int, SSAValue] | None:
    """Apply the body to each element of the first operand; operands that are no sequences are shared."""
    first, *_ = op.operands
    if first in of.parts and of.elements(first) is None:
        return _map_parts(of, op, emit)
    columns = [of.elements(value) if isinstance(value.type, SequenceType) else None for value in op.operands]
    count = len(columns[0] or ())
    unknown = [
        isinstance(value.type, SequenceType) and (column is None or len(column) != count)
        for value, column in zip(op.operands, columns, strict=True)
    ]
    if any(unknown) or first not in of.sequences:
        return None
    check("ops", count, "elements of a sequence")
    rows = [
        [value if column is None else column[i] for value, column in zip(op.operands, columns, strict=True)]
        for i in range(count)
    ]
    made = [_clone_ops(op.regions[0].block, row, emit) for row in rows]
    for index, result in enumerate(op.results):
        of.sequences[result] = [row[index] for row in made]
    return {}


def _map_parts(of: _Unpacking, op: OnnxOp, emit: OpBuilder) -> Mapping[int, SSAValue] | None:
    """Apply the body like `_map` to a dynamic number of parts."""
    columns = [
        of.parts.get(value) if isinstance(value.type, SequenceType) else value for value in op.operands
    ]
    known = [column for column in columns if column is not None]
    if len(known) < len(columns):
        return None
    made = map_parts(known, lambda row, inner: _clone_ops(op.regions[0].block, row, inner), emit)
    if made is None:
        return None
    of.parts |= zip(op.results, made, strict=True)
    return {}


def _clone_ops(block: Block, inputs: Sequence[SSAValue], emit: OpBuilder) -> list[SSAValue]:
    """Clone the ops of a block for given arguments; return the yielded values."""
    last = block.last_op
    assert isinstance(last, YieldOp)
    values: dict[SSAValue, SSAValue] = dict(zip(block.args, inputs, strict=True))
    for op in block.ops:
        if op is not last:
            emit.all(op.clone(values))
    return [values.get(value, value) for value in last.operands]


def _static_index(given: Sequence[SSAValue], elements: Sequence[SSAValue], default: int) -> int | None:
    """Return a static, nonnegative index, None if it is dynamic."""
    known = constant_of(given[0]) if given else np.array(default)
    if known is None:
        return None
    place = int(known.reshape(()))
    return place + len(elements) if place < 0 else place


_RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "onnx.ConcatFromSequence": _concat,
        "onnx.Identity": _same,
        "onnx.Optional": _optional,
        "onnx.OptionalGetElement": _get,
        "onnx.OptionalHasElement": _has,
        "onnx.SequenceAt": _at,
        "onnx.SequenceConstruct": _construct,
        "onnx.SequenceEmpty": _construct,
        "onnx.SequenceErase": _erase,
        "onnx.SequenceInsert": _insert,
        "onnx.SequenceLength": _length,
        "onnx.SequenceMap": _map,
        "onnx.SplitToSequence": _split,
    }
)
