"""Attributes for tensors other than dense numbers: sparse and string tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, BytesAttr, DenseIntOrFPElementsAttr, StringAttr, TensorType, i64
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from dialects.onnx import assembly
from dialects.onnx.attributes import normalise_strings
from dialects.support.dtypes import StringType


@irdl_attr_definition
class SparseTensorAttr(ParametrizedAttribute):
    """A sparse tensor.

    `#onnx.sparse<dense<[1.0, 2.0]> : tensor<2xf32>, dense<[0, 5]> : tensor<2xi64>, tensor<2x3xf32>>`: the
    nonzero elements, their row-major indices (or one index per axis each), and the type of the tensor.
    """

    name = "onnx.sparse"
    values: DenseIntOrFPElementsAttr
    indices: DenseIntOrFPElementsAttr
    type: TensorType

    def verify(self) -> None:
        count, rank = self.values.type.get_shape(), self.type.get_num_dims()
        if len(count) != 1:
            raise VerifyException(f"values of a sparse tensor: {self.values.type}; expected: a vector")
        if self.indices.type not in (TensorType(i64, count), TensorType(i64, [*count, rank])):
            expected = f"tensor<{count[0]}xi64> or tensor<{count[0]}x{rank}xi64>"
            raise VerifyException(f"indices of a sparse tensor: {self.indices.type}; expected: {expected}")
        if self.values.type.element_type != self.type.element_type:
            raise VerifyException(f"values of a sparse tensor: {self.values.type}; its type: {self.type}")

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            assembly.print_dense(printer, self.values)
            printer.print_string(", ")
            assembly.print_dense(printer, self.indices)
            printer.print_string(", ")
            printer.print_attribute(self.type)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            values = _dense(parser)
            parser.parse_punctuation(",")
            indices = _dense(parser)
            parser.parse_punctuation(",")
            return [values, indices, _tensor_type(parser)]


@irdl_attr_definition
class StringTensorAttr(ParametrizedAttribute):
    """A tensor of strings: `#onnx.strings<["a", "b"], tensor<2x!onnx.string>>`."""

    name = "onnx.strings"
    values: ArrayAttr[StringAttr | BytesAttr]
    type: TensorType

    def verify(self) -> None:
        if self.type.element_type != StringType():
            raise VerifyException(f"type of a tensor of strings: {self.type}")
        if math.prod(self.type.get_shape()) != len(self.values):
            raise VerifyException(f"{len(self.values)} strings for a tensor of type {self.type}")

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.values)
            printer.print_string(", ")
            printer.print_attribute(self.type)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            words = normalise_strings(parser.parse_attribute())
            parser.parse_punctuation(",")
            return [words, _tensor_type(parser)]


def _dense(parser: AttrParser) -> DenseIntOrFPElementsAttr:
    found = parser.parse_attribute()
    if not isinstance(found, DenseIntOrFPElementsAttr):
        parser.raise_error("a dense tensor expected")
    return found


def _tensor_type(parser: AttrParser) -> TensorType:
    found = parser.parse_type()
    if not isinstance(found, TensorType):
        parser.raise_error("a tensor type expected")
    return found
