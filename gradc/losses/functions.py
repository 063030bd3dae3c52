"""Losses that the user writes: an output of the model, or a function of values."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np
from xdsl.dialects.builtin import TensorType

from dialects.support.dtypes import DType, by_name, of_numpy
from dialects.support.shapes import tensor_type
from gradc.losses.base import Loss, as_scalar
from gradc.ops import Builder, Value
from passes.autodiff.user_rules import attribute_errors

LabelType: TypeAlias = tuple[Any, Sequence[int | str]] | None
"""The type of a label: a dtype, such as "int64", and sizes, names for dynamic ones; None: that of the first
value."""


@dataclass(frozen=True)
class Output(Loss):
    """An output of the model that is the loss: floats of one element; no label."""

    def labels(self, of: Sequence[TensorType]) -> Mapping[str, TensorType]:
        self.check_values(of)
        return {}

    def write(self, of: Sequence[Value], labels: Mapping[str, Value], e: Builder) -> Value:
        return as_scalar(self, of[0], "reads")


@dataclass(frozen=True, init=False)
class Function(Loss):
    """A function of values, written with `gradc.ops` and arithmetic, that returns one float.

        def focal(logits, label): ...
        Function(focal, labels={"label": ("int64", ["N"])})

    It is called with the values and, by name, with the label inputs. These are the parameters behind those of
    the values; a label has the type of the first value unless `labels` gives another.
    """

    READS: ClassVar[tuple[int, ...]] = ()

    f: Callable[..., Any]
    label_types: Mapping[str, LabelType] = field(default_factory=dict[str, LabelType])

    def __init__(self, f: Callable[..., Any], labels: Mapping[str, LabelType] | None = None):
        object.__setattr__(self, "f", f)
        object.__setattr__(self, "label_types", dict(labels or {}))
        if not callable(f):
            raise self.error("f", type(f).__name__, "a function")

    @property
    def title(self) -> str:
        return f"loss {getattr(self.f, '__name__', type(self.f).__name__)}"

    def labels(self, of: Sequence[TensorType]) -> Mapping[str, TensorType]:
        self.check_values(of)
        if not of:
            raise self.error("reads", "no value", "one or more; of names them")
        names = [*self._parameters(len(of)), *self.label_types]
        return {name: self._type(name, of[0]) for name in dict.fromkeys(names)}

    def write(self, of: Sequence[Value], labels: Mapping[str, Value], e: Builder) -> Value:
        with attribute_errors(f"the {self.title}"):
            found = self.f(*of, **labels)
        if not isinstance(found, Value):
            raise self.error("returns", type(found).__name__, "a Value")
        return as_scalar(self, found, "returns")

    def _parameters(self, count: int) -> list[str]:
        """Return the names of the parameters behind the first `count`, without those that have a default."""
        parameters = list(inspect.signature(self.f).parameters.values())
        variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        named = [p for p in parameters if p.kind not in variadic]
        return [p.name for p in named[count:] if p.default is inspect.Parameter.empty]

    def _type(self, name: str, default: TensorType) -> TensorType:
        given = self.label_types.get(name)
        if given is None:
            return default
        what, expected = f"label {name}", 'a dtype and sizes, such as ("int64", ["N"])'
        if not isinstance(given, tuple | list) or len(given) != 2:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise self.error(what, repr(given), expected)
        dtype, shape = _dtype(given[0]), given[1]
        if dtype is None or not all(isinstance(size, int | str) for size in shape):
            raise self.error(what, repr(given), expected)
        return tensor_type(dtype.mlir, shape)


def _dtype(given: Any) -> DType | None:
    try:
        return of_numpy(np.dtype(given))
    except TypeError:
        return by_name(given) if isinstance(given, str) else None
