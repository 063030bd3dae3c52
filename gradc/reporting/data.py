"""Data of a report, independent of its presentation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from dialects.support.diagnostics import Diagnostic, GradcError, printable
from gradc.files.json_text import json_text
from gradc.graph.tensors import TensorInfo
from gradc.inspection import accuracy as accuracy
from gradc.inspection.explain import Explanation
from gradc.reporting.changes import Line
from gradc.verification.proof import Proof
from gradc.verification.verify import OutputError

if TYPE_CHECKING:
    from gradc.compiler.compiled import Compiled


@dataclass(frozen=True)
class Missing:
    """An unavailable part, and the reason."""

    why: str

    @classmethod
    def of_error(cls, error: GradcError) -> Missing:
        found = error.diagnostic
        return cls(f"[{found.subject}] {found.message}" if found.subject else found.message)


NOT_COMPILED = Missing("the graph does not compile")


@dataclass(frozen=True)
class Remark:
    """A diagnostic with its source line."""

    diagnostic: Diagnostic
    """The remark or error."""

    quote: str = ""
    """The quoted source line; '' if unknown."""


@dataclass(frozen=True)
class Settings:
    """The target and environment of the compilation; `versions` by package."""

    target: str
    opset: int
    threads: int
    strategy: str
    versions: Mapping[str, str]
    machine: str


@dataclass(frozen=True)
class Model:
    """The compiled model: inputs, outputs, node counts, and bytes of the file and its weights."""

    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    nodes: Mapping[str, int]
    size: int
    weights: int


@dataclass(frozen=True)
class PassRecord:
    """Result of a pass: seconds including verification, and `lines` if it changed the IR."""

    name: str
    seconds: float
    changed: bool
    lines: tuple[Line, ...] | Missing = ()


@dataclass(frozen=True, eq=False)
class Array:
    """A tensor of the run that may be an image; `layout` is NCX or NXC.

    `expected` is the reference value of an output, if known.
    """

    name: str
    role: Literal["input", "output"]
    layout: str
    values: np.ndarray = field(repr=False)
    expected: np.ndarray | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Run:
    """A run and its errors; `errors` are those against float64, per output and op."""

    inputs: str
    rows: tuple[OutputError, ...]
    errors: accuracy.Report | Missing
    arrays: tuple[Array, ...] = field(repr=False)

    @property
    def ok(self) -> bool:
        return all(row.ok for row in self.rows)


@dataclass(frozen=True)
class GradientCheck:
    """The outcome of the check of a gradient, or the error that it raised."""

    proof: Proof | None = None
    error: Diagnostic | None = None

    @property
    def ok(self) -> bool:
        return self.error is None

    @property
    def status(self) -> str:
        """`proved`, `partly proved`, `not checked` or `wrong`."""
        return "wrong" if self.proof is None else self.proof.status

    def __str__(self) -> str:
        return str(self.error or self.proof)

    def as_data(self) -> dict[str, Any]:
        data = {"status": self.status} if self.proof is None else self.proof.as_data()
        return data | {"error": None if self.error is None else str(self.error)}


@dataclass(frozen=True, eq=False, repr=False)
class Contents:
    """The contents of a report, independent of its presentation."""

    title: str
    """Name of the source."""

    repeat: tuple[str, ...]
    """Commands that repeat the compilation and the run."""

    settings: Settings
    """Target, opset, threads, strategy, versions and machine."""

    ops: Mapping[str, int]
    """Number of source ops by kind."""

    remarks: tuple[Remark, ...]
    """The compiler's remarks."""

    failure: Remark | None
    """Error of a graph that does not compile."""

    model: Model | Missing
    """Inputs, outputs, nodes and sizes of the compiled model."""

    passes: tuple[PassRecord, ...] | Missing
    """Name, time and changes of each pass."""

    explanation: Explanation | Missing
    """Candidate strategies of each gradient, and the choice."""

    run: Run | Missing
    """A run, and its errors against the reference."""

    exit_code: int = 0
    """Exit code of `gradc report`: 1 if a check failed, else that of `gradc compile`."""

    source: ModuleOp | None = field(default=None, repr=False)
    """The module before the pipeline."""

    result: ModuleOp | None = field(default=None, repr=False)
    """The module after the pipeline."""

    also: tuple[Remark, ...] = ()
    """Further errors of a graph that does not compile, after `failure`."""

    compiled: Compiled | None = field(default=None, repr=False)
    """The model, to save and run."""

    check: GradientCheck | Missing | None = None
    """The gradient check; None for a graph that is not a gradient."""

    @property
    def ok(self) -> bool:
        """True if the graph compiled and verification found no error."""
        return self.failure is None and not self.is_wrong

    @property
    def is_wrong(self) -> bool:
        """True if verification or the gradient check failed."""
        return any(isinstance(part, Run | GradientCheck) and not part.ok for part in (self.run, self.check))

    @property
    def failures(self) -> tuple[Remark, ...]:
        """All errors of a graph that does not compile."""
        return () if self.failure is None else (self.failure, *self.also)

    @property
    def verdict(self) -> str:
        """Summary: whether the graph compiled, ran, and is correct."""
        if self.failure is not None:
            return "does not compile"
        if isinstance(self.run, Missing):
            return "failed verification" if self.is_wrong else "not verified"
        return "failed verification" if self.is_wrong else "verified"

    def __repr__(self) -> str:
        """`<Report of graph.json: target cpu, 5 source ops, 15 ONNX nodes, verified>`."""
        parts = [f"target {self.settings.target}"]
        if self.ops:
            parts.append(_count_text(sum(self.ops.values()), "source op"))
        if not isinstance(self.model, Missing):
            parts.append(_count_text(sum(self.model.nodes.values()), "ONNX node"))
        return f"<Report of {printable(self.title)}: {', '.join([*parts, self.verdict])}>"


def _count_text(count: int, word: str) -> str:
    return f"{count:,} {word}{'s' * (count != 1)}"


def as_json(report: Contents) -> str:
    """Return everything except modules and tensor values; a missing part is `{"missing": why}`."""
    found = {
        "title": report.title,
        "ok": report.ok,
        "repeat": list(report.repeat),
        "settings": asdict(report.settings),
        "ops": dict(report.ops),
        "remarks": [str(remark.diagnostic) for remark in report.remarks],
        "failure": str(report.failure.diagnostic) if report.failure else None,
        "failures": [str(remark.diagnostic) for remark in report.failures],
        "model": _plain(report.model),
        "passes": _passes(report.passes),
        "explanation": _plain(report.explanation),
        "run": _run(report.run),
        "check": _check(report.check),
    }
    return json_text(found)


def _plain(part: Any) -> Any:
    return {"missing": part.why} if isinstance(part, Missing) else asdict(part)


def _passes(part: tuple[PassRecord, ...] | Missing) -> Any:
    if isinstance(part, Missing):
        return _plain(part)
    return [{"name": row.name, "seconds": row.seconds, "changed": row.changed} for row in part]


def _run(part: Run | Missing) -> Any:
    if isinstance(part, Missing):
        return _plain(part)
    verified = [asdict(row) | {"ok": row.ok} for row in part.rows]
    return {"inputs": part.inputs, "verified": verified, "errors": _errors(part.errors)}


def _check(part: GradientCheck | Missing | None) -> Any:
    return part.as_data() if isinstance(part, GradientCheck) else None if part is None else _plain(part)


def _errors(part: accuracy.Report | Missing) -> Any:
    if isinstance(part, Missing):
        return _plain(part)
    lists = {"outputs": part.outputs, "ops": part.ops}
    return {name: [accuracy.as_data(row) for row in rows] for name, rows in lists.items()}
