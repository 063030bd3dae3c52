"""What a compilation is for: an execution provider and an opset."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.passes import ModulePass

from dialects.onnx.base import OnnxOp
from dialects.onnx.opsets import OLDEST, Version
from dialects.support import shapes
from dialects.support.diagnostics import Diagnostic, UsageError, sentence
from dialects.support.dtypes import name_of
from passes.kernels import TARGETS, Kernels

DEFAULT_OPSET = 18
"""The newest at which onnxruntime's CUDA provider has kernels for everything that gradc emits."""


@dataclass(frozen=True)
class Target:
    """An execution provider (`cpu`, `cuda`) and the opset that the model is written in.

    Raises UsageError for any other word, and for an opset older than gradc writes.
    """

    name: str = "cpu"
    opset: int = DEFAULT_OPSET

    def __post_init__(self) -> None:
        if self.name not in TARGETS:
            text = sentence("target", self.name, f"one of {', '.join(TARGETS)}")
            raise UsageError(Diagnostic("error", text))
        if self.opset < OLDEST:
            raise UsageError(Diagnostic("error", sentence("opset", self.opset, f"{OLDEST} or newer")))

    @property
    def kernels(self) -> Kernels:
        return Kernels(self.name, self.opset)

    def lacks(self, op: type[OnnxOp], dtype: str) -> str | None:
        """Why this target cannot run an op on tensors of one dtype, None if it can."""
        version = schema_version(op, self.opset)
        if version is None:
            return f"{op.onnx_name()} needs opset {op.VERSIONS[0].since}, the target is {self.opset}"
        variables = {v: dtype for v, words in version.types.items() if dtype in words.split()}
        if variables and self.kernels.has(op.onnx_name(), revision(op, self.opset), variables):
            return None
        return f"{op.onnx_name()} has no {dtype} kernel on {self.name} at opset {self.opset}"

    def lacks_kernel(self, op: OnnxOp) -> str | None:
        """Why this target cannot run this very op, None if it can."""
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
    """A pass with the options `target` and `opset`."""

    target: str = "cpu"
    opset: int = DEFAULT_OPSET

    def __post_init__(self) -> None:
        Target(self.target, self.opset)  # refuses what is none before any pass has run

    @property
    def env(self) -> Target:
        return Target(self.target, self.opset)
