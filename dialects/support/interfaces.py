"""What gradc asks of an op, whatever its dialect: its result types, and its remarks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import TensorType, UnrankedTensorType
from xdsl.ir import Attribute, Operation, SSAValue

from dialects.support import layouts, shapes
from dialects.support.diagnostics import Diagnostic, error_at
from dialects.support.dtypes import name_of
from dialects.support.state import once_per_state


class InfersTypes(Operation, ABC):
    """An op whose result types follow from its operands and attributes."""

    @abstractmethod
    def infer_result_types(self) -> tuple[Attribute | None, ...]:
        """One type per result, None where only what is declared tells it.

        Raises GradcError where operands and attributes contradict.
        """

    def result_role(self, index: int) -> str:
        """The documented name of a result, for diagnostics."""
        return f"result {index}"


class KnowsOperands(Operation, ABC):
    """An op whose operands say more of each other's shapes than their types do."""

    @abstractmethod
    def operand_shapes(self) -> Iterator[tuple[SSAValue, shapes.Shape]]:
        """Shapes that operands have wherever the op is defined; raises GradcError as inference does."""


class HasReadings(Operation, ABC):
    """An op whose document has two readings, of which its types may leave both."""

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """Whether both are left."""

    @abstractmethod
    def settle(self) -> bool:
        """Take one where both are left, and write into types and attributes that it was; True if so."""


def agreed(a: SSAValue, b: SSAValue, layout: str) -> Iterator[tuple[SSAValue, shapes.Shape]]:
    """What two data tensors of one layout and rank tell of each other: N and C are the same."""
    given = (shapes.shape_of(a), shapes.shape_of(b))
    same = {layouts.axis_of(layout, letter, len(given[0]) - 2) for letter in "NC"}
    for value, other in ((a, given[1]), (b, given[0])):
        yield value, tuple(dim if axis in same else None for axis, dim in enumerate(other))


class Remarks(Operation, ABC):
    """An op whose document leaves more than one reading, or whose attributes may contradict."""

    @abstractmethod
    def remarks(self) -> Iterator[Diagnostic]:
        """What the reader should know about this op with these types. Called on verified ops."""


def set_type(value: SSAValue, type_: Attribute) -> None:
    """Change the type of a value in place.

    xDSL's own `replace_value_with_new_type` makes a new value, which leaves every reference that a
    pattern holds dangling.
    """
    value._type = type_  # pyright: ignore[reportPrivateUsage]


@once_per_state
def inferred_types(op: InfersTypes) -> tuple[Attribute | None, ...]:
    """`op.infer_result_types()`, asked once per state of an op."""
    return op.infer_result_types()


def check_results(op: InfersTypes) -> None:
    """Raise unless the declared result types can be the inferred ones."""
    for index, inferred in enumerate(inferred_types(op)):
        _check_result(op, index, op.results[index].type, inferred)


def refine_results(op: InfersTypes) -> bool:
    """Give each result what its declared and its inferred type say together; True if that is news."""
    changed = False
    for index, inferred in enumerate(inferred_types(op)):
        declared = op.results[index].type
        if declared is inferred:
            continue
        _check_result(op, index, declared, inferred)
        refined = _merged(declared, inferred)
        if refined is declared:
            continue
        changed |= refined != declared
        set_type(op.results[index], refined)
    return changed


def refine_operands(op: KnowsOperands) -> bool:
    """Give each operand what its type and the other operands say together; True if that is news."""
    changed = False
    for value, known in op.operand_shapes():
        shape = shapes.merge(known, shapes.shape_of(value))
        if shape != shapes.shape_of(value):
            set_type(value, shapes.tensor_type(shapes.element_type_of(value), shape))
            changed = True
    return changed


def _merged(declared: Attribute, inferred: Attribute | None) -> Attribute:
    """What a declared and an inferred type that do not contradict say together."""
    if inferred is None or isinstance(inferred, UnrankedTensorType):
        return declared
    if not isinstance(inferred, TensorType) or not isinstance(declared, TensorType):
        return inferred if isinstance(declared, UnrankedTensorType) else declared
    shape = shapes.merge(shapes.shape_of(inferred), shapes.shape_of(declared))
    return shapes.tensor_type(inferred.element_type, shape)


_TENSORS = (TensorType, UnrankedTensorType)


def _check_result(op: InfersTypes, index: int, declared: Attribute, inferred: Attribute | None) -> None:
    if inferred is None or declared == inferred:
        return
    role = op.result_role(index)
    if not isinstance(declared, _TENSORS) or not isinstance(inferred, _TENSORS):
        if type(declared) is not type(inferred):
            raise error_at(op, f"type of {role}", given=declared, expected=inferred)
        return
    if declared.element_type != inferred.element_type:
        raise error_at(
            op,
            f"dtype of {role}",
            given=name_of(declared.element_type),
            expected=name_of(inferred.element_type),
        )
    if not isinstance(declared, TensorType) or not isinstance(inferred, TensorType):
        return
    given, expected = shapes.shape_of(declared), shapes.shape_of(inferred)
    if not shapes.compatible(given, expected):
        raise error_at(op, f"shape of {role}", given=shapes.show(given), expected=shapes.show(expected))


def collect_remarks(ops: Sequence[Operation]) -> Iterator[Diagnostic]:
    for op in ops:
        if isinstance(op, Remarks):
            yield from op.remarks()
