"""Nodes of the standard domain to ops of the dialect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnx
from onnx import AttributeProto, NodeProto
from xdsl.ir import Attribute, Operation

from dialects.onnx import ops
from dialects.onnx.declared_types import declare
from dialects.onnx.result_types import ranks_of, result_types
from dialects.onnx.signatures import SIGNATURES
from dialects.onnx.types import UnknownType
from dialects.support.diagnostics import suggest, violation
from gradc.importers.onnx import control
from gradc.importers.onnx.attributes import check_attributes, values_of
from gradc.importers.onnx.constants import constant_value
from gradc.importers.onnx.scope import constant_op
from gradc.importers.onnx.source import Source
from gradc.importers.onnx.upgrade import has_newer_form
from gradc.importers.onnx.weights import dense_of_sparse
from gradc.model.external_data import TensorData


def is_of_dialect(op_type: str) -> bool:
    """Return whether the dialect has the op, in its newest or an older version."""
    return op_type in SIGNATURES or op_type in ("Upsample", "Scatter")


_BACKPORTED = {"LayerNormalization": 17}
"""Ops that onnxruntime's optimizer also writes into older models -> the opset that defines them."""


def schema_of(op_type: str, version: int) -> onnx.defs.OpSchema:
    version = max(version, _BACKPORTED.get(op_type, 0))
    try:
        schema = onnx.defs.get_schema(op_type, max_inclusive_version=version)
    except onnx.defs.SchemaError:
        what = f"{op_type} is not in opset {version}"
        if op_type in SIGNATURES:
            raise violation(f"{what}: it was added in {_first(op_type)}") from None
        raise violation(what, hint=suggest(op_type, SIGNATURES)) from None
    if schema.deprecated and not has_newer_form(op_type, schema.since_version):
        raise violation(f"{op_type} is not in opset {version}: it was removed in {schema.since_version}")
    return schema


def _first(op_type: str) -> int:
    schemas = onnx.defs.get_all_schemas_with_history()
    return min(schema.since_version for schema in schemas if schema.name == op_type and not schema.domain)


def check_counts(node: NodeProto, schema: onnx.defs.OpSchema) -> None:
    """Check the numbers of inputs and outputs; an older version may have fewer than the newest."""
    sides = ("inputs", node.input, schema.max_input), ("outputs", node.output, schema.max_output)
    for side, names, most in sides:
        given = max((index for index, name in enumerate(names, 1) if name), default=0)
        if given > most:
            raise violation(f"{side} of {node.op_type}", given=given, expected=f"at most {most}")


def constant(protos: Mapping[str, AttributeProto], data: TensorData) -> Operation:
    if len(protos) != 1:
        raise violation("attributes of Constant", given=len(protos), expected=1)
    if "sparse_value" in protos:
        return constant_op(dense_of_sparse(protos["sparse_value"].sparse_tensor, data))
    ((name, value),) = values_of(protos, data).items()
    return constant_op(constant_value(name, value))


def standard_op(node: Source) -> Operation:
    """Build the op of an upgraded node."""
    cls = ops.op_class(node.op_type)
    signature = cls.SIGNATURE
    attributes = check_attributes(node.op_type, node.attributes, signature)
    wanted = [a.name for a in signature.attributes if a.kind == "GRAPH"]
    if sorted(wanted) != sorted(node.regions):
        raise violation(f"graphs of {node.op_type}", given=sorted(node.regions), expected=sorted(wanted))
    operands = _by_port(node, cls)
    ports = signature.results
    variadic = bool(ports) and ports[-1].option.startswith("*")
    count = len(node.declared) if variadic else len(ports)
    if len(node.declared) > count:
        raise violation(f"outputs of {node.op_type}", given=len(node.declared), expected=f"at most {count}")
    declared = [*node.declared, *[None] * (count - len(node.declared))]
    if node.regions:
        declared = control.results(node, declared)
    ranks = ranks_of([type_ for type_ in declared if type_ is not None]) if None not in declared else ()
    named = {
        port.name: (tuple(v) if isinstance(v, list) else v) or None
        for port, v in zip(signature.operands, operands, strict=True)
    }
    inferred = result_types(cls, named, attributes, count, ranks)
    types = [_or_declared(*pair) for pair in zip(inferred, declared, strict=True)]
    given: dict[str, Any] = {**attributes, **node.regions}
    op = cls(*operands, result_types=types, **given)
    declare(op, declared)
    return op


def _or_declared(inferred: Attribute | None, declared: Attribute | None) -> Attribute:
    return (declared or UnknownType()) if inferred is None else inferred


def _by_port(node: Source, cls: type[Any]) -> list[Any]:
    ports, given = cls.SIGNATURE.operands, list(node.operands)
    found: list[Any] = []
    for port in ports:
        if port.option.startswith("*"):
            if None in given:
                raise violation(f"inputs of {node.op_type}", given="an omitted one", expected="all of them")
            found.append(given)
            given = []
            continue
        value = given.pop(0) if given else None
        if value is None and port.option != "?":
            raise violation(f"input {port.name} of {node.op_type} is missing")
        found.append(value)
    if given:
        raise violation(
            f"inputs of {node.op_type}", given=len(node.operands), expected=f"at most {len(ports)}"
        )
    return found
