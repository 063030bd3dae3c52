"""Inputs of other ranges than the normal distribution, and the rounding-error bounds of outputs there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from dialects.onnx.types import word_of
from dialects.onnx.values import constant_of
from dialects.support import entry
from dialects.support.diagnostics import GradcError
from gradc.checking.alike import is_same
from gradc.checking.operand_values import is_fitted
from gradc.checking.roundings import ROUNDINGS, nudged

RANGES: Mapping[str, tuple[float, float]] = {
    "inputs + 1000": (1.0, 1000.0),
    "inputs * 1e15": (1e15, 0.0),
    "inputs * 1e-15": (1e-15, 0.0),
}
"""Factor and summand of the floating-point inputs."""

HEADROOM = 16.0
"""Elements that overflow for inputs larger by this factor are not compared."""

SEEDS = (1, 2)
"""Seeds of the perturbations by a few roundings that measure the conditioning."""

PATIENCE = 0.5
"""Seconds that a run may take; models that take longer are not run at further ranges."""

FLOATS = ("f32", "f64")

Arrays = Mapping[str, Any]
Run = Callable[[Arrays], Arrays]


@dataclass(frozen=True, eq=False)
class RangeRun:
    """Inputs of one range, the original model's outputs for them, and its outputs for other inputs.

    `perturbed` are the outputs for inputs that differ by a few roundings, `larger` those for inputs larger by
    HEADROOM, `usual` those for the inputs that `inputs` were made from.
    """

    label: str
    inputs: Arrays
    outputs: Arrays
    perturbed: Sequence[Arrays]
    larger: Arrays
    usual: Arrays

    def is_determined(self, name: str) -> bool:
        """Whether an output is a tensor of floats, or is unchanged by perturbations of the inputs."""
        want = self.outputs[name]
        others = [outputs[name] for outputs in self.perturbed]
        if not isinstance(want, np.ndarray):
            return False
        if not _is_float(want):
            return all(is_same(want, other) for other in others)
        return all(np.shape(other) == want.shape for other in (*others, self.larger[name]))

    def finite(self, name: str) -> np.ndarray:
        """The elements that no perturbation and no larger input makes inf or NaN."""
        known = [run[name] for run in (self.outputs, self.larger, *self.perturbed)]
        return np.logical_and.reduce([np.isfinite(array) for array in known])

    def compared(self, name: str, got: Any) -> tuple[Any, Any]:
        """An output of the compiled model and the expected one, both 0 where they are not compared."""
        want = self.outputs[name]
        if not _is_float(want) or np.shape(got) != want.shape:
            return got, want
        finite = self.finite(name)
        return np.where(finite, got, np.zeros_like(got)), np.where(finite, want, np.zeros_like(want))

    def bound(self, name: str, rtol: float) -> float:
        """The rounding-error limit, relative to the largest magnitude of the expected output.

        Roundings within the model are as large as those of the outputs for `usual` inputs, and as those that
        perturbed inputs cause.
        """
        want = self.outputs[name]
        if not _is_float(want):
            return 0.0
        finite = self.finite(name)
        largest = _largest(want, finite)
        moved = max(_largest(_difference(run[name], want), finite) for run in self.perturbed)
        usual = self.usual[name]
        allowed = rtol * max(largest, _largest(usual, np.isfinite(usual))) + ROUNDINGS * moved
        return allowed / max(largest or 1.0, float(np.finfo(want.dtype).smallest_normal))


def range_runs(source: ModuleOp, run: Run, inputs: Arrays) -> Iterator[RangeRun]:
    """Yield a run of the original model for each range of RANGES in which it runs.

    There are none if no input is a float of any value, if an op's time or memory depends on the values, or
    if a run takes longer than PATIENCE.
    """
    names = [name for name in free_inputs(source) if name in inputs]
    if not names or not all(map(_is_bounded, source.walk())):
        return
    start, usual = time.monotonic(), run(inputs)
    if time.monotonic() - start > PATIENCE:
        return
    for label, (factor, summand) in RANGES.items():
        try:
            moved = _scaled(inputs, names, factor, summand)
            perturbed = [run(_perturbed(moved, names, seed)) for seed in SEEDS]
            larger = run(_scaled(moved, names, HEADROOM, 0.0))
            yield RangeRun(label, moved, run(moved), perturbed, larger, usual)
        except GradcError:
            continue


def free_inputs(source: ModuleOp) -> list[str]:
    """The inputs of f32 or f64 that take any value and have no default."""
    function = entry.entry_function(source)
    defaults = entry.defaults(function)
    named = zip(entry.input_names(function), function.args, strict=True)
    return [
        name
        for name, argument in named
        if name not in defaults and word_of(argument.type) in FLOATS and not is_fitted(argument)
    ]


def _is_bounded(op: Operation) -> bool:
    """Whether time and memory of an op do not depend on floating-point values, and no result is a half."""
    if any(map(_is_narrow, op.results)):
        return False
    if op.name in ("onnx.Loop", "onnx.Range"):
        return False
    if op.name in ("onnx.Resize", "onnx.Upsample"):
        return all(constant_of(operand) is not None for operand in op.operands[1:])
    if op.name in ("onnx.Cast", "onnx.CastLike"):
        return not _becomes_integer(op)
    return True


def _is_narrow(value: SSAValue) -> bool:
    return any(kind in word_of(value.type) for kind in ("f16", "f8", "f4"))


def _becomes_integer(op: Operation) -> bool:
    return word_of(op.operands[0].type) in FLOATS and word_of(op.results[0].type)[:1] in "su"


def _scaled(inputs: Arrays, names: Sequence[str], factor: float, summand: float) -> dict[str, Any]:
    def scaled(array: np.ndarray) -> np.ndarray:
        return np.asarray(array * array.dtype.type(factor) + array.dtype.type(summand))

    return {name: scaled(array) if name in names else array for name, array in inputs.items()}


def _perturbed(inputs: Arrays, names: Sequence[str], seed: int) -> dict[str, Any]:
    moved = nudged({name: inputs[name] for name in names}, seed, own=True)
    return {**inputs, **{name: np.asarray(moved[name], inputs[name].dtype) for name in names}}


def _is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype in (np.float32, np.float64)


def _difference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return a.astype(np.float64) - b


def _largest(array: np.ndarray, where: np.ndarray) -> float:
    return float(np.abs(array.astype(np.float64))[where].max(initial=0.0))
