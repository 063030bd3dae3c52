"""`onnx.Node`: an opaque node of a model.

It represents what no class of the dialect can: nodes of other domains, ops of the standard domain that are
newer than the dialect or in the form of an older opset, and constants other than dense numbers.

    %y, %z = onnx.Node "com.microsoft" "FusedMatMul" version 1 %a, _, %b {alpha = 1.0 : f32}
        regions ("body" {...}) : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, none)

`_` is an omitted operand, type `none` an omitted result. Types are as given. Since its semantics are unknown,
a node is never folded, moved, or merged with an equal one. It may be removed if unused: nodes have no side
effects and at least one output.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    NoneType,
    StringAttr,
    f32,
    i64,
)
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from dialects.onnx import assembly
from dialects.onnx.attributes import INT, INTS, list_attribute, normalise_strings, to_python
from dialects.onnx.control import check_regions
from dialects.onnx.signatures import SIGNATURES
from dialects.onnx.tensor_attributes import SparseTensorAttr, StringTensorAttr
from dialects.onnx.traits import NonDeterministic
from dialects.onnx.types import is_value_type
from dialects.support.attributes import int_attribute, ints_attribute
from dialects.support.diagnostics import error_at

__all__ = ["WHY", "NodeOp", "kind_of_attribute"]

WHY = "gradc.why"
"""A StringAttr on a node with decompositions that do not cover this instance: the reason."""

_LISTED = ("SPARSE_TENSOR", "STRING", "TENSOR", "TYPE_PROTO")
"""Kinds with list attributes, besides numbers, whose lists are arrays."""


def kind_of_attribute(value: Attribute) -> str | None:
    """Return ONNX's attribute kind of a stored value, or None."""
    if not isinstance(value, ArrayAttr):
        return _kind(value)
    kinds = {_kind(element) for element in value} or {"STRING"}
    kind = kinds.pop() if len(kinds) == 1 else None
    return f"{kind}S" if kind in _LISTED else None


def _kind(value: Attribute) -> str | None:
    match value:
        case IntegerAttr(type=type_) if type_ == i64:
            return "INT"
        case FloatAttr(type=type_) if type_ == f32:
            return "FLOAT"
        case DenseArrayBase(elt_type=element):
            return "INTS" if element == i64 else "FLOATS" if element == f32 else None
        case StringAttr() | BytesAttr():
            return "STRING"
        case DenseIntOrFPElementsAttr() | StringTensorAttr():
            return "TENSOR"
        case SparseTensorAttr():
            return "SPARSE_TENSOR"
        case _:
            return "TYPE_PROTO" if is_value_type(value) else None


@irdl_op_definition
class NodeOp(IRDLOperation):
    """A node of any domain, with the types that are given."""

    name = "onnx.Node"

    inputs = var_operand_def(AnyAttr())
    domain = prop_def(StringAttr)
    op_type = prop_def(StringAttr)
    version = opt_prop_def(INT)
    absent = opt_prop_def(INTS)
    given = prop_def(DictionaryAttr)
    region_names = prop_def(ArrayAttr[StringAttr])
    outputs = var_result_def(AnyAttr())
    graphs = var_region_def()

    traits = traits_def(NonDeterministic())

    def __init__(
        self,
        domain: str,
        op_type: str,
        operands: Sequence[SSAValue | None],
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = None,
        regions: Mapping[str, Region] | None = None,
        version: int | None = None,
    ):
        regions = regions or {}
        absent = tuple(i for i, operand in enumerate(operands) if operand is None)
        super().__init__(
            operands=[[operand for operand in operands if operand is not None]],
            result_types=[result_types],
            properties={
                "domain": StringAttr(domain),
                "op_type": StringAttr(op_type),
                "version": None if version is None else int_attribute(version),
                "absent": ints_attribute(absent) if absent else None,
                "given": DictionaryAttr(attributes or {}),
                "region_names": ArrayAttr(map(StringAttr, regions)),
            },
            regions=[[*regions.values()]],
        )

    def onnx_inputs(self) -> list[SSAValue | None]:
        """Return the operands in order, None for omitted ones."""
        found: list[SSAValue | None] = list(self.operands)
        for index in self.absent.get_values() if self.absent else ():
            found.insert(int(index), None)
        return found

    def onnx_attributes(self) -> dict[str, object]:
        """Return the attributes by name, as Python values."""
        return {name: to_python(value) for name, value in self.given.data.items()}

    def regions_by_name(self) -> dict[str, Region]:
        names = (name.data for name in self.region_names)
        return dict(zip(names, self.regions, strict=True))

    @property
    def is_standard(self) -> bool:
        """True if the op is of the standard domain, which has two names."""
        return self.domain.data in ("", "ai.onnx")

    @property
    def title(self) -> str:
        """The qualified name, `com.microsoft.FusedMatMul`."""
        return ".".join(filter(None, (self.domain.data, self.op_type.data)))

    KIND = title

    def unread_results(self) -> list[SSAValue]:
        """Return the omitted results; it is unknown whether others could be."""
        return [result for result in self.results if isinstance(result.type, NoneType)]

    def verify_(self) -> None:
        if not self.op_type.data:
            raise error_at(self, "op_type of the node", given='""', expected="the name of an op")
        if not self.results:
            raise error_at(self, f"results of {self.title}", given=0, expected="1 or more")
        self._verify_domain()
        for name, value in self.given.data.items():
            if kind_of_attribute(value) is None:
                expected = "a value of one of ONNX's kinds of attributes"
                raise error_at(self, f"attribute {name} of {self.title}", given=value, expected=expected)
        for value in (*self.operands, *self.results):
            self._verify_value(value)
        self._verify_regions()

    def _verify_domain(self) -> None:
        """Check that an op of the standard domain uses its class if possible."""
        if not self.is_standard or self.op_type.data not in SIGNATURES or self.version is not None:
            return
        is_dense = isinstance(self.given.data.get("value"), DenseIntOrFPElementsAttr)
        if self.op_type.data != "Constant" or is_dense:
            hint = f"write onnx.{self.op_type.data}, or the opset of another form as its version"
            raise error_at(self, f"{self.op_type.data} is an op of the dialect", hint=hint)

    def _verify_value(self, value: SSAValue) -> None:
        if isinstance(value.type, NoneType):
            if value in self.operands or value.uses:
                raise error_at(self, f"a result that {self.title} leaves out is read")
        elif not is_value_type(value.type):
            what = f"type of an operand or result of {self.title}"
            raise error_at(self, what, given=value.type, expected="a type of ONNX")

    def _verify_regions(self) -> None:
        names = [name.data for name in self.region_names]
        distinct = {*names, *self.given.data}
        if len(names) != len(self.regions) or len(distinct) != len(names) + len(self.given.data):
            what = f"names of the regions of {self.title}"
            raise error_at(self, what, given=names, expected="one each, and that of no attribute")
        check_regions(self, self.regions_by_name())

    def print(self, printer: Printer) -> None:
        for word in (self.domain, self.op_type):
            printer.print_string(" ")
            printer.print_string_literal(word.data)
        if self.version is not None:
            printer.print_string(f" version {self.version.value.data}")
        assembly.print_operands(printer, self.onnx_inputs())
        if self.given.data:
            printer.print_string(" ")
            with printer.in_braces():
                printer.print_list(self.given.data.items(), lambda item: _print_given(printer, *item))
        if self.regions:
            printer.print_string(" regions ")
            with printer.in_parens():
                printer.print_list(self.regions_by_name().items(), lambda item: _print_region(printer, *item))
        if self.attributes:
            printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" : ")
        printer.print_function_type(self.operand_types, self.result_types)

    @classmethod
    def parse(cls, parser: Parser) -> NodeOp:
        domain, op_type = parser.parse_str_literal(), parser.parse_str_literal()
        version = parser.parse_integer() if parser.parse_optional_keyword("version") else None
        operands = assembly.parse_operands(parser)
        given = {name: _store_list(value) for name, value in parser.parse_optional_attr_dict().items()}
        regions: list[tuple[str, Region]] = []
        if parser.parse_optional_keyword("regions"):
            regions = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _region(parser))
        attributes = parser.parse_optional_attr_dict_with_keyword()
        parser.parse_punctuation(":")
        position = parser.pos
        types = parser.parse_function_type()
        values = assembly.resolve(parser, operands, types, position)
        op = cls(domain, op_type, values, types.outputs.data, given, dict(regions), version)
        op.attributes |= attributes.data if attributes else {}
        return op


def _print_given(printer: Printer, name: str, value: Attribute) -> None:
    """Print an attribute; an empty list with its type, which no element implies."""
    if isinstance(value, DenseArrayBase) and not len(value):
        printer.print_identifier_or_string_literal(name)
        printer.print_string(" = ")
        printer.print_attribute(value)
    else:
        assembly.print_attribute(printer, name, value)


def _store_list(value: Attribute) -> Attribute:
    """Convert a parsed list of numbers, or string, to its stored form."""
    if not isinstance(value, ArrayAttr) or not len(value):
        return normalise_strings(value)
    for kind, cls in (("INTS", IntegerAttr), ("FLOATS", FloatAttr)):
        if all(isinstance(element, cls) for element in value):
            return list_attribute([to_python(element) for element in value], kind)
    return normalise_strings(value)


def _print_region(printer: Printer, name: str, region: Region) -> None:
    printer.print_string_literal(name)
    printer.print_string(" ")
    printer.print_region(region, print_empty_block=False)


def _region(parser: Parser) -> tuple[str, Region]:
    return parser.parse_str_literal(), parser.parse_region()
