"""Op interfaces that gradc queries in any dialect: type inference and remarks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import TensorType, UnrankedTensorType
from xdsl.ir import Attribute, Operation, SSAValue

from dialects.support import layouts, shapes
from dialects.support.diagnostics import Diagnostic, error_at
from dialects.support.dtypes import name_of
from dialects.support.op_cache_key import once_per_state


class InfersTypes(Operation, ABC):
    """An op whose result types follow from its operands and attributes."""

    @abstractmethod
    def infer_result_types(self) -> tuple[Attribute | None, ...]:
        """Return one type per result, None where only the declared type determines it.

        Raises GradcError if operands and attributes contradict each other.
        """

    def result_role(self, index: int) -> str:
        """Return the documented name of a result, for diagnostics."""
        return f"result {index}"


class InfersOperands(Operation, ABC):
    """An op whose operands constrain each other's shapes."""

    @abstractmethod
    def operand_shapes(self) -> Iterator[tuple[SSAValue, shapes.Shape]]:
        """Yield shapes that operands must have; raises GradcError as inference does."""


class AmbiguousOp(Operation, ABC):
    """An op with two documented interpretations, which its types may not distinguish."""

    @property
    @abstractmethod
    def is_ambiguous(self) -> bool:
        """True if both interpretations are still possible."""

    @abstractmethod
    def choose_reading(self) -> bool:
        """Choose an interpretation if both are possible, in types and attributes; return whether it did."""


def matching_batch_and_channels(
    a: SSAValue, b: SSAValue, layout: str
) -> Iterator[tuple[SSAValue, shapes.Shape]]:
    """Yield the shapes that two data tensors of one layout and rank imply for each other: equal N and C."""
    given = (shapes.shape_of(a), shapes.shape_of(b))
    same = {layouts.axis_of(layout, letter, len(given[0]) - 2) for letter in "NC"}
    for value, other in ((a, given[1]), (b, given[0])):
        yield value, tuple(dim if axis in same else None for axis, dim in enumerate(other))


class Remarks(Operation, ABC):
    """An op whose document is ambiguous, or whose attributes may contradict each other."""

    @abstractmethod
    def remarks(self) -> Iterator[Diagnostic]:
        """Yield what the reader should know about this op with these types. Called on verified ops."""


def set_type(value: SSAValue, type_: Attribute) -> None:
    """Change the type of a value in place.

    xDSL's `replace_value_with_new_type` creates a new value, which invalidates references that patterns hold.
    """
    value._type = type_  # pyright: ignore[reportPrivateUsage]


@once_per_state
def inferred_types(op: InfersTypes) -> tuple[Attribute | None, ...]:
    """Return `op.infer_result_types()`, computed once per state of an op."""
    return op.infer_result_types()


def check_results(op: InfersTypes) -> None:
    """Raise unless the declared result types are compatible with the inferred ones."""
    for index, inferred in enumerate(inferred_types(op)):
        _check_result(op, index, op.results[index].type, inferred)


def refine_results(op: InfersTypes) -> bool:
    """Merge the declared and the inferred type of each result; return whether any changed."""
    changed = False
    for index, inferred in enumerate(inferred_types(op)):
        declared = op.results[index].type
        if declared is inferred:
            continue
        _check_result(op, index, declared, inferred)
        refined = _merge_types(declared, inferred)
        if refined is declared:
            continue
        changed |= refined != declared
        set_type(op.results[index], refined)
    return changed


def refine_operands(op: InfersOperands) -> bool:
    """Merge the type of each operand with what the other operands imply; return whether any changed."""
    changed = False
    for value, known in op.operand_shapes():
        shape = shapes.merge(known, shapes.shape_of(value))
        if shape != shapes.shape_of(value):
            set_type(value, shapes.tensor_type(shapes.element_type_of(value), shape))
            changed = True
    return changed


def _merge_types(declared: Attribute, inferred: Attribute | None) -> Attribute:
    """Merge a declared and an inferred type that do not contradict each other."""
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
