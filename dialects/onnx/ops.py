"""Op classes of ONNX's standard domain: `ops.AddOp`, created on first use.

A graph has some twenty kinds of ops, the domain two hundred. `signatures` holds their schemas; type checkers
and editors read the generated `ops.pyi`.
"""

from __future__ import annotations

import types
from typing import Any, cast

from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    var_operand_def,
    var_result_def,
)

from dialects.onnx import attributes, traits
from dialects.onnx.base import OnnxConstant, OnnxOp
from dialects.onnx.signature import GRAPH, OPTIONAL, SINGLE, AttributeSignature, Port, Signature, read
from dialects.onnx.signatures import SIGNATURES

_SUFFIX = "Op"

_OPERANDS = {SINGLE: operand_def, OPTIONAL: opt_operand_def}
_BASES: dict[str, type[OnnxOp]] = {"Constant": OnnxConstant}


def op_names() -> tuple[str, ...]:
    """Return ONNX's names of all ops, in alphabetical order."""
    return tuple(SIGNATURES)


def op_class(name: str) -> type[OnnxOp]:
    """Return the class of an op by its ONNX name. Raises KeyError."""
    if name not in SIGNATURES:
        raise KeyError(name)
    return globals().get(name + _SUFFIX) or _create_class(name)


def default_of(name: str, attribute: str) -> Any:
    """Return the default of an attribute of the op `name`; None without one."""
    return next(a.default for a in op_class(name).SIGNATURE.attributes if a.name == attribute)


def loaded_ops() -> tuple[type[OnnxOp], ...]:
    """Return the classes created so far, which include those of all existing ops."""
    return tuple(globals()[name + _SUFFIX] for name in SIGNATURES if name + _SUFFIX in globals())


def __getattr__(name: str) -> Any:
    if name == "OPS":
        return tuple(map(op_class, SIGNATURES))
    if name.removesuffix(_SUFFIX) in SIGNATURES and name.endswith(_SUFFIX):
        return _create_class(name.removesuffix(_SUFFIX))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), "OPS", *(name + _SUFFIX for name in SIGNATURES)]


def _create_class(name: str) -> type[OnnxOp]:
    signature = read(SIGNATURES[name])
    base = _BASES.get(name, OnnxOp)
    made = types.new_class(name + _SUFFIX, (base,), {}, lambda body: body.update(_body(name, signature)))
    found = cast(type[OnnxOp], irdl_op_definition(made))
    found.SIGNATURE, found.TYPES = signature, signature.types
    found.REVISIONS, found.VERSIONS = signature.revisions, signature.versions
    globals()[name + _SUFFIX] = found
    return found


def _body(name: str, signature: Signature) -> dict[str, Any]:
    operands = {port.name: _operand(port) for port in signature.operands}
    results = {port.name: _result(port) for port in signature.results}
    properties = {a.name: _attribute(a) for a in signature.attributes}
    body = {
        "__module__": __name__,
        "__qualname__": name + _SUFFIX,
        "__doc__": f"ONNX {name}, newest schema version {signature.revisions[-1]}.",
        "name": f"onnx.{name}",
        **operands,
        **properties,
        **results,
    }
    if sum(port.option != SINGLE for port in signature.operands) > 1:
        body["irdl_options"] = (AttrSizedOperandSegments(as_property=True),)
    if name not in _BASES:
        body["traits"] = traits.traits_of(name)
    return body


def _operand(port: Port) -> Any:
    """Declare an operand; the op's own verifier checks its type, for better messages."""
    return _OPERANDS.get(port.option, var_operand_def)(AnyAttr())


def _result(port: Port) -> Any:
    """Declare a result. An op has all its results; a model omits unused ones."""
    return (result_def if port.option in (SINGLE, OPTIONAL) else var_result_def)(AnyAttr())


def _attribute(attribute: AttributeSignature) -> Any:
    if attribute.kind == GRAPH:
        return region_def()
    return (prop_def if attribute.required else opt_prop_def)(getattr(attributes, attribute.kind))
