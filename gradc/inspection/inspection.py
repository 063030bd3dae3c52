"""Inspection of a graph: ops, shapes, dtypes, attributes with defaults, and support."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, NoneType, TensorType, UnrankedTensorType
from xdsl.ir import Attribute as MlirAttribute
from xdsl.ir import Operation, SSAValue

from dialects.onnx.attributes import python_values
from dialects.onnx.base import OnnxOp
from dialects.onnx.node import NodeOp
from dialects.onnx.ops import ConstantOp
from dialects.onnx.types import word_of
from dialects.support import entry, shapes
from dialects.support.attributes import documented_attributes
from dialects.support.diagnostics import (
    GradcError,
    UnsupportedError,
    kind_of,
    name_of,
    position_of,
    printable,
)
from dialects.support.documented_op import DocumentedOp
from dialects.support.dtypes import name_of as dtype_name
from dialects.support.error_list import is_opaque
from dialects.support.interfaces import collect_remarks
from gradc.compiler.contributed_ops import misspelt_remarks, nonstandard_remarks
from gradc.compiler.default_opset import with_opset
from gradc.compiler.driver import compile_module, load
from gradc.compiler.options import Options
from gradc.compiler.source import Source
from gradc.files.json_text import json_text
from gradc.files.kinds import is_onnx
from gradc.graph.tensors import TensorInfo
from gradc.inspection.contents import Contents, contents
from gradc.inspection.contents import lines as content_lines
from gradc.inspection.unsupported import UnsupportedNode, unsupported_nodes
from gradc.inspection.unsupported import lines as unsupported_lines
from gradc.model.tensors import optional_infos
from gradc.terminal.tables import BAD, GOOD, PLAIN, REMARK, Look
from gradc.util.arguments import is_path
from passes.infer_types import infer_types
from passes.targets.spec import spec_of
from passes.targets.target import Target


@dataclass(frozen=True)
class Tensor:
    name: str
    dtype: str
    shape: list[int | str | None] | None
    """Sizes; a name or None is a dynamic size. None for an unknown rank."""


@dataclass(frozen=True)
class Attribute:
    """An attribute; `given` is False for a documented default."""

    name: str
    value: Any
    given: bool


@dataclass(frozen=True)
class Op:
    kind: str
    name: str
    position: str
    inputs: list[Tensor]
    outputs: list[Tensor]
    attributes: list[Attribute]
    understood: bool = True
    """False for an op that gradc does not compile."""


@dataclass(frozen=True)
class Inspection:
    """Inspection of a source. `ops` are its ops except constants.

    `refusal` is the reason why the graph does not compile for the target, or names the nonstandard ops of a
    portable model, '' if it is supported; `lacks` are the nodes that a given target does not implement.
    `contents` are those of an ONNX model.
    """

    inputs: list[Tensor]
    outputs: list[Tensor]
    ops: list[Op]
    remarks: list[str]
    refusal: str
    contents: Contents | None = None
    target: str | None = None
    opset: int | None = None
    lacks: list[UnsupportedNode] | None = None
    optional_inputs: list[Tensor] | None = None
    """Inputs of an ONNX model that have a default, an initializer."""


def inspect(
    source: Any, auto_pad_rule: str | None = None, target: str | None = None, opset: int | None = None
) -> Inspection:
    """Inspect a source, also for a target if one is given. Raises GradcError for an invalid graph."""

    module, refused = _load_or_refusal(source, auto_pad_rule)
    model = _model_of(source)
    infer_types(module)
    function = entry.entry_function(module)
    known = DocumentedOp | OnnxOp | NodeOp
    ops = [op for op in function.body.block.ops if isinstance(op, known) or is_opaque(op)]
    ops = [op for op in ops if not isinstance(op, ConstantOp)]
    labels = _labels(module)
    options = with_opset(Options(target or "cpu", opset, auto_pad_rule=auto_pad_rule), module)
    chosen = options.resolve_target() if target is not None else None
    decomposed = _decompose(module, source, options)
    lowered, refusal = _lower(decomposed, options)
    with _open_proto(model) as proto:
        described = None if proto is None else contents(module, lowered, proto)
        optional = None if proto is None else [*map(_optional, optional_infos(proto))]
    return Inspection(
        inputs=[_tensor(labels, value) for value in function.args],
        outputs=[
            Tensor(name, *_type(value))
            for name, value in zip(
                entry.output_names(function), entry.return_op(function).arguments, strict=True
            )
        ],
        ops=[_op(labels, op) for op in ops],
        remarks=[str(remark) for remark in (*collect_remarks(ops), *misspelt_remarks(module))],
        refusal=refused or refusal or ("" if chosen is None else _nonstandard_ops(lowered, chosen)),
        contents=described,
        target=chosen and chosen.name,
        opset=chosen and chosen.opset,
        lacks=None if chosen is None else unsupported_nodes(decomposed, chosen),
        optional_inputs=optional,
    )


def _model_of(source: Any) -> Any:
    """Return the path or the message of an ONNX model; None for any other source."""
    if isinstance(source, Source):
        return source.files[0] if source.is_model else None
    is_file = is_path(source) and is_onnx(source)
    return source if is_file or type(source).__name__ == "ModelProto" else None


@contextlib.contextmanager
def _open_proto(model: Any) -> Iterator[Any]:
    """Yield the message of a model given as path or message; None for None."""
    if not is_path(model):
        yield model
        return
    from gradc.model.external_data import open_model  # imports onnx

    with open_model(os.fspath(model)) as (read, _):
        yield read


def _optional(info: TensorInfo) -> Tensor:
    return Tensor(info.name, info.dtype, None if info.shape is None else list(info.shape))


def _load_or_refusal(source: Any, auto_pad_rule: str | None) -> tuple[ModuleOp, str]:
    """Return the module, and the error for ops that gradc does not compile, or ''."""
    try:
        return load(source, auto_pad_rule), ""
    except UnsupportedError as error:
        if error.graph is None:
            raise
        return error.graph, str(error)


def _decompose(module: ModuleOp, source: Any, options: Options) -> ModuleOp:
    """Return the module with the onnxruntime ops decomposed that the target lacks, as in a compilation."""
    nodes = (op for op in module.walk() if isinstance(op, NodeOp))
    decomposed_domains = spec_of(options.target).decomposed_domains
    if not any(op.domain.data in decomposed_domains for op in nodes):
        return module
    decomposed = load(source, options.auto_pad_rule, target=options.target)
    infer_types(decomposed)
    return decomposed


def _lower(module: ModuleOp, options: Options) -> tuple[ModuleOp, str]:
    """Return the lowered module and '', or the module and the error."""
    try:
        return compile_module(module.clone(), options).module, ""
    except GradcError as error:
        return module, str(error)


def _nonstandard_ops(module: ModuleOp, target: Target) -> str:
    return "".join(remark.message for remark in nonstandard_remarks(module, target))


def _labels(module: ModuleOp) -> dict[SSAValue, str]:
    """Return a name for every value: the public one of an input or output, its name hint, or a number."""
    function = entry.entry_function(module)
    labels: dict[SSAValue, str] = dict(zip(function.args, entry.input_names(function), strict=True))
    returned = zip(entry.return_op(function).arguments, entry.output_names(function), strict=True)
    labels |= {value: name for value, name in returned if value not in labels}
    values = (result for op in module.walk() for result in op.results)
    for number, value in enumerate(v for v in values if v not in labels):
        labels[value] = value.name_hint or f"%{number}"
    return labels


def _type(value: SSAValue) -> tuple[str, list[int | str | None] | None]:
    """Return dtype and shape; `?` and None for an untyped result of an opaque op."""
    type_ = value.type
    if isinstance(type_, TensorType | UnrankedTensorType) and isinstance(type_.element_type, NoneType):
        return "?", None
    return word_of(type_), list(shapes.dim_names(shapes.shape_of(type_))) if shapes.has_rank(type_) else None


def _tensor(labels: dict[SSAValue, str], value: SSAValue) -> Tensor:
    return Tensor(labels[value], *_type(value))


def _op(labels: dict[SSAValue, str], op: Operation) -> Op:
    return Op(
        kind=kind_of(op),
        name=name_of(op),
        position=str(position_of(op) or ""),
        inputs=[_tensor(labels, value) for value in op.operands],
        outputs=[_tensor(labels, value) for value in op.results],
        attributes=list(_attributes(op)),
        understood=not is_opaque(op),
    )


def _attributes(op: Operation) -> Iterator[Attribute]:
    if isinstance(op, OnnxOp):
        yield from (Attribute(name, _plain(value), True) for name, value in op.onnx_attributes().items())
    if isinstance(op, NodeOp):
        given = python_values(op.given.data)
        yield from (Attribute(name, _plain(value), True) for name, value in given.items())
    if not isinstance(op, DocumentedOp):
        return
    for name in documented_attributes(type(op)):
        value = op.value(name)
        if value is not None:
            yield Attribute(name, list(value) if isinstance(value, tuple) else value, op.is_given(name))


def _plain(value: Any) -> Any:
    """Convert an ONNX attribute to plain data: element types to names, arrays to lists."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return dtype_name(value) if isinstance(value, MlirAttribute) else value


def as_json(found: Inspection) -> str:
    """Return JSON text; entries about a model or a target are omitted if there is none."""
    optional = ("contents", "target", "opset", "lacks", "optional_inputs")
    data = asdict(found)
    return json_text({name: part for name, part in data.items() if name not in optional or part is not None})


def as_text(found: Inspection, look: Look = PLAIN) -> str:
    return "\n".join(_lines(found, look))


def _lines(found: Inspection, look: Look) -> Iterator[str]:
    yield from (f"input   {_line(tensor)}" for tensor in found.inputs)
    yield from (f"input   {_line(tensor)}  (has a default)" for tensor in found.optional_inputs or ())
    yield from (f"output  {_line(tensor)}" for tensor in found.outputs)
    if found.contents is not None:
        yield from content_lines(found.contents, look)
    if found.lacks is not None and found.target is not None:
        yield ""
        yield from unsupported_lines(found.lacks, Target.of(found.target, found.opset), look)
    for op in found.ops:
        yield ""
        heading = printable(" ".join(filter(None, (op.kind, f'"{op.name}"' if op.name else "", op.position))))
        yield look.with_style(*((heading, "bold") if op.understood else (f"{heading}  (not compiled)", BAD)))
        yield from (f"  in   {_line(tensor)}" for tensor in op.inputs)
        yield from (f"  out  {_line(tensor)}" for tensor in op.outputs)
        for attribute in op.attributes:
            default = "" if attribute.given else look.with_style("  (default)", "dim")
            yield f"  {attribute.name} = {_format_value(attribute.value)}{default}"
    yield ""
    yield from (look.with_style(remark, REMARK) for remark in found.remarks)
    if found.refusal:
        yield look.with_style(f"supported: no, {found.refusal}", BAD)
    else:
        yield look.with_style("supported: yes", GOOD)


def _format_value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else printable(str(value))


def _line(tensor: Tensor) -> str:
    shape = "of unknown rank" if tensor.shape is None else shapes.show(tensor.shape)
    return printable(f"{tensor.name}: {tensor.dtype} {shape}")
