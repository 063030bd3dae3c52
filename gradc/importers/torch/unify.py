"""Graphs of one function at several sizes, unified to one graph with sizes as expressions of the dims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from dialects.shapes.forms import Form, Size
from gradc.importers.torch import refusals
from gradc.importers.torch.assemble import without_identities
from gradc.importers.torch.captured import CapturedGraph, CapturedOp, TensorType_, ValueRef
from gradc.importers.torch.elements import COMPLEX
from gradc.importers.torch.fit import Fitter
from gradc.importers.torch.shape_rules import candidates, operand_shapes

LITERAL = 16
"""Elements of a constant whose values may depend on the sizes: `torch.tensor([height, width])`."""

REMEDY = "use ops over whole tensors in place of Python code that depends on a size, or leave the dim fixed"


def unify(
    graphs: Sequence[CapturedGraph],
    traces: Sequence[Mapping[str, int]],
    input_shapes: Sequence[tuple[Form, ...]],
    examples: Mapping[str, int],
) -> CapturedGraph:
    """Return one graph for all sizes.

    `traces` are the sizes at which each graph was captured, `input_shapes` the declared shapes of the
    arguments. Raises the error of a graph that depends on the sizes.
    """
    return _Unifier(graphs, traces).run(input_shapes, examples)


class _Unifier:
    def __init__(self, graphs: Sequence[CapturedGraph], traces: Sequence[Mapping[str, int]]):
        self.graphs = graphs
        self.traces = traces
        self.fitter = Fitter(traces)
        self.types: list[TensorType_] = []
        self.shapes: dict[int, tuple[Form, ...]] = {}
        self.ops: list[CapturedOp] = []
        self.constants: dict[int, np.ndarray] = {}
        self.extra: list[TensorType_] = []

    def run(self, input_shapes: Sequence[tuple[Form, ...]], examples: Mapping[str, int]) -> CapturedGraph:
        check_same_ops(self.graphs, self.traces)
        first = self.graphs[0]
        for number, entry in enumerate(first.inputs):
            own = first.values[entry.value].shape
            self.shapes[entry.value] = input_shapes[number] if entry.kind == "argument" else own
        for shape in input_shapes:
            for size in shape:
                self.fitter.learn(size)
        for index in first.constants:
            self._constant(index)
        for position in range(len(first.ops)):
            self._op([graph.ops[position] for graph in self.graphs])
        values = tuple(TensorType_(kind.dtype, self.shapes[i]) for i, kind in enumerate(first.values))
        graph = CapturedGraph(
            (*values, *self.extra),
            first.inputs,
            self.constants,
            tuple(self.ops),
            first.outputs,
            first.updates,
            dict(examples),
            first.constant_locations,
        )
        return without_identities(graph)

    def _constant(self, index: int) -> None:
        """Take over a constant; one whose few values depend on the sizes becomes ops."""
        arrays = [graph.constants[index] for graph in self.graphs]
        first = arrays[0]
        self.shapes[index] = self.graphs[0].values[index].shape
        if all(array.shape == first.shape for array in arrays):
            if all(array.tobytes() == first.tobytes() for array in arrays):
                self.constants[index] = first
                return
            is_complex = self.graphs[0].values[index].dtype in COMPLEX
            if first.ndim <= 1 and first.size <= LITERAL and not is_complex:
                self._literal(index, np.stack([array.reshape(-1) for array in arrays]))
                return
        location = self.graphs[0].constant_locations.get(index, "")
        what = f"a constant tensor of shape {list(first.shape)}"
        if not self.traces[0]:
            raise refusals.changes_between_calls(what, location)
        raise refusals.refusal(
            f"{what} depends on the sizes, or changes between calls",
            location,
            "build it with ops of torch, such as torch.arange, or pass it as an argument",
        )

    def _literal(self, index: int, values: np.ndarray) -> None:
        kind = self.graphs[0].values[index]
        location = self.graphs[0].constant_locations.get(index, "")
        numbers = [self._number(values[:, i].tolist(), location, 1e-6) for i in range(values.shape[1])]
        if not kind.shape:
            self.ops.append(CapturedOp("full.default", ((), numbers[0], kind.dtype), (index,)))
            return
        parts = [self._part(number, kind.dtype) for number in numbers]
        self.ops.append(CapturedOp("cat.default", (tuple(map(ValueRef, parts)), 0), (index,)))

    def _part(self, number: Any, dtype: str) -> int:
        self.extra.append(TensorType_(dtype, (1,)))
        index = len(self.graphs[0].values) + len(self.extra) - 1
        self.ops.append(CapturedOp("full.default", ((1,), number, dtype), (index,)))
        return index

    def _op(self, ops: Sequence[CapturedOp]) -> None:
        first = ops[0]
        near = self._sizes_near(first.arguments)
        arguments = tuple(
            self._argument([op.arguments[i] for op in ops], first, near) for i in range(len(first.arguments))
        )
        near += self._sizes_near(arguments)
        for form in candidates(first.op, arguments, operand_shapes(arguments, self.shapes)):
            self.fitter.learn(form)
        for result in first.results:
            self.shapes[result] = self._shape(result, first, near)
        self.ops.append(CapturedOp(first.op, arguments, first.results, first.location))

    def _shape(self, value: int, op: CapturedOp, near: Sequence[Form]) -> tuple[Form, ...]:
        shapes = [graph.values[value].shape for graph in self.graphs]
        if len({len(shape) for shape in shapes}) > 1:
            raise refusals.refusal(
                f"the rank of a result of aten.{op.op} depends on the sizes", op.location, REMEDY
            )
        return tuple(self._size(axis, op, near) for axis in zip(*shapes, strict=True))

    def _size(self, values: Sequence[int], op: CapturedOp, near: Sequence[Form]) -> Form:
        found = self.fitter.integer(values, near)
        if found is None:
            raise self._unknown(values, op.op, op.location)
        return found

    def _unknown(self, values: Sequence[Any], op: str, location: str) -> Exception:
        dims = ", ".join(self.traces[0])
        given = ", ".join(map(str, values[:4]))
        what = f"a number in aten.{op}" if op else "a literal"
        if not dims:
            raise refusals.changes_between_calls(f"{what} ({given})", location)
        return refusals.refusal(
            f"{what} depends on the sizes ({dims}) in a way that has no expression ({given}, ...), or changes"
            " between calls",
            location,
            "compute it with ops of torch, as torch.tensor(float(len(x))).sqrt(), or pass it as an argument",
        )

    def _sizes_near(self, arguments: tuple[Any, ...]) -> list[Form]:
        """Return the sizes in arguments and in the shapes of operands, each once."""
        found: dict[Form, None] = {}
        for argument in arguments:
            for item in cast(tuple[Any, ...], argument) if isinstance(argument, tuple) else (argument,):
                sizes = self.shapes[item.index] if isinstance(item, ValueRef) else (item,)
                found.update((size, None) for size in sizes if isinstance(size, Size))
        return list(found)

    def _argument(self, given: Sequence[Any], op: CapturedOp, near: Sequence[Form]) -> Any:
        if not isinstance(given[0], tuple):
            return self._item(given, op, near)
        lists = cast(Sequence[tuple[Any, ...]], given)
        if len({len(items) for items in lists}) > 1:
            raise refusals.refusal(f"a list in aten.{op.op} depends on the sizes", op.location, REMEDY)
        return tuple(self._item(items, op, near) for items in zip(*lists, strict=True))

    def _item(self, given: Sequence[Any], op: CapturedOp, near: Sequence[Form]) -> Any:
        first = given[0]
        if all(repr(item) == repr(first) for item in given):
            return first
        kinds = {type(item) for item in given}
        if kinds == {int}:
            return self._size(given, op, near)
        if kinds <= {int, float}:
            found = self.fitter.real(given, near)
            if found is not None:
                return found
            raise self._unknown(given, op.op, op.location)
        raise refusals.refusal(f"an argument of aten.{op.op} depends on the sizes", op.location, REMEDY)

    def _number(self, values: Sequence[Any], location: str, relative: float) -> Any:
        """Return a number of a literal."""
        if len(set(values)) == 1:
            return values[0]
        is_integer = all(isinstance(value, int) and not isinstance(value, bool) for value in values)
        found = self.fitter.integer(values) if is_integer else self.fitter.real(values, (), relative)
        if found is None:
            raise self._unknown(values, "", location)
        return found


def check_same_ops(graphs: Sequence[CapturedGraph], traces: Sequence[Mapping[str, int]]) -> None:
    """Raise the error of graphs with different ops or links."""
    first = graphs[0]
    for graph, sizes in zip(graphs[1:], traces[1:], strict=True):
        where = _first_difference(first, graph)
        if where is not None:
            raise refusals.graph_depends_on_sizes(
                *where, refusals.sizes_text(traces[0]), refusals.sizes_text(sizes)
            )


def _first_difference(a: CapturedGraph, b: CapturedGraph) -> tuple[str, str, str] | None:
    """Return the names and the location of the first two ops that differ."""
    for one, other in zip(a.ops, b.ops, strict=False):
        if one.op != other.op or one.results != other.results or _links(one) != _links(other):
            return one.op, other.op, one.location or other.location
    if len(a.ops) != len(b.ops):
        is_longer = len(a.ops) > len(b.ops)
        rest = (a if is_longer else b).ops[min(len(a.ops), len(b.ops))]
        return (rest.op, "no op", rest.location) if is_longer else ("no op", rest.op, rest.location)
    if _interface(a) != _interface(b):
        return "the results", "other results", ""
    return None


def _interface(graph: CapturedGraph) -> Any:
    return graph.inputs, graph.outputs, graph.updates, list(graph.constants)


def _links(op: CapturedOp) -> list[Any]:
    return [
        tuple(item if isinstance(item, ValueRef) else None for item in cast(tuple[Any, ...], argument))
        if isinstance(argument, tuple)
        else argument
        if isinstance(argument, ValueRef)
        else None
        for argument in op.arguments
    ]
