"""What a report is asked for, and how it is spelled on a command line."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradc.compiler import Options
from gradc.tuning.request import BUDGET, TuningRequest

FLAGS = ("target", "opset", "strategy", "auto_pad_rule", "strict", "threads", "strict_ieee")
"""The options of a compilation that every command takes."""


@dataclass(frozen=True)
class Request:
    """A source, what it is compiled with, and what it is run on: `inputs`, else random ones of a seed.

    `constants` and `inputs` are mappings from names to arrays, or paths of .npz files. Without `run`
    nothing is run; `measure_peak` measures what this machine can do, if that is not known.
    """

    source: Any
    options: Options
    tuning: TuningRequest = field(default_factory=TuningRequest)
    constants: Any = None
    inputs: str | os.PathLike[str] | Mapping[str, np.ndarray] | None = None
    seed: int = 0
    ep: Any = None
    rtol: float | None = None
    run: bool = True
    measure_peak: bool = False

    @property
    def shapes(self) -> Mapping[str, Sequence[int]]:
        return self.tuning.shapes

    @property
    def path(self) -> str | None:
        return os.fspath(self.source) if isinstance(self.source, str | os.PathLike) else None

    @property
    def title(self) -> str:
        if self.path is None:
            return "a graph from Python"
        return "stdin" if self.path == "-" else os.path.basename(self.path)

    def commands(self) -> tuple[str, ...]:
        """What to type to see it again; of a source or arrays that are no file, as near as it gets."""
        graph = "graph.json" if self.path is None else self.path
        model = os.path.splitext(os.path.basename(graph))[0] + ".onnx"
        compiling = list(_compiling(self))
        running = list(_running(self))
        shapes = [word for name, shape in self.shapes.items() for word in _shape(name, shape)]
        tuning = list(_tuning(self.tuning))
        measured = [*shapes, *tuning] if tuning else []
        commands = (
            ["report", graph, "-o", "report.html", *compiling, *shapes, *tuning, *running],
            ["compile", graph, "-o", model, *compiling, *measured],
            ["verify", graph, "--report", *compiling, *shapes, *running],
            ["explain", graph, *compiling, *measured],
        )
        return tuple(shlex.join(["gradc", *words]) for words in commands)


def _compiling(request: Request) -> Iterator[str]:
    defaults = Options()
    for name in FLAGS:
        value = getattr(request.options, name)
        if value != getattr(defaults, name):
            yield from _option(name, value)
    if request.constants is not None:
        yield from _option("constants", _file(request.constants, "constants.npz"))


def _running(request: Request) -> Iterator[str]:
    if request.inputs is not None:
        yield from _option("inputs", _file(request.inputs, "inputs.npz"))
    elif request.seed:
        yield from _option("seed", request.seed)
    if request.ep is not None:
        yield from _option("ep", request.ep)


def _tuning(request: TuningRequest) -> Iterator[str]:
    if request.tune:
        yield "--tune"
    if request.file is not None:
        yield from _option("tuning_file", os.fspath(request.file))
    if request.budget != BUDGET:
        yield from _option("tune_budget", f"{request.budget:g}")


def _shape(name: str, shape: Sequence[int]) -> list[str]:
    return ["--shape", f"{name}={'x'.join(map(str, shape))}"]


def _file(given: Any, otherwise: str) -> str:
    return os.fspath(given) if isinstance(given, str | os.PathLike) else otherwise


def _option(name: str, value: Any) -> list[str]:
    option = "--" + name.replace("_", "-")
    return [option] if value is True else [option, str(value)]
