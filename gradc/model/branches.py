"""Instrumented models that report which branches, loop bodies and sides of masks a run exercises.

Each has a bool output, the flag: the condition of an If or its negation, a loop-carried value of a body.
Flags in subgraphs become additional outputs of these.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.inliner
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper
from onnx.external_data_helper import load_external_data_for_tensor

from gradc.model.intermediate_outputs import kinds_of_file
from gradc.model.order import names_read

LARGEST = 2**28
"""Largest model in bytes that is instrumented."""

WATCHED = ("If", "Loop", "Scan", "Where")
SIZES = ("Shape", "Size")
OLDEST_SCAN = 9


@dataclass(frozen=True)
class InstrumentedModel:
    """An instrumented model, and the label of each of its bool outputs."""

    model: ModelProto
    labels: Mapping[str, str]


def observe_branches(path: str | os.PathLike[str]) -> InstrumentedModel | None:
    """Return the instrumented model; None if there is nothing to report or the model is too large."""
    if os.path.getsize(path) > LARGEST or not kinds_of_file(path, WATCHED):
        return None
    model = onnx.load(os.fspath(path), load_external_data=False)
    if model.functions:
        model = onnx.inliner.inline_local_functions(model)
    opset = max((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), default=1)
    found = _Watcher(opset).labels_of(model.graph, set(), set())
    if not found:
        return None
    del model.graph.output[:]
    model.graph.output.extend(_bool(name) for name in found)
    _prune(model.graph, set(found))
    for tensor in model.graph.initializer:
        if tensor.data_location == TensorProto.EXTERNAL:
            load_external_data_for_tensor(tensor, str(Path(os.path.realpath(path)).parent))
    return InstrumentedModel(model, found)


def _prune(graph: GraphProto, needed: set[str]) -> None:
    """Remove nodes and weights on which no flag depends."""
    makers = {name: index for index, node in enumerate(graph.node) for name in node.output if name}
    waiting, kept = list(needed), set[int]()
    while waiting:
        index = makers.get(waiting.pop())
        if index is not None and index not in kept:
            kept.add(index)
            waiting += names_read(graph.node[index])
    nodes = [node for index, node in enumerate(graph.node) if index in kept]
    read = {name for node in nodes for name in names_read(node)}
    tensors = [tensor for tensor in graph.initializer if tensor.name in read]
    del graph.node[:], graph.initializer[:], graph.value_info[:]
    graph.node.extend(nodes)
    graph.initializer.extend(tensors)


def _bool(name: str) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.BOOL, [])


@dataclass
class _Watcher:
    """Adds flags to graphs. `dependent` names depend on the model's inputs, `valued` ones on more than their
    sizes. `first` and `last` are new nodes for the ends of the current graph."""

    opset: int
    count: int = 0
    first: list[NodeProto] = field(default_factory=list)
    last: list[NodeProto] = field(default_factory=list)

    def labels_of(self, graph: GraphProto, dependent: set[str], valued: set[str]) -> dict[str, str]:
        constants = {tensor.name for tensor in graph.initializer}
        own = {info.name for info in graph.input} - constants
        dependent, valued = dependent | own, valued | own
        outer, self.first, self.last = (self.first, self.last), [], []
        labels: dict[str, str] = {}
        for node in graph.node:
            _follow(node, dependent, valued)
            labels |= self._labels_of_node(node, dependent, valued)
        nodes = [*self.first, *graph.node, *self.last]
        del graph.node[:]
        graph.node.extend(nodes)
        self.first, self.last = outer
        return labels

    def _labels_of_node(self, node: NodeProto, dependent: set[str], valued: set[str]) -> dict[str, str]:
        title = f'{node.op_type} "{node.name or next(filter(None, node.output), "")}"'
        if node.domain not in ("", "ai.onnx"):
            return {}
        if node.op_type == "If":
            return self._of_if(node, title, dependent, valued)
        if node.op_type in ("Loop", "Scan"):
            return self._of_body(node, title, dependent, valued)
        if node.op_type == "Where" and node.input[0] in valued:
            return self._of_mask(node.input[0], title)
        return {}

    def _of_if(self, node: NodeProto, title: str, dependent: set[str], valued: set[str]) -> dict[str, str]:
        graphs = {attribute.name: attribute.g for attribute in node.attribute}
        inner = {name: self.labels_of(graph, dependent, valued) for name, graph in graphs.items()}
        labels: dict[str, str] = {}
        for name in inner:
            for flag, label in inner[name].items():
                outside = self._name()
                for other, graph in graphs.items():
                    graph.output.append(_bool(flag if other == name else self._constant(graph, False)))
                node.output.append(outside)
                labels[outside] = label
        if node.input[0] in dependent:
            taken = self._node("Reshape", [node.input[0], self._shape()])
            labels[taken] = f"then_branch of {title}"
            labels[self._node("Not", [taken])] = f"else_branch of {title}"
        return labels

    def _of_body(self, node: NodeProto, title: str, dependent: set[str], valued: set[str]) -> dict[str, str]:
        attributes = {attribute.name: attribute for attribute in node.attribute}
        body, is_loop = attributes["body"].g, node.op_type == "Loop"
        if not is_loop and self.opset < OLDEST_SCAN:
            return {}
        node.input.extend([""] * (2 - len(node.input) if is_loop else 0))
        scanned = 0 if is_loop else attributes["num_scan_inputs"].i
        states = len(node.input) - scanned - (2 if is_loop else 0)
        if len(node.output) < states:
            return {}
        inner = self.labels_of(body, dependent, valued)
        if any(name in dependent for name in node.input):
            inner[self._constant(body, True)] = f"body of {title}"
        labels: dict[str, str] = {}
        head = 2 if is_loop else 0
        for flag, label in inner.items():
            before, after, outside = self._name(), self._name(), self._name()
            body.node.append(helper.make_node("Or", [before, flag], [after]))
            node.input.insert(head + states, self._constant(None, False))
            body.input.insert(head + states, _bool(before))
            body.output.insert(is_loop + states, _bool(after))
            node.output.insert(states, outside)
            states += 1
            labels[outside] = label
        return labels

    def _of_mask(self, mask: str, title: str) -> dict[str, str]:
        opposite = self._node("Not", [mask])
        sides = {"condition that holds": mask, "condition that does not hold": opposite}
        labels: dict[str, str] = {}
        for what, value in sides.items():
            numbers = self._node("Cast", [value], to=TensorProto.FLOAT)
            total = self._node("ReduceSum", [numbers], keepdims=0)
            zero = self._tensor(np.zeros((), np.float32))
            labels[self._node("Greater", [total, zero])] = f"a {what} in {title}"
        return labels

    def _node(self, kind: str, inputs: list[str], **attributes: Any) -> str:
        name = self._name()
        self.last.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def _shape(self) -> str:
        return self._tensor(np.zeros(0, np.int64))

    def _tensor(self, array: np.ndarray) -> str:
        name = self._name()
        self.last.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array)))
        return name

    def _constant(self, graph: GraphProto | None, value: bool) -> str:
        """Add a bool constant to a graph, or to the current one."""
        name = self._name()
        tensor = numpy_helper.from_array(np.array(value))
        node = helper.make_node("Constant", [], [name], value=tensor)
        (self.first if graph is None else graph.node).append(node)
        return name

    def _name(self) -> str:
        self.count += 1
        return f"gradc.visited.{self.count}"


def _follow(node: NodeProto, dependent: set[str], valued: set[str]) -> None:
    reads = set(_reads(node))
    if reads & dependent:
        dependent.update(node.output)
    if reads & valued and node.op_type not in SIZES:
        valued.update(node.output)


def _reads(node: NodeProto) -> Iterator[str]:
    return (name for name in names_read(node) if name)
