"""The values of a function by the names that requests use."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.dims import TO_THE_END
from dialects.support.constants import constant_attribute
from dialects.support.diagnostics import Diagnostic, UsageError, name_of, sentence
from dialects.support.entry import input_names, output_names, return_op
from dialects.support.names import name_of_value
from dialects.support.option_names import option
from dialects.support.shapes import Dim, has_rank
from passes.builder.values import Value, ValueBuilder

_ELEMENT = re.compile(r"(.+)\[([^\]]*)\]")


def values_by_name(function: FuncOp) -> dict[str, SSAValue]:
    """Return the values by name: inner ones, overridden by results, then by inputs. If results of one op
    share a name, it means the first."""
    found: dict[str, SSAValue] = {}
    for op in function.body.block.ops:
        own = {name_of_value(result): result for result in reversed(op.results)}
        if len(own) == 1:
            own = {name_of(op): op.results[0]} | own
        found |= {name: result for name, result in own.items() if name}
    found |= zip(output_names(function), return_op(function).arguments, strict=True)
    return found | dict(zip(input_names(function), function.args, strict=True))


UNRANKED = ("a value of unknown rank", "a value of known rank")


def base_of(name: str) -> str:
    """Return the tensor's name in the name of an element."""
    match = _ELEMENT.fullmatch(name)
    return match[1] if match else name


def element_of(name: str, whole: Value) -> Value | None:
    """Return the element `logits[0,281]` of logits, `:` taking a whole axis; None for other names."""
    match = _ELEMENT.fullmatch(name)
    entries = match[2].replace(" ", "").split(",") if match else []
    if len(entries) != whole.rank or not all(re.fullmatch(r":|-?\d+", entry) for entry in entries):
        return None
    places = {axis: int(entry) for axis, entry in enumerate(entries) if entry != ":"}
    _check_indices(name, places, whole.shape)
    if not places:
        return whole
    e, taken = whole.e, whole
    known = {axis: n for axis, n in places.items() if n in (0, -1) or isinstance(whole.shape[axis], int)}
    for axis in places.keys() - known.keys():  # Gather fails at run time for an index out of range
        taken = taken.apply(onnx.GatherOp, e.ints([places[axis]]), axis=axis)
    if known:
        ends = [place + 1 if place != -1 else TO_THE_END for place in known.values()]
        taken = taken.apply(onnx.SliceOp, e.ints(list(known.values())), e.ints(ends), e.ints(list(known)))
    return taken.squeeze(list(places))


def _check_indices(name: str, places: Mapping[int, int], sizes: Sequence[Dim]) -> None:
    for axis, place in places.items():
        size = sizes[axis]
        if isinstance(size, int) and not -size <= place < size:
            given, expected = f"{place} on axis {axis}", f"{-size} to {size - 1}"
            raise UsageError(Diagnostic("error", sentence(f"{option('of')} {name}", given, expected)))


def add_elements(
    function: FuncOp, names: Sequence[str], values: Mapping[str, SSAValue]
) -> dict[str, SSAValue]:
    """Emit the elements among the names, such as logits[0,281], at the end of the function; exact names take
    precedence."""
    e, found = ValueBuilder(), dict[str, SSAValue]()
    for name in names:
        whole = values.get(base_of(name))
        if name in values or whole is None or not _ELEMENT.fullmatch(name):
            continue
        if not has_rank(whole):
            raise UsageError(Diagnostic("error", sentence(f"{option('of')} {name}", *UNRANKED)))
        part = element_of(name, e(whole))
        if part is not None:
            found[name] = part.value
    if e.emit.ops:
        function.body.block.insert_ops_before(e.emit.ops, return_op(function))
    return found


@dataclass
class PinnedValues:
    """Constants turned into arguments: temporarily, to prevent folding, or for good."""

    _ops: dict[BlockArgument, Operation] = field(default_factory=dict)
    _arguments: dict[SSAValue, SSAValue] = field(default_factory=dict)

    @property
    def arguments(self) -> Collection[SSAValue]:
        """The arguments that replace constants."""
        return self._ops.keys()

    @property
    def constants(self) -> dict[SSAValue, DenseIntOrFPElementsAttr]:
        """Each such argument with its constant."""
        found = {argument: constant_attribute(op.results[0]) for argument, op in self._ops.items()}
        return {argument: constant for argument, constant in found.items() if constant is not None}

    def pin(self, function: FuncOp, values: Mapping[str, SSAValue]) -> dict[str, SSAValue]:
        """Return the values with constants replaced by arguments."""
        return {name: self._held(function, value) for name, value in values.items()}

    def pinned_values(self, values: Mapping[str, SSAValue]) -> dict[str, SSAValue]:
        """Return the values with replaced constants mapped to their arguments."""
        return {name: self._arguments.get(value, value) for name, value in values.items()}

    def _held(self, function: FuncOp, value: SSAValue) -> SSAValue:
        if value in self._arguments:
            return self._arguments[value]
        if constant_attribute(value) is None or not isinstance(value, OpResult):
            return value
        block = function.body.block
        argument = block.insert_arg(value.type, len(block.args))
        argument.name_hint = value.name_hint
        value.replace_all_uses_with(argument)
        value.op.detach()
        self._ops[argument], self._arguments[value] = value.op, argument
        return argument

    def release(self, function: FuncOp, values: Collection[SSAValue] | None = None) -> None:
        """Turn arguments back into constants: all, or those among `values`."""
        block = function.body.block
        for argument, op in self._ops.items():
            if values is not None and argument not in values:
                continue
            first = block.first_op
            assert first is not None
            block.insert_op_before(op, first)
            argument.replace_all_uses_with(op.results[0])
            block.erase_arg(argument)

    def defaults(self, values: Mapping[str, SSAValue]) -> dict[str, DenseIntOrFPElementsAttr]:
        """Return the replaced constants as input defaults, by the first name of each among `values`."""
        found: dict[SSAValue, tuple[str, DenseIntOrFPElementsAttr]] = {}
        for name, value in values.items():
            op = self._ops.get(value) if isinstance(value, BlockArgument) else None
            attribute = constant_attribute(op.results[0]) if op is not None else None
            if attribute is not None:
                found.setdefault(value, (name, attribute))
        return dict(found.values())
