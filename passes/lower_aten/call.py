"""The interface of a lowering rule: the arguments of the op, and numbers and sizes in the graph.

    rule(f, e) -> the value of the op, or one for each result; None for a result that nothing reads

`f` is the op, whose arguments are attributes of their names: `f.self`, `f.dim`. `e` is the builder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from xdsl.ir import Attribute, SSAValue

from dialects.aten.ops import AtenOp
from dialects.aten.ratios import Ratio
from dialects.onnx import ops as onnx
from dialects.shapes.forms import Form, Size
from dialects.support.diagnostics import UnsupportedError, error_at
from dialects.support.shapes import element_type_of, shape_of
from passes.builder.values import Builder, Value
from passes.size_checks.expressions import Expressions

Number: TypeAlias = float | Size | Ratio
"""A number of a call, which may depend on dims."""


class Call:
    """An ATen op that is lowered: `f.self` is the argument `self` as a Value, number, list or None."""

    def __init__(self, op: AtenOp, e: Builder, sizes: Expressions):
        self.op, self.e, self.sizes = op, e, sizes
        self.arguments = {name: self._value(value) for name, value in op.arguments().items()}

    def __getattr__(self, name: str) -> Any:
        arguments: Mapping[str, Any] = self.__dict__.get("arguments", {})
        if name not in arguments:
            raise AttributeError(f"{self.op.name} has no argument {name}")
        return arguments[name]

    def _value(self, argument: Any) -> Any:
        if isinstance(argument, list):
            return [self._scalar(each) for each in cast(list[Any], argument)]
        return self._scalar(argument)

    def _scalar(self, argument: Any) -> Any:
        return self.e(argument) if isinstance(argument, SSAValue) else argument

    def has(self, name: str) -> bool:
        """Return whether the op has an argument of this name that is not None."""
        return self.arguments.get(name) is not None

    @property
    def dtype(self) -> Attribute:
        """Element type of the first result, as torch has it."""
        return self.dtype_of(0)

    @property
    def shape(self) -> tuple[Form, ...]:
        """Sizes of the first result: ints, or sizes that depend on dims."""
        return self.shape_of(0)

    def dtype_of(self, index: int) -> Attribute:
        """Return the element type of a result."""
        return element_type_of(self.op.results[index])

    def shape_of(self, index: int) -> tuple[Form, ...]:
        """Return the sizes of a result."""
        return tuple(size for size in shape_of(self.op.results[index]) if size is not None)

    def is_read(self, index: int) -> bool:
        """Return whether something reads a result; others may be None."""
        return self.op.results[index].first_use is not None

    def number(self, number: Number, dtype: Attribute) -> Value:
        """Return a number as a rank-0 value of a dtype; one that depends on dims is computed."""
        if isinstance(number, Ratio):
            return self._size_or_float(number.dividend, dtype) / self._size_or_float(number.divisor, dtype)
        return self._size_or_float(number, dtype)

    def _size_or_float(self, number: Form | float, dtype: Attribute) -> Value:
        if isinstance(number, Size):
            return self.vector([number]).squeeze([0]).cast(dtype)
        return self.e.number(number, dtype)

    def operand(self, given: Value | Number, dtype: Attribute) -> Value:
        """Return an argument that is a tensor or a number as a value of a dtype."""
        return given.cast(dtype) if isinstance(given, Value) else self.number(given, dtype)

    def vector(self, sizes: Sequence[Form]) -> Value:
        """Return sizes as an int64 vector, a constant if no dim is in them."""
        if all(isinstance(size, int) for size in sizes):
            return self.e.ints([size for size in sizes if isinstance(size, int)])
        return self.e(self.sizes.vector(sizes))

    def full(self, value: Value | Number, shape: Sequence[Form], dtype: Attribute) -> Value:
        """Return a tensor of one number."""
        number = self.operand(value, dtype)
        return number.apply(onnx.ExpandOp, self.vector(shape)) if shape else number

    def refusal(
        self, what: str, given: object = None, expected: object = None, hint: str = ""
    ) -> UnsupportedError:
        """Return the error for a use of the op that has no lowering; rules raise it."""
        found = error_at(self.op, what, given=given, expected=expected, hint=hint, kind=UnsupportedError)
        assert isinstance(found, UnsupportedError)
        return found


Rule: TypeAlias = Callable[[Call, Builder], "Value | Sequence[Value | None]"]
