"""Order of the updates of a step whose new values overwrite the old ones.

onnxruntime runs the op that computes `new_w` as soon as its operands are there, even if other ops still have
to read `w`. `order_updates` makes that op depend on them: a scalar operand `s` of the op, or of one that it
depends on, becomes Where(late, s, s), where `late` is x < x for an element x of the results of the readers.
No rewrite of the runtime removes that.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from dialects.support.diagnostics import Diagnostic, UnsupportedError

VIEWS = frozenset(
    (
        "Reshape",
        "Squeeze",
        "Unsqueeze",
        "Flatten",
        "Identity",
        "Transpose",
        "Cast",
        "Expand",
        "Slice",
        "Dropout",
    )
)
"""Ops that a runtime may leave out or move into a reader: a reader of the result reads the operand."""

SCALES, PRODUCTS = frozenset(("Mul", "Div")), frozenset(("MatMul", "Gemm"))
"""Ops by a scalar that a runtime may move into a product that reads the result, and those products."""

ARITHMETIC = frozenset(("Add", "Sub", "Mul", "Div", "Max", "Min", "Clip"))
"""Ops whose scalar operand can be delayed."""

SCALAR_OPS = ARITHMETIC | {"Neg", "Sqrt", "Pow", "Tanh", "Cast", "Cos", "Where", "Identity"}
"""Ops whose result is a scalar if all operands are."""

SEQUENCES = frozenset(("SplitToSequence", "SequenceConstruct", "SequenceInsert", "SequenceErase"))

DEPTH = 4
"""How many ops before the last one a scalar operand may be."""


def order_updates(model: ModelProto, updates: Mapping[str, str]) -> ModelProto:
    """Return the model with each result of `updates`, input name -> result name, computed after all readers
    of the input, so that the result may be written to the memory of the input.

    Raises UnsupportedError for an input that becomes an element of a sequence.
    """
    found = ModelProto()
    found.CopyFrom(model)
    _order_graph(found.graph, updates, frozenset())
    return found


def _order_graph(graph: GraphProto, updates: Mapping[str, str], scalars: Container[str]) -> None:
    """Order the updates of a graph, and those of the slices of its Scans."""
    order = _Order(graph, scalars)
    for given, result in updates.items():
        order.update(given, result)
    order.finish()
    for node in graph.node:
        if node.op_type != "Scan":
            continue
        (body,) = _subgraphs(node)
        inputs = dict(zip(node.input, (value.name for value in body.input), strict=True))
        results = dict(zip(node.output, (value.name for value in body.output), strict=True))
        pairs = [(old, new) for old, new in updates.items() if old in inputs and new in results]
        if pairs:
            _order_graph(body, {inputs[old]: results[new] for old, new in pairs}, order.scalars)


class _Order:
    """The nodes of a graph, and for each the set of those that it depends on, as bits of a number."""

    def __init__(self, graph: GraphProto, outer_scalars: Container[str]):
        self.graph, self.nodes = graph, list(graph.node)
        self.scalars = {tensor.name for tensor in graph.initializer if not tensor.dims}
        self.scalars |= {value.name for value in graph.input if _is_scalar(value.type.tensor_type)}
        self._outer_scalars = outer_scalars
        self._producers = dict[str, int]()
        self._readers = dict[str, list[int]]()
        self._above = list[int]()
        for index, node in enumerate(self.nodes):
            above = 1 << index
            for name in _reads(node):
                self._readers.setdefault(name, []).append(index)
                if name in self._producers:
                    above |= self._above[self._producers[name]]
                elif name in outer_scalars:
                    self.scalars.add(name)
            self._above.append(above)
            self._producers.update(dict.fromkeys(filter(None, node.output), index))
            if self._gives_scalar(node):
                self.scalars.update(node.output)

    def update(self, given: str, result: str) -> None:
        """Put the op that computes `result` after all readers of `given`."""
        last = self._last_op(result)
        if last is None:
            return
        late = [index for index in self._readers_of(given) if not self._above[last] >> index & 1]
        late = [i for i in late if not any(i != j and self._above[j] >> i & 1 for j in late)]
        if not late:
            return
        condition = self._condition(late, given, result)
        found = self._scalar_operand(last, late)
        if found is None:
            self._delay_result(result, condition)
            return
        index, name = found
        delayed = f"{result}.{name}.delayed"
        self.nodes.append(helper.make_node("Where", [condition, name, name], [delayed]))
        _rename(self.nodes[index], name, delayed)
        self._add_dependency(index, late)

    def finish(self) -> None:
        """Write the nodes back in a topological order that keeps the old one where possible."""
        producers = {name: i for i, node in enumerate(self.nodes) for name in node.output if name}
        waits = [{producers[name] for name in _reads(n) if name in producers} for n in self.nodes]
        readers = dict[int, list[int]]()
        for index, above in enumerate(waits):
            for one in above:
                readers.setdefault(one, []).append(index)
        left = list(map(len, waits))
        ready = [index for index, count in enumerate(left) if not count]
        ordered = list[NodeProto]()
        while ready:
            index = heappop(ready)
            ordered.append(self.nodes[index])
            for reader in readers.get(index, ()):
                left[reader] -= 1
                if not left[reader]:
                    heappush(ready, reader)
        assert len(ordered) == len(self.nodes), "a cycle"
        del self.graph.node[:]
        self.graph.node.extend(ordered)

    def _last_op(self, result: str) -> int | None:
        """Return the op that may write to the memory of a result: runtimes leave out views."""
        found = None
        while result in self._producers:
            found = self._producers[result]
            if self.nodes[found].op_type not in VIEWS:
                break
            result = self.nodes[found].input[0]
        return found

    def _readers_of(self, name: str) -> Iterator[int]:
        """Yield the nodes that read a value or views of it, and products that read a multiple of it."""
        waiting = [(index, False) for index in reversed(self._readers.get(name, ()))]
        while waiting:
            index, is_multiple = waiting.pop()
            node = self.nodes[index]
            if not is_multiple or node.op_type in PRODUCTS:
                yield index
            is_scale = node.op_type in SCALES and not self.scalars.isdisjoint(node.input)
            if node.op_type in VIEWS or is_scale:
                behind = self._readers.get(node.output[0], ())
                waiting += [(other, is_multiple or is_scale) for other in reversed(behind)]

    def _scalar_operand(self, last: int, late: Sequence[int]) -> tuple[int, str] | None:
        """Return an op of the update, on which none of `late` depends, and its scalar operand."""
        level = [last]
        for depth in range(DEPTH):
            level = [i for i in level if not any(self._above[one] >> i & 1 for one in late)]
            for index in level:
                node = self.nodes[index]
                if node.op_type not in (*ARITHMETIC, "Scan") or (depth and node.output[0] in self.scalars):
                    continue
                names = (name for name in _reads(node) if name in self.scalars)
                name = next(names, None)
                if name is not None:
                    return index, name
            names = [name for index in level for name in _reads(self.nodes[index])]
            level = list(dict.fromkeys(self._producers[name] for name in names if name in self._producers))
        return None

    def _delay_result(self, result: str, condition: str) -> None:
        """Copy a result after the readers of its input: none of its ops has a scalar operand to delay, or an
        op reads the input and the result."""
        early = f"{result}.early"
        for node in self.nodes:
            _rename(node, result, early)
            for position, name in enumerate(node.output):
                if name == result:
                    node.output[position] = early
        self.nodes.append(helper.make_node("Where", [condition, early, early], [result]))

    def _condition(self, late: Sequence[int], given: str, result: str) -> str:
        """Add a boolean scalar that is false, and that depends on ops; return its name."""
        parts = [self._element(self.nodes[index], given, result) for index in late]
        name = f"{result}.late"
        self.nodes += [
            helper.make_node("Concat", parts, [f"{name}.all"], axis=0),
            helper.make_node("ReduceSum", [f"{name}.all"], [f"{name}.sum"], keepdims=0),
            helper.make_node("Less", [f"{name}.sum", f"{name}.sum"], [name]),
        ]
        return name

    def _element(self, node: NodeProto, given: str, result: str) -> str:
        """Add the first element of the first result of a node, as float32 vector; none of an empty result."""
        if node.op_type in SEQUENCES:
            what = f"the input {given} is an element of a sequence, and cannot be updated in place"
            raise UnsupportedError(Diagnostic("error", what))
        source = next(filter(None, node.output))
        name = f"{result}.after.{source}"
        whole, first, second = (self._vector(number) for number in (-1, 0, 1))
        self.nodes += [
            helper.make_node("Reshape", [source, whole], [f"{name}.flat"]),
            helper.make_node("Slice", [f"{name}.flat", first, second], [f"{name}.first"]),
            helper.make_node("Cast", [f"{name}.first"], [name], to=TensorProto.FLOAT),
        ]
        return name

    def _vector(self, number: int) -> str:
        name = f"in_place.{number}"
        if all(tensor.name != name for tensor in self.graph.initializer):
            self.graph.initializer.append(numpy_helper.from_array(np.array([number], np.int64), name))
        return name

    def _add_dependency(self, index: int, late: Sequence[int]) -> None:
        more = 0
        for one in late:
            more |= self._above[one]
        self._above = [above | more if above >> index & 1 else above for above in self._above]

    def _gives_scalar(self, node: NodeProto) -> bool:
        if node.op_type == "Constant":
            return any(one.name == "value" and not one.t.dims for one in node.attribute)
        return node.op_type in SCALAR_OPS and all(name in self.scalars for name in filter(None, node.input))


def _is_scalar(type_: Any) -> bool:
    return type_.HasField("shape") and not type_.shape.dim


def _subgraphs(node: NodeProto) -> list[GraphProto]:
    found = list[GraphProto]()
    for one in node.attribute:
        match one.type:
            case AttributeProto.GRAPH:
                found.append(one.g)
            case AttributeProto.GRAPHS:
                found.extend(one.graphs)
            case _:
                pass
    return found


def _reads(node: NodeProto) -> list[str]:
    """Return the names that a node reads, also from the graph around its subgraphs."""
    found = dict.fromkeys(filter(None, node.input))
    for graph in _subgraphs(node):
        found.update(dict.fromkeys(_captured(graph)))
    return list(found)


def _captured(graph: GraphProto) -> Iterator[str]:
    own = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    for node in graph.node:
        yield from (name for name in _reads(node) if name not in own)
        own.update(node.output)
    yield from (value.name for value in graph.output if value.name not in own)


def _rename(node: NodeProto, old: str, new: str) -> None:
    """Let a node, and the nodes of its subgraphs, read another value."""
    for position, name in enumerate(node.input):
        if name == old:
            node.input[position] = new
    for graph in _subgraphs(node):
        if old in _captured(graph):
            for inner in graph.node:
                _rename(inner, old, new)
            for value in graph.output:
                if value.name == old:
                    value.name = new
