"""Separate weights for the readers of a shared one, which exporters write for equal parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter

from dialects.onnx.ops import ConstantOp
from dialects.onnx.values import constant_of
from dialects.support.diagnostics import Diagnostic, location, name_of, several
from dialects.support.entry import entry_function
from dialects.support.names import hint_of, name_of_value
from gradc.compiler.exported_program import Call, ExportedProgram
from gradc.compiler.traced_names import is_of_module
from gradc.compiler.trainable_weights import PART_OF, find_weights
from gradc.compiler.weight_roles import Kind, Reader, is_constant_concat, readers_of
from passes.autodiff.named_values import values_by_name
from passes.autodiff.weight_parts import Part, are_disjoint, part_of, parts_of


def untie_weights(module: ModuleOp, *, uniform_only: bool = False) -> dict[str, list[str]]:
    """Give each reader of a trainable weight a separate weight, in place: `w` keeps its name for the first
    reader, the others read `w.2`, `w.3` and so on. Return these names by the name of the shared weight.

    Readers stay together if the exported program reads one parameter in all of them, if they are calls of the
    module that has the weight, if they read disjoint parts, or if they read a Concat of it. `uniform_only`:
    only weights of ones and of zeros, which exporters merge because parameters of several ops begin as such.
    """
    function, program = entry_function(module), ExportedProgram.of_module(module)
    places = {op: index for index, op in enumerate(module.walk())}
    taken, found = set(values_by_name(function)), dict[str, list[str]]()
    for name, weight in find_weights(module).items():
        if not weight.is_trainable or (uniform_only and not _is_uniform(weight.value)):
            continue
        readers = sorted(readers_of(weight.value), key=lambda reader: places[reader.op])
        read = [
            one
            for one in readers
            if one.kind is not Kind.OTHER_ROLE and isinstance(one.operand, OpResult) and not _is_joined(one)
        ]
        groups = _groups(read, weight.value, program, (name, *weight.source.names))
        last = weight.value
        for number, separate in enumerate(groups[1:], 2):
            own = _free_name(f"{name}.{number}", taken)
            last = _copy(last, own, name)
            found.setdefault(name, []).append(own)
            for reader in separate:
                _read(reader, weight.value, last)
    return found


def separation_remarks(found: Mapping[str, Sequence[str]]) -> tuple[Diagnostic, ...]:
    """Return a remark that names the weights of ones or zeros that `untie_weights` separated, if any."""
    if not found:
        return ()
    names = several([f"{name} ({1 + len(parts)} weights)" for name, parts in found.items()])
    text = "the ops that share a weight of ones or zeros read separate weights, <name>, <name>.2 and so on"
    return (Diagnostic("remark", f"{text}: {names}"),)


def _is_uniform(weight: SSAValue) -> bool:
    """Return whether all elements are 1, or all are 0."""
    array = constant_of(weight)
    return array is not None and bool((array == 1).all() or (array == 0).all())


def parts_of_weights(function: FuncOp) -> Mapping[str, Sequence[str]]:
    """Return the names of the weights that were made for further readers of a weight, by its name."""
    found: dict[str, list[str]] = {}
    for op in function.body.block.ops:
        original = op.attributes.get(PART_OF) if isinstance(op, ConstantOp) else None
        if isinstance(original, StringAttr):
            found.setdefault(original.data, []).append(name_of_value(op.results[0]))
    return found


def drop_marks(function: FuncOp) -> None:
    """Remove the attributes by which `parts_of_weights` finds weights."""
    for op in function.body.block.ops:
        op.attributes.pop(PART_OF, None)


def _groups(
    readers: Iterable[Reader], weight: SSAValue, program: ExportedProgram, names: Sequence[str]
) -> list[list[Reader]]:
    """Return the readers of each separate weight: those of one parameter of the program, or of parts that do
    not overlap."""
    groups: dict[object, list[Reader]] = {}
    for reader in readers:
        key: object = _parameter(reader, weight, program, names)
        if key is None:
            key = next((name for name in names if is_of_module(reader.op, name)), None)
        if key is None:
            fits = partial(_fits, reader, weight)
            key = next((one for one, group in groups.items() if fits(group)), reader)
        groups.setdefault(key, []).append(reader)
    return list(groups.values())


def _is_joined(reader: Reader) -> bool:
    """Return whether a reader joins the weight with other constants, or reads what such an op joined."""
    op: Operation | None = reader.op
    while op is not None and not isinstance(op, ConstantOp):
        if is_constant_concat(op):
            return True
        value = reader.operand if op is reader.op else op.operands[0]
        op = value.owner if isinstance(value, OpResult) and value.op.operands else None
    return False


def _fits(reader: Reader, weight: SSAValue, group: Sequence[Reader]) -> bool:
    """Return whether a reader belongs to a group: it is the same op, or reads another part of the weight."""
    if any(one.op is reader.op for one in group):
        return True
    part = _part(reader, weight)
    return all(are_disjoint(part, _part(one, weight)) for one in group)


def _part(reader: Reader, weight: SSAValue) -> Part:
    if reader.operand is weight:
        return parts_of(reader.op, weight)[0]
    return part_of(reader.operand, weight)


def _parameter(
    reader: Reader, weight: SSAValue, program: ExportedProgram, names: Sequence[str]
) -> str | None:
    """Return the parameter that the program reads in a reader, or in the ops before it; None if that is not
    known."""
    ops, value = [reader.op], reader.operand
    while isinstance(value, OpResult) and value is not weight and value.op.operands:
        ops.append(value.op)
        value = value.op.operands[0]
    arguments = [one for op in ops for one in program.calls.get(name_of(op), Call()).arguments]
    given = [program.parameters.get(argument) for argument in arguments]
    return next((name for name in names if name in given), None)


def _free_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name = f"{name}_"
    taken.add(name)
    return name


def _copy(weight: SSAValue, name: str, original: str) -> SSAValue:
    op = weight.owner
    assert isinstance(op, ConstantOp)
    assert op.parent is not None
    own = op.clone()
    own.location, own.output.name_hint = location(name), hint_of(name)
    own.attributes[PART_OF] = StringAttr(original)
    op.parent.insert_op_after(own, op)
    return own.output


def _read(reader: Reader, weight: SSAValue, own: SSAValue) -> None:
    """Let an operand that is a weight, or is computed from it by views, read another weight."""
    before, value = reader.operand, _repeat(reader.operand, weight, own)
    for index, operand in enumerate(reader.op.operands):
        if operand is before:
            reader.op.operands[index] = value
    _erase_unread(before)


def _erase_unread(value: SSAValue) -> None:
    """Erase the op that computes a value, and those before it, while nothing reads their results."""
    op = value.owner
    while isinstance(op, Operation) and not isinstance(op, ConstantOp):
        if any(result.first_use is not None for result in op.results):
            return
        first = op.operands[0].owner
        Rewriter.erase_op(op)
        op = first


def _repeat(value: SSAValue, weight: SSAValue, own: SSAValue) -> SSAValue:
    """Return a value with the views between it and a weight repeated on another weight."""
    views: list[OpResult] = []
    viewed = value
    while viewed is not weight:
        if not isinstance(viewed, OpResult) or isinstance(viewed.op, ConstantOp) or not viewed.op.operands:
            return value
        views.append(viewed)
        viewed = viewed.op.operands[0]
    for view in reversed(views):
        assert view.op.parent is not None
        again = view.op.clone({view.op.operands[0]: own})
        for result in again.results:
            result.name_hint = None
        view.op.parent.insert_op_after(again, view.op)
        own = again.results[view.index]
    return own
