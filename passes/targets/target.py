"""Compilation target: an execution provider, an opset, and a number of threads."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from xdsl.dialects.builtin import TensorType, UnrankedTensorType
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from dialects.onnx.base import OnnxConstant, OnnxOp
from dialects.onnx.dims import is_at_least
from dialects.onnx.opset_range import opset_range
from dialects.onnx.opsets import OLDEST, Version
from dialects.support import shapes
from dialects.support.diagnostics import usage
from dialects.support.dtypes import HALVES, name_of
from passes.builder.op_builder import OpBuilder
from passes.decompositions.registry import Decomposition, Reason, decompose, decomposition_of
from passes.kernel_tables import EXPANDED_BY_RUNTIME, FAILS_ON_EMPTY, Kernels, word_types
from passes.targets.spec import TargetSpec, spec_of

DEFAULT_OPSET = 18
"""Newest opset at which onnxruntime's CUDA provider has kernels for all ops that gradc emits."""

MOST_THREADS = 4096
"""Limit above any known machine; each thread takes memory."""


def usable_threads() -> int:
    """Return the number of cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_threads(what: str, threads: int) -> None:
    """Raise UsageError, naming the number `what`, unless it is a valid thread count."""
    if threads < 1:
        raise usage(what, threads, "1 or more")
    if threads > MOST_THREADS:
        raise usage(what, threads, f"{MOST_THREADS} or fewer")


@dataclass(frozen=True)
class Target:
    """A target by its name, the opset to write, and the intra-op thread count; `spec` has its capabilities.
    `strict_ieee` avoids lowerings that can turn inf into NaN (0 * inf).

    Raises UsageError for an unknown name, an opset older than gradc writes, or an invalid thread count.
    """

    name: str = "cpu"
    opset: int = DEFAULT_OPSET
    threads: int = field(default_factory=usable_threads)
    strict_ieee: bool = False

    @classmethod
    def of(
        cls, name: str, opset: int | None = None, threads: int | None = None, strict_ieee: bool = False
    ) -> Target:
        """Return the target, with defaults for None."""
        given = {"opset": opset, "threads": threads}
        known = {key: value for key, value in given.items() if value is not None}
        return cls(name, **known, strict_ieee=strict_ieee)

    def __post_init__(self) -> None:
        _ = self.spec  # reject an unknown name
        if self.opset < OLDEST:
            raise usage("opset", self.opset, f"{OLDEST} or newer")
        check_threads("threads", self.threads)

    @property
    def spec(self) -> TargetSpec:
        """The target's capabilities, by which passes differ from one target to another."""
        return spec_of(self.name)

    @property
    def kernels(self) -> Kernels:
        return Kernels(self.spec.provider, self.opset)

    def lacks(self, op: type[OnnxOp], dtype: str) -> str | None:
        """Return why this target can run neither an op on tensors of one dtype nor its decomposition; None if
        it can."""
        return _lacks(self.name, self.opset, op, dtype)

    def lacks_uncached(self, op: type[OnnxOp], dtype: str) -> str | None:
        reason = self._misses(op, dtype)
        return None if reason is None or self._can_expand(op, dtype) else reason

    def lacks_kernel(self, op: OnnxOp) -> str | None:
        """Return why this target cannot run this op; None if it can."""
        return self._misses_kernel(op, variable_types(op))

    def leaves_to_runtime(self, op: OnnxOp) -> bool:
        """Return whether the runtime, which has no kernel for an op, inlines its function body."""
        name = op.onnx_name()
        since = EXPANDED_BY_RUNTIME.get(name)
        return (
            since is not None
            and revision(type(op), self.opset) >= since
            and name not in self.spec.excluded_ops
            and self.spec.form_quirk(op) is None
        )

    def may_fail_on_empty(self, op: OnnxOp) -> bool:
        """Return whether the inlined body of an op fails for sizes that the operands may have."""
        if op.onnx_name() not in FAILS_ON_EMPTY or not self.leaves_to_runtime(op):
            return False
        data = op.operands[0]
        return not shapes.has_rank(data) or not all(is_at_least(dim, 1) for dim in shapes.shape_of(data))

    def has_form(self, op: OnnxOp) -> bool:
        """Return whether the opset has the op with its attributes, inputs and types."""
        first, last = opset_range(op)
        return first <= self.opset and (last is None or self.opset < last)

    def lacks_form(self, op: OnnxOp) -> str | None:
        """Return why no pass can make an op run on this target; None if it runs as it is, with widened half
        types, or decomposed."""
        if not self.has_form(op):
            return self._lacks_older_form(op)
        reason = None if isinstance(op, OnnxConstant) else self.lacks_kernel(op)
        return None if reason is None or self.expands(op) or self._runs_wide(op) else reason

    def _lacks_older_form(self, op: OnnxOp) -> str | None:
        """Return why this target cannot run the older form of an op; None if it can."""
        form = self.spec.form_quirk(op)
        if form is not None and form.body is None:
            return f"{op.onnx_name()} with {form.what} is avoided on {self.name}: {form.why}"
        older, emit = decomposition_of(op.onnx_name(), Reason.OLDER_OPSET), OpBuilder()
        try:
            if older is None or decompose(older.body, op, emit) is None:
                return f"{op.onnx_name()} in this form is not in opset {self.opset}"
            lacking = (self.lacks_form(new) for new in emit.ops if isinstance(new, OnnxOp))
            return next(filter(None, lacking), None)
        finally:
            emit.discard()

    def expands(self, op: OnnxOp) -> bool:
        """Return whether to decompose this op: a decomposition exists, and it has no kernel, not even for
        widened half types, nor does the runtime inline its body."""
        if (form := self.spec.form_quirk(op)) is not None:
            return form.body is not None and self._excludes(_widened(variable_types(op))) is None
        found = _expansion_of(type(op))
        if found is None or self.lacks_kernel(op) is None or self._runs_wide(op):
            return False
        if self.leaves_to_runtime(op) and self.spec.kernel_quirk(op) is None:
            return False
        return self._can_expand(type(op), variable_types(op)[found.data])

    def _can_expand(self, op: type[OnnxOp], dtype: str) -> bool:
        found = _expansion_of(op)
        return found is not None and all(
            self._has(other, its) or (its in HALVES and self._has(other, "f32"))
            for other, its in found.required_kernels(dtype)
        )

    def _has(self, op: type[OnnxOp], dtype: str) -> bool:
        return self._misses(op, dtype) is None

    def _runs_wide(self, op: OnnxOp) -> bool:
        types = variable_types(op)
        wide = _widened(types)
        return wide != types and self._misses_kernel(op, wide) is None

    def _misses(self, op: type[OnnxOp], dtype: str) -> str | None:
        """Return why there is no kernel for an op on tensors of one dtype; None if there is."""
        if reason := self._misses_op(op):
            return reason
        version = schema_version(op, self.opset)
        words = version.types.items() if version else ()
        types = {variable: dtype for variable, known in words if dtype in known.split()}
        if reason := self._excludes(types):
            return reason
        if types and self.kernels.has(op.onnx_name(), revision(op, self.opset), types):
            return None
        return f"{op.onnx_name()} has no {dtype} kernel on {self.name} at opset {self.opset}"

    def _misses_kernel(self, op: OnnxOp, types: Mapping[str, str]) -> str | None:
        """Return why there is no kernel for an op with these type variables; None if there is."""
        if reason := self._misses_op(type(op)):
            return reason
        name, since = op.onnx_name(), revision(type(op), self.opset)
        if reason := self._excludes(types):
            return reason
        shown = ", ".join(sorted(set(types.values())))
        if not self.kernels.has(name, since, types):
            return f"{name} has no kernel for {shown} on {self.name} at opset {self.opset}"
        if form := self.spec.kernel_quirk(op):
            return f"{name} with {form} deviates from ONNX on {self.name}"
        if avoided := self.spec.form_quirk(op):
            return f"{name} with {avoided.what} is avoided on {self.name}: {avoided.why}"
        attributes = op.onnx_attributes() if name in word_types(self.spec.provider) else {}
        failing = self.kernels.failing_word(name, attributes, types)
        return failing and f"{name} with {failing} fails for {shown} on {self.name}"

    def _excludes(self, types: Mapping[str, str]) -> str | None:
        """Return why the target avoids one of the dtypes, or None."""
        excluded = self.spec.excluded_dtypes
        found = next((dtype for dtype in types.values() if dtype in excluded), None)
        return None if found is None else f"{found} is avoided on {self.name}: {excluded[found]}"

    def _misses_op(self, op: type[OnnxOp]) -> str | None:
        """Return why the target does not have an op of any type, or None."""
        if reason := self.spec.excluded_ops.get(op.onnx_name()):
            return f"{op.onnx_name()} is avoided on {self.name}: {reason}"
        if schema_version(op, self.opset) is None:
            return f"{op.onnx_name()} needs opset {op.VERSIONS[0].since}, the target is {self.opset}"
        return None


def _expansion_of(op: type[OnnxOp]) -> Decomposition | None:
    """Return the decomposition of an op without a kernel whose required kernels are declared."""
    found = decomposition_of(op.onnx_name(), Reason.MISSING_KERNEL)
    return None if found is None or found.kernels is None else found


@cache
def _lacks(name: str, opset: int, op: type[OnnxOp], dtype: str) -> str | None:
    """Cached `lacks`; thread count and strictness do not matter."""
    return Target(name, opset, threads=1).lacks_uncached(op, dtype)


def schema_version(op: type[OnnxOp], opset: int) -> Version | None:
    """Return the schema version of an op at an opset; None if the op is newer."""
    known = [version for version in op.VERSIONS if version.since <= opset]
    return known[-1] if known else None


def revision(op: type[OnnxOp], opset: int) -> int:
    """Return the schema number in force at an opset, by which runtimes register kernels."""
    return max(since for since in op.REVISIONS if since <= opset)


def variable_types(op: OnnxOp) -> dict[str, str]:
    """Return the dtype of each type variable of an op; kernel tables have tensor types only."""
    found: dict[str, str] = {}
    definition = op.get_irdl_definition()
    for name, _ in (*definition.operands, *definition.results):
        given: Sequence[SSAValue] | SSAValue | None = getattr(op, name)
        values = given if isinstance(given, Sequence) else (given,)
        for value in values:
            is_tensor = value is not None and isinstance(value.type, TensorType | UnrankedTensorType)
            if value is not None and is_tensor:
                found[op.TYPES[name]] = name_of(shapes.element_type_of(value))
    return found


def _widened(types: Mapping[str, str]) -> dict[str, str]:
    return {variable: "f32" if dtype in HALVES else dtype for variable, dtype in types.items()}


@dataclass(frozen=True)
class TargetPass(ModulePass):
    """A pass with the options `target`, `opset`, `threads` and `strict_ieee`.

    The thread count defaults to the cores of this process; an explicit one is always printed.
    """

    target: str = "cpu"
    opset: int = DEFAULT_OPSET
    threads: int | None = None
    strict_ieee: bool = False

    def __post_init__(self) -> None:
        _ = self.env  # reject an invalid target before any pass runs

    @property
    def env(self) -> Target:
        return Target.of(self.target, self.opset, self.threads, self.strict_ieee)
