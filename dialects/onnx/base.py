"""Base class of ONNX ops: construction, assembly format, verifier, folding, opset range.

The op classes are created in `ops` from the schemas. Tables keyed by op name hold the rest: categories in
`traits`, shapes in `infer`, numpy semantics in `numpy`. An op without a shape rule keeps its declared result
types, one without a kernel does not fold.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType
from xdsl.interfaces import HasFolderInterface
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation, VariadicDef, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure

from dialects.onnx import assembly, numpy, traits
from dialects.onnx.attributes import SEGMENTS, python_values
from dialects.onnx.call import Call, Python
from dialects.onnx.construction import (
    by_name,
    group,
    is_segmented,
    operand_names,
    properties_of,
    region_names,
    segments,
    sequence,
)
from dialects.onnx.control import check_control, check_regions
from dialects.onnx.opsets import Version
from dialects.onnx.result_types import call_of, in_order, ranks_of, result_types
from dialects.onnx.signature import OPTIONAL, Signature
from dialects.onnx.values import constant_of, dims_of
from dialects.reference_cost import fold_cost
from dialects.support import shapes
from dialects.support.dense import from_numpy, to_numpy
from dialects.support.diagnostics import (
    GradcError,
    error_at,
    suggest,
    violation,
)
from dialects.support.dtypes import known_dtype, of_mlir
from dialects.support.interfaces import InfersTypes, check_results
from dialects.support.op_cache_key import State, VerifiedOnce

__all__ = [
    "OnnxConstant",
    "OnnxOp",
    "Value",
    "constant_of",
]

Value = SSAValue | Operation
"""Operand types of constructors; an operation denotes its only result."""

UNROUNDED = "gradc.unrounded"
"""On a Cast of a number to a half type: computation in f32 uses the number without rounding."""

PACKED = "gradc.packed"
"""On an op that unpacks a weight: the weight is stored packed, and runtimes fold the op."""

NEVER_FOLDED = frozenset(("DequantizeLinear",))
"""Ops that are not folded: runtimes compute with the quantized values."""

MAX_FOLDED_BYTES = 256 * 2**20
"""Size limit of folded constants."""

FREE_FOLD_BYTES = 2**20
"""Size up to which a folded constant may be larger than the constants that it replaces."""

DISCARDABLE = ("gradc.", "source.")
"""Prefixes of additional attributes that an op may have."""


class OnnxOp(VerifiedOnce, IRDLOperation, InfersTypes, HasFolderInterface, ABC):
    """An op of ONNX's standard domain; attributes that are not given have the schema's default."""

    SIGNATURE: ClassVar[Signature]
    """The op's schema."""

    TYPES: ClassVar[Mapping[str, str]] = {}
    """The type variable, or fixed dtype, of each operand and result."""

    REVISIONS: ClassVar[tuple[int, ...]] = ()
    """The opsets with a revised schema, oldest first, from the one in force at opset 13 on."""

    VERSIONS: ClassVar[tuple[Version, ...]] = ()
    """What the revisions admit, oldest first; revisions that change nothing are omitted."""

    def __init__(
        self,
        *operands: Value | Sequence[Value] | None,
        results: int | None = None,
        result_types: Sequence[Attribute] | None = None,
        **attributes: Any,
    ):
        """Infer the result types; raises GradcError if operands and attributes contradict each other.

        `results` is the number of results if it varies (Split); `result_types` declares types that cannot be
        inferred. Regions are given by name, like attributes.
        """
        cls = type(self)
        given = by_name(cls, operands, attributes)
        groups = [tuple(map(SSAValue.get, sequence(value))) for value in given]
        regions = [attributes.pop(name) for name in region_names(cls)]
        properties = properties_of(cls, attributes)
        if is_segmented(cls):
            properties[SEGMENTS] = segments(tuple(map(len, groups)))
        named = dict(zip(operand_names(cls), (each or None for each in groups), strict=True))
        if result_types is not None:
            results = len(result_types)
        try:
            types = _choose_types(cls, _result_types(cls, named, properties, results), result_types)
        except GradcError as error:
            raise error.map_diagnostics(lambda d: replace(d, subject=self.name)) from None
        # IRDL's constructor would process each definition again, which doubles the time
        Operation.__init__(
            self, operands=sum(groups, ()), result_types=types, properties=properties, regions=regions
        )

    @classmethod
    def onnx_name(cls) -> str:
        return cls.name.removeprefix("onnx.")

    def onnx_inputs(self) -> list[SSAValue | None]:
        """Return the operands in schema order; absent ones are None, trailing ones are omitted."""
        if not is_segmented(type(self)):
            return list(self.operands)
        return in_order(self._operands_by_name())

    def onnx_attributes(self) -> dict[str, Python]:
        """Return the given attributes as Python values; an element type is an MLIR type."""
        return python_values(self.properties)

    def onnx_properties(self) -> dict[str, Attribute]:
        """Return the given attributes as stored."""
        return {name: value for name, value in self.properties.items() if name != SEGMENTS}

    def regions_by_name(self) -> dict[str, Region]:
        """Return the graph attributes."""
        return dict(zip(region_names(type(self)), self.regions, strict=True))

    def call(self) -> Call:
        operands, ranks = self._operands_by_name(), ranks_of(self.result_types)
        return call_of(type(self), operands, self.properties, len(self.results), ranks)

    def _operands_by_name(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in operand_names(type(self))}

    def infer_result_types(self) -> tuple[Attribute | None, ...]:
        operands = self._operands_by_name()
        try:
            ranks = ranks_of(self.result_types)
            return _result_types(type(self), operands, self.properties, len(self.results), ranks)
        except GradcError as error:
            raise error.at_op(self) from None

    def result_role(self, index: int) -> str:
        results = self.get_irdl_definition().results
        return results[min(index, len(results) - 1)][0]

    def unread_results(self) -> list[SSAValue]:
        """Return optional results without uses, which a model need not name."""
        ports = self.SIGNATURE.results
        if not any(port.option == OPTIONAL for port in ports) or self._is_training():
            return []
        wanted = self._present_results()
        return [
            result
            for port, result in zip(ports, self.results, strict=True)
            if port.option == OPTIONAL and not result.uses and port.name not in wanted
        ]

    def _present_results(self) -> set[str]:
        """Return the results that onnxruntime requires with a past state, as in Attention."""
        pasts = (name for name, value in self._operands_by_name().items() if value is not None)
        return {name.replace("past_", "present_") for name in pasts if name.startswith("past_")}

    def _is_training(self) -> bool:
        """Return whether it is a BatchNormalization in training, whose results a model must all name."""
        return bool(self.onnx_attributes().get("training_mode"))

    def is_deterministic(self) -> bool:
        """Return whether equal operands always give equal results."""
        if self.onnx_name() not in traits.RANDOM_IN_TRAINING:
            return self.onnx_name() not in traits.RANDOM
        training = self.onnx_inputs()[2:]
        value = constant_of(training[0]) if training and training[0] is not None else None
        return not training or (value is not None and not value.any())

    def verification_key(self) -> State | None:
        return None if self.regions else super().verification_key()

    def verify_(self) -> None:
        known = self.get_irdl_definition().properties
        for name in self.attributes:
            if not name.startswith(DISCARDABLE):
                what = f"{self.name} has no attribute {name}"
                raise error_at(self, what, hint=suggest(name, known))
        check_results(self)
        if self.regions:
            check_regions(self, self.regions_by_name())
            check_control(self, self.regions_by_name())

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        """Return the results as constants, if they are known and not too large."""
        if self._may_fold() and (sizes := self._fold_sizes()) is not None:
            return sizes
        arrays = self.fold_arrays(constant_of)
        return None if arrays is None else [from_numpy(array) for array in arrays]

    def fold_arrays(self, array_of: Callable[[SSAValue], np.ndarray | None]) -> list[np.ndarray] | None:
        """Return the results, if `array_of` knows all operands and the results are not too large."""
        if not self._may_fold():
            return None
        arrays = [None if value is None else array_of(value) for value in self.onnx_inputs()]
        if sum(array is not None for array in arrays) != len(self.operands) or not self._worth_folding():
            return None
        dtypes = [of_mlir(shapes.element_type_of(result)) for result in self.results]
        if None in dtypes:
            return None
        try:
            call = Call(self.onnx_name(), (), self.onnx_attributes(), len(self.results))
            found = numpy.evaluate(call, arrays, [d.numpy for d in dtypes if d])
        except GradcError:
            return None
        if self.onnx_name() in traits.VIEWS and arrays[0] is not None:
            return [arrays[0].reshape(found[0].shape)]  # shares the operand's buffer
        return found

    def _may_fold(self) -> bool:
        if UNROUNDED in self.attributes or PACKED in self.attributes or self.onnx_name() in NEVER_FOLDED:
            return False
        return self.onnx_name() in numpy.KERNELS and self.is_deterministic()

    def _fold_sizes(self) -> Sequence[Attribute] | None:
        """Return sizes that follow from types alone: Shape of a static tensor, and arithmetic on it."""
        dims = dims_of(self.results[0]) if len(self.results) == 1 else None
        if dims is None or not all(isinstance(dim, int) for dim in dims):
            return None
        type_ = self.results[0].type
        assert isinstance(type_, TensorType)
        return [from_numpy(np.array(dims, known_dtype(type_.element_type).numpy).reshape(type_.get_shape()))]

    def _worth_folding(self) -> bool:
        """Return whether folding does not duplicate or widen a large constant, which runtimes fold on
        loading."""
        if fold_cost.is_too_costly(self.call(), self.results):
            return False
        made = sum(_bytes(result) for result in self.results)
        if made <= FREE_FOLD_BYTES or self.onnx_name() in traits.VIEWS:
            return True
        replaced = sum(_bytes(value) for value in self.operands if value.has_one_use())
        return made <= min(replaced, MAX_FOLDED_BYTES)

    def print(self, printer: Printer) -> None:
        assembly.print_operands(printer, self.onnx_inputs())
        assembly.print_attributes(printer, {**self.onnx_properties(), **self.attributes})
        assembly.print_regions(printer, self.regions_by_name())
        printer.print_string(" : ")
        printer.print_function_type(self.operand_types, self.result_types)

    @classmethod
    def parse(cls, parser: Parser) -> OnnxOp:
        definition = cls.get_irdl_definition()
        operands = assembly.parse_operands(parser)
        properties, attributes = assembly.parse_attributes(parser, cls.SIGNATURE.kinds)
        regions = assembly.parse_regions(parser, region_names(cls))
        parser.parse_punctuation(":")
        position = parser.pos
        types = parser.parse_function_type()
        values = assembly.resolve(parser, operands, types, position)
        variadic = any(isinstance(d, VariadicDef) for _, d in definition.results)
        return cls.build(
            operands=group(definition, values, parser),
            result_types=[types.outputs.data] if variadic else types.outputs.data,
            properties=properties,
            attributes=attributes,
            regions=regions,
        )


class OnnxConstant(OnnxOp, ABC):
    """Base of Constant, whose text is `onnx.Constant dense<[1, 2]> : tensor<2xi64>`."""

    traits = traits_def(ConstantLike(), Pure())

    def __init__(self, value: np.ndarray | DenseIntOrFPElementsAttr):
        value = value if isinstance(value, DenseIntOrFPElementsAttr) else from_numpy(value)
        try:
            to_numpy(value)
        except GradcError as error:
            raise error.map_diagnostics(lambda d: replace(d, subject=self.name)) from None
        Operation.__init__(self, operands=(), result_types=[value.type], properties={"value": value})

    def verification_key(self) -> State | None:
        """Return the state with the value's type instead of the value, which must not be kept alive."""
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


_result_types = result_types  # a parameter has the same name


def _choose_types(
    cls: type[OnnxOp], inferred: Sequence[Attribute | None], declared: Sequence[Attribute] | None
) -> Sequence[Attribute]:
    """Return the declared types, else the inferred ones."""
    if declared is not None:
        return declared
    known = [type_ for type_ in inferred if type_ is not None]
    if len(known) != len(inferred):
        raise violation("types of the results", expected="result_types, as they cannot be inferred")
    return known


def _bytes(value: SSAValue) -> float:
    if not shapes.has_rank(value):
        return 0
    shape, dtype = shapes.static_shape(value), of_mlir(shapes.element_type_of(value))
    if shape is None or dtype is None:
        return 0
    return float(np.prod(shape, dtype=np.float64)) * dtype.numpy.itemsize
