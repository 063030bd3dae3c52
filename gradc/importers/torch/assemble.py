"""From a functional trace to a `CapturedGraph`: arguments in schema order, dead ops and copies removed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gradc.importers.torch import torch_internals as internals
from gradc.importers.torch.captured import CapturedGraph, CapturedOp, Input, Output, TensorType_, ValueRef
from gradc.importers.torch.elements import array_of, dtype_name
from gradc.importers.torch.torch_internals import torch
from gradc.importers.torch.trace import Record, Slot, Trace

COPIES = frozenset(
    ("alias.default", "detach.default", "clone.default", "lift_fresh_copy.default", "lift_fresh.default")
)
"""Ops whose result is their operand."""

FILLED: Mapping[str, int | None] = {
    "full.default": None,
    "full_like.default": None,
    "new_full.default": None,
    "scalar_tensor.default": None,
    "ones.default": 1,
    "ones_like.default": 1,
    "new_ones.default": 1,
    "zeros.default": 0,
    "zeros_like.default": 0,
    "new_zeros.default": 0,
    "empty.memory_format": 0,
    "empty_strided.default": 0,
    "empty_like.default": 0,
    "new_empty.default": 0,
    "new_empty_strided.default": 0,
}
"""Ops that make a tensor of one number -> the number, None for an argument; all become `full.default`."""

RENAMED = {"_unsafe_view.default": "view.default", "_reshape_alias.default": "view.default"}


class _Assembly:
    """The values and ops of a graph in the making."""

    def __init__(self, trace: Trace):
        self.trace = trace
        self.types = [_type(tensor) for tensor in trace.tensors]
        self.same: dict[int, int] = {}
        self.ops: list[CapturedOp] = []

    def value(self, index: int) -> int:
        return self.same.get(index, index)

    def new_value(self, kind: TensorType_) -> int:
        self.types.append(kind)
        return len(self.types) - 1

    def add(self, record: Record) -> None:
        name = internals.overload_name(record.op)
        if _is_copy(name, record, self.types):
            source = self.plain_item(record.args[0], "Tensor", record)
            self.same[_result(record)] = source.index
            return
        if name in FILLED:
            self.ops.append(self.fill(name, record))
            return
        op = _scalar_overload(record)
        arguments = self.arguments(op, record)
        known = [index for index in record.results if index is not None]
        absent = TensorType_(self.types[known[0]].dtype, (0,))
        results = tuple(self.new_value(absent) if index is None else index for index in record.results)
        name = internals.overload_name(op)
        self.ops.append(CapturedOp(RENAMED.get(name, name), arguments, results, record.location))

    def fill(self, name: str, record: Record) -> CapturedOp:
        """Return the op `full` for an op that makes a tensor of one number."""
        number = FILLED[name]
        if number is None:
            position = [argument[0] for argument in internals.schema_arguments(record.op)].index(
                "s" if name.startswith("scalar") else "fill_value"
            )
            number = record.args[position]
        kind = self.types[_result(record)]
        return CapturedOp(
            "full.default", (kind.shape, number, kind.dtype), (_result(record),), record.location
        )

    def arguments(self, op: Any, record: Record) -> tuple[Any, ...]:
        found: list[Any] = []
        for position, (name, kind, _, default) in enumerate(internals.schema_arguments(op)):
            if internals.is_dropped(name, kind):
                continue
            given = record.args[position] if position < len(record.args) else record.kwargs.get(name, default)
            found.append(self.plain(given, kind, record))
        return tuple(found[:2] if internals.overload_name(op) in RENAMED else found)

    def plain(self, given: Any, kind: str, record: Record) -> Any:
        """Return an argument without torch's objects."""
        if isinstance(given, (list, tuple)):
            return tuple(self.plain_item(item, kind, record) for item in given)
        return self.plain_item(given, kind, record)

    def plain_item(self, given: Any, kind: str, record: Record) -> Any:
        if isinstance(given, Slot):
            return ValueRef(self.value(given.index))
        if isinstance(given, torch.dtype):
            return dtype_name(given)
        if kind in ("Tensor", "Optional[Tensor]") and isinstance(given, (bool, int, float, complex)):
            return self.full(given, record)
        return given

    def full(self, number: complex, record: Record) -> ValueRef:
        """Return a scalar tensor of a number that stands where a tensor is expected."""
        result = self.types[next(index for index in record.results if index is not None)].dtype
        is_float = result in ("f32", "f64", "f16", "bf16", "c64", "c128")
        default = "boolean" if isinstance(number, bool) else "s64" if isinstance(number, int) else "f32"
        kind = TensorType_(result if is_float or (default == "s64" and result != "boolean") else default, ())
        value = self.new_value(kind)
        self.ops.append(CapturedOp("full.default", ((), number, kind.dtype), (value,), record.location))
        return ValueRef(value)


def _type(tensor: Any) -> TensorType_:
    return TensorType_(dtype_name(tensor.dtype), tuple(int(size) for size in tensor.shape))


def _result(record: Record) -> int:
    found = record.results[0]
    assert found is not None
    return found


def _is_copy(name: str, record: Record, types: Sequence[TensorType_]) -> bool:
    if name in COPIES:
        return True
    if name != "_to_copy.default":
        return False
    source = record.args[0]
    return not isinstance(source, Slot) or types[source.index].dtype == types[_result(record)].dtype


def _scalar_overload(record: Record) -> Any:
    """Return the overload `Scalar` of an op of two tensors whose second is a number."""
    name = internals.overload_name(record.op)
    packet, _, overload = name.partition(".")
    if overload != "Tensor" or len(record.args) < 2 or isinstance(record.args[1], Slot):
        return record.op
    if not isinstance(record.args[1], (int, float, complex)):
        return record.op
    return internals.overload(packet, "Scalar") or record.op


def assemble(
    trace: Trace,
    inputs: Sequence[Input],
    lifted: Mapping[int, Any],
    outputs: Sequence[Output],
    updates: Mapping[str, int],
    locations: Mapping[int, str],
) -> CapturedGraph:
    """Return the graph of a functional trace.

    `lifted` has the tensor of each constant by its index in the trace, `locations` where it is first read.
    """
    assembly = _Assembly(trace)
    for record in trace.records:
        assembly.add(record)
    graph = CapturedGraph(
        tuple(assembly.types),
        tuple(inputs),
        {index: array_of(tensor) for index, tensor in lifted.items()},
        tuple(assembly.ops),
        tuple(Output(output.name, assembly.value(output.value)) for output in outputs),
        {name: assembly.value(value) for name, value in updates.items()},
        constant_locations=locations,
    )
    return without_dead_ops(graph)


def read_values(arguments: Any) -> Iterable[int]:
    """Yield the values that arguments refer to."""
    stack = [arguments]
    while stack:
        match stack.pop():
            case ValueRef(index):
                yield index
            case tuple() as items:
                stack.extend(items)  # pyright: ignore[reportUnknownArgumentType]
            case _:
                pass


def without_dead_ops(graph: CapturedGraph) -> CapturedGraph:
    """Remove ops and constants that no output or update needs, and number the values anew."""
    needed = {output.value for output in graph.outputs} | set(graph.updates.values())
    ops: list[CapturedOp] = []
    for op in reversed(graph.ops):
        if needed.isdisjoint(op.results):
            continue
        ops.append(op)
        needed.update(read_values(op.arguments))
    ops.reverse()
    constants = {index: array for index, array in graph.constants.items() if index in needed}
    order = [entry.value for entry in graph.inputs] + list(constants)
    order += [result for op in ops for result in op.results]
    return _renumber(graph, ops, constants, {old: new for new, old in enumerate(order)})


def _renumber(
    graph: CapturedGraph,
    ops: Sequence[CapturedOp],
    constants: Mapping[int, np.ndarray],
    numbers: Mapping[int, int],
) -> CapturedGraph:
    return CapturedGraph(
        tuple(graph.values[old] for old in numbers),
        tuple(Input(entry.name, numbers[entry.value], entry.kind) for entry in graph.inputs),
        {numbers[old]: array for old, array in constants.items()},
        tuple(
            CapturedOp(
                op.op,
                map_values(op.arguments, numbers),
                tuple(numbers[result] for result in op.results),
                op.location,
            )
            for op in ops
        ),
        tuple(Output(output.name, numbers[output.value]) for output in graph.outputs),
        {name: numbers[value] for name, value in graph.updates.items()},
        graph.dims,
        {numbers[old]: place for old, place in graph.constant_locations.items() if old in numbers},
    )


def map_values(arguments: tuple[Any, ...], numbers: Mapping[int, int]) -> tuple[Any, ...]:
    """Return arguments with the values renumbered; lists are at most one deep."""

    def one(item: Any) -> Any:
        return ValueRef(numbers.get(item.index, item.index)) if isinstance(item, ValueRef) else item

    return tuple(tuple(map(one, item)) if isinstance(item, tuple) else one(item) for item in arguments)


_SHAPED = frozenset(("view.default", "expand.default", "_to_copy.default"))


def without_identities(graph: CapturedGraph) -> CapturedGraph:
    """Remove views and expansions to the shape that the operand has at all sizes."""
    same: dict[int, int] = {}
    ops: list[CapturedOp] = []
    for op in graph.ops:
        arguments = map_values(op.arguments, same)
        source = arguments[0] if arguments else None
        if isinstance(source, ValueRef) and op.op in _SHAPED:
            kind = graph.values[op.results[0]]
            if graph.values[source.index] == kind:
                same[op.results[0]] = source.index
                continue
        ops.append(replace(op, arguments=arguments))
    outputs = tuple(Output(output.name, same.get(output.value, output.value)) for output in graph.outputs)
    updates = {name: same.get(value, value) for name, value in graph.updates.items()}
    return without_dead_ops(replace(graph, ops=tuple(ops), outputs=outputs, updates=updates))
