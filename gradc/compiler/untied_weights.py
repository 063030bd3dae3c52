"""Separate weights for the readers of a shared one, which exporters write for equal parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
from gradc.compiler.trainable_weights import find_weights
from gradc.compiler.weight_roles import Kind, Reader, readers_of
from passes.autodiff.named_values import values_by_name

PART_OF = "gradc.part_of"
"""Attribute of a weight that was made for one reader of a shared one: the name of that one."""


def untie_weights(module: ModuleOp, *, uniform_only: bool = False) -> dict[str, list[str]]:
    """Give each reader of a trainable weight a separate weight, in place: `w` keeps its name for the first
    reader, the others read `w.2`, `w.3` and so on. Return these names by the name of the shared weight.

    Readers stay together if the exported program reads one parameter in all of them. `uniform_only`: only
    weights of ones and of zeros, which exporters merge because parameters of several ops begin as such.
    """
    function, program = entry_function(module), ExportedProgram.of_module(module)
    places = {op: index for index, op in enumerate(module.walk())}
    taken, found = set(values_by_name(function)), dict[str, list[str]]()
    for name, weight in find_weights(module).items():
        if not weight.is_trainable or (uniform_only and not _is_uniform(weight.value)):
            continue
        groups: dict[object, list[Reader]] = {}
        for reader in sorted(readers_of(weight.value), key=lambda reader: places[reader.op]):
            if reader.kind is not Kind.OTHER_ROLE and isinstance(reader.operand, OpResult):
                groups.setdefault(_parameter(reader, program, weight.source.names, name), []).append(reader)
        last = weight.value
        for number, readers in enumerate(list(groups.values())[1:], 2):
            own = _free_name(f"{name}.{number}", taken)
            last = _copy(last, own, name)
            found.setdefault(name, []).append(own)
            for reader in readers:
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


def _parameter(reader: Reader, program: ExportedProgram, names: Sequence[str], own: str) -> object:
    """Return the parameter that the program reads in a reader, or the reader."""
    call = program.calls.get(name_of(reader.op), Call())
    given = [program.parameters.get(argument) for argument in call.arguments]
    return next((name for name in (own, *names) if name in given), reader.op)


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
