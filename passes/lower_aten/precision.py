"""Formulas of several ops in half precision: computed in float32 and rounded once, as torch does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, cast

from xdsl.dialects.builtin import bf16, f16, f32
from xdsl.ir import Attribute

from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call, Rule

HALVES: tuple[Attribute, ...] = (f16, bf16)


class _Widened(Call):
    """A call whose half tensors are float32."""

    def __init__(self, f: Call):
        self.op, self.e, self.sizes = f.op, f.e, f.sizes
        self.arguments = {name: _widen_argument(value) for name, value in f.arguments.items()}

    def dtype_of(self, index: int) -> Attribute:
        dtype = super().dtype_of(index)
        return f32 if dtype in HALVES else dtype


def _widen_argument(argument: Any) -> Any:
    if isinstance(argument, list):
        return [_wide(each) for each in cast(list[Any], argument)]
    return _wide(argument)


def _wide(argument: Any) -> Any:
    is_half = isinstance(argument, Value) and argument.dtype in HALVES
    return argument.cast(f32) if is_half else argument


def in_float32(rule: Rule) -> Rule:
    """Let a rule compute in float32 if the first result is of a half dtype."""

    @wraps(rule)
    def widen_rule(f: Call, e: Builder) -> Value | Sequence[Value | None]:
        if f.dtype not in HALVES:
            return rule(f, e)
        made = rule(_Widened(f), e)
        if isinstance(made, Value):
            return made.cast(f.dtype)
        return [None if value is None else value.cast(f.dtype_of(index)) for index, value in enumerate(made)]

    return widen_rule


def formula(of: Callable[[Value], Value]) -> Rule:
    """Return the rule of a function of `self`, at the dtype of the result."""
    return in_float32(lambda f, e: of(f.self.cast(f.dtype)))
