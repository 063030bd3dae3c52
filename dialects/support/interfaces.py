"""What gradc asks of an op, whatever its dialect: its result types, and its remarks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from dialects.support import shapes
from dialects.support.diagnostics import Diagnostic, error_at
from dialects.support.dtypes import name_of
from dialects.support.state import once_per_state


class InfersTypes(Operation, ABC):
    """An op whose result types follow from its operands and attributes."""

    @abstractmethod
    def infer_result_types(self) -> tuple[TensorType, ...]:
        """One type per result; raises GradcError where operands and attributes contradict."""

    def result_role(self, index: int) -> str:
        """The documented name of a result, for diagnostics."""
        return f"result {index}"


class KnowsOperands(Operation, ABC):
    """An op whose operands say more of each other's shapes than their types do."""

    @abstractmethod
    def operand_shapes(self) -> Iterator[tuple[SSAValue, shapes.Shape]]:
        """Shapes that operands have wherever the op is defined; raises GradcError as inference does."""


class Remarks(Operation, ABC):
    """An op whose document leaves more than one reading, or whose attributes may contradict."""

    @abstractmethod
    def remarks(self) -> Iterator[Diagnostic]:
        """What the reader should know about this op with these types. Called on verified ops."""


def set_type(value: SSAValue, type_: TensorType) -> None:
    """Change the type of a value in place.

    xDSL's own `replace_value_with_new_type` makes a new value, which leaves every reference that a
    pattern holds dangling.
    """
    value._type = type_  # pyright: ignore[reportPrivateUsage]


@once_per_state
def inferred_types(op: InfersTypes) -> tuple[TensorType, ...]:
    """`op.infer_result_types()`, asked once per state of an op."""
    return op.infer_result_types()


def check_results(op: InfersTypes) -> None:
    """Raise unless the declared result types can be the inferred ones."""
    for index, inferred in enumerate(inferred_types(op)):
        declared = op.results[index].type
        assert isinstance(declared, TensorType)
        _check_result(op, index, declared, inferred)


def refine_results(op: InfersTypes) -> bool:
    """Give each result what its declared and its inferred type say together; True if that is news."""
    changed = False
    for index, inferred in enumerate(inferred_types(op)):
        declared = op.results[index].type
        assert isinstance(declared, TensorType)
        if declared is inferred:
            continue
        _check_result(op, index, declared, inferred)
        shape = shapes.merge(shapes.shape_of(inferred), shapes.shape_of(declared))
        refined = shapes.tensor_type(inferred.element_type, shape)
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


def _check_result(op: InfersTypes, index: int, declared: TensorType, inferred: TensorType) -> None:
    if declared == inferred:
        return
    role = op.result_role(index)
    if declared.element_type != inferred.element_type:
        raise error_at(
            op,
            f"dtype of {role}",
            given=name_of(declared.element_type),
            expected=name_of(inferred.element_type),
        )
    given, expected = shapes.shape_of(declared), shapes.shape_of(inferred)
    if not shapes.compatible(given, expected):
        raise error_at(op, f"shape of {role}", given=shapes.show(given), expected=shapes.show(expected))


def collect_remarks(ops: Sequence[Operation]) -> Iterator[Diagnostic]:
    for op in ops:
        if isinstance(op, Remarks):
            yield from op.remarks()
