"""Reader of nodes: appends the ops of nodes, nested graphs and inlined functions to blocks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto
from xdsl.dialects.builtin import LocationAttr, NoneType, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from dialects.onnx.control import YieldOp
from dialects.onnx.domains import GRADIENT, MICROSOFT
from dialects.onnx.node import NodeOp
from dialects.onnx.opsets import OLDEST
from dialects.onnx.types import UnknownType
from dialects.support import limits
from dialects.support.diagnostics import GradcError, location, violation
from dialects.support.error_list import Errors
from dialects.support.option_names import option
from gradc.importers.onnx import ai_onnx_ml_types, contrib_types, control, validity
from gradc.importers.onnx.ai_onnx_ml_types import ML
from gradc.importers.onnx.annotations import note_node
from gradc.importers.onnx.attributes import attributes_of, graphs_of, values_of
from gradc.importers.onnx.locations import at
from gradc.importers.onnx.raised_nodes import raise_node
from gradc.importers.onnx.rewrites import Rewrites
from gradc.importers.onnx.scope import STANDARD, Scope, Versions, versions_of
from gradc.importers.onnx.source import Source
from gradc.importers.onnx.standard import check_counts, constant, is_of_dialect, schema_of, standard_op
from gradc.importers.onnx.types import check_text, type_of
from gradc.importers.onnx.upgrade import check_form, upgrade
from gradc.model.order import title, topological_order

BUILT_IN = {"com.microsoft": 1}
"""Versions of domains that onnxruntime knows without an import; tf2onnx writes none."""


@dataclass(frozen=True)
class Form:
    """A node without its operands; `version` is that of its domain, `declared` are the result types."""

    domain: str
    version: int
    attributes: Mapping[str, Attribute]
    graphs: Mapping[str, GraphProto]
    declared: list[Attribute | None]
    place: LocationAttr


class NodeReader:
    """Appends the ops of nodes, nested graphs and inlined functions to blocks."""

    def __init__(
        self,
        functions: Mapping[tuple[str, str, str], FunctionProto],
        for_gradients: Collection[str] | None,
        rewrites: Rewrites | None = None,
    ):
        self.functions = functions
        self.for_gradients = for_gradients
        self.rewrites = rewrites
        self.errors = Errors()
        self.count = 0
        self.docs: dict[str, Attribute] = {}
        self.properties: dict[str, Attribute] = {}
        self.of_model: Mapping[str, object] = {}

    def fill(self, scope: Scope, graph: GraphProto | FunctionProto) -> None:
        """Append the ops of a graph's nodes to the scope's block. An invalid node is reported at the end; its
        results have unknown types."""
        scope.check_depth()
        scope.infos |= {info.name: info for info in graph.value_info}
        if isinstance(graph, GraphProto):
            scope.infos |= {info.name: info for info in graph.output if info.type.WhichOneof("value")}
        for index, node in topological_order(graph.node):
            self.count += 1
            limits.check("ops", self.count, "ops of the graph")
            before = len(self.errors.found)
            with self.errors.collecting(), at(f"{title(node)}, node {index}"):
                self._add(scope, node)
            if len(self.errors.found) > before:
                self._add_placeholder(scope, node)

    def _add_placeholder(self, scope: Scope, node: NodeProto) -> None:
        outputs = [name for name in node.output if name and name not in scope.values]
        op = NodeOp("", "Unknown", [], [UnknownType()] * len(outputs))
        scope.block.add_op(op)
        scope.values |= zip(outputs, op.results, strict=True)

    def _add(self, scope: Scope, node: NodeProto) -> None:
        check_text(node.op_type, node.domain, node.name, node.overload, *node.input, *node.output)
        domain = "" if node.domain in STANDARD else node.domain
        operands = [scope.value(name) for name in node.input]
        while operands and operands[-1] is None:
            operands.pop()
        protos = attributes_of(node, scope.bindings)
        function = self.functions.get((node.domain, node.op_type, node.overload))
        if function is not None:
            results = self._call(scope, node, function, operands, protos)
        else:
            results = self._results(scope, node, domain, operands, protos)
        for name, value in zip(node.output, results, strict=False):
            if name:
                scope.define_result(name, value)

    def _call(
        self,
        scope: Scope,
        node: NodeProto,
        function: FunctionProto,
        operands: Sequence[SSAValue | None],
        protos: Mapping[str, AttributeProto],
    ) -> list[SSAValue | None]:
        """Inline a function call."""
        key = (function.domain, function.name, function.overload)
        if key in scope.calls:
            raise violation(f"the function {function.name} calls itself")
        called = f"{function.domain}.{function.name}"
        if called in (self.for_gradients or ()):
            hint = "its derivative is that of its nodes, which may have rules"
            what = f"{option('rules')} of {called}"
            raise violation(what, given="a function of the model", expected="an op", hint=hint)
        if len(operands) > len(function.input):
            raise violation(f"inputs of {function.name}", given=len(operands), expected=len(function.input))
        defaults = {proto.name: proto for proto in function.attribute_proto}
        name = node.name or next(iter(node.output), "") or node.op_type
        inner = Scope(
            scope.block,
            {**scope.versions, **versions_of(function.opset_import)},
            scope.data,
            prefix=f"{scope.prefix}{name}/",
            bindings={**defaults, **protos},
            depth=scope.depth + 1,
            calls=(*scope.calls, key),
        )
        given = [*operands, *[None] * (len(function.input) - len(operands))]
        inner.values |= zip(function.input, given, strict=True)
        outside = zip(function.output, map(scope.infos.get, node.output), strict=False)
        inner.infos |= {name: info for name, info in outside if info is not None}
        self.fill(inner, function)
        return [inner.value(output) for output in function.output]

    def _results(
        self,
        scope: Scope,
        node: NodeProto,
        domain: str,
        operands: list[SSAValue | None],
        protos: Mapping[str, AttributeProto],
    ) -> Sequence[SSAValue | None]:
        version = scope.versions.get(domain, BUILT_IN.get(domain))
        if version is None:
            expected = several_domains(scope.versions)
            raise violation(f'the model imports no opset of the domain "{domain}"', expected=expected)
        if not node.op_type:
            raise violation("the node has no op_type")
        validity.check_op_type(domain, node.op_type)
        name = scope.prefix + (node.name or next(iter(node.output), ""))
        if name and node.doc_string and isinstance(node.doc_string, str):
            self.docs.setdefault(name, StringAttr(node.doc_string))
        note_node(node, name, self.properties)
        place = location(name)
        declared = [scope.declared(name) for name in node.output]
        if not domain and node.op_type == "Constant":
            return _append(scope, constant(protos, scope.data), place).results
        attributes = values_of(protos, scope.data)
        types = [None if value is None else value.type for value in operands]
        if domain == ML:
            declared = ai_onnx_ml_types.complete_types(node.op_type, attributes, declared, types)
        if domain == MICROSOFT:
            declared = contrib_types.complete_types(node.op_type, declared, types)
        form = Form(domain, version, attributes, graphs_of(protos), declared, place)
        unknown = any(value is not None and isinstance(value.type, UnknownType) for value in operands)
        if domain or unknown or not is_of_dialect(node.op_type):
            return self._opaque(scope, node, operands, form)
        try:
            return self._refine_type(scope, node, operands, form)
        except GradcError:
            if not scope.may_not_run:
                raise
        return self._opaque(scope, node, operands, form)

    def _opaque(
        self, scope: Scope, node: NodeProto, operands: Sequence[SSAValue | None], form: Form
    ) -> Sequence[SSAValue | None]:
        if self.rewrites is not None and f"{form.domain}.{node.op_type}" == GRADIENT:
            from gradc.importers.onnx.gradient import results_of_gradient

            write = self.rewrites.differentiate
            return results_of_gradient(scope, operands, form.attributes, form.place, write)
        if not form.domain:
            check_form(node.op_type, form.version)
        regions = {name: self._region(scope, node, graph, None) for name, graph in form.graphs.items()}
        types = [
            (_or_unknown(t) if n else NoneType()) for n, t in zip(node.output, form.declared, strict=True)
        ]
        op = NodeOp(form.domain, node.op_type, operands, types, form.attributes, regions, form.version)
        if (raised := raise_node(op, OLDEST, form.place)) is not None:
            new, values = raised
            scope.block.add_ops(new)
            op.drop_all_references()
            return values
        found = None if self.rewrites is None else self.rewrites.decompose(op, self.of_model)
        if found is None:
            return _append(scope, op, form.place).results
        new, values = found
        kept = (
            [op]
            if any(v is None and r.type != NoneType() for v, r in zip(values, op.results, strict=True))
            else []
        )
        for one in (*new, *kept):
            _append(scope, one, form.place)
        if not kept:
            op.drop_all_references()  # release its uses
        return [own if value is None else value for value, own in zip(values, op.results, strict=True)]

    def _refine_type(
        self, scope: Scope, node: NodeProto, operands: list[SSAValue | None], form: Form
    ) -> Sequence[SSAValue | None]:
        """Build the node as an op of the dialect, with inferred result types."""
        schema = schema_of(node.op_type, form.version)
        since = schema.since_version
        check_counts(node, schema)
        arguments = control.argument_types(node.op_type, since, operands, form.attributes, form.graphs)
        regions = {n: self._region(scope, node, g, arguments.get(n)) for n, g in form.graphs.items()}
        source = Source(
            node.op_type,
            since,
            list(operands),
            dict(form.attributes),
            regions,
            list(form.declared),
            scope.block,
            form.place,
        )
        upgrade(source)
        return source.replaced or _append(scope, standard_op(source), form.place).results

    def _region(
        self, scope: Scope, node: NodeProto, graph: GraphProto, types: Sequence[Attribute] | None
    ) -> Region:
        block = Block()
        inner = scope.inner(block, is_branch=node.op_type == "If")
        inner.add_weights(graph.initializer, graph.sparse_initializer)
        inputs = [value for value in graph.input if value.name not in inner.weights]
        types = [control.drop_names(type_of(v.type)) for v in inputs] if types is None else types
        if len(inputs) != len(types):
            raise violation("inputs of a nested graph", given=len(inputs), expected=len(types))
        for value, type_ in zip(inputs, types, strict=True):
            inner.define(value.name, block.insert_arg(type_, len(block.args)))
        self.fill(inner, graph)
        outputs = [inner.required(value.name) for value in graph.output]
        block.add_op(YieldOp(*outputs))
        return Region(block)


def several_domains(versions: Versions) -> str:
    return ", ".join(f'"{domain}" {version}' for domain, version in versions.items()) or "an opset_import"


def _append(scope: Scope, op: Operation, place: Any) -> Operation:
    op.location = place
    scope.block.add_op(op)
    return op


def _or_unknown(type_: Attribute | None) -> Attribute:
    return UnknownType() if type_ is None else type_
