"""Exporter from a function of onnx ops to a ModelProto, with reproducible bytes.

Names. Inputs and outputs have the function's public names. A node has its location's name, else its op
type; a tensor its value's name hint, else the node's name and `_out`. Clashes get a number (`conv0_1`), as do
names that onnxruntime's optimiser uses.

Provenance. A node's `metadata_props` hold `gradc.op` (the source op's name) and `gradc.source`
(`file:line:col`, without folders, which would make the bytes depend on them). NodeProto has that field since
IR version 10, but `ir_version` is the smallest that the opset needs (8 for opset 18): runtimes reject newer
versions, and skip unknown fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version

import onnx
from onnx import AttributeProto, GraphProto, ModelProto, TensorProto, ValueInfoProto
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, SSAValue

from dialects.onnx.base import OnnxOp
from dialects.onnx.control import YieldOp
from dialects.onnx.node import NodeOp
from dialects.onnx.ops import ConstantOp
from dialects.onnx.types import OptionalType, SequenceType, word_of
from dialects.support import entry
from dialects.support.diagnostics import UnsupportedError, error_at, name_of, position_of, printable
from dialects.support.names import name_of_value
from dialects.support.option_names import option
from gradc.model.annotations import Annotations, annotate_value
from gradc.model.attribute_protos import fill_attribute, raw_data
from gradc.model.exported_domains import Domains
from gradc.model.names import Names
from gradc.model.node_forms import NodeForms
from gradc.model.split_model import KEPT_BYTES, ModelParts
from gradc.model.validity import InvalidModelError, check, has_long_vector
from gradc.model.value_infos import edge_type, value_info, value_info_of, with_text_dims

__all__ = ["ModelProto", "TensorProto", "ValueInfoProto", "check", "export", "identity_model", "newest_opset"]


def newest_opset() -> int:
    """Return the newest opset of the installed onnx."""
    return onnx.defs.onnx_opset_version()


def export(module: ModuleOp, *, opset: int, metadata: Mapping[str, str]) -> ModelProto:
    """Export the module's function as one message; see `export_parts`."""
    return export_parts(module, opset=opset, metadata=metadata).whole()


def export_parts(module: ModuleOp, *, opset: int, metadata: Mapping[str, str]) -> ModelParts:
    """Export the module's function, all of whose ops are of the onnx dialect; weights are not copied.

    Raises UnsupportedError at an op whose form the opset does not have.
    """
    opsets = [onnx.helper.make_opsetid("", opset)]
    model = ModelProto(
        ir_version=onnx.helper.find_min_ir_version_for(opsets),
        opset_import=opsets,
        producer_name="gradc",
        producer_version=_own_version(),
    )
    annotations = Annotations(module)
    builder = _GraphBuilder(entry.entry_function(module), opset, model.graph, _node_docs(module), annotations)
    builder.build()
    annotations.annotate_graph(model.graph)
    model.opset_import.extend(builder.domains.imports())
    for key, value in sorted(metadata.items()):
        model.metadata_props.add(key=key, value=value)
    _copy_model_fields(model, module)
    parts, elements = ModelParts(model, builder.weights), not has_long_vector(module)
    with builder.domains.set_aside(model):
        try:
            check(parts, elements=elements)
        except InvalidModelError:
            builder.forget_declared_results()
            check(parts, elements=elements)
    return parts


def _copy_model_fields(model: ModelProto, module: ModuleOp) -> None:
    """Copy the source model's own fields, such as doc strings, to the model."""
    about = module.attributes.get(entry.ABOUT)
    texts = about.data if isinstance(about, DictionaryAttr) else {}
    for name, text in texts.items():
        assert isinstance(text, StringAttr)
        owner = model.graph if name.startswith("graph.") else model
        field = name.removeprefix("graph.")
        setattr(owner, field, int(text.data) if field == "model_version" else text.data)


def _node_docs(module: ModuleOp) -> dict[str, str]:
    """Return the doc strings of the source model's nodes; the first node lowered from one gets its string."""
    docs = module.attributes.get(entry.NODE_DOCS)
    texts = docs.data if isinstance(docs, DictionaryAttr) else {}
    return {name: text.data for name, text in texts.items() if isinstance(text, StringAttr)}


def identity_model(opset: int) -> bytes:
    """Return a serialized model of one Identity, to probe whether a runtime accepts an opset."""
    x, y = (onnx.helper.make_tensor_value_info(n, TensorProto.FLOAT, [1]) for n in "xy")
    graph = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["x"], ["y"])], "g", [x], [y])
    opsets = [onnx.helper.make_opsetid("", opset)]
    ir_version = onnx.helper.find_min_ir_version_for(opsets)
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=ir_version)
    return model.SerializeToString()


def _own_version() -> str:
    try:
        return version("gradc")
    except PackageNotFoundError:
        return "unknown"


INFERRED_DOMAINS = ("ai.onnx.", "com.microsoft")
"""Domains whose types onnx or onnxruntime infers."""


class _GraphBuilder:
    """Walk over a function's ops and regions that fills graphs in place.

    Graphs and weights are not built separately: protobuf would copy them, which fails at 2 GiB. Names are
    visible in subgraphs, so all names of a model differ.
    """

    def __init__(
        self,
        function: FuncOp,
        opset: int,
        graph: GraphProto,
        docs: dict[str, str],
        annotations: Annotations,
    ):
        self.function = function
        self.annotations = annotations
        self.docs = docs
        self.opset = opset
        self.inputs = entry.input_names(function)
        self.outputs = entry.output_names(function)
        self.node_names = Names()
        self.tensor_names = Names((*self.inputs, *self.outputs))
        self.names: dict[SSAValue, str] = dict(zip(function.args, self.inputs, strict=True))
        self.made = _non_constant_names(function)
        self.domains = Domains(opset)
        self.forms = NodeForms(opset)
        self.main = graph
        self.graph = graph
        self.weights: dict[str, bytes] = {}
        self.waiting: list[tuple[GraphProto, Block]] = []
        graph.name = function.sym_name.data

    def build(self) -> None:
        returned = entry.return_op(self.function)
        if not returned.arguments:
            raise error_at(self.function, "the graph has no outputs")
        self._fill(self.main, self.function.body.block, self.inputs, self.outputs)
        while self.waiting:
            graph, block = self.waiting.pop()
            inputs = [
                self.tensor_names.unique(name_of_value(value) or f"{graph.name}_in") for value in block.args
            ]
            self.names |= zip(block.args, inputs, strict=True)
            terminator = block.last_op
            assert isinstance(terminator, YieldOp)
            wishes = (name_of_value(value) or f"{graph.name}_out" for value in terminator.operands)
            self._fill(graph, block, inputs, [self.tensor_names.unique(wish) for wish in wishes])
        self._declare()

    def _declare(self) -> None:
        """Give the model's inputs and outputs the types that the source declares, if they are consistent."""
        function, returned = self.function, entry.return_op(self.function).arguments
        sides = (
            (self.main.input, function.arg_attrs, function.args),
            (self.main.output, function.res_attrs, returned),
        )
        for infos, attrs, values in sides:
            declared = entry.declared_types(attrs, values)
            annotated = entry.edge_attributes(attrs, len(values))
            for info, type_, value, own in zip(infos, declared, values, annotated, strict=True):
                if type_ is not None:
                    info.CopyFrom(value_info_of(info.name, edge_type(value.type, type_)))
                annotate_value(info, own)

    def forget_declared_results(self) -> None:
        """Give the model's outputs their inferred types. Declared ones may contradict inference, which the
        checker rejects, while runtimes only warn."""
        returned = entry.return_op(self.function).arguments
        for info, value in zip(self.main.output, returned, strict=True):
            info.ClearField("type")
            info.MergeFrom(value_info(info.name, value))
        for info, own in zip(
            self.main.output, entry.edge_attributes(self.function.res_attrs, len(returned)), strict=True
        ):
            annotate_value(info, own)

    def _fill(self, graph: GraphProto, block: Block, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        self.graph = graph
        returned = block.last_op
        assert returned is not None
        graph_outputs = _direct_outputs(block, returned.operands, outputs)
        for op in block.ops:
            if op is returned:
                break
            assert isinstance(op, OnnxOp | NodeOp), f"{op.name} is not an op of the onnx dialect"
            if isinstance(op, ConstantOp):
                self._add_initializer(op)
            else:
                self._add_node(op, graph_outputs)
        copied: set[str] = set()
        for name, value in zip(outputs, returned.operands, strict=True):
            self._add_output(name, value, copied)
        for name, value in zip(inputs, block.args, strict=True):
            graph.input.append(value_info_of(name, with_text_dims(value.type)))
        if graph is self.main:
            for name, value in entry.defaults(self.function).items():
                self._put(name, value)

    def _add_initializer(self, op: ConstantOp) -> None:
        if all(map(self.forms.is_attribute, op.results[0].uses)):
            return
        hint, source = name_of_value(op.results[0]), name_of(op)
        hint = f"{hint}_const" if hint and hint in self.made else hint
        name = self.tensor_names.unique(hint or (f"{source}_const" if source else "const"))
        self.names[op.results[0]] = name
        self._put(name, op.value)

    def _put(self, name: str, value: DenseIntOrFPElementsAttr) -> None:
        """Add an initializer; the content of a large one, in the main graph, is not part of the proto."""
        dtype, content = raw_data(value)
        large = len(content) > KEPT_BYTES
        graph = self.main if large else self.graph
        tensor = graph.initializer.add(name=name, data_type=dtype, dims=value.type.get_shape())
        if large:
            self.weights[name] = content
        else:
            tensor.raw_data = content

    def _add_node(self, op: OnnxOp | NodeOp, graph_outputs: Mapping[SSAValue, str]) -> None:
        domain, op_type = self._kind(op)
        name = self.node_names.unique(name_of(op) or op_type)
        for result in op.results:
            wish = name_of_value(result) or f"{name}_out"
            self.names[result] = graph_outputs.get(result) or self.tensor_names.unique(wish)
        node = self.graph.node.add(
            op_type=op_type,
            domain=domain,
            name=name,
            input=[self.names[value] if value is not None else "" for value in self.forms.inputs(op)],
            output=self._output_names(op),
        )
        if isinstance(op, NodeOp) and not op.is_standard and not op.domain.data.startswith(INFERRED_DOMAINS):
            self._declare_results(op, graph_outputs)
        for key, kind, value in self.forms.attributes(op):
            fill_attribute(node.attribute.add(name=key), kind, value)
        for key, region in sorted(op.regions_by_name().items()):
            graph = node.attribute.add(name=key, type=AttributeProto.GRAPH).g
            graph.name = f"{name}_{key}"
            self.waiting.append((graph, region.block))
        node.doc_string = self.docs.pop(name_of(op), "")
        for key, value in _provenance(op):
            node.metadata_props.add(key=key, value=value)
        self.annotations.annotate_node(node, name_of(op))

    def _declare_results(self, op: NodeOp, graph_outputs: Mapping[SSAValue, str]) -> None:
        """Write the known types of results, which readers of the model cannot infer."""
        for result in op.results:
            if isinstance(result.type, TensorType) and result not in graph_outputs:
                self.graph.value_info.append(value_info(self.names[result], result))

    def _kind(self, op: OnnxOp | NodeOp) -> tuple[str, str]:
        """Return the domain and op type; UnsupportedError if the opset does not have the op's form."""
        if isinstance(op, NodeOp):
            return self.domains.add(op), op.op_type.data
        self.forms.check(op)
        return "", op.onnx_name()

    def _output_names(self, op: OnnxOp | NodeOp) -> list[str]:
        """Return a name for each result, "" for an omitted or unused optional one; trailing ones are
        dropped."""
        unread = op.unread_results()
        names = ["" if result in unread else self.names[result] for result in op.results]
        while len(names) > 1 and not names[-1]:
            names.pop()
        return names

    def _add_output(self, name: str, value: SSAValue, copied: set[str]) -> None:
        """Add an output, by an Identity if its value has another name. `copied` are the names copied so
        far."""
        self.graph.output.append(value_info(name, value))
        source = self.names[value]
        if source != name and name not in copied:
            copied.add(name)
            self._check_copy(name, value)
            node = self.node_names.unique("Identity")
            self.graph.node.add(op_type="Identity", name=node, input=[source], output=[name])

    def _check_copy(self, name: str, value: SSAValue) -> None:
        first = COPIES.get(type(value.type), 1)
        if self.opset < first:
            what, opset = (
                f'a copy of a {word_of(value.type)} as the output "{name}"',
                option("opset", self.opset),
            )
            expected = f"{option('opset')} {first} or newer"
            raise error_at(self.function, what, given=opset, expected=expected, kind=UnsupportedError)


def _non_constant_names(function: FuncOp) -> set[str]:
    """Return the names of non-constant values; a constant that a pass creates may repeat its op's name."""
    nodes = (op for op in function.walk() if not isinstance(op, ConstantOp))
    return {name_of_value(result) for op in nodes for result in op.results}


COPIES: dict[type[Attribute], int] = {SequenceType: 14, OptionalType: 16}
"""Type -> first opset whose Identity accepts it."""


def _direct_outputs(block: Block, values: Sequence[SSAValue], names: Sequence[str]) -> dict[SSAValue, str]:
    """Return the results that can take an output's name directly.

    Inputs, constants, values of outer graphs, and values that are already an output need an Identity.
    """
    found: dict[SSAValue, str] = {}
    for name, value in zip(names, values, strict=True):
        made = isinstance(value.owner, OnnxOp | NodeOp) and value.owner.parent_block() is block
        if made and not isinstance(value.owner, ConstantOp):
            found.setdefault(value, name)
    return found


def _provenance(op: OnnxOp | NodeOp) -> Iterator[tuple[str, str]]:
    if name := name_of(op):
        yield "gradc.op", name
    if position := position_of(op):
        file = printable(re.split(r"[\\/]", position.file)[-1])
        yield "gradc.source", f"{file}:{position.line}:{position.column}"
