"""Type inference of an op's results from schema, operands and attributes.

Element types follow from the schema's type variables, shapes from the rules of `infer`. A type that cannot be
inferred is None, and the result keeps its declared one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, UnrankedTensorType, f32, i32
from xdsl.ir import Attribute, SSAValue

from dialects.onnx import containers
from dialects.onnx.attributes import python_values
from dialects.onnx.call import UNRANKED, Call, Tensor
from dialects.onnx.infer.rules import infer
from dialects.onnx.signature import HETEROGENEOUS, Port
from dialects.onnx.types import unranked_type, without_shape, word_of
from dialects.onnx.values import constant_of, dims_of
from dialects.support import shapes
from dialects.support.diagnostics import violation
from dialects.support.dtypes import UI8
from dialects.support.memo import Memo
from dialects.support.op_cache_key import call_state
from dialects.support.shapes import Shape

if TYPE_CHECKING:
    from dialects.onnx.base import OnnxOp

Operands = Mapping[str, Any]
"""Argument for each operand of the schema: a value, None, or a sequence for a variadic one."""

Properties = Mapping[str, Attribute]
Types = tuple[Attribute | None, ...]

_INFERRED = Memo()


def result_types(
    cls: type[OnnxOp],
    operands: Operands,
    properties: Properties,
    count: int | None,
    ranks: tuple[int, ...] = (),
) -> Types:
    """Return one type per result, computed once for ops in the same state.

    `count` is the number of results, None if the schema fixes it; `ranks` are their declared ranks. Raises
    GradcError if operands and attributes contradict the schema, or each other.
    """
    state = call_state(cls, in_order(operands), properties)
    if state is None:
        return _infer_anew(cls, operands, properties, count, ranks)
    key = (*state, count, *ranks)
    return _INFERRED.get(key, lambda: _infer_anew(cls, operands, properties, count, ranks))


def _infer_anew(
    cls: type[OnnxOp],
    operands: Operands,
    properties: Properties,
    count: int | None,
    ranks: tuple[int, ...],
) -> Types:
    given = in_order(operands)
    variables = _bind_variables(cls, operands)
    least = cls.VERSIONS[-1].min_inputs
    if len(given) < least:
        raise violation("inputs", given=len(given), expected=f"{least} or more")
    ports = _ports(cls.SIGNATURE.results, count)
    if (rule := containers.RULES.get(cls.onnx_name())) is not None:
        return tuple(rule([None if v is None else v.type for v in given], properties))
    results = tuple(_of_variable(cls, port, variables, properties) for port in ports)
    call = call_of(cls, operands, properties, len(ports), ranks)
    return tuple(map(_with_shape, results, infer(call)))


def call_of(
    cls: type[OnnxOp],
    operands: Operands,
    properties: Properties,
    results: int,
    ranks: tuple[int, ...] = (),
) -> Call:
    """Return the op as plain data."""
    tensors = [None if value is None else _tensor(value) for value in in_order(operands)]
    return Call(cls.onnx_name(), tuple(tensors), python_values(properties), results, ranks)


def ranks_of(types: Sequence[Attribute]) -> tuple[int, ...]:
    """Return the ranks of declared types; () if one is unranked."""
    ranks = [type_.get_num_dims() for type_ in types if isinstance(type_, TensorType)]
    return tuple(ranks) if len(ranks) == len(types) else ()


def _tensor(value: SSAValue) -> Tensor:
    if type(value.type) is not TensorType:
        return UNRANKED
    return Tensor(shapes.shape_of(value), constant_of(value), dims_of(value))


def in_order(operands: Operands) -> list[SSAValue | None]:
    """Return the operands one by one, without absent ones at the end."""
    found: list[SSAValue | None] = []
    for given in operands.values():
        found += given if isinstance(given, tuple) else (given,)
    while found and found[-1] is None:
        found.pop()
    return found


def _ports(ports: Sequence[Port], count: int | None) -> Sequence[Port]:
    """Return the port of each result; the last one covers all further results."""
    if count is None:
        return ports
    return [ports[min(i, len(ports) - 1)] for i in range(count)]


def _with_shape(type_: Attribute | None, shape: Shape | None) -> Attribute | None:
    if shape is None or not isinstance(type_, UnrankedTensorType):
        return type_
    return shapes.tensor_type(type_.element_type, shape)


# Type variables


def _bind_variables(cls: type[OnnxOp], operands: Operands) -> dict[str, Attribute]:
    """Return the unranked type of each variable that operands determine; raises if two contradict."""
    variables: dict[str, Attribute] = {}
    for port in cls.SIGNATURE.operands:
        for value in _sequence(operands[port.name]):
            _bind(cls, variables, port, value.type)
    return variables


def _bind(cls: type[OnnxOp], variables: dict[str, Attribute], port: Port, type_: Attribute) -> None:
    """Check an operand's type against its type variable, which the first operand determines."""
    given, fixed = word_of(type_), port.variable not in cls.VERSIONS[-1].types
    allowed = (port.variable,) if fixed else _type_words(cls, port.variable)
    if not fixed and port.option != HETEROGENEOUS:
        known = variables.setdefault(port.variable, without_shape(type_))
        if given != word_of(known):
            raise violation(f"dtype of {port.name}", given=given, expected=word_of(known))
    if given not in allowed:
        expected = ", ".join(allowed) if fixed else f"one of {', '.join(allowed)}"
        raise violation(f"dtype of {port.name}", given=given, expected=expected)


@cache
def _type_words(cls: type[OnnxOp], variable: str) -> tuple[str, ...]:
    return tuple(cls.VERSIONS[-1].types[variable].split())


def _of_variable(
    cls: type[OnnxOp], port: Port, variables: Mapping[str, Attribute], properties: Properties
) -> Attribute | None:
    if port.variable in variables and port.option != HETEROGENEOUS:
        return variables[port.variable]
    if port.variable not in cls.VERSIONS[-1].types:
        return unranked_type(port.variable)
    words = _type_words(cls, port.variable)
    if len(words) == 1:
        return unranked_type(words[0])
    rule = _FREE.get(cls.onnx_name())
    element_type = rule(variables, properties) if rule else None
    return None if element_type is None else UnrankedTensorType(element_type)


Free = Callable[[Mapping[str, Attribute], Properties], Attribute | None]


def _attribute(name: str, default: Attribute | str | None = None) -> Free:
    """Return a rule: the type is that of an attribute, by default a type, or that of a variable."""

    def rule(variables: Mapping[str, Attribute], properties: Properties) -> Attribute | None:
        if name in properties:
            return properties[name]
        if not isinstance(default, str):
            return default
        found = variables.get(default)
        return found.element_type if isinstance(found, UnrankedTensorType) else None

    return rule


def _value(variables: Mapping[str, Attribute], properties: Properties) -> Attribute | None:
    """Return the element type of the attribute `value`, which is a float zero by default."""
    value = properties.get("value")
    return value.type.element_type if isinstance(value, DenseIntOrFPElementsAttr) else f32


_FREE: dict[str, Free] = {
    "Bernoulli": _attribute("dtype", "T1"),
    "BitCast": _attribute("to"),
    "BlackmanWindow": _attribute("output_datatype", f32),
    "Cast": _attribute("to"),
    "Constant": _value,
    "ConstantOfShape": _value,
    "DequantizeLinear": _attribute("output_dtype", "T2"),
    "EyeLike": _attribute("dtype", "T1"),
    "HammingWindow": _attribute("output_datatype", f32),
    "HannWindow": _attribute("output_datatype", f32),
    "LayerNormalization": _attribute("stash_type", f32),
    "LinearAttention": _attribute("", "T"),
    "MelWeightMatrix": _attribute("output_datatype", f32),
    "Multinomial": _attribute("dtype", i32),
    "QuantizeLinear": _attribute("output_dtype", UI8),
    "RandomNormal": _attribute("dtype", f32),
    "RandomNormalLike": _attribute("dtype", "T1"),
    "RandomUniform": _attribute("dtype", f32),
    "RandomUniformLike": _attribute("dtype", "T1"),
}
"""Rules for element types whose variable no operand determines."""


def _sequence(given: Any) -> Iterable[SSAValue]:
    if given is None:
        return ()
    return cast(Iterable[SSAValue], given) if isinstance(given, tuple | list) else (given,)


def types_in_schema(op: OnnxOp) -> list[tuple[str, str]]:
    """Return each operand's and result's type variable, or fixed dtype, and the word of its type."""
    found: list[tuple[str, str]] = []
    for port in (*op.SIGNATURE.operands, *op.SIGNATURE.results):
        found += [(port.variable, word_of(value.type)) for value in _sequence(getattr(op, port.name))]
    return found
