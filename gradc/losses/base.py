"""The interface of losses, and what their formulas and checks share."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import TensorType, f32

from dialects.onnx import ops as onnx
from dialects.support.diagnostics import UsageError, several, usage
from dialects.support.dtypes import FLOATS, HALVES, name_of
from dialects.support.shapes import has_rank, shape_of, show
from gradc.ops import Builder, Value

REDUCTIONS = ("mean", "sum")

LOGITS, LOG_PROBABILITIES = "logits", "log-probabilities"


@dataclass(frozen=True)
class Loss(ABC):
    """A scalar function of values of a model and of label inputs.

    `READS`: the numbers of values that the loss can read; empty for any number. `SCORES`: what they are, if
    the loss takes logits or log-probabilities.
    """

    SCORES: ClassVar[str] = ""

    READS: ClassVar[tuple[int, ...]] = (1,)

    def reads(self, outputs: Sequence[str]) -> Sequence[str]:
        """Return the names of the values that the loss reads by default, among a model's float outputs.

        Raises UsageError if that is ambiguous.
        """
        if not self.READS or len(outputs) in self.READS:
            return outputs
        given = several(list(outputs)) or "none"
        raise usage(f"outputs that {self.title} reads", given, self._numbers(), "of names them")

    def bind(self, of: Sequence[str]) -> Loss:
        """Return the loss for values of these names, which `labels` and `write` get in the same order."""
        return self

    @abstractmethod
    def labels(self, of: Sequence[TensorType]) -> Mapping[str, TensorType]:
        """Return the types of the label inputs by name, for the types of the values that the loss reads.

        Raises UsageError for values that the loss does not accept.
        """

    @abstractmethod
    def write(self, of: Sequence[Value], labels: Mapping[str, Value], e: Builder) -> Value:
        """Return the loss as a scalar: float64 for float64 values, else float32."""

    @property
    def title(self) -> str:
        """Name of the loss in messages."""
        return type(self).__name__

    def error(self, name: str, given: object = None, expected: object = None, hint: str = "") -> UsageError:
        """Return the error for an argument, or for a value that the loss reads."""
        return usage(f"{self.title} {name}", given, expected, hint)

    def check_values(self, of: Sequence[TensorType]) -> None:
        """Raise UsageError for a wrong number of values, and for values that are not floats of known rank."""
        if self.READS and len(of) not in self.READS:
            raise self.error("reads another number of values", len(of), self._numbers())
        for type_ in of:
            word = name_of(type_.element_type)
            if not has_rank(type_) or word not in FLOATS:
                shape = show(shape_of(type_)) if has_rank(type_) else "of unknown rank"
                raise self.error("of a value", f"{word} {shape}", "floats of known rank")

    def _numbers(self) -> str:
        counts = " or ".join(map(str, self.READS))
        return f"{counts} value{'s' if self.READS != (1,) else ''}"

    def check_number(
        self, name: str, low: float = -math.inf, high: float = math.inf, *, open_low: bool = False
    ) -> None:
        """Check that a field is a number from `low` (excluded with `open_low`) to `high`; store a float."""
        given = getattr(self, name)
        is_number = isinstance(given, int | float | np.integer | np.floating) and not isinstance(given, bool)
        if is_number and low <= given <= high and not (open_low and given == low):
            self._store(name, float(given))
            return
        expected = (
            "a number" if math.isinf(low) else f"a number {'above' if open_low else 'of at least'} {low:g}"
        )
        if not math.isinf(high):
            expected += f" and at most {high:g}"
        raise self.error(name, repr(given), expected)

    def check_int(self, name: str) -> None:
        """Check that a field is an integer or None; store an int."""
        given = getattr(self, name)
        if given is None:
            return
        if not isinstance(given, int | np.integer) or isinstance(given, bool):
            raise self.error(name, repr(given), "an integer or None")
        self._store(name, int(given))

    def check_flag(self, name: str) -> None:
        given = getattr(self, name)
        if not isinstance(given, bool | np.bool_):
            raise self.error(name, repr(given), "True or False")
        self._store(name, bool(given))

    def check_choice(self, name: str, known: Sequence[str]) -> None:
        given = getattr(self, name)
        if given not in known:
            hint = "a training step needs a scalar" if given == "none" else ""
            raise self.error(name, repr(given), f"one of {', '.join(known)}", hint)

    def check_numbers(self, name: str) -> None:
        """Check that a field is None or a list of numbers of at least 0; store a tuple of floats."""
        given = getattr(self, name)
        if given is None:
            return
        array = _array_or_none(given)
        if array is None or array.ndim != 1 or array.dtype.kind not in "iuf" or not array.size:
            raise self.error(name, _brief(given), "a list of numbers")
        numbers = tuple(cast("list[float]", array.astype(np.float64).tolist()))
        wrong = [number for number in numbers if not 0 <= number < math.inf]
        if wrong:
            raise self.error(name, f"{wrong[0]:g}", "finite numbers of at least 0")
        self._store(name, numbers)

    def check_array(self, name: str) -> None:
        """Check that a field is None, a number or an array of numbers of at least 0; store nested tuples."""
        given = getattr(self, name)
        if given is None:
            return
        array = _array_or_none(given)
        if array is None or array.dtype.kind not in "iuf" or not array.size:
            raise self.error(name, _brief(given), "a number or an array of numbers")
        if not np.all((array >= 0) & np.isfinite(array)):
            raise self.error(name, _brief(given), "finite numbers of at least 0")
        self._store(name, _as_tuples(array.astype(np.float64).tolist()))

    def check_broadcast(self, name: str, of: TensorType) -> None:
        """Check that a field broadcasts to the shape of a value."""
        given = getattr(self, name)
        if given is None:
            return
        own, shape = np.shape(given), shape_of(of)
        pairs = zip(reversed(own), reversed(shape), strict=False)
        if len(own) > len(shape) or any(size not in (1, dim) and isinstance(dim, int) for size, dim in pairs):
            raise self.error(name, f"shape {show(own)}", f"one that broadcasts to {show(shape)}")

    def _store(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def __str__(self) -> str:
        given = (f for f in fields(self) if getattr(self, f.name) != f.default)
        return f"{self.title}({', '.join(f'{f.name}={getattr(self, f.name)!r}' for f in given)})"


def type_of(value: Value) -> TensorType:
    assert isinstance(value.value.type, TensorType)
    return value.value.type


def wide(x: Value) -> Value:
    """Return a value of a half type in float32, others as they are."""
    return x.cast(f32) if name_of(x.dtype) in HALVES else x


def as_scalar(loss: Loss, value: Value, what: str) -> Value:
    """Return a float of one element as a scalar, in float32 for half types. Raises UsageError for others."""
    word = name_of(value.dtype)
    shape = shape_of(value.value) if has_rank(value.value) else None
    if word not in FLOATS or shape is None or any(size != 1 for size in shape):
        given = f"{word} {'of unknown rank' if shape is None else show(shape)}"
        hint = "ops.ReduceMean(x, keepdims=0) or ReduceSum makes it one"
        raise loss.error(what, given, "one float", hint)
    value = wide(value)
    return value.apply(onnx.SqueezeOp) if shape else value


def reduce_all(losses: Value, reduction: str) -> Value:
    """Return the mean or the sum of all elements."""
    if not losses.rank:
        return losses
    return losses.apply(onnx.ReduceMeanOp if reduction == "mean" else onnx.ReduceSumOp, keepdims=0)


def _array_or_none(given: Any) -> np.ndarray | None:
    try:
        return np.asarray(given)
    except (TypeError, ValueError, RuntimeError):
        return None


def _as_tuples(numbers: Any) -> Any:
    return tuple(map(_as_tuples, numbers)) if isinstance(numbers, list) else numbers


def _brief(given: object) -> str:
    text = repr(given)
    return text if len(text) <= 60 and "\n" not in text else type(given).__name__
