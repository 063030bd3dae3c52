"""What is in a graph: ops, shapes, dtypes, attributes after defaults, and what gradc makes of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from dialects.support import entry, shapes
from dialects.support.attributes import documented_attributes
from dialects.support.diagnostics import GradcError, name_of, position_of
from dialects.support.documented_op import DocumentedOp
from dialects.support.dtypes import name_of as dtype_name
from dialects.support.interfaces import collect_remarks
from gradc.compiler import Options, compile_module, load
from gradc.json_text import json_text
from gradc.tables import BAD, GOOD, PLAIN, REMARK, Look
from passes.infer_types import InferTypesPass


@dataclass(frozen=True)
class Tensor:
    name: str
    dtype: str
    shape: list[int | str | None]
    """Sizes; a name or None where only run time knows one."""


@dataclass(frozen=True)
class Attribute:
    """`given` tells a value that the source states from a documented default."""

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


@dataclass(frozen=True)
class Inspection:
    """`refusal` says why the graph does not compile with default options, '' if it does."""

    inputs: list[Tensor]
    outputs: list[Tensor]
    ops: list[Op]
    remarks: list[str]
    refusal: str


def inspect(source: Any, auto_pad_rule: str | None = None) -> Inspection:
    """Raises GradcError for a source that is no valid graph."""
    import dialects

    module = load(source, auto_pad_rule)
    InferTypesPass().apply(dialects.context(), module)
    function = entry.entry_function(module)
    ops = [op for op in module.walk() if isinstance(op, DocumentedOp)]
    labels = _labels(module)
    return Inspection(
        inputs=[_tensor(labels, value) for value in function.args],
        outputs=[
            Tensor(name, *_type(value))
            for name, value in zip(
                entry.output_names(function), entry.return_op(function).arguments, strict=True
            )
        ],
        ops=[_op(labels, op) for op in ops],
        remarks=[str(remark) for remark in collect_remarks(ops)],
        refusal=_refusal(module),
    )


def _refusal(module: ModuleOp) -> str:
    try:
        compile_module(module.clone(), Options())
    except GradcError as error:
        return str(error)
    return ""


def _labels(module: ModuleOp) -> dict[SSAValue, str]:
    """A name for every value: the public one of inputs and outputs, else its own or a number."""
    function = entry.entry_function(module)
    labels: dict[SSAValue, str] = dict(zip(function.args, entry.input_names(function), strict=True))
    returned = zip(entry.return_op(function).arguments, entry.output_names(function), strict=True)
    labels |= {value: name for value, name in returned if value not in labels}
    values = (result for op in module.walk() for result in op.results)
    for number, value in enumerate(v for v in values if v not in labels):
        labels[value] = value.name_hint or f"%{number}"
    return labels


def _type(value: SSAValue) -> tuple[str, list[int | str | None]]:
    return dtype_name(shapes.element_type_of(value)), list(shapes.shape_of(value))


def _tensor(labels: dict[SSAValue, str], value: SSAValue) -> Tensor:
    return Tensor(labels[value], *_type(value))


def _op(labels: dict[SSAValue, str], op: DocumentedOp) -> Op:
    return Op(
        kind=getattr(op, "KIND", op.name),
        name=name_of(op),
        position=str(position_of(op) or ""),
        inputs=[_tensor(labels, value) for value in op.operands],
        outputs=[_tensor(labels, value) for value in op.results],
        attributes=list(_attributes(op)),
    )


def _attributes(op: DocumentedOp) -> Iterator[Attribute]:
    for name in documented_attributes(type(op)):
        value = op.value(name)
        if value is not None:
            yield Attribute(name, list(value) if isinstance(value, tuple) else value, op.is_given(name))


def as_json(found: Inspection) -> str:
    return json_text(asdict(found))


def as_text(found: Inspection, look: Look = PLAIN) -> str:
    return "\n".join(_lines(found, look))


def _lines(found: Inspection, look: Look) -> Iterator[str]:
    yield from (f"input   {_line(tensor)}" for tensor in found.inputs)
    yield from (f"output  {_line(tensor)}" for tensor in found.outputs)
    for op in found.ops:
        yield ""
        heading = " ".join(filter(None, (op.kind, f'"{op.name}"' if op.name else "", op.position)))
        yield look.styled(heading, "bold")
        yield from (f"  in   {_line(tensor)}" for tensor in op.inputs)
        yield from (f"  out  {_line(tensor)}" for tensor in op.outputs)
        for attribute in op.attributes:
            default = "" if attribute.given else look.styled("  (default)", "dim")
            yield f"  {attribute.name} = {_shown(attribute.value)}{default}"
    yield ""
    yield from (look.styled(remark, REMARK) for remark in found.remarks)
    if found.refusal:
        yield look.styled(f"supported: no, {found.refusal}", BAD)
    else:
        yield look.styled("supported: yes", GOOD)


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _line(tensor: Tensor) -> str:
    return f"{tensor.name}: {tensor.dtype} {shapes.show(tensor.shape)}"
