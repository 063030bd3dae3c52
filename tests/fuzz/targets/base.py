"""What a target is, and the way from a source file to checked numbers that several share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from random import Random
from typing import Any, ClassVar
from zlib import crc32

import numpy as np
from support.compare import allowed_error
from support.outputs import verify_outputs
from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, IntegerAttr, ModuleOp, TensorType

from dialects.evaluate import evaluate
from dialects.support import dense, entry, shapes
from dialects.support.attributes import documented_attributes
from dialects.support.diagnostics import GradcError
from dialects.support.documented_op import DocumentedOp
from dialects.support.dtypes import HALVES
from fuzz.oracle import Finding, Verdict, judge
from gradc.compiler.compiled import Compiled
from gradc.compiler.driver import compile_module, load
from gradc.compiler.options import Options
from gradc.graph.run_time_sizes import DynamicSizes
from gradc.inspection.inspection import as_json, as_text, inspect
from gradc.verification.samples import random_inputs
from gradc.verification.verify import OutputError, reference

MOST_ELEMENTS = 300_000
"""Tensors of a module larger than this, before or after lowering, are read and not compiled or run.

What huge sizes cost in time and memory is for tests of gradc's limits. Raise this, and
LARGEST_ATTRIBUTE, to fuzz them as well."""

LARGEST_ATTRIBUTE = 2000
"""The same for strides, pads, sizes and the other numbers of attributes."""

UNSIZED = 12
"""What an unknown dim counts as."""


INSPECTED = 8
"""One in so many graphs is also shown by `gradc inspect`, which compiles it once more."""


Arrays = Mapping[str, np.ndarray]


class Target(ABC):
    """One way into gradc. A case is the bytes of one file."""

    name: ClassVar[str]
    suffix: ClassVar[str]

    @abstractmethod
    def seeds(self) -> list[bytes]:
        """Valid cases to begin with."""

    @abstractmethod
    def made(self, random: Random, pool: Sequence[bytes]) -> bytes:
        """A new case, made from nothing or by changing one of the pool."""

    @abstractmethod
    def run(self, path: Path) -> str:
        """Put the case at `path` through gradc: what was accepted in a few words, or an exception."""

    @abstractmethod
    def check(self, error: GradcError, path: Path) -> None:
        """Raise Finding unless a refusal says what is promised for this kind of file."""

    def judged(self, data: bytes, folder: Path) -> Verdict:
        """The verdict on a case, which is put into a folder first."""
        path = folder / f"case{self.suffix}"
        path.write_bytes(data)
        return judge(self.run, path, self.check)


def run_source(path: Path, options: Options) -> str:
    """Read, show, compile, run and check a source file."""
    module = load(path, options.auto_pad_rule)
    if not is_small(module):
        return "too large to run"
    if crc32(path.read_bytes()) % INSPECTED == 0:
        found = inspect(str(path))
        as_text(found), as_json(found)
    return checked(compile_module(module, options))


def checked(compiled: Compiled, given: Arrays | None = None) -> str:
    """Run a model and hold it against the reference; Finding where the numbers differ.

    Without `given` inputs they are random. Where sizes are unknown, those of a run may be refused, placed at
    the op that cannot have them.
    A model for CUDA is executed with numpy.
    """
    if not is_small(compiled.module):
        return "too large once lowered"
    try:
        fed = random_inputs(compiled.source, 0) if given is None else given
        results = _outputs(compiled, fed)
    except GradcError as error:
        contradicts = given is None or error.diagnostic.position is not None
        if contradicts and not _is_static(compiled.source):
            return "sizes that the graph cannot have"
        raise Finding(f"run: {error}") from None
    if given is None and not _is_static(compiled.source) and not _as_declared(compiled.source, results):
        return "random inputs that do not fit the declared results"
    wrong = [row for row in verify_outputs(compiled.source, compiled.inputs, fed, results) if not row.ok]
    wrong = [row for row in wrong if not _is_cancellation(compiled, fed, results, row)]
    if wrong:
        worst = ", ".join(f"{row.name} {row.worst:.3g} > {row.rtol:.3g}" for row in wrong)
        raise Finding(f"numbers: {_strategies(compiled)}: {worst}")
    return f"{_kinds(compiled.source)} as {_strategies(compiled)}"


def _outputs(compiled: Compiled, fed: Arrays) -> Arrays:
    if compiled.options.target != "cuda":
        return compiled.run(fed)
    function = entry.entry_function(compiled.module)
    arrays = evaluate(compiled.module, [fed[name] for name in entry.input_names(function)])
    return dict(zip(entry.output_names(function), arrays, strict=True))


def _is_cancellation(compiled: Compiled, fed: Arrays, results: Arrays, row: OutputError) -> bool:
    """Whether an error is within the roundings of a chain of half types: these are of the order of the
    terms, and the largest result, which `gradc verify` compares with, may be small where terms cancel."""
    if row.dtype not in HALVES or results[row.name].shape != row.shape:
        return False
    function = entry.entry_function(compiled.source)
    arrays = [fed[name] for name in entry.input_names(function)]
    place = entry.output_names(function).index(row.name)
    want = reference(compiled.source, arrays)[place]
    magnitude = reference(_absolute(compiled.source), list(map(_positive, arrays)))[place]
    if want.shape != row.shape:
        return False
    error = np.abs(results[row.name].astype(np.float64) - want.astype(np.float64))
    return bool(np.all(error <= allowed_error(want, magnitude, chained=True)))


def _absolute(source: ModuleOp) -> ModuleOp:
    """The module with its constants made positive."""
    module = source.clone()
    for op in module.walk():
        value = op.properties.get("value")
        if isinstance(value, DenseIntOrFPElementsAttr):
            op.properties["value"] = dense.from_numpy(_positive(dense.to_numpy(value)))
    return module


def _positive(array: np.ndarray) -> np.ndarray:
    """Floats by size; integers, which are sizes, are left alone."""
    return array if array.dtype.kind in "iu" else np.abs(array)


def _is_static(module: ModuleOp) -> bool:
    return not DynamicSizes(module).are_dynamic


def _as_declared(module: ModuleOp, results: Arrays) -> bool:
    """Whether results have the shapes that the source gives them."""
    function = entry.entry_function(module)
    types = zip(entry.output_names(function), entry.return_op(function).operands, strict=True)
    return all(shapes.compatible(shapes.shape_of(value), results[name].shape) for name, value in types)


def _kinds(module: ModuleOp) -> str:
    return " ".join(sorted({op.name for op in module.walk() if isinstance(op, DocumentedOp)}))


def _strategies(compiled: Compiled) -> str:
    found = {str(op.attributes.get("gradc.strategy", "")).strip('"') for op in compiled.module.walk()}
    return " ".join(sorted(found - {""})) or "nothing"


def is_small(module: ModuleOp) -> bool:
    """Whether the module can be compiled and run in no time: the one place where sizes are capped."""
    values = [
        v
        for op in module.walk()
        for v in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args))
    ]
    sizes = [value.type.get_shape() for value in values if isinstance(value.type, TensorType)]
    if any(prod(UNSIZED if size < 0 else size for size in shape) > MOST_ELEMENTS for shape in sizes):
        return False
    return all(_has_small_numbers(op) for op in module.walk() if isinstance(op, DocumentedOp))


def _has_small_numbers(op: DocumentedOp) -> bool:
    numbers: list[Any] = []
    for name in documented_attributes(type(op)):
        value = op.properties.get(name)
        if isinstance(value, IntegerAttr):
            numbers.append(value.value.data)
        elif isinstance(value, DenseArrayBase):
            numbers.extend(value.get_values())
    unknown = -(2**63)
    return all(number == unknown or abs(number) <= LARGEST_ATTRIBUTE for number in numbers)
