"""What a compilation is for: an execution provider, an opset, and a number of threads."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from xdsl.passes import ModulePass

from dialects.onnx.base import OnnxOp
from dialects.onnx.opsets import OLDEST, Version
from dialects.support import shapes
from dialects.support.diagnostics import Diagnostic, UsageError, sentence
from dialects.support.dtypes import name_of
from passes.kernels import TARGETS, Kernels, narrow_integers, provider_of, shunned, symmetric_pads

DEFAULT_OPSET = 18
"""The newest at which onnxruntime's CUDA provider has kernels for everything that gradc emits."""

MOST_THREADS = 4096
"""More than any machine is known to have; each takes memory."""


def usable_threads() -> int:
    """The cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_threads(what: str, threads: int) -> None:
    """Raise UsageError, which calls the number `what`, unless a runtime could be given so many threads."""
    if threads < 1:
        raise UsageError(Diagnostic("error", sentence(what, threads, "1 or more")))
    if threads > MOST_THREADS:
        raise UsageError(Diagnostic("error", sentence(what, threads, f"{MOST_THREADS} or fewer")))


@dataclass(frozen=True)
class Target:
    """What runs the model: an execution provider of onnxruntime (`cpu`, `cuda`), or the CPU provider and
    other runtimes (`portable`); the opset that it is written in, and the threads within an op that it is
    meant to run with. With `strict_ieee`, no form that may turn an inf into a NaN through a zero of its own.

    Raises UsageError for any other word, for an opset older than gradc writes, and for no threads.
    """

    name: str = "cpu"
    opset: int = DEFAULT_OPSET
    threads: int = field(default_factory=usable_threads)
    strict_ieee: bool = False

    @classmethod
    def of(
        cls, name: str, opset: int | None = None, threads: int | None = None, strict_ieee: bool = False
    ) -> Target:
        """The target with the defaults in place of what is None."""
        given = {"opset": opset, "threads": threads, "strict_ieee": strict_ieee}
        return cls(name, **{key: value for key, value in given.items() if value is not None})

    def __post_init__(self) -> None:
        if self.name not in TARGETS:
            text = sentence("target", self.name, f"one of {', '.join(TARGETS)}")
            raise UsageError(Diagnostic("error", text))
        if self.opset < OLDEST:
            raise UsageError(Diagnostic("error", sentence("opset", self.opset, f"{OLDEST} or newer")))
        check_threads("threads", self.threads)

    @property
    def kernels(self) -> Kernels:
        return Kernels(self.name, self.opset)

    @property
    def provider(self) -> str:
        """The execution provider whose types and prices hold for this target."""
        return provider_of(self.name)

    @property
    def symmetric_pads(self) -> str | None:
        """Why a ConvTranspose must have equal pads at both ends of an axis, None if it need not."""
        return symmetric_pads(self.name)

    @property
    def narrow_integers(self) -> str | None:
        """Why arithmetic on run-time sizes stays within 31 bits, None if it has all of an s64."""
        return narrow_integers(self.name)

    def _shuns(self, op: type[OnnxOp]) -> str | None:
        """Why this target does without an op that its provider may have."""
        reason = shunned(self.name).get(op.onnx_name())
        return reason and f"{op.onnx_name()} is not {self.name}: {reason}"

    def lacks(self, op: type[OnnxOp], dtype: str) -> str | None:
        """Why this target cannot run an op on tensors of one dtype, None if it can."""
        if reason := self._shuns(op):
            return reason
        version = schema_version(op, self.opset)
        if version is None:
            return f"{op.onnx_name()} needs opset {op.VERSIONS[0].since}, the target is {self.opset}"
        variables = {v: dtype for v, words in version.types.items() if dtype in words.split()}
        if variables and self.kernels.has(op.onnx_name(), revision(op, self.opset), variables):
            return None
        return f"{op.onnx_name()} has no {dtype} kernel on {self.name} at opset {self.opset}"

    def lacks_kernel(self, op: OnnxOp) -> str | None:
        """Why this target cannot run this very op, None if it can."""
        if reason := self._shuns(type(op)):
            return reason
        version = schema_version(type(op), self.opset)
        if version is None:
            return f"{op.onnx_name()} needs opset {op.VERSIONS[0].since}, the target is {self.opset}"
        types = variable_types(op)
        if self.kernels.has(op.onnx_name(), revision(type(op), self.opset), types):
            return None
        shown = ", ".join(sorted(set(types.values())))
        return f"{op.onnx_name()} has no kernel for {shown} on {self.name} at opset {self.opset}"


def schema_version(op: type[OnnxOp], opset: int) -> Version | None:
    """What the schema of an op admits at an opset, None if the op is younger."""
    known = [version for version in op.VERSIONS if version.since <= opset]
    return known[-1] if known else None


def revision(op: type[OnnxOp], opset: int) -> int:
    """The number of the schema that is in force at an opset, by which runtimes register kernels."""
    return max(since for since in op.REVISIONS if since <= opset)


def variable_types(op: OnnxOp) -> dict[str, str]:
    """The dtype word of each type variable of an op."""
    found = {}
    definition = op.get_irdl_definition()
    for name, _ in (*definition.operands, *definition.results):
        given = getattr(op, name)
        values = given if isinstance(given, tuple | list) else (given,)
        for value in values:
            if value is not None:
                found[op.TYPES[name]] = name_of(shapes.element_type_of(value))
    return found


@dataclass(frozen=True)
class TargetPass(ModulePass):
    """A pass with the options `target`, `opset`, `threads` and `strict_ieee`.

    The threads are by default the cores of this process; a number that was given is always printed.
    """

    target: str = "cpu"
    opset: int = DEFAULT_OPSET
    threads: int | None = None
    strict_ieee: bool = False

    def __post_init__(self) -> None:
        _ = self.env  # refuses what is no target before any pass has run

    @property
    def env(self) -> Target:
        return Target.of(self.target, self.opset, self.threads, self.strict_ieee)
