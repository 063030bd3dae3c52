"""From a function of onnx ops to a ModelProto: standard domain, checked, the same bytes every time.

Names. Inputs and outputs have the function's public names. A node is called after its location's
name, else its op type; a tensor after its value's name hint, else its node and `_out`. Clashes get
a number: `conv0`, `conv0_1`.

Provenance. A node's `metadata_props` hold `gradc.op` (the source op's name) and `gradc.source`
(`file:line:col`, without folders: the bytes must not depend on where the file lies). NodeProto has
that field since IR version 10. The model's `ir_version` is nevertheless the smallest that the opset
needs (8 for opset 18), because a runtime refuses versions newer than its own, while a reader of
protobuf skips a field that it does not know.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto
from xdsl.dialects.builtin import ModuleOp, TensorType, UnrankedTensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue

from dialects.onnx.base import OnnxOp, opset_range
from dialects.onnx.ops import ConstantOp
from dialects.onnx.types import OptionalType, SequenceType
from dialects.support import dense, dtypes, entry, shapes
from dialects.support.diagnostics import UnsupportedError, error_at, name_of, position_of, printable
from dialects.support.spelling import option
from gradc.files import weight_bytes, without_weights
from gradc.tensors import onnx_number

__all__ = ["ModelProto", "TensorProto", "ValueInfoProto", "check", "export", "identity_model", "newest_opset"]

CHECKED_BYTES = 2**26
"""Weights beyond this are left out of the checks: the checker has to serialise what it checks."""


def newest_opset() -> int:
    """The newest opset of the installed onnx."""
    return onnx.defs.onnx_opset_version()


def export(module: ModuleOp, *, opset: int, metadata: Mapping[str, str]) -> ModelProto:
    """The module's one function as a model.

    Every op is of the onnx dialect. Raises UnsupportedError at an op that the opset does not have in
    this form.
    """
    opsets = [onnx.helper.make_opsetid("", opset)]
    model = ModelProto(
        ir_version=onnx.helper.find_min_ir_version_for(opsets),
        opset_import=opsets,
        producer_name="gradc",
        producer_version=_own_version(),
    )
    _GraphBuilder(entry.entry_function(module), opset, model.graph).build()
    for key, value in sorted(metadata.items()):
        model.metadata_props.add(key=key, value=value)
    check(model)
    return model


def identity_model(opset: int) -> bytes:
    """A serialised model of one Identity, for asking a runtime whether it takes an opset."""
    x, y = (onnx.helper.make_tensor_value_info(n, TensorProto.FLOAT, [1]) for n in "xy")
    graph = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["x"], ["y"])], "g", [x], [y])
    opsets = [onnx.helper.make_opsetid("", opset)]
    ir_version = onnx.helper.find_min_ir_version_for(opsets)
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=ir_version)
    return model.SerializeToString()


def check(model: ModelProto, limit: int = CHECKED_BYTES) -> None:
    """Assert that onnx's checker and its strict shape inference accept the model.

    Of a model with more than `limit` bytes of weights a stand-in is checked, in which the larger
    weights are inputs of the same type.
    """
    checked = _with_weights_as_inputs(model, limit)
    try:
        if all(map(_has_rank, (*model.graph.input, *model.graph.output))):
            onnx.checker.check_model(checked)  # wants a rank at the edge, which runtimes do without
        onnx.shape_inference.infer_shapes(checked, check_type=True, strict_mode=True, data_prop=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise AssertionError(f"the exported model is not valid: {error}") from error


def _has_rank(info: ValueInfoProto) -> bool:
    return not info.type.HasField("tensor_type") or info.type.tensor_type.HasField("shape")


def _with_weights_as_inputs(model: ModelProto, limit: int) -> ModelProto:
    if weight_bytes(model) <= limit:
        return model
    copy = without_weights(model)
    for tensor in model.graph.initializer:
        if len(tensor.raw_data) <= limit // 1024:
            copy.graph.initializer.append(tensor)
        else:
            info = onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
            copy.graph.input.append(info)
    return copy


def _own_version() -> str:
    try:
        return version("gradc")
    except PackageNotFoundError:
        return "unknown"


class _Names:
    """Names given out, each once."""

    def __init__(self, taken: Sequence[str] = ()):
        self._taken = set(taken)
        self._counts: dict[str, int] = {}

    def unique(self, wish: str) -> str:
        name = wish
        while name in self._taken:
            self._counts[wish] = self._counts.get(wish, 0) + 1
            name = f"{wish}_{self._counts[wish]}"
        self._taken.add(name)
        return name


class _GraphBuilder:
    """One walk over a function's ops, which fills a graph in place.

    No graph or weight is made on the side and then put in: that copies, and copying ends at 2 GiB.
    """

    def __init__(self, function: FuncOp, opset: int, graph: GraphProto):
        self.function = function
        self.opset = opset
        self.inputs = entry.input_names(function)
        self.outputs = entry.output_names(function)
        self.node_names = _Names()
        self.tensor_names = _Names((*self.inputs, *self.outputs))
        self.names: dict[SSAValue, str] = dict(zip(function.args, self.inputs, strict=True))
        self.graph = graph
        graph.name = function.sym_name.data

    def build(self) -> None:
        returned = entry.return_op(self.function)
        if not returned.arguments:
            raise error_at(self.function, "the function returns nothing")
        graph_outputs = dict(self._direct_outputs(returned.arguments))
        for op in self.function.body.block.ops:
            if op is returned:
                break
            assert isinstance(op, OnnxOp), f"{op.name} is not an op of the onnx dialect"
            if isinstance(op, ConstantOp):
                self._add_initializer(op)
            else:
                self._add_node(op, graph_outputs)
        for name, value in zip(self.outputs, returned.arguments, strict=True):
            self._add_output(name, value)
        for name, value in zip(self.inputs, self.function.args, strict=True):
            self.graph.input.append(_value_info(name, value))

    def _direct_outputs(self, values: Sequence[SSAValue]) -> Iterator[tuple[SSAValue, str]]:
        """The results that can have an output's name themselves.

        An input, a constant, and a value returned before cannot: an Identity copies them.
        """
        seen: set[SSAValue] = set()
        for name, value in zip(self.outputs, values, strict=True):
            if isinstance(value.owner, OnnxOp) and not isinstance(value.owner, ConstantOp):
                if value not in seen:
                    yield value, name
                seen.add(value)

    def _add_initializer(self, op: ConstantOp) -> None:
        if not op.results[0].uses:
            return
        hint, source = op.results[0].name_hint, name_of(op)
        name = self.tensor_names.unique(hint or (f"{source}_const" if source else "const"))
        self.names[op.results[0]] = name
        _fill(self.graph.initializer.add(name=name), dense.to_numpy(op.value))

    def _add_node(self, op: OnnxOp, graph_outputs: Mapping[SSAValue, str]) -> None:
        self._check_opset(op)
        op_type = op.name.removeprefix("onnx.")
        name = self.node_names.unique(name_of(op) or op_type)
        for result in op.results:
            wish = result.name_hint or f"{name}_out"
            self.names[result] = graph_outputs.get(result) or self.tensor_names.unique(wish)
        node = NodeProto(
            op_type=op_type,
            name=name,
            input=[self.names[value] if value is not None else "" for value in op.onnx_inputs()],
            output=self._output_names(op),
        )
        kinds = _attribute_kinds(op_type, self.opset)
        for key, value in sorted(op.onnx_attributes().items()):
            assert key in kinds, f"{op.name} has no attribute {key} at {self.opset}"
            node.attribute.append(_attribute(key, value, kinds[key]))
        for key, value in _provenance(op):
            node.metadata_props.add(key=key, value=value)
        self.graph.node.append(node)

    def _output_names(self, op: OnnxOp) -> list[str]:
        """One a result, "" for an optional one that nobody reads; such ones at the end are left out."""
        unread = op.unread_results()
        names = ["" if result in unread else self.names[result] for result in op.results]
        while len(names) > 1 and not names[-1]:
            names.pop()
        return names

    def _check_opset(self, op: OnnxOp) -> None:
        first, end = opset_range(op)
        if first <= self.opset and (end is None or self.opset < end):
            return
        raise error_at(
            op,
            f"{op.name} with these types and attributes",
            given=option("opset", self.opset),
            expected=f"{option('opset')} {first}{' or newer' if end is None else f' to {end - 1}'}",
            kind=UnsupportedError,
        )

    def _add_output(self, name: str, value: SSAValue) -> None:
        self.graph.output.append(_value_info(name, value))
        source = self.names[value]
        if source != name:
            node = self.node_names.unique("Identity")
            self.graph.node.add(op_type="Identity", name=node, input=[source], output=[name])


@cache
def _attribute_kinds(op_type: str, opset: int) -> dict[str, onnx.defs.OpSchema.AttrType]:
    schema = onnx.defs.get_schema(op_type, max_inclusive_version=opset)
    return {name: attribute.type for name, attribute in schema.attributes.items()}


def _provenance(op: OnnxOp) -> Iterator[tuple[str, str]]:
    if name := name_of(op):
        yield "gradc.op", name
    if position := position_of(op):
        file = printable(re.split(r"[\\/]", position.file)[-1])
        yield "gradc.source", f"{file}:{position.line}:{position.column}"


def _value_info(name: str, value: SSAValue) -> ValueInfoProto:
    return onnx.helper.make_value_info(name, _type_proto(value.type))


def _type_proto(type_: Attribute) -> onnx.TypeProto:
    match type_:
        case SequenceType():
            return onnx.helper.make_sequence_type_proto(_type_proto(type_.element))
        case OptionalType():
            return onnx.helper.make_optional_type_proto(_type_proto(type_.element))
        case TensorType() | UnrankedTensorType():
            shape = shapes.shape_of(type_) if isinstance(type_, TensorType) else None
            return onnx.helper.make_tensor_type_proto(_element_type(type_.element_type), shape)
        case _:
            raise AssertionError(f"type {type_} has no ONNX type")


def _element_type(type_: Attribute) -> int:
    dtype = dtypes.of_mlir(type_)
    assert dtype is not None, f"element type {type_} has no ONNX type"
    return onnx_number(dtype.name)


def _fill(tensor: TensorProto, array: np.ndarray) -> TensorProto:
    """Give a tensor an array's type, shape and bytes.

    ONNX's raw_data is little-endian, as numpy is on every host that we run on.
    """
    dtype = dtypes.of_numpy(array.dtype)
    assert dtype is not None, f"no ONNX type for {array.dtype}"
    tensor.data_type = onnx_number(dtype.name)
    tensor.dims.extend(array.shape)
    packed = onnx.numpy_helper.from_array(array).raw_data if dtype.name in _PACKED else None
    tensor.raw_data = array.tobytes() if packed is None else packed
    return tensor


_PACKED = ("s2", "u2", "s4", "u4", "f4_e2m1", "f6_e2m3", "f6_e3m2")
"""Types of which a byte holds several."""


def _attribute(name: str, value: Any, kind: onnx.defs.OpSchema.AttrType) -> AttributeProto:
    """An attribute of the schema's kind, so that an empty list and an integral float stay theirs."""
    kinds = onnx.defs.OpSchema.AttrType
    match kind:
        case kinds.INT:
            number = _element_type(value) if isinstance(value, Attribute) else int(value)
            return AttributeProto(name=name, type=AttributeProto.INT, i=number)
        case kinds.FLOAT:
            return AttributeProto(name=name, type=AttributeProto.FLOAT, f=float(value))
        case kinds.STRING:
            return AttributeProto(name=name, type=AttributeProto.STRING, s=str(value).encode())
        case kinds.INTS:
            return AttributeProto(name=name, type=AttributeProto.INTS, ints=map(int, value))
        case kinds.FLOATS:
            return AttributeProto(name=name, type=AttributeProto.FLOATS, floats=map(float, value))
        case kinds.STRINGS:
            words = [str(word).encode() for word in value]
            return AttributeProto(name=name, type=AttributeProto.STRINGS, strings=words)
        case kinds.TENSOR:
            return AttributeProto(
                name=name, type=AttributeProto.TENSOR, t=_fill(TensorProto(), np.asarray(value))
            )
        case _:
            raise AssertionError(f"attribute {name} of kind {kind}")
