"""What a report knows, free of how it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from dialects.support.diagnostics import Diagnostic, GradcError, printable
from gradc.checking.proof import Proof
from gradc.checking.verify import OutputError
from gradc.files.json_text import json_text
from gradc.graph.tensors import TensorInfo
from gradc.insight import accuracy as accuracy
from gradc.insight.explain import Explanation
from gradc.reporting.changes import Line

if TYPE_CHECKING:
    from gradc.compiler.compiled import Compiled


@dataclass(frozen=True)
class Missing:
    """A part that could not be had, and why."""

    why: str

    @classmethod
    def because_of(cls, error: GradcError) -> Missing:
        found = error.diagnostic
        return cls(f"[{found.subject}] {found.message}" if found.subject else found.message)


NOT_COMPILED = Missing("the graph does not compile")


@dataclass(frozen=True)
class Remark:
    """A diagnostic, and the quoted line of the source at which it points, '' where that is not known."""

    diagnostic: Diagnostic
    quote: str = ""


@dataclass(frozen=True)
class Settings:
    """What the graph was compiled for, and with; `versions` by package, `machine` in words."""

    target: str
    opset: int
    threads: int
    strategy: str
    versions: Mapping[str, str]
    machine: str


@dataclass(frozen=True)
class Model:
    """The compiled model: its edge, its nodes by kind, bytes of it as a file and of its weights."""

    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    nodes: Mapping[str, int]
    size: int
    weights: int


@dataclass(frozen=True)
class PassRecord:
    """What a pass took, verification included, and made of the IR; `lines` of one that changed it."""

    name: str
    seconds: float
    changed: bool
    lines: tuple[Line, ...] | Missing = ()


@dataclass(frozen=True, eq=False)
class Array:
    """A tensor of the run that may be an image; `layout` is NCX or NXC.

    `expected` is the reference's, for an output where it is known.
    """

    name: str
    role: Literal["input", "output"]
    layout: str
    values: np.ndarray = field(repr=False)
    expected: np.ndarray | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Run:
    """A run and what it is off by. `errors` are those against float64, by output and by op."""

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
    """What a report says of a graph, however it is shown."""

    title: str
    repeat: tuple[str, ...]
    settings: Settings
    ops: Mapping[str, int]
    remarks: tuple[Remark, ...]
    failure: Remark | None
    model: Model | Missing
    passes: tuple[PassRecord, ...] | Missing
    explanation: Explanation | Missing
    run: Run | Missing
    exit_code: int = 0
    """What `gradc report` ends with: 1 where a check failed, else that of `gradc compile`."""

    source: ModuleOp | None = field(default=None, repr=False)
    result: ModuleOp | None = field(default=None, repr=False)
    also: tuple[Remark, ...] = ()
    """What else is wrong with a graph that does not compile, besides `failure`."""

    compiled: Compiled | None = field(default=None, repr=False)
    check: GradientCheck | Missing | None = None
    """The check of a gradient; None for a graph that is no gradient."""

    @property
    def ok(self) -> bool:
        """It compiled, and what was verified is right."""
        return self.failure is None and not self.is_wrong

    @property
    def is_wrong(self) -> bool:
        """Whether verification or the check of the gradient failed."""
        return any(isinstance(part, Run | GradientCheck) and not part.ok for part in (self.run, self.check))

    @property
    def failures(self) -> tuple[Remark, ...]:
        """All that is wrong with a graph that does not compile."""
        return () if self.failure is None else (self.failure, *self.also)

    @property
    def verdict(self) -> str:
        """In a few words: whether it compiled, was run, and is right."""
        if self.failure is not None:
            return "does not compile"
        if isinstance(self.run, Missing):
            return "failed verification" if self.is_wrong else "not verified"
        return "failed verification" if self.is_wrong else "verified"

    def __repr__(self) -> str:
        """`<Report of graph.json: target cpu, 5 source ops, 15 ONNX nodes, verified>`."""
        parts = [f"target {self.settings.target}"]
        if self.ops:
            parts.append(_counted(sum(self.ops.values()), "source op"))
        if not isinstance(self.model, Missing):
            parts.append(_counted(sum(self.model.nodes.values()), "ONNX node"))
        return f"<Report of {printable(self.title)}: {', '.join([*parts, self.verdict])}>"


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}{'s' * (count != 1)}"


def as_json(report: Contents) -> str:
    """All but the modules and the values of tensors; a part that is missing is `{"missing": why}`."""
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
