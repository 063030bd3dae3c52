"""Comparison of a model's outputs with the numpy reference of its source graph."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, SSAValue

from dialects.evaluate import Watch, evaluate
from dialects.onnx.types import OptionalType, SequenceType, word_of
from dialects.reference_cost import module_cost
from dialects.support import dense, entry, shapes
from dialects.support.documented_op import DocumentedOp
from dialects.support.dtypes import HALVES, by_name, known_dtype
from dialects.support.limits import LimitError
from gradc.graph.tensors import TensorInfo, tensor_info, validate_inputs
from gradc.terminal import progress
from gradc.verification.exact import exact, term_magnitudes
from gradc.verification.exact_match import is_measured, is_same, kind_of
from gradc.verification.transforms import lost_in_transforms

RTOL = {"f32": 3e-5, "bf16": 2.0**-7, "f16": 2.0**-10, "f64": 1e-12}
"""Bound on the error relative to an output's largest magnitude, per op of the longest chain. For half types,
one unit in the last place, up to 2^(1-p) for p significant bits: an exact result is rounded once by the
reference and once, after an f32 accumulation, by the model."""


CANCELLATION = 1 / 32
"""If the result of one op is smaller than this fraction of the sum of its terms' magnitudes, the terms
cancel, and the result is mostly rounding error. Errors are then relative to that fraction of the sum."""


@dataclass(frozen=True)
class OutputError:
    """Error of an output, relative to the reference's largest magnitude or as CANCELLED describes.

    `finite` is the fraction of finite elements of the reference; the others must be the same inf or NaN.
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


def compare_outputs(
    source: ModuleOp,
    fed: Sequence[np.ndarray],
    outputs: Mapping[str, np.ndarray],
    expected: Sequence[np.ndarray],
    rtol: float | None = None,
) -> list[OutputError]:
    """Compare with the outputs of the reference; return a row per output. `rtol` replaces the bounds.

    A wrong shape or dtype, or a NaN that the reference does not have, is an infinite error.
    """
    function = entry.entry_function(source)
    limits = bounds(source) if rtol is None else [rtol] * len(expected)
    names, within = entry.output_names(function), may_overflow_within(source)
    given = list(zip(names, expected, limits, within, strict=True))
    rows = [compare(name, outputs[name], want, limit, inner) for name, want, limit, inner in given]
    measured = all(map(is_measured, (*fed, *expected)))
    if rtol is None and measured and not all(row.ok for row in rows):
        lost = lost_in_transforms(source, fed)
        rows = [replace(row, rtol=max(row.rtol, lost)) if row.rtol else row for row in rows]
        with contextlib.suppress(LimitError):  # float64 takes more memory: keep the rows
            return _compare_in_float64(source, fed, outputs, [want.dtype for want in expected], rows)
    return rows


def inputs_in_order(
    source: ModuleOp, model_inputs: Sequence[TensorInfo], inputs: Mapping[str, np.ndarray]
) -> list[np.ndarray]:
    """Return the inputs in the source's order; GradcError if one is missing, unknown or of a wrong shape.

    An input that the model does not have may be missing if its shape is known.
    """
    function = entry.entry_function(source)
    names = entry.input_names(function)
    model = {info.name: info for info in model_inputs}
    declared = [tensor_info(name, argument) for name, argument in zip(names, function.args, strict=True)]
    known = [model.get(info.name) or info for info in declared]
    defaults = {name: dense.to_numpy(value) for name, value in entry.defaults(function).items()}
    dropped = [name for name in names if name not in model and name not in defaults]
    arrays = validate_inputs(declared, {**_zeros_for_dropped(dropped, known, inputs), **defaults, **inputs})
    return [arrays[name] for name in names]


def _zeros_for_dropped(
    dropped: Sequence[str], infos: Sequence[TensorInfo], inputs: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Return zeros for dropped inputs of known sizes."""
    if not dropped:
        return {}
    read = [info for info in infos if info.name in inputs]
    arrays = validate_inputs(read, {info.name: inputs[info.name] for info in read})
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


def _compare_in_float64(
    source: ModuleOp,
    inputs: Sequence[np.ndarray],
    outputs: Mapping[str, np.ndarray],
    dtypes: Sequence[np.dtype],
    rows: Sequence[OutputError],
) -> list[OutputError]:
    """Compare wrong outputs again that may be right although they differ from the reference.

    1. One op whose terms cancel: see CANCELLED. 2. Several ops of half type: the reference rounds between
    them, the model need not. The model is also right if it is near the result without these roundings.
    """
    found = []
    unrounded, sums = exact(source, inputs), term_magnitudes(source, inputs)
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
            found.append(compare(row.name, got, want, row.rtol, least_scale=CANCELLATION * terms))
    return found


def reference(
    module: ModuleOp, inputs: Sequence[np.ndarray], watch: Watch | None = None
) -> tuple[np.ndarray, ...]:
    """Evaluate the module with numpy; half types may overflow, as in the model."""
    with np.errstate(over="ignore", invalid="ignore"):
        return evaluate(module, inputs, progress.show, watch)


def check_reference(source: ModuleOp) -> None:
    """Raise LimitError if, by its types, the reference exceeds the limits on time or memory."""
    module_cost.check(entry.entry_function(source).body.block)


def depth(source: ModuleOp) -> int:
    """Return the longest chain of ops to an output."""
    return max((ops for _, ops in _outputs(source)), default=0)


def bounds(source: ModuleOp) -> list[float]:
    """Return the error bound of each output: RTOL times the longest chain of ops."""
    return [RTOL.get(dtype, 0.0) * max(depth, 1) for dtype, depth in _outputs(source)]


def may_overflow_within(source: ModuleOp) -> list[bool]:
    """Return, for each output, whether the reference may overflow in a half type between ops, which the
    model, with f32 values, need not."""
    return [dtype in HALVES and depth > 1 for dtype, depth in _outputs(source)]


def _outputs(source: ModuleOp) -> list[tuple[str, int]]:
    """Return the dtype of each output, and the longest chain of ops to it."""
    function = entry.entry_function(source)
    depth: dict[SSAValue, int] = {}
    for op in function.body.block.ops:
        before = max((depth.get(operand, 0) for operand in op.operands), default=0)
        depth.update(dict.fromkeys(op.results, before + isinstance(op, DocumentedOp)))
    values = entry.return_op(function).arguments
    return [(_dtype_of(value.type), depth.get(value, 0)) for value in values]


def _dtype_of(type_: Attribute) -> str:
    """Return the dtype of a tensor, or of the tensors in a container."""
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
    """Return the error of `got`; with `overflows_within`, only where `want` is finite.

    Errors are relative to the largest magnitude of `want`, at least `least_scale`. A sequence has its worst
    element's error; values that are no numbers are compared for equality.
    """
    if not isinstance(want, np.ndarray) or not is_measured(want):
        return _compare_exactly(name, got, want, rtol, overflows_within)
    dtype = known_dtype(want.dtype)
    if got.shape != want.shape or got.dtype != want.dtype:
        return OutputError(name, dtype.name, got.shape, np.inf, np.inf, rtol)
    parts = [*_parts(got, want, least_scale)]
    finite = sum(int(part.finite.sum()) for part in parts) / want.size if want.size else 1.0
    if not all(part.agrees(overflows_within) for part in parts):
        return OutputError(name, dtype.name, got.shape, np.inf, np.inf, rtol, finite)
    worst, typical = _errors(parts, _smallest_normal(want.dtype))
    return OutputError(name, dtype.name, got.shape, worst, typical, rtol, finite)


def _compare_exactly(name: str, got: Any, want: Any, rtol: float, overflows_within: bool) -> OutputError:
    """Compare values that are no tensors of numbers."""
    if not isinstance(want, list) or not isinstance(got, list) or len(want) != len(got) or not want:
        error = 0.0 if is_same(got, want) else np.inf
        shape = want.shape if isinstance(want, np.ndarray) else ()
        return OutputError(name, kind_of(want), shape, error, error, 0.0)
    pairs = zip(cast("list[Any]", got), cast("list[Any]", want), strict=True)
    rows = [compare(name, a, b, rtol, overflows_within) for a, b in pairs]
    return replace(max(rows, key=lambda row: row.worst), dtype=kind_of(want), shape=())


PART = 2**20
"""Elements in memory as float64 at a time."""


@dataclass(frozen=True, eq=False)
class _Part:
    """A contiguous part of the elements."""

    got: np.ndarray
    want: np.ndarray
    least_scale: np.ndarray | float

    @property
    def finite(self) -> np.ndarray:
        return np.isfinite(self.want.astype(np.float64))

    def agrees(self, overflows_within: bool) -> bool:
        """Return whether inf and NaN are equal, or, with `overflows_within`, whether none is added."""
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
    """Return the worst and the RMS error, relative to at least the smallest normal number."""
    largest = max((part.largest() for part in parts), default=0.0)
    worst = squares = count = 0.0
    for part in parts:
        found = part.differences(max(largest or 1.0, normal))
        worst = max(worst, float(found.max(initial=0.0)))
        squares += float((found**2).sum())
        count += found.size
    return worst, float(np.sqrt(squares / count)) if count else 0.0
