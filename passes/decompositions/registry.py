"""Registry of decompositions: each op that gradc writes as other ops is declared once, with the reason.

`passes/decompositions/<reason>/table.py` declares the decompositions of a reason. A table is imported when
its reason is first looked up, and the function of a decomposition when it is first called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from importlib import import_module
from typing import TypeAlias

from dialects.support.diagnostics import violation
from dialects.support.shapes import has_rank
from passes.autodiff.common.primal import Primal
from passes.builder.values import Value, ValueBuilder


class Reason(StrEnum):
    """Why an op is decomposed; the value is the package that declares the decompositions."""

    OTHER_DOMAIN = "contrib"
    """Runtimes other than onnxruntime lack ops of other domains, and they have no VJP rules."""
    GRADIENT = "gradients"
    """The derivative of the op is that of its decomposition."""


Results: TypeAlias = Sequence[Value | None]
"""Results in order; None for one that only the op itself can compute."""

Body: TypeAlias = Callable[[Primal, ValueBuilder], Results]
"""Writes an op as other ops; raises `refusal` for a variant that it does not cover."""


@dataclass(frozen=True)
class Operand:
    """A declared operand; `rank` is the only rank that the function covers, None for any."""

    name: str
    is_optional: bool
    is_variadic: bool
    rank: int | None

    @classmethod
    def parse(cls, text: str) -> Operand:
        """Parse `name`, `name:rank`, `name?` for an optional operand, or `name*` for any number."""
        name, _, rank = text.rstrip("?*").partition(":")
        return cls(name, text.endswith("?"), text.endswith("*"), int(rank) if rank else None)

    def __str__(self) -> str:
        return f"[{self.name}]" if self.is_optional else f"{self.name}..." if self.is_variadic else self.name


@dataclass(frozen=True)
class Decomposition:
    """A declared decomposition.

    `op`: the ONNX name, or `domain.name`. `function`: `module:name`, a module of the reason's package or a
    full name. `signature`: the operands of an op without an ONNX schema, see `Operand.parse`.
    """

    op: str
    reason: Reason
    function: str
    signature: str = ""

    @cached_property
    def body(self) -> Body:
        module, _, name = self.function.partition(":")
        home = module if module.startswith("passes.") else f"{__package__}.{self.reason}.{module}"
        return getattr(import_module(home), name)

    @cached_property
    def operands(self) -> tuple[Operand, ...]:
        return tuple(map(Operand.parse, self.signature.split()))

    def match_operands(self, given: Sequence[Value | None]) -> Sequence[Value | None]:
        """Return the operands of the signature. Raises GradcError for others."""
        declared, count = self.operands, len(given)
        missing = [one for i, one in enumerate(declared) if _is_missing(one, i, given)]
        extra = () if declared[-1].is_variadic else given[len(declared) :]
        if missing or any(value is not None for value in extra):
            what = f"no {missing[0].name}" if missing and count >= len(declared) else count
            raise violation(f"operands of {self.op}", given=what, expected=", ".join(map(str, declared)))
        for one, value in zip(declared, given, strict=False):
            if one.rank is not None and value is not None and _rank_or_none(value) not in (None, one.rank):
                raise violation(f"rank of {one.name} of {self.op}", given=value.rank, expected=one.rank)
        return given if declared[-1].is_variadic else given[: len(declared)]


def _rank_or_none(value: Value) -> int | None:
    return value.rank if has_rank(value.value) else None


def _is_missing(operand: Operand, index: int, given: Sequence[Value | None]) -> bool:
    return not operand.is_optional and (index >= len(given) or given[index] is None)


@cache
def table_of(reason: Reason) -> Mapping[str, Decomposition]:
    """Return the decompositions of a reason by op."""
    declared: Sequence[Decomposition] = import_module(f"{__package__}.{reason}.table").DECOMPOSITIONS
    return {one.op: one for one in declared}


def decomposition_of(op: str, reason: Reason) -> Decomposition | None:
    return table_of(reason).get(op)
