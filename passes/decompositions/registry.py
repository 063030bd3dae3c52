"""Registry of decompositions: each op that gradc writes as other ops is declared once, with the reason.

`passes/decompositions/<reason>/table.py` declares the decompositions of a reason. A table is imported when
its reason is first looked up, and the function of a decomposition when it is first called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from importlib import import_module
from typing import TypeAlias

from xdsl.ir import SSAValue

from dialects.onnx.base import OnnxOp
from dialects.onnx.ops import op_class
from dialects.support.diagnostics import violation
from dialects.support.shapes import UnknownRank, has_rank
from passes.autodiff.common.primal import Primal
from passes.builder.op_builder import OpBuilder
from passes.builder.values import Builder, Value


class Reason(StrEnum):
    """Why an op is decomposed; the value is the package that declares the decompositions."""

    MISSING_KERNEL = "missing_kernels"
    """The target has no kernel, or one that deviates from ONNX."""
    OLDER_OPSET = "older_opsets"
    """The opset does not have the variant of the op."""
    STRAIGHT_THROUGH = "straight_through"
    """A straight-through gradient passes floats, not the quantized codes of the op."""
    OTHER_DOMAIN = "contrib"
    """Runtimes other than onnxruntime lack ops of other domains, and they have no VJP rules."""
    GRADIENT = "gradients"
    """The derivative of the op is that of its decomposition."""


Results: TypeAlias = Sequence[Value | SSAValue | None]
"""Results in order; None for one that only the op itself can compute."""

Body: TypeAlias = Callable[[Primal, Builder], Results | None]
"""Writes an op as other ops. For a variant that it does not cover it returns None, or raises `refusal`."""


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

    `kernels`: ops that the target must have, as `Op` on the dtype of the type variable `data`, or `Op:dtype`;
    None if each op is checked once it is written. `replaces_function`: replaces ONNX's function body, which
    is less accurate or, as AffineGrid's, has a node that is invalid where its branch is not taken.
    """

    op: str
    reason: Reason
    function: str
    signature: str = ""
    kernels: str | None = None
    data: str = "T"
    replaces_function: bool = False

    @cached_property
    def body(self) -> Body:
        module, _, name = self.function.partition(":")
        home = module if module.startswith("passes.") else f"{__package__}.{self.reason}.{module}"
        return getattr(import_module(home), name)

    def write(self, f: Primal, e: Builder) -> list[Value | None] | None:
        """Write the op as other ops; return its results, or None for a variant that is not covered."""
        return as_values(self.body(f, e), e)

    def required_kernels(self, dtype: str) -> Iterator[tuple[type[OnnxOp], str]]:
        """Yield each required op with the dtype of its tensors, for data of one dtype."""
        for text in (self.kernels or "").split():
            name, _, own = text.partition(":")
            yield op_class(name), own or dtype

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


def as_values(results: Results | None, e: Builder) -> list[Value | None] | None:
    return None if results is None else [e(x) if isinstance(x, SSAValue) else x for x in results]


def decompose(body: Body, op: OnnxOp, emit: OpBuilder) -> Sequence[SSAValue] | None:
    """Return the results of an op by a decomposition. Return None, and emit nothing, for a variant that it
    does not cover, or if it needs an unknown rank."""
    e = Builder(emit)
    try:
        results = as_values(body(Primal.of(op, e), e), e)
    except UnknownRank:
        results = None
    if results is None:
        emit.discard()
        return None
    return [own if x is None else x.value for own, x in zip(op.results, results, strict=True)]
