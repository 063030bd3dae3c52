"""Conversion of arguments of an ONNX op's constructor and parser to operands and properties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AttrSizedOperandSegments, OpDef, OptionalDef, OptPropertyDef, VariadicDef
from xdsl.parser import Parser

from dialects.onnx.attributes import SEGMENTS, to_attribute
from dialects.support.memo import MEMO_SIZE

if TYPE_CHECKING:
    from dialects.onnx.base import OnnxOp


@cache
def operand_names(cls: type[OnnxOp]) -> tuple[str, ...]:
    return tuple(name for name, _ in cls.get_irdl_definition().operands)


@cache
def region_names(cls: type[OnnxOp]) -> tuple[str, ...]:
    return tuple(name for name, _ in cls.get_irdl_definition().regions)


@cache
def _mandatory(cls: type[OnnxOp]) -> frozenset[str]:
    """Return the required attributes."""
    properties = cls.get_irdl_definition().properties.items()
    return frozenset(n for n, d in properties if n != SEGMENTS and not isinstance(d, OptPropertyDef))


@cache
def is_segmented(cls: type[OnnxOp]) -> bool:
    """Return whether the op has several optional or variadic operands, and so a segment sizes property."""
    return any(isinstance(option, AttrSizedOperandSegments) for option in cls.get_irdl_definition().options)


def by_name(cls: type[OnnxOp], operands: Sequence[Any], attributes: dict[str, Any]) -> Sequence[Any]:
    """Return the argument for each operand, positional or by name; pop the latter from the attributes."""
    names = operand_names(cls)
    if len(operands) == len(names):
        return operands
    if len(operands) > len(names):
        raise TypeError(f"{cls.__name__} takes {len(names)} operands, {len(operands)} are given")
    return [*operands, *(attributes.pop(name, None) for name in names[len(operands) :])]


def properties_of(cls: type[OnnxOp], attributes: Mapping[str, object]) -> dict[str, Attribute]:
    """Return the properties for attributes other than None. Raises TypeError for unknown or missing ones."""
    kinds = cls.SIGNATURE.kinds
    for name in attributes:
        if name not in kinds:
            raise TypeError(f"{cls.__name__} has no attribute {name}")
    properties: dict[str, Attribute] = {}
    for name in kinds if attributes else ():
        if (value := attributes.get(name)) is not None:
            properties[name] = to_attribute(value, kinds[name])
    if not _mandatory(cls) <= properties.keys():
        missing = ", ".join(sorted(_mandatory(cls) - properties.keys()))
        raise TypeError(f"{cls.__name__} needs {missing}")
    return properties


@lru_cache(MEMO_SIZE)
def segments(sizes: tuple[int, ...]) -> Attribute:
    return DenseArrayBase.from_list(i32, sizes)


def sequence(given: Any) -> Sequence[Any]:
    if given is None:
        return ()
    return cast(Sequence[Any], given) if isinstance(given, tuple | list) else (given,)


def group(definition: OpDef, values: Sequence[SSAValue | None], parser: Parser) -> list[Any]:
    """Group operands per IRDL definition; a variadic one takes all that are left."""
    left = list(values)
    groups: list[Any] = []
    for name, kind in definition.operands:
        if isinstance(kind, VariadicDef) and not isinstance(kind, OptionalDef):
            groups.append(left)
            left = []
            continue
        value = left.pop(0) if left else None
        if value is None and not isinstance(kind, OptionalDef):
            parser.raise_error(f"operand {name} of {definition.name} is missing")
        groups.append(value)
    if left:
        most = len(definition.operands)
        parser.raise_error(f"{len(values)} operands, but {definition.name} has {most}")
    return groups
