"""Builder methods of the source ops, created from their classes on first use.

`python -m tools.documents.spec_methods` writes the stub for type checkers and editors.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from inspect import Parameter, Signature
from typing import Any, Never  # noqa: F401  a name of annotations

from xdsl.irdl import VariadicDef

from dialects import source_op
from dialects.cann.resize import CannResizeOp, ResizeBilinearV2GradOp
from dialects.onednn import CLASSES, NAMES
from dialects.onednn.base import OneDNNOp
from dialects.support.attributes import DocumentedAttribute, documented_attributes, unknown_dims
from gradc.builder.arguments import Dims, Floats, Ints  # noqa: F401  names of annotations
from gradc.builder.base import GraphBuilder, GraphValue

REQUIRED: Any = None
"""Default of a required argument; the op reports that it is missing."""

SHAPES = ("dst_shape",)
"""Attributes that are shapes with dynamic sizes."""

SourceOp = OneDNNOp | CannResizeOp

TYPES = {"f32": "float", "s64": "int", "s64[]": "Ints", "f32[]": "Floats", "bool": "bool", "string": "str"}


def method_name(op: str) -> str:
    return op.partition(".")[2]


class SpecMethod:
    """Descriptor that creates the method of an op on the first access."""

    def __init__(self, kind: str):
        self.kind = kind

    def __get__(self, graph: GraphBuilder | None, owner: type | None = None) -> Any:
        method = _create_method(self.kind)
        setattr(SpecMethods, method.__name__, method)
        return method.__get__(graph, owner)


class SpecMethods(GraphBuilder):
    """A method per op.

    `name` names the op in messages. `result_shape` declares the shape of the result, `result_shapes` those
    of several results (None: unknown). `result_dtype` is the dtype of the first result if the operands allow
    several, `result_dtypes` those of all results (None: any).
    """


KINDS = {**{cls.name: cls.KIND for cls in (*CLASSES, ResizeBilinearV2GradOp)}, **NAMES}
"""Name of an op in IR text -> its kind."""

for _name, _kind in KINDS.items():
    setattr(SpecMethods, method_name(_name), SpecMethod(_kind))


def _create_method(kind: str) -> Any:
    cls: Any = source_op(kind)
    name = method_name(cls.name)
    signature = method_signature(cls)
    operands = [operand_argument(port) for port in cls.PORTS if port not in documented_attributes(cls)]

    def method(*args: Any, **kwargs: Any) -> GraphValue | tuple[GraphValue, ...]:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{name}(): {error}") from None
        return _add(given.pop("self"), cls, [given.pop(name, None) for name in operands], **given)

    method.__name__, method.__qualname__ = name, f"{SpecMethods.__name__}.{name}"
    method.__doc__ = method_docstring(cls)
    method.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess]
    return method


def _add(
    graph: GraphBuilder,
    cls: type[SourceOp],
    operands: Sequence[Any],
    *,
    name: str | None = None,
    result_shape: Any = None,
    result_shapes: Any = None,
    result_dtypes: Any = None,
    result_dtype: Any = None,
    unknown: dict[str, Any] | None = None,
    **attributes: Any,
) -> GraphValue | tuple[GraphValue, ...]:
    """Add an op. A GraphValue among the attributes is passed as an input instead."""
    given = attributes | (unknown or {})
    inputs = [value for value in given.values() if isinstance(value, GraphValue)]
    plain = {key: _attribute(key, value) for key, value in given.items() if not isinstance(value, GraphValue)}
    shapes = (result_shape,) if result_shape is not None else result_shapes
    results = graph._build_all(cls, [*operands, *inputs], plain, name, shapes, result_dtypes, result_dtype)
    return results[0] if len(cls.RESULTS) == 1 else tuple(results)


def _attribute(name: str, value: Any) -> Any:
    return unknown_dims(value) if name in SHAPES and isinstance(value, list | tuple) else value


def method_signature(cls: type[SourceOp]) -> Signature:
    """Return the signature of the method of an op: operands, attributes, declarations of the results."""
    attributes = {attribute.name: _type_of(attribute) for attribute in documented_attributes(cls).values()}
    types = {
        **{operand_argument(port): _operand_type(cls, port) for port in cls.PORTS if port not in attributes},
        **{port: f"GraphValue | {attributes[port]}" for port in cls.PORTS if port in attributes},
    }
    keywords = {name: type_ for name, type_ in attributes.items() if name not in cls.PORTS}
    keywords |= {"name": "str | None"}
    if len(cls.RESULTS) == 1:
        keywords["result_shape"] = "Dims | None"
    else:
        keywords["result_shapes"] = "Sequence[Dims | None] | None"
        keywords["result_dtypes"] = "Sequence[npt.DTypeLike | None] | None"
    if getattr(cls, "CHOOSES_DTYPE", False):
        keywords["result_dtype"] = "npt.DTypeLike | None"
    parameters = [
        Parameter("self", Parameter.POSITIONAL_OR_KEYWORD),
        *(_parameter(name, type_, Parameter.POSITIONAL_OR_KEYWORD) for name, type_ in types.items()),
        *(_parameter(name, type_, Parameter.KEYWORD_ONLY) for name, type_ in keywords.items()),
        Parameter("unknown", Parameter.VAR_KEYWORD, annotation="Never"),
    ]
    values = ", ".join(["GraphValue"] * len(cls.RESULTS))
    return Signature(
        parameters, return_annotation="GraphValue" if len(cls.RESULTS) == 1 else f"tuple[{values}]"
    )


def _parameter(name: str, type_: str, kind: Any) -> Parameter:
    return Parameter(name, kind, default=REQUIRED, annotation=type_)


def operand_argument(port: str) -> str:
    return port.removesuffix("_i")


def _operand_type(cls: type[SourceOp], port: str) -> str:
    if port.endswith("_i"):
        return "Sequence[GraphValue]"
    definitions = cls.get_irdl_definition().operands
    required = sum(not isinstance(definition, VariadicDef) for _, definition in definitions)
    return "GraphValue" if cls.PORTS.index(port) < required else "GraphValue | None"


def _type_of(attribute: DocumentedAttribute) -> str:
    type_ = "Dims" if attribute.name in SHAPES else TYPES[attribute.spec.tag]
    return type_ if attribute.required else f"{type_} | None"


def method_docstring(cls: type[SourceOp]) -> str:
    """Return the documentation of an op without the constraints."""
    summary, *others, _ = (" ".join(part.split()) for part in (cls.__doc__ or "").split("\n\n"))
    texts = (textwrap.indent(textwrap.fill(text, 100), "        ") for text in others)
    return "\n\n".join((summary, *texts)) + "\n        "
