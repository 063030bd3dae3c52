"""Request of a report, and the commands that reproduce it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from gradc.compiler.options import Options
from gradc.compiler.source import Source
from gradc.derivatives.request import GradientRequest
from gradc.derivatives.source import GradientSource
from gradc.files.arrays import read_files
from gradc.runtime.session import ep_argument
from gradc.tuning.request import BUDGET, TuningRequest
from gradc.util import arguments

FLAGS = ("target", "opset", "strategy", "auto_pad_rule", "strict", "threads", "strict_ieee")
"""Compile options that every command takes."""

NOT_IN_VJP = ("strategy", "auto_pad_rule", "strict")
"""Compile options that `gradc.vjp` does not take."""


@dataclass(frozen=True)
class Request:
    """A source, how to compile it, and its `inputs`, by default random ones of a seed.

    `constants` and `inputs` map names to arrays, or are paths of files of arrays. Without `run` nothing is
    run; `measure_peak` measures the peak speed of this machine, unless known. With `gradient` the report is
    about that gradient of the source.
    """

    source: Any
    options: Options
    tuning: TuningRequest = field(default_factory=TuningRequest)
    constants: Any = None
    inputs: arguments.Path | Sequence[arguments.Path] | Mapping[str, np.ndarray] | None = None
    seed: int = 0
    ep: Any = None
    rtol: float | None = None
    run: bool = True
    measure_peak: bool = False
    gradient: GradientRequest | None = None

    def __post_init__(self) -> None:
        """Raise UsageError for invalid values."""
        checked = {
            "seed": arguments.whole_number("seed", self.seed),
            "ep": None if self.ep is None else ep_argument(self.ep),
            "run": arguments.flag("run", self.run),
            "measure_peak": arguments.flag("measure_peak", self.measure_peak),
            "inputs": _file_or_arrays(self.inputs),
        }
        if self.rtol is not None:
            checked["rtol"] = arguments.number("rtol", self.rtol, "a number >= 0")
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @cached_property
    def arrays(self) -> Mapping[str, np.ndarray] | None:
        """The inputs, read once; None for random ones. Raises GradcError for an invalid file."""
        if self.inputs is None or isinstance(self.inputs, Mapping):
            return self.inputs
        return read_files(self.inputs)

    @property
    def shapes(self) -> Mapping[str, Sequence[int]]:
        return self.tuning.shapes

    @property
    def files(self) -> tuple[str, ...]:
        """The files that are read; none for a graph in memory."""
        given = self.source.files if isinstance(self.source, Source) else self.source
        if isinstance(given, str | os.PathLike):
            return (os.fspath(given),)
        return tuple(map(os.fspath, given)) if isinstance(given, list | tuple) else ()

    @property
    def title(self) -> str:
        if not self.files:
            return "a graph from Python"
        return ", ".join("stdin" if file == "-" else os.path.basename(file) for file in self.files)

    def commands(self) -> tuple[str, ...]:
        """Return what reproduces the report: shell commands for a file, else Python."""
        return self._shell(self.files) if self.files else self._python()

    def _shell(self, files: Sequence[str]) -> tuple[str, ...]:
        renaming = [word for pair in self._names.items() for word in ("--rename", "=".join(pair))]
        read = [*files, *renaming, *_flags(self._gradient_arguments)]
        compiling, running, tuning = map(_flags, (self._compiling, self._running, self._tuning))
        shapes = [word for name, shape in self.shapes.items() for word in _shape(name, shape)]
        measured = [*shapes, *tuning] if tuning else []
        stem, kind = os.path.splitext(os.path.basename(files[0]))
        model = f"{stem}_compiled.onnx" if kind == ".onnx" else f"{stem}.onnx"
        writing = ["compile", *read, "-o", model, *compiling, *measured]
        if self._gradient_arguments:
            writing = ["grad", *read, "--cotangents", "-o", f"{stem}_gradient.onnx", *compiling]
        commands = (
            ["report", *read, "-o", "report.html", *compiling, *shapes, *tuning, *running],
            writing,
            ["verify", *read, "--report", *compiling, *shapes, *running],
            ["explain", *read, *compiling, *measured],
        )
        return tuple(shlex.join(["gradc", *words]) for words in commands)

    @property
    def _names(self) -> Mapping[str, str]:
        return self.source.names if isinstance(self.source, Source) else {}

    def _python(self) -> tuple[str, ...]:
        shapes = {"shapes": dict(self.shapes)} if self.shapes else {}
        tuning = self._tuning | shapes if self._tuning else {}
        gradient, writing = self._gradient_arguments, f"compile({_call(self._compiling | tuning)})"
        if gradient:
            taken = {name: value for name, value in self._compiling.items() if name not in NOT_IN_VJP}
            writing = f"vjp({_call(gradient | taken)})"
        reported = gradient | self._compiling | tuning | shapes | self._running
        return (
            f"gradc.report({_call(reported)}).save('report.html')",
            f"gradc.{writing}.save('model.onnx')",
        )

    @property
    def _gradient_arguments(self) -> dict[str, Any]:
        gradient = self.source.gradient if isinstance(self.source, GradientSource) else self.gradient
        if gradient is None:
            return {}
        given = {"wrt": gradient.wrt, "of": gradient.of, "straight_through": gradient.straight_through}
        return {name: value if value is True else list(value) for name, value in given.items() if value}

    @property
    def _compiling(self) -> dict[str, Any]:
        defaults = Options()
        given = {name: getattr(self.options, name) for name in FLAGS}
        found = {name: value for name, value in given.items() if value != getattr(defaults, name)}
        return found | ({} if self.constants is None else {"constants": _file(self.constants)})

    @property
    def _running(self) -> dict[str, Any]:
        found = {"seed": self.seed} if self.inputs is None else {"inputs": _file(self.inputs)}
        found |= {"ep": self.ep, "rtol": self.rtol}
        return {name: value for name, value in found.items() if value not in (None, 0)}

    @property
    def _tuning(self) -> dict[str, Any]:
        """Options of tuning; none without measurements, as a budget alone has no effect."""
        tuning = self.tuning
        if not tuning.tune and tuning.file is None:
            return {}
        found: dict[str, Any] = {"tune": True} if tuning.tune else {}
        found |= {} if tuning.file is None else {"tuning_file": _file(tuning.file)}
        return found | ({} if tuning.budget == BUDGET else {"tune_budget": tuning.budget})


def _shape(name: str, shape: Sequence[int]) -> list[str]:
    return ["--shape", f"{name}={'x'.join(map(str, shape))}"]


def _flags(given: Mapping[str, Any]) -> list[str]:
    return [word for name, value in given.items() for word in _flag(name, value)]


def _flag(name: str, value: Any) -> list[str]:
    flag = "--" + name.replace("_", "-")
    if isinstance(value, list):
        return [word for one in value for word in (flag, one)]
    return [flag] if value is True else [flag, f"{value:g}" if isinstance(value, float) else str(value)]


def _call(given: Mapping[str, Any]) -> str:
    return ", ".join(["graph", *(f"{name}={value!r}" for name, value in given.items())])


def _file(given: Any) -> Any:
    """Return a path, or a placeholder name for arrays in memory."""
    if isinstance(given, list | tuple):
        return [_file(path) for path in given]
    return os.fspath(given) if isinstance(given, str | os.PathLike) else "arrays.npz"


def _file_or_arrays(given: Any) -> Any:
    if given is None or isinstance(given, Mapping):
        return given if given is None else arguments.arrays("inputs", given)
    return arguments.files("inputs", given)
