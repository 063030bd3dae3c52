"""Weights of a source that a compiled model holds in another form or merged, and that cannot be set in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from dialects.onnx.ops import ConstantOp
from dialects.support import dense, entry
from dialects.support.diagnostics import name_of
from dialects.support.dtypes import name_of as dtype_name
from dialects.support.names import name_of_value
from gradc.model.attribute_protos import raw_data
from gradc.model.split_model import ModelParts
from gradc.model.stored_weights import list_weights

NOT_WEIGHTS = ("s32", "s64", "boolean", "string")
"""Dtypes of sizes, axes and masks."""


def find_changed_weights(source: ModuleOp, module: ModuleOp, parts: ModelParts) -> list[str]:
    """Return the names of weights of `source` that are changed in its compiled `module`.

    A weight is unchanged if it is an input, or if a constant of its name has its elements and
    * no node lowered from one of its readers reads a constant that may be derived from it: one that is not in
      the source and does not consist of zeros and ones, as the lowerings' selection matrices do;
    * its readers are those of the source, or no equal weight was merged into it; and
    * it is not all zeros and ones, with which an op may disappear, or its readers are still there.
    """
    others = {"", *_non_constant_names(source), *entry.defaults(entry.entry_function(module))}
    named = {name_of_value(op.results[0]): op for op in _constants(source) if _is_weight(op)}
    named = {name: op for name, op in named.items() if name not in others}
    if not named:
        return []
    stored = {
        one.name: (one.tensor.data_type, list(one.shape), parts.weights.get(one.name, one.tensor.raw_data))
        for one in list_weights(parts.proto)
        if one.tensor is not None
    }
    given = {op.value for op in _constants(source)}
    new = [op for op in _constants(module) if _is_weight(op) and op.value not in given]
    scalars = _readers_of(op for op in new if _is_scalar(op))
    selecting = _readers_of(op for op in new if _selects(op) and not _is_scalar(op))
    mixing = _readers_of(op for op in new if not _selects(op) and not _is_scalar(op))
    folded = _constant_values(source)
    hidden = {name_of(value.owner) for value in folded if isinstance(value.owner, Operation)}
    contents = {name: _content(op) for name, op in named.items()}
    merged = [content for name, content in contents.items() if name not in stored]
    kept = {name_of_value(op.results[0]): op for op in _constants(module)}

    def is_changed(name: str, op: ConstantOp) -> bool:
        readers = _readers(op, folded)
        if name not in kept or stored.get(name) != contents[name] or not readers.isdisjoint(mixing):
            return True
        found = _readers_of([kept[name]])
        if contents[name] in merged and not found <= readers:
            return True
        if _selects(op) and not readers - hidden <= found:
            return True
        is_folded = any(not folded.isdisjoint(use.operation.results) for use in op.results[0].uses)
        if (is_folded or _is_scalar(op)) and not readers.isdisjoint(scalars):
            return True
        return not readers.isdisjoint(selecting) and _selects(op)

    return [name for name, op in named.items() if is_changed(name, op)]


def _constants(module: ModuleOp) -> Iterator[ConstantOp]:
    return (op for op in module.walk() if isinstance(op, ConstantOp))


def _non_constant_names(module: ModuleOp) -> Iterator[str]:
    """Return the names of non-constant values; lowerings also give them to constants that they create."""
    ops = (op for op in module.walk() if not isinstance(op, ConstantOp))
    return (name_of_value(result) for op in ops for result in op.results)


def _is_weight(op: ConstantOp) -> bool:
    return bool(op.results[0].uses) and dtype_name(op.value.type.element_type) not in NOT_WEIGHTS


def _content(op: ConstantOp) -> tuple[int, list[int], bytes]:
    number, content = raw_data(op.value)
    return number, list(op.value.type.get_shape()), content


def _is_scalar(op: ConstantOp) -> bool:
    return op.value.type.get_shape() in ((), (1,))


def _selects(op: ConstantOp) -> bool:
    """Return whether all elements are 0 or 1."""
    array = dense.to_numpy(op.value)
    return bool(((array == 0) | (array == 1)).all())


def _readers_of(constants: Iterable[ConstantOp]) -> set[str]:
    """Return the source names of the nodes that read some constants."""
    return {name_of(use.operation) for op in constants for use in op.results[0].uses} - {""}


def _readers(op: Operation, folded: set[SSAValue]) -> set[str]:
    """Return the names of the ops that read a constant or a value computed from it and constants."""
    found, pending = set[str](), [op]
    while pending:
        for use in (use for result in pending.pop().results for use in result.uses):
            reader = use.operation
            if name_of(reader) in found:
                continue
            found.add(name_of(reader))
            if not folded.isdisjoint(reader.results):
                pending.append(reader)
    return found - {""}


def _constant_values(module: ModuleOp) -> set[SSAValue]:
    """Return the values computed from constants alone."""
    found: set[SSAValue] = set()
    for op in module.walk():
        if isinstance(op, ConstantOp) or (op.operands and found.issuperset(op.operands)):
            found.update(op.results)
    return found
