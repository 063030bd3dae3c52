"""What all ONNX ops share: construction, assembly format, verifier, folding, opset range.

The classes themselves are generated (`ops.py`). What an op's schema does not say is in tables keyed by
its name: shapes in `infer`, numpy semantics in `kernels`, patterns in `canonicalize`.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, TensorType, f32, i32
from xdsl.interfaces import HasCanonicalizationPatternsInterface, HasFolderInterface
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import AttrSizedOperandSegments, IRDLOperation, OpDef, OptionalDef, VariadicDef, traits_def
from xdsl.parser import Parser
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure

from dialects.onnx import assembly, kernels, opsets
from dialects.onnx.attributes import SEGMENTS, python_values, to_attribute
from dialects.onnx.call import Call, Python, Tensor
from dialects.onnx.infer import infer
from dialects.onnx.opsets import Version
from dialects.onnx.values import constant_of, dims_of
from dialects.support import shapes
from dialects.support.dense import from_numpy, to_numpy
from dialects.support.diagnostics import (
    GradcError,
    UnsupportedError,
    error_at,
    nearest,
    violation,
)
from dialects.support.dtypes import by_name, name_of, of_mlir
from dialects.support.interfaces import InfersTypes, check_results
from dialects.support.memo import MOST, Memo
from dialects.support.state import State, VerifiedOnce, call_state, once_per_state

__all__ = ["OnnxConstant", "OnnxOp", "Value", "constant_of", "opset_range", "required_opset"]

Value = SSAValue | Operation
"""What a constructor takes for an operand; an operation stands for its one result."""

FOLDED_BYTES = 256 * 2**20
"""No fold makes a larger constant than this."""

FOLDED_FREELY, FOLDED_GROWTH = 2**20, 16
"""A constant of more than FOLDED_FREELY bytes may be FOLDED_GROWTH times its operands, no more."""

DISCARDABLE = ("gradc.", "source.")
"""Prefixes of the attributes that an op may carry beside its own."""


class OnnxOp(
    VerifiedOnce, IRDLOperation, InfersTypes, HasFolderInterface, HasCanonicalizationPatternsInterface, ABC
):
    """An op of ONNX's standard domain; an attribute that is not given has the schema's default."""

    TYPES: ClassVar[Mapping[str, str]] = {}
    """The type variable of each operand and result, or the dtype where the schema fixes it."""

    REVISIONS: ClassVar[tuple[int, ...]] = ()
    """The opsets in which the schema was revised, oldest first, from the one in force at opset 13 on."""

    VERSIONS: ClassVar[tuple[Version, ...]] = ()
    """What the revisions admit, oldest first; one that admits what the one before does is left out."""

    traits = traits_def(Pure())

    def __init__(
        self,
        operands: Sequence[Value | Sequence[Value] | None],
        attributes: Mapping[str, object] | None = None,
        results: int | None = None,
    ):
        """Infers the result types; raises GradcError where operands and attributes contradict.

        `results` is the number of results of an op where that is free (Split).
        """
        groups = [tuple(map(SSAValue.get, _sequence(given))) for given in operands]
        given = (attributes or {}).items()
        properties = {name: to_attribute(value) for name, value in given if value is not None}
        if _is_segmented(type(self)):
            properties[SEGMENTS] = _segments(tuple(map(len, groups)))
        by_name = dict(zip(_operand_names(type(self)), (group or None for group in groups), strict=True))
        try:
            types = _infer(type(self), by_name, properties, results)
        except GradcError as error:
            raise type(error)(replace(error.diagnostic, subject=self.name)) from None
        # not IRDL's constructor, which looks at each definition again, for as long as all the above takes
        Operation.__init__(self, operands=sum(groups, ()), result_types=types, properties=properties)

    @classmethod
    def onnx_name(cls) -> str:
        return cls.name.removeprefix("onnx.")

    def onnx_inputs(self) -> list[SSAValue | None]:
        """The operands in schema order; an absent optional one is None, trailing ones are left out."""
        if not _is_segmented(type(self)):
            return list(self.operands)
        return _in_order(self._operands_by_name())

    def onnx_attributes(self) -> dict[str, Python]:
        """The attributes that are given, as Python values; an element type is an MLIR type."""
        return python_values(self.properties)

    def call(self) -> Call:
        return _call(type(self), self._operands_by_name(), self.properties, len(self.results))

    def _operands_by_name(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _operand_names(type(self))}

    def infer_result_types(self) -> tuple[TensorType, ...]:
        operands = self._operands_by_name()
        try:
            return _infer(type(self), operands, self.properties, len(self.results))
        except GradcError as error:
            raise error.located(self) from None

    def result_role(self, index: int) -> str:
        results = self.get_irdl_definition().results
        return results[min(index, len(results) - 1)][0]

    def verify_(self) -> None:
        known = self.get_irdl_definition().properties
        for name in self.attributes:
            if not name.startswith(DISCARDABLE):
                what = f"{self.name} has no attribute {name}"
                raise error_at(self, what, hint=nearest(name, known))
        check_results(self)

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        """The results as constants, where they are known and not too large."""
        if (sizes := self._fold_sizes()) is not None:
            return sizes
        inputs = self.onnx_inputs()
        arrays = [None if value is None else constant_of(value) for value in inputs]
        given = [array for array in arrays if array is not None]
        if len(given) != len(self.operands) or not self._worth_folding(given):
            return None
        dtypes = [of_mlir(shapes.element_type_of(result)) for result in self.results]
        try:
            call = Call(self.onnx_name(), (), self.onnx_attributes(), len(self.results))
            results = kernels.evaluate(call, arrays, [d.numpy for d in dtypes if d])
        except GradcError:
            return None
        return [from_numpy(result) for result in results]

    def _fold_sizes(self) -> Sequence[Attribute] | None:
        """Sizes that follow from types alone: Shape of a static tensor, and arithmetic on it."""
        dims = dims_of(self.results[0]) if len(self.results) == 1 else None
        if dims is None or not all(isinstance(dim, int) for dim in dims):
            return None
        type_ = self.results[0].type
        assert isinstance(type_, TensorType)
        dtype = of_mlir(type_.element_type)
        assert dtype is not None
        return [from_numpy(np.array(dims, dtype.numpy).reshape(type_.get_shape()))]

    def _worth_folding(self, operands: Sequence[np.ndarray]) -> bool:
        given = sum(array.nbytes for array in operands)
        made = sum(_bytes(result) for result in self.results)
        if made > FOLDED_BYTES:
            return False
        return made <= FOLDED_FREELY or made <= FOLDED_GROWTH * given

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from dialects.onnx.canonicalize import patterns_of  # which imports the op classes

        return patterns_of(cls.name)

    def print(self, printer: Printer) -> None:
        assembly.print_operands(printer, self.onnx_inputs())
        own = {name: value for name, value in self.properties.items() if name != SEGMENTS}
        assembly.print_attributes(printer, {**own, **self.attributes})
        printer.print_string(" : ")
        printer.print_function_type(self.operand_types, self.result_types)

    @classmethod
    def parse(cls, parser: Parser) -> OnnxOp:
        definition = cls.get_irdl_definition()
        operands = assembly.parse_operands(parser)
        properties, attributes = assembly.parse_attributes(parser, definition.properties)
        parser.parse_punctuation(":")
        position = parser.pos
        types = parser.parse_function_type()
        values = assembly.resolve(parser, operands, types, position)
        variadic = any(isinstance(d, VariadicDef) for _, d in definition.results)
        return cls.build(
            operands=_group(definition, values, parser),
            result_types=[types.outputs.data] if variadic else types.outputs.data,
            properties=properties,
            attributes=attributes,
        )


class OnnxConstant(OnnxOp, ABC):
    """The base of Constant, whose text is `onnx.Constant dense<[1, 2]> : tensor<2xi64>`."""

    traits = traits_def(ConstantLike())

    def __init__(self, operands: Sequence[Value], attributes: Mapping[str, object]):
        value = to_attribute(attributes["value"])
        assert isinstance(value, DenseIntOrFPElementsAttr)
        try:
            to_numpy(value)
        except GradcError as error:
            raise type(error)(replace(error.diagnostic, subject=self.name)) from None
        Operation.__init__(self, operands=(), result_types=[value.type], properties={"value": value})

    def verified_state(self) -> State | None:
        """The value's type and length stand for the value, which is not to be kept alive."""
        value = self.properties.get("value")
        if not isinstance(value, DenseIntOrFPElementsAttr) or len(self.properties) != 1:
            return None
        try:
            to_numpy(value)
        except GradcError:
            return None
        return (type(self), value.type, self.results[0].type, *self.attributes)

    def fold(self) -> Sequence[SSAValue | Attribute]:
        return (self.properties["value"],)

    def print(self, printer: Printer) -> None:
        assembly.print_attributes(printer, self.attributes)
        printer.print_string(" ")
        value = self.properties["value"]
        assert isinstance(value, DenseIntOrFPElementsAttr)
        assembly.print_dense(printer, value)

    @classmethod
    def parse(cls, parser: Parser) -> OnnxOp:
        attributes = parser.parse_optional_attr_dict()
        value = parser.parse_attribute()
        if not isinstance(value, DenseIntOrFPElementsAttr):
            parser.raise_error("a dense tensor expected")
        return cls.build(result_types=[value.type], properties={"value": value}, attributes=attributes)


def required_opset(op: OnnxOp) -> int:
    """The oldest opset, 13 or later, in which this instance is legal; UnsupportedError if none is."""
    return opset_range(op)[0]


@once_per_state
def opset_range(op: OnnxOp) -> tuple[int, int | None]:
    """The opsets [first, last) in which this instance is legal; last is None where it still is."""
    types = _dtypes(op)
    instance = opsets.Instance(op.onnx_name(), len(op.onnx_inputs()), op.onnx_attributes(), types)
    found = opsets.opset_range(instance, op.VERSIONS)
    if found is None:
        what = ", ".join(f"{variable} = {dtype}" for variable, dtype in types)
        raise error_at(op, "no opset has this op", given=what, kind=UnsupportedError)
    return found


def _dtypes(op: OnnxOp) -> list[tuple[str, str]]:
    """Each operand's and result's type variable and dtype."""
    definition = op.get_irdl_definition()
    return [
        (op.TYPES[name], name_of(shapes.element_type_of(value)))
        for name, _ in (*definition.operands, *definition.results)
        for value in _sequence(getattr(op, name))
    ]


# Types


def _call(
    cls: type[OnnxOp],
    operands: Mapping[str, Any],
    properties: Mapping[str, Attribute],
    results: int,
) -> Call:
    tensors = [None if value is None else _tensor(value) for value in _in_order(operands)]
    return Call(cls.onnx_name(), tuple(tensors), python_values(properties), results)


def _tensor(value: SSAValue) -> Tensor:
    return Tensor(shapes.shape_of(value), constant_of(value), dims_of(value))


_INFERRED = Memo()


def _infer(
    cls: type[OnnxOp],
    operands: Mapping[str, Any],
    properties: Mapping[str, Attribute],
    results: int | None,
) -> tuple[TensorType, ...]:
    """The result types; asked once for ops of a kind whose operands and attributes are alike."""
    state = call_state(cls, _in_order(operands), properties)
    if state is None:
        return _infer_anew(cls, operands, properties, results)
    key = (*state, results)
    return _INFERRED.get(key, lambda: _infer_anew(cls, operands, properties, results))


def _infer_anew(
    cls: type[OnnxOp],
    operands: Mapping[str, Any],
    properties: Mapping[str, Attribute],
    results: int | None,
) -> tuple[TensorType, ...]:
    element_type = _result_element_type(cls, operands, properties)
    call = _call(cls, operands, properties, 1 if results is None else results)
    least = cls.VERSIONS[-1].min_inputs
    if len(call.operands) < least:
        raise violation("inputs", given=len(call.operands), expected=f"{least} or more")
    return tuple(shapes.tensor_type(element_type, shape) for shape in infer(call))


def _result_element_type(
    cls: type[OnnxOp], operands: Mapping[str, Any], properties: Mapping[str, Attribute]
) -> Attribute:
    """The element type of the results; raises GradcError where operands contradict the schema."""
    variables: dict[str, Attribute] = {}
    for name, given in operands.items():
        for value in _sequence(given):
            _bind(cls, variables, name, shapes.element_type_of(value))
    ((result, _),) = cls.get_irdl_definition().results
    variable = cls.TYPES[result]
    if variable in variables:
        return variables[variable]
    return _free_element_type(cls, variable, properties)


def _bind(cls: type[OnnxOp], variables: dict[str, Attribute], operand: str, given: Attribute) -> None:
    """Hold an operand's element type against its type variable, which the first one decides."""
    variable = cls.TYPES[operand]
    fixed = by_name(variable)
    expected = fixed.mlir if fixed else variables.setdefault(variable, given)
    if given != expected:
        raise violation(f"dtype of {operand}", given=name_of(given), expected=name_of(expected))
    allowed = [variable] if fixed else cls.VERSIONS[-1].types[variable].split()
    if name_of(given) not in allowed:
        one_of = f"one of {', '.join(allowed)}"
        raise violation(f"dtype of {operand}", given=name_of(given), expected=one_of)


def _free_element_type(cls: type[OnnxOp], variable: str, properties: Mapping[str, Attribute]) -> Attribute:
    """Of a result whose type no operand decides: an attribute does, or the schema has only one."""
    if "to" in properties:
        return properties["to"]
    value = properties.get("value")
    if isinstance(value, DenseIntOrFPElementsAttr):
        return value.type.element_type
    if cls.name == "onnx.ConstantOfShape":
        return f32  # the default of its `value` is a float zero
    only = by_name(cls.VERSIONS[-1].types.get(variable, variable))
    assert only is not None, (cls.name, variable)
    return only.mlir


def _bytes(value: SSAValue) -> float:
    shape, dtype = shapes.static(shapes.shape_of(value)), of_mlir(shapes.element_type_of(value))
    if shape is None or dtype is None:
        return 0
    return float(np.prod(shape, dtype=np.float64)) * dtype.numpy.itemsize


# Operands


@cache
def _operand_names(cls: type[OnnxOp]) -> tuple[str, ...]:
    return tuple(name for name, _ in cls.get_irdl_definition().operands)


@cache
def _is_segmented(cls: type[OnnxOp]) -> bool:
    """Whether the op has optional operands, so that a property says which are given."""
    return any(isinstance(option, AttrSizedOperandSegments) for option in cls.get_irdl_definition().options)


@lru_cache(MOST)
def _segments(sizes: tuple[int, ...]) -> Attribute:
    return DenseArrayBase.from_list(i32, sizes)


def _sequence(given: Any) -> Sequence[Any]:
    if given is None:
        return ()
    return given if isinstance(given, tuple | list) else (given,)


def _in_order(operands: Mapping[str, Any]) -> list[SSAValue | None]:
    found: list[SSAValue | None] = []
    for given in operands.values():
        found += given if isinstance(given, tuple) else (given,)
    while found and found[-1] is None:
        found.pop()
    return found


def _group(definition: OpDef, values: Sequence[SSAValue | None], parser: Parser) -> list[Any]:
    """The operands as IRDL wants them, one entry per definition; a variadic op has only one."""
    declared = definition.operands
    if any(isinstance(d, VariadicDef) and not isinstance(d, OptionalDef) for _, d in declared):
        return [list(values)]
    if len(values) > len(declared):
        parser.raise_error(f"{len(values)} operands, but {definition.name} has {len(declared)}")
    padded = [*values, *[None] * (len(declared) - len(values))]
    for value, (name, kind) in zip(padded, declared, strict=True):
        if value is None and not isinstance(kind, OptionalDef):
            parser.raise_error(f"operand {name} of {definition.name} is missing")
    return padded
