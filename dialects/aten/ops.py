"""Classes of ATen ops, created on first use from their signatures: `op_class("mm.default")`."""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from dialects.aten.attributes import from_attribute, to_attribute
from dialects.aten.schema import OPTIONAL_TENSOR, OPTIONAL_TENSORS, TENSOR, Argument, AtenSignature, parse
from dialects.aten.signatures import SIGNATURES

PREFIX = "aten."

_LISTS = (OPTIONAL_TENSORS, "Tensor[]")


class AtenOp(IRDLOperation):
    """An ATen op: tensors are operands, all other arguments that are not None are attributes.

    `tensors` has, for each argument of tensors, a list of 0 (None) and 1 (an operand).
    """

    SIGNATURE: ClassVar[AtenSignature]

    inputs = var_operand_def(AnyAttr())
    tensors = prop_def(ArrayAttr[Attribute])
    outputs = var_result_def(AnyAttr())

    traits = traits_def(Pure())

    @property
    def aten_name(self) -> str:
        """The name with its overload, such as `mm.default`."""
        return self.name.removeprefix(PREFIX)

    def arguments(self) -> dict[str, Any]:
        """Return all arguments by name: operands, lists of them, Python values, None."""
        operands = iter(self.operands)
        masks = iter(self.tensors)
        return {
            argument.name: _tensors(argument, _numbers(next(masks)), operands)
            if argument.is_tensor
            else self._value(argument)
            for argument in self.SIGNATURE.arguments
        }

    def _value(self, argument: Argument) -> Any:
        found = self.attributes.get(argument.name)
        return None if found is None else from_attribute(found)

    def verify_(self) -> None:
        kinds = [argument for argument in self.SIGNATURE.arguments if argument.is_tensor]
        masks = [_numbers(mask) for mask in self.tensors]
        if len(masks) != len(kinds) or sum(map(sum, masks)) != len(self.operands):
            raise VerifyException(f"tensors: given {masks} for {len(self.operands)} operands")
        for argument, mask in zip(kinds, masks, strict=True):
            if (argument.kind not in _LISTS and len(mask) != 1) or (argument.kind == TENSOR and not mask[0]):
                raise VerifyException(f"{argument.name}: given {mask}, expected one tensor")
        for argument in self.SIGNATURE.arguments:
            if not argument.is_tensor and not argument.is_optional and argument.name not in self.attributes:
                raise VerifyException(f"{argument.name}: given none, expected {argument.kind}")


def _numbers(mask: Attribute) -> tuple[int, ...]:
    assert isinstance(mask, DenseArrayBase)
    return tuple(int(number) for number in cast(Any, mask).get_values())


def _tensors(argument: Argument, mask: Sequence[int], operands: Iterator[SSAValue]) -> Any:
    found = [next(operands) if given else None for given in mask]
    return found[0] if argument.kind in (TENSOR, OPTIONAL_TENSOR) else found


def is_known(name: str) -> bool:
    """Return whether the dialect has an op: `is_known("mm.default")`."""
    return name in SIGNATURES


@cache
def op_class(name: str) -> type[AtenOp]:
    """Return the class of an op by its name with overload. Raises KeyError."""
    signature = parse(SIGNATURES[name])
    body = {"name": PREFIX + name, "__module__": __name__}
    made = types.new_class("Aten_" + name.replace(".", "_"), (AtenOp,), {}, lambda space: space.update(body))
    found = cast("type[AtenOp]", irdl_op_definition(made))
    found.SIGNATURE = signature
    return found


def aten(name: str, arguments: Sequence[Any], results: Sequence[Attribute]) -> AtenOp:
    """Return a new op; arguments, in the signature's order, are values, lists of them and Python values."""
    cls = op_class(name)
    operands: list[SSAValue] = []
    masks: list[Attribute] = []
    attributes: dict[str, Attribute] = {}
    for argument, value in zip(cls.SIGNATURE.arguments, arguments, strict=True):
        if argument.is_tensor:
            listed = (
                list(cast("Sequence[SSAValue | None]", value)) if isinstance(value, list | tuple) else [value]
            )
            masks.append(DenseArrayBase.from_list(i64, [int(each is not None) for each in listed]))
            operands += [each for each in listed if each is not None]
        elif value is not None:
            attributes[argument.name] = to_attribute(value)
    return cls.create(
        operands=operands,
        result_types=list(results),
        properties={"tensors": ArrayAttr(masks)},
        attributes=attributes,
    )
