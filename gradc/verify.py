"""Hold a compiled model against the numpy reference of its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dialects.evaluate import evaluate
from dialects.support import entry
from dialects.support.dtypes import of_numpy
from gradc.compiler import Compiled
from gradc.tensors import as_dtype, checked_inputs

RTOL = {"f32": 3e-5, "bf16": 2.0**-8, "f16": 2.0**-10, "f64": 1e-12}
"""Largest error over the largest magnitude of an output. For the half types, one unit in the last
place: the reference is rounded once, and so is the model's result."""


@dataclass(frozen=True)
class OutputError:
    """How far an output is from the reference; both errors are over the largest magnitude of it."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    worst: float
    typical: float
    rtol: float

    @property
    def ok(self) -> bool:
        return self.worst <= self.rtol


def verify_outputs(
    compiled: Compiled,
    inputs: Mapping[str, np.ndarray],
    outputs: Mapping[str, np.ndarray],
    rtol: float | None = None,
) -> list[OutputError]:
    """One row per output. A wrong shape or dtype, or a NaN the reference lacks, is an infinite error."""
    function = entry.entry_function(compiled.source)
    dtypes = {info.name: info.dtype for info in compiled.inputs}
    given = {name: as_dtype(np.asarray(array), dtypes[name]) for name, array in inputs.items()}
    arrays = checked_inputs(compiled.inputs, given)
    expected = evaluate(compiled.source, [arrays[n] for n in entry.input_names(function)])
    names = entry.output_names(function)
    return [_compare(n, outputs[n], want, rtol) for n, want in zip(names, expected, strict=True)]


def _compare(name: str, got: np.ndarray, want: np.ndarray, rtol: float | None) -> OutputError:
    dtype = of_numpy(want.dtype)
    assert dtype is not None
    limit = RTOL.get(dtype.name, 0.0) if rtol is None else rtol
    if got.shape != want.shape or got.dtype != want.dtype:
        return OutputError(name, dtype.name, got.shape, np.inf, np.inf, limit)
    worst, typical = _errors(got.astype(np.float64), want.astype(np.float64))
    return OutputError(name, dtype.name, got.shape, worst, typical, limit)


def _errors(got: np.ndarray, want: np.ndarray) -> tuple[float, float]:
    if want.size == 0:
        return 0.0, 0.0
    finite = np.isfinite(want)
    if not np.array_equal(got[~finite], want[~finite], equal_nan=True) or not np.isfinite(got[finite]).all():
        return np.inf, np.inf
    scale = float(np.abs(want[finite]).max(initial=0.0)) or 1.0
    difference = np.abs(got[finite] - want[finite]) / scale
    return float(difference.max(initial=0.0)), float(
        np.sqrt((difference**2).mean() if difference.size else 0)
    )
