"""Assembly format of ONNX ops: `onnx.Pad %x, %pads, _, %axes {mode = "edge"} : (types) -> type`.

`_` denotes an absent optional operand before a present one. Lists of integers are written `[2, 2]`, integers
without their type, which is always i64.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    f32,
    i64,
)
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from dialects.onnx.attributes import list_attribute, normalise_strings, to_python
from dialects.support.dense import to_numpy


def print_operands(printer: Printer, operands: Sequence[SSAValue | None]) -> None:
    if operands:
        printer.print_string(" ")
        printer.print_list(operands, lambda value: _print_operand(printer, value))


def _print_operand(printer: Printer, value: SSAValue | None) -> None:
    if value is None:
        printer.print_string("_")
    else:
        printer.print_operand(value)


def print_attributes(printer: Printer, attributes: Mapping[str, Attribute]) -> None:
    if not attributes:
        return
    printer.print_string(" ")
    with printer.in_braces():
        printer.print_list(attributes.items(), lambda item: print_attribute(printer, *item))


def print_attribute(printer: Printer, name: str, value: Attribute) -> None:
    printer.print_identifier_or_string_literal(name)
    printer.print_string(" = ")
    match value:
        case DenseArrayBase(elt_type=element) if element == i64:
            printer.print_string(str(to_python(value)))
        case DenseIntOrFPElementsAttr():
            print_dense(printer, value)
        case DenseArrayBase(elt_type=element) if element == f32 and not _is_plain(value):
            printer.print_attribute(ArrayAttr(FloatAttr(x, f32) for x in _floats(value)))
        case IntegerAttr(type=type_) if type_ == i64:
            printer.print_string(str(value.value.data))
        case _:
            printer.print_attribute(value)


def _floats(value: Attribute) -> list[float]:
    found = to_python(value)
    assert isinstance(found, list)
    return [float(x) for x in found]


def _is_plain(value: Attribute) -> bool:
    """Return whether xDSL prints all floats of an array in decimals that it can parse back."""
    return all(isfinite(x) and np.float32(f"{x:.6e}") == x for x in _floats(value))


def print_regions(printer: Printer, regions: Mapping[str, Region]) -> None:
    """Print `then_branch {...} else_branch {...}`."""
    for name, region in regions.items():
        printer.print_string(f" {name} ")
        printer.print_region(region, print_empty_block=False)


def print_dense(printer: Printer, value: DenseIntOrFPElementsAttr) -> None:
    """Print a dense tensor, with hexadecimal bytes if xDSL could not parse its own text.

    xDSL prints non-finite floats, and integral ones of more than six digits, as the integer of their bits,
    and parses that as the number itself. This affects the elements of short lists and of splats; long lists
    are hexadecimal anyway.
    """
    array = to_numpy(value).reshape(-1)
    short = array.size <= LONGEST_LIST
    if _reads_back(array if short else array[:1]) or not (short or value.is_splat()):
        printer.print_attribute(value)
        return
    data = value.data.data if short else array[:1].tobytes()
    printer.print_string(f'dense<"0x{data.hex().upper()}"> : ')
    printer.print_attribute(value.type)


LONGEST_LIST = 100
"""Elements up to which xDSL prints a tensor one by one."""


def _reads_back(array: np.ndarray) -> bool:
    if array.dtype.kind in "biu":
        return True
    with np.errstate(invalid="ignore"):  # a signalling NaN
        return bool(np.all(np.abs(array.astype(np.float64)) < 1e6))


def parse_operands(parser: Parser) -> list[UnresolvedOperand | None]:
    """Parse operands up to the attributes or the type."""
    first = parser.parse_optional_unresolved_operand()
    if first is None and parser.parse_optional_keyword("_") is None:
        return []
    operands: list[UnresolvedOperand | None] = [first]
    while parser.parse_optional_punctuation(",") is not None:
        absent = parser.parse_optional_keyword("_") is not None
        operands.append(None if absent else parser.parse_unresolved_operand())
    return operands


def resolve(
    parser: Parser, operands: Sequence[UnresolvedOperand | None], types: FunctionType, position: int
) -> list[SSAValue | None]:
    given = [operand for operand in operands if operand is not None]
    values = iter(parser.resolve_operands(given, types.inputs.data, position))
    return [None if operand is None else next(values) for operand in operands]


def parse_regions(parser: Parser, names: Sequence[str]) -> list[Region]:
    regions: list[Region] = []
    for name in names:
        parser.parse_keyword(name)
        regions.append(parser.parse_region())
    return regions


def parse_attributes(
    parser: Parser, kinds: Mapping[str, str]
) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """Return the properties, whose kinds are given, and all other attributes."""
    properties: dict[str, Attribute] = {}
    attributes: dict[str, Attribute] = {}
    for name, value in parser.parse_optional_attr_dict().items():
        if name in kinds:
            properties[name] = _property(parser, name, kinds[name], value)
        else:
            attributes[name] = value
    return properties, attributes


_LISTS = {"INTS": "integers", "FLOATS": "numbers", "STRINGS": "strings"}


def _property(parser: Parser, name: str, kind: str, value: Attribute) -> Attribute:
    if not isinstance(value, ArrayAttr) or kind not in _LISTS:
        return normalise_strings(value)
    try:
        return list_attribute([to_python(element) for element in value], kind)
    except ValueError:
        parser.raise_error(f"{name}: a list of {_LISTS[kind]} expected")
