"""Hold what a model gives against the numpy reference of the graph that it was compiled from."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, SSAValue

from dialects import reference_work
from dialects.evaluate import Watch, evaluate
from dialects.onnx.types import OptionalType, SequenceType, word_of
from dialects.support import dense, entry, shapes
from dialects.support.documented_op import DocumentedOp
from dialects.support.dtypes import HALVES, by_name, of_numpy
from dialects.support.limits import LimitError
from gradc.checking.alike import is_measured, is_same, kind_of
from gradc.checking.exact import exact, magnitudes
from gradc.checking.transforms import lost_in_transforms
from gradc.graph.tensors import TensorInfo, checked_inputs, tensor_info
from gradc.terminal import progress

RTOL = {"f32": 3e-5, "bf16": 2.0**-7, "f16": 2.0**-10, "f64": 1e-12}
"""Largest error over the largest magnitude of an output, per op on the way to it. For the half types,
one unit in the last place: an op's exact result is rounded once by the reference and once, after an
f32 accumulation, by the model. A number of p significant bits has units of up to 2^(1-p) of it."""


CANCELLED = 1 / 32
"""Where the result of one op is smaller than this part of the sum of the magnitudes of its terms, they
cancel, and what is left of them is mostly their roundings. Errors are then over that part of the sum."""


@dataclass(frozen=True)
class OutputError:
    """How far an output is from the reference; both errors are over the largest magnitude of it, or of
    what CANCELLED says.

    `finite` is the part of the reference's elements that are finite: the others are held to be the same
    inf or NaN, and say nothing about roundings.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    worst: float
    typical: float
    rtol: float
    finite: float = 1.0

    @property
    def ok(self) -> bool:
        return self.worst <= self.rtol

    @property
    def verdict(self) -> str:
        if not self.ok:
            return "FAILED"
        if self.finite == 0.0:
            return "ok, but nothing is finite"
        return "ok" if self.finite == 1.0 else f"ok, {self.finite:.1%} is finite"


def verify_outputs(
    source: ModuleOp,
    model_inputs: Sequence[TensorInfo],
    inputs: Mapping[str, np.ndarray],
    outputs: Mapping[str, np.ndarray],
    rtol: float | None = None,
) -> list[OutputError]:
    """One row per output. A wrong shape or dtype, or a NaN the reference lacks, is an infinite error.

    `rtol` replaces the bound of every output.
    """
    fed = in_order(source, model_inputs, inputs)
    return compare_outputs(source, fed, outputs, reference(source, fed), rtol)


def compare_outputs(
    source: ModuleOp,
    fed: Sequence[np.ndarray],
    outputs: Mapping[str, np.ndarray],
    expected: Sequence[np.ndarray],
    rtol: float | None = None,
) -> list[OutputError]:
    """`verify_outputs`, for who has the reference's outputs for these inputs."""
    function = entry.entry_function(source)
    limits = bounds(source) if rtol is None else [rtol] * len(expected)
    names, within = entry.output_names(function), may_overflow_within(source)
    given = list(zip(names, expected, limits, within, strict=True))
    rows = [compare(name, outputs[name], want, limit, inner) for name, want, limit, inner in given]
    measured = all(map(is_measured, (*fed, *expected)))
    if rtol is None and measured and not all(row.ok for row in rows):
        lost = lost_in_transforms(source, fed)
        rows = [replace(row, rtol=max(row.rtol, lost)) if row.rtol else row for row in rows]
        with contextlib.suppress(LimitError):  # float64 throughout takes more: what was found stands
            return _second_look(source, fed, outputs, [want.dtype for want in expected], rows)
    return rows


def in_order(
    source: ModuleOp, model_inputs: Sequence[TensorInfo], inputs: Mapping[str, np.ndarray]
) -> list[np.ndarray]:
    """The inputs as the source takes them; GradcError where one is missing, unknown or of a wrong shape.

    One that the model does not have may be missing where its shape is known, by the names of dims, too.
    """
    function = entry.entry_function(source)
    names = entry.input_names(function)
    model = {info.name: info for info in model_inputs}
    declared = [tensor_info(name, argument) for name, argument in zip(names, function.args, strict=True)]
    known = [model.get(info.name) or info for info in declared]
    defaults = {name: dense.to_numpy(value) for name, value in entry.defaults(function).items()}
    dropped = [name for name in names if name not in model and name not in defaults]
    arrays = checked_inputs(declared, {**_stand_ins(dropped, known, inputs), **defaults, **inputs})
    return [arrays[name] for name in names]


def _stand_ins(
    dropped: Sequence[str], infos: Sequence[TensorInfo], inputs: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Zeros for inputs whose values change nothing, where their sizes are known."""
    if not dropped:
        return {}
    read = [info for info in infos if info.name in inputs]
    arrays = checked_inputs(read, {info.name: inputs[info.name] for info in read})
    sizes = {
        dim: size
        for info in read
        for dim, size in zip(info.dims, arrays[info.name].shape, strict=False)
        if isinstance(dim, str)
    }
    found = {}
    for info in infos:
        dtype = by_name(info.dtype)
        shape = shapes.static([sizes.get(dim) if isinstance(dim, str) else dim for dim in info.dims])
        if info.name in dropped and dtype is not None and shape is not None:
            found[info.name] = np.zeros(shape, dtype.numpy)
    return found


def _second_look(
    source: ModuleOp,
    inputs: Sequence[np.ndarray],
    outputs: Mapping[str, np.ndarray],
    dtypes: Sequence[np.dtype],
    rows: Sequence[OutputError],
) -> list[OutputError]:
    """Rows anew for what is right and far from the reference all the same.

    1. One op whose terms cancel: see CANCELLED.
    2. Several ops of half type: the reference rounds between them, the model need not. It is right,
       too, if it is near what comes out without.
    """
    found = []
    unrounded, sums = exact(source, inputs), magnitudes(source, inputs)
    seen = zip(rows, dtypes, _outputs(source), unrounded, sums, strict=True)
    for row, word, (dtype, depth), value, terms in seen:
        got = outputs[row.name]
        with np.errstate(over="ignore", invalid="ignore"):
            want = value.astype(word)
        if row.ok or (depth > 1 and dtype not in HALVES):
            found.append(row)
        elif depth > 1:
            again = compare(row.name, got, want, row.rtol)
            found.append(again if again.ok else row)
        else:
            found.append(compare(row.name, got, want, row.rtol, least_scale=CANCELLED * terms))
    return found


def reference(
    module: ModuleOp, inputs: Sequence[np.ndarray], watch: Watch | None = None
) -> tuple[np.ndarray, ...]:
    """The module executed with numpy; a half type may overflow, in the model as well."""
    with np.errstate(over="ignore", invalid="ignore"):
        return evaluate(module, inputs, progress.show, watch)


def check_reference(source: ModuleOp) -> None:
    """Raise LimitError where types tell that the reference takes more time or memory than the limits are."""
    reference_work.check(entry.entry_function(source).body.block)


def depth(source: ModuleOp) -> int:
    """How many ops in a row lead to an output, at most."""
    return max((ops for _, ops in _outputs(source)), default=0)


def bounds(source: ModuleOp) -> list[float]:
    """The bound on the error of each output of a source module: RTOL times the ops in a row."""
    return [RTOL.get(dtype, 0.0) * max(depth, 1) for dtype, depth in _outputs(source)]


def may_overflow_within(source: ModuleOp) -> list[bool]:
    """For each output whether the reference stores a half type on the way to it, where the model, which
    keeps f32 from op to op, need not overflow."""
    return [dtype in HALVES and depth > 1 for dtype, depth in _outputs(source)]


def _outputs(source: ModuleOp) -> list[tuple[str, int]]:
    """The dtype of each output, and how many ops in a row lead to it."""
    function = entry.entry_function(source)
    depth: dict[SSAValue, int] = {}
    for op in function.body.block.ops:
        before = max((depth.get(operand, 0) for operand in op.operands), default=0)
        depth.update(dict.fromkeys(op.results, before + isinstance(op, DocumentedOp)))
    values = entry.return_op(function).arguments
    return [(_dtype_of(value.type), depth.get(value, 0)) for value in values]


def _dtype_of(type_: Attribute) -> str:
    """The dtype of a tensor, or of those in a container."""
    while isinstance(type_, SequenceType | OptionalType):
        type_ = type_.element
    return word_of(type_)


def compare(
    name: str,
    got: Any,
    want: Any,
    rtol: float,
    overflows_within: bool = False,
    least_scale: np.ndarray | float = 0.0,
) -> OutputError:
    """How far `got` is from `want`; with `overflows_within`, where `want` is finite.

    Errors are over the largest magnitude of `want`, and over no less than `least_scale`. Of a sequence it is
    the worst of its elements; what are no numbers are the same, or not.
    """
    if not isinstance(want, np.ndarray) or not is_measured(want):
        return _alike(name, got, want, rtol, overflows_within)
    dtype = of_numpy(want.dtype)
    assert dtype is not None
    if got.shape != want.shape or got.dtype != want.dtype:
        return OutputError(name, dtype.name, got.shape, np.inf, np.inf, rtol)
    parts = [*_parts(got, want, least_scale)]
    finite = sum(int(part.finite.sum()) for part in parts) / want.size if want.size else 1.0
    if not all(part.agrees(overflows_within) for part in parts):
        return OutputError(name, dtype.name, got.shape, np.inf, np.inf, rtol, finite)
    worst, typical = _errors(parts, _smallest_normal(want.dtype))
    return OutputError(name, dtype.name, got.shape, worst, typical, rtol, finite)


def _alike(name: str, got: Any, want: Any, rtol: float, overflows_within: bool) -> OutputError:
    """Of what is no tensor of numbers."""
    if not isinstance(want, list) or not isinstance(got, list) or len(want) != len(got) or not want:
        error = 0.0 if is_same(got, want) else np.inf
        shape = want.shape if isinstance(want, np.ndarray) else ()
        return OutputError(name, kind_of(want), shape, error, error, 0.0)
    pairs = zip(cast("list[Any]", got), cast("list[Any]", want), strict=True)
    rows = [compare(name, a, b, rtol, overflows_within) for a, b in pairs]
    return replace(max(rows, key=lambda row: row.worst), dtype=kind_of(want), shape=())


PART = 2**20
"""Elements that are in memory as float64 at a time."""


@dataclass(frozen=True, eq=False)
class _Part:
    """Some of the elements, in a row."""

    got: np.ndarray
    want: np.ndarray
    least_scale: np.ndarray | float

    @property
    def finite(self) -> np.ndarray:
        return np.isfinite(self.want.astype(np.float64))

    def agrees(self, overflows_within: bool) -> bool:
        """Whether inf and NaN are at the same places; with `overflows_within`, whether none is added."""
        got, want, finite = self.got.astype(np.float64), self.want.astype(np.float64), self.finite
        same = overflows_within or np.array_equal(got[~finite], want[~finite], equal_nan=True)
        return same and bool(np.isfinite(got[finite]).all())

    def largest(self) -> float:
        return float(np.abs(self.want.astype(np.float64)[self.finite]).max(initial=0.0))

    def differences(self, scale: float) -> np.ndarray:
        finite = self.finite
        given = np.broadcast_to(self.least_scale, self.want.shape)[finite]
        terms = np.nan_to_num(given, nan=0.0, posinf=0.0)
        got, want = (array.astype(np.float64)[finite] for array in (self.got, self.want))
        return np.abs(got - want) / np.maximum(scale, terms)


def _parts(got: np.ndarray, want: np.ndarray, least_scale: np.ndarray | float) -> Iterator[_Part]:
    got, want = got.reshape(-1), want.reshape(-1)
    flat = np.asarray(least_scale)
    flat = np.broadcast_to(flat, want.shape) if flat.ndim == 0 else flat.reshape(-1)
    for start in range(0, want.size, PART):
        place = slice(start, start + PART)
        yield _Part(got[place], want[place], flat[place])


def _smallest_normal(dtype: np.dtype) -> float:
    return float(ml_dtypes.finfo(dtype).smallest_normal) if dtype.kind not in "iub" else 1.0


def _errors(parts: Sequence[_Part], normal: float) -> tuple[float, float]:
    """Over no less than the smallest normal number: denormal ones have few digits to agree in."""
    largest = max((part.largest() for part in parts), default=0.0)
    worst = squares = count = 0.0
    for part in parts:
        found = part.differences(max(largest or 1.0, normal))
        worst = max(worst, float(found.max(initial=0.0)))
        squares += float((found**2).sum())
        count += found.size
    return worst, float(np.sqrt(squares / count)) if count else 0.0
