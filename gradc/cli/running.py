"""Run models on inputs of files or at random: what `gradc run` does with its options."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import Any

import numpy as np

from dialects.support.diagnostics import GradcError, printable
from gradc.cli.compiling import Files
from gradc.compiler.compiled import Compiled
from gradc.compiler.driver import load
from gradc.files import npz
from gradc.files.arrays import read_files
from gradc.files.json_text import json_text
from gradc.inspection import summaries
from gradc.runtime.other_runtimes import OtherSession, session_of_file
from gradc.runtime.session import Session
from gradc.terminal import messages
from gradc.terminal.numbers import format_bytes
from gradc.terminal.outputs import STDOUT
from gradc.terminal.streams import write_stdout
from gradc.verification.exact_match import kind_of
from gradc.verification.samples import ANY_SIZES, Guess, random_inputs, random_model_inputs


@dataclass(frozen=True)
class Inputs:
    """Source of a run's inputs: files of arrays, else a seed and shapes for dynamic dims."""

    files: Files | None = None
    seed: int = 0
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)

    def of_compiled(self, compiled: Compiled) -> dict[str, np.ndarray]:
        return self.draw_for(compiled)(ANY_SIZES)

    def draw_for(self, compiled: Compiled) -> Callable[[Guess], dict[str, np.ndarray]]:
        """Return the inputs as a function of the guessed sizes of dynamic dims that nothing fixes."""
        if self.files is not None:
            read = read_files(self.files)
            return lambda _: read
        return lambda guess: random_inputs(
            compiled.source,
            self.seed,
            self.shapes,
            replace(guess, named=self.sizes, values=guess.values or 0),
        )

    @property
    def has_default_sizes(self) -> bool:
        return self.files is None and not self.shapes and not self.sizes


def write_arrays(output: str, arrays: Mapping[str, np.ndarray]) -> None:
    """Write an .npz file, or its bytes to stdout."""
    if output != STDOUT:
        npz.write_npz(output, arrays)
        count = "1 array" if len(arrays) == 1 else f"{len(arrays)} arrays"
        messages.report_file(
            output, f"{count}, {format_bytes(sum(array.nbytes for array in arrays.values()))}"
        )
        return
    archive = BytesIO()
    npz.write_archive(archive, arrays)
    write_stdout(archive.getvalue())


def run_compiled(
    compiled: Compiled, inputs: Inputs, ep: Any, threads: int | None, runtime: str | None = None
) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """Return the outputs, and the number of nodes that each of several providers took."""
    session = compiled.session_on(runtime, ep, threads)
    return session.run(inputs.of_compiled(compiled)), _placement(session)


def run_model(
    path: str,
    inputs: Inputs,
    ep: Any,
    threads: int | None,
    runtime: str | None = None,
    constants: Files | None = None,
) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """Return the outputs of a compiled model as `run_compiled`; `constants` take precedence over `inputs`."""
    session = session_of_file(path, ep, threads, runtime)
    fed = _random_inputs(session, inputs, path) if inputs.files is None else read_files(inputs.files)
    fed |= {} if constants is None else read_files(constants)
    return session.run(fed), _placement(session)


def _random_inputs(session: Session | OtherSession, inputs: Inputs, path: str) -> dict[str, np.ndarray]:
    """Draw inputs that fit the graph, if the model embeds it or has integer inputs, which may be sizes."""
    graph = session.graph
    if graph is None and any(info.dtype in ("s32", "s64") for info in session.inputs):
        with contextlib.suppress(GradcError):  # onnxruntime runs the model nevertheless
            graph = load(path)
    if graph is None:
        return random_model_inputs(session.inputs, inputs.seed, inputs.shapes)
    drawn = random_inputs(graph, inputs.seed, inputs.shapes, replace(ANY_SIZES, values=0))
    return {info.name: drawn[info.name] for info in session.inputs if info.name in drawn}


def _placement(session: Session | OtherSession) -> dict[str, int]:
    """Return the number of nodes per provider; empty if there is only one."""
    if not isinstance(session, Session) or len(session.providers) < 2:
        return {}
    return dict(sorted(Counter(session.placement().values()).items()))


def run_json(results: Mapping[str, np.ndarray], placement: Mapping[str, int], output: str | None) -> str:
    return json_text(summaries.of_run(results, placement, output))


def describe_placement(placement: Mapping[str, int]) -> str:
    return "placement: " + ", ".join(f"{count} nodes on {name}" for name, count in placement.items())


def _kind(value: Any) -> str:
    if isinstance(value, list):
        return f"sequence of {len(value)}" + (f", the first {_kind(value[0])}" if value else "")
    if not isinstance(value, np.ndarray):
        return kind_of(value)
    dtype = "string" if value.dtype.hasobject else value.dtype
    return f"{dtype} {'x'.join(map(str, value.shape)) or 'scalar'}"


def describe(results: Mapping[str, np.ndarray]) -> Iterator[str]:
    """Yield a line per output: name, dtype, shape and range."""
    for name, array in results.items():
        line = printable(f"{name}: {_kind(array)}")
        if found := summaries.range_of(array):
            line += "".join(f", {what} {value:.6g}" for what, value in found.items())
        yield line
