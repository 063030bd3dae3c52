"""Inputs of other ranges than the normal distribution, with rounding-error bounds of their outputs."""

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
from gradc.verification.exact_match import is_same
from gradc.verification.operand_values import has_restricted_values
from gradc.verification.roundings import ROUNDINGS, perturb

HEADROOM = 16.0
"""Elements that overflow for inputs this many times larger are not compared."""

WHOLE = 3.0
"""Factor of inputs before they are rounded to whole numbers."""

JUMP_DISTANCE = 0.25
"""Distance from whole numbers at which the conditioning is measured."""

SEEDS = (1, 2)
"""Seeds of the perturbations by a few rounding errors that measure the conditioning."""

PATIENCE = 0.5
"""Seconds of CPU time that a run may take; models that take longer are not run at further ranges."""

FLOATS = ("f32", "f64")

Arrays = Mapping[str, Any]
Run = Callable[[Arrays], Arrays]
Change = Callable[[np.ndarray], np.ndarray]


def _affine(factor: float, summand: float) -> Change:
    return lambda array: np.asarray(array * array.dtype.type(factor) + array.dtype.type(summand))


def _whole(array: np.ndarray) -> np.ndarray:
    return np.asarray(np.rint(array * array.dtype.type(WHOLE)))


def _half_zero(array: np.ndarray) -> np.ndarray:
    kept = np.random.default_rng(0).permutation(array.size).reshape(array.shape) % 2 == 0
    return np.where(kept, array, np.zeros_like(array))


_larger = _affine(HEADROOM, 0.0)


@dataclass(frozen=True)
class Range:
    """A range of floating-point inputs.

    change: converts normally distributed inputs to the range.
    larger: enlarges them; None if they are far from overflow.
    off_jumps: moves them to where the conditioning is measured, if step functions jump at the inputs.
    """

    change: Change
    larger: Change | None = None
    off_jumps: Change | None = None


RANGES: Mapping[str, Range] = {
    "inputs + 1000": Range(_affine(1.0, 1000.0), _larger),
    "inputs * 1e15": Range(_affine(1e15, 0.0), _larger),
    "inputs * 1e-15": Range(_affine(1e-15, 0.0), _larger),
    "whole numbers": Range(_whole, off_jumps=_affine(1.0, JUMP_DISTANCE)),
    "zeros": Range(np.zeros_like),
    "half of them zero": Range(_half_zero),
}


@dataclass(frozen=True, eq=False)
class RangeRun:
    """Inputs of one range, the original model's outputs for them, and its outputs for other inputs.

    `perturbed` are the outputs for inputs a few rounding errors away, `larger` for larger inputs, `usual`
    for the original inputs. `conditioning` are pairs of outputs for inputs a few rounding errors apart.
    """

    label: str
    inputs: Arrays
    outputs: Arrays
    perturbed: Sequence[Arrays]
    larger: Arrays
    usual: Arrays
    conditioning: Sequence[tuple[Arrays, Arrays]]

    def is_determined(self, name: str) -> bool:
        """Return whether an output is a float tensor of fixed shape, or is unchanged by perturbations."""
        want = self.outputs[name]
        others = [outputs[name] for outputs in self.perturbed]
        if not isinstance(want, np.ndarray):
            return False
        if not _is_float(want):
            return all(is_same(want, other) for other in others)
        measured = [run[name] for pair in self.conditioning for run in pair]
        return all(np.shape(other) == want.shape for other in (*others, self.larger[name], *measured))

    def finite(self, name: str) -> np.ndarray:
        """Return the mask of elements that stay finite for perturbed and larger inputs."""
        at_inputs = [run for base, run in self.conditioning if base is self.outputs]
        known = [run[name] for run in (self.outputs, self.larger, *at_inputs)]
        return np.logical_and.reduce([np.isfinite(array) for array in known])

    def compared(self, name: str, got: Any) -> tuple[Any, Any]:
        """Return an output of the compiled model and the expected one, both 0 where they are not compared."""
        want = self.outputs[name]
        if not _is_float(want) or np.shape(got) != want.shape:
            return got, want
        finite = self.finite(name)
        return np.where(finite, got, np.zeros_like(got)), np.where(finite, want, np.zeros_like(want))

    def bound(self, name: str, rtol: float) -> float:
        """Return the rounding-error limit, relative to the largest magnitude of the expected output.

        Errors within the model are assumed as large as those of outputs for `usual` inputs plus the effect of
        perturbed inputs.
        """
        want = self.outputs[name]
        if not _is_float(want):
            return 0.0
        finite = self.finite(name)
        largest = _largest(want, finite)
        moved = max(_largest_change(base[name], run[name], finite) for base, run in self.conditioning)
        usual = self.usual[name]
        allowed = rtol * max(largest, _largest(usual, np.isfinite(usual))) + ROUNDINGS * moved
        return allowed / max(largest or 1.0, float(np.finfo(want.dtype).smallest_normal))


def range_runs(source: ModuleOp, run: Run, inputs: Arrays) -> Iterator[RangeRun]:
    """Yield a run of the original model for each range of RANGES in which it runs.

    There are none if no input is a free float, if an op's time or memory depends on values, or if a run takes
    longer than PATIENCE.
    """
    names = [name for name in free_inputs(source) if name in inputs]
    if not names or not all(map(_is_bounded, source.walk())):
        return
    start, usual = time.thread_time(), run(inputs)
    if time.thread_time() - start > PATIENCE:
        return
    for label, range_ in RANGES.items():
        try:
            yield _range_run(label, range_, run, names, inputs, usual)
        except GradcError:
            continue


def _range_run(
    label: str, range_: Range, run: Run, names: Sequence[str], inputs: Arrays, usual: Arrays
) -> RangeRun:
    moved = _change_inputs(inputs, names, range_.change)
    outputs = run(moved)
    perturbed = [run(_perturb_inputs(moved, names, seed)) for seed in SEEDS]
    larger = outputs if range_.larger is None else run(_change_inputs(moved, names, range_.larger))
    base, others = outputs, perturbed
    if range_.off_jumps is not None:
        off_jumps = _change_inputs(moved, names, range_.off_jumps)
        base, others = run(off_jumps), [run(_perturb_inputs(off_jumps, names, seed)) for seed in SEEDS]
    pairs = [(base, other) for other in others]
    return RangeRun(label, moved, outputs, perturbed, larger, usual, pairs)


def free_inputs(source: ModuleOp) -> list[str]:
    """Return the inputs of f32 or f64 that may have any value and have no default."""
    function = entry.entry_function(source)
    defaults = entry.defaults(function)
    named = zip(entry.input_names(function), function.args, strict=True)
    return [
        name
        for name, argument in named
        if name not in defaults and word_of(argument.type) in FLOATS and not has_restricted_values(argument)
    ]


def _is_bounded(op: Operation) -> bool:
    """Return whether an op's time and memory are independent of float values, and no result is a half
    type."""
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


def _change_inputs(inputs: Arrays, names: Sequence[str], change: Change) -> dict[str, Any]:
    return {name: change(array) if name in names else array for name, array in inputs.items()}


def _perturb_inputs(inputs: Arrays, names: Sequence[str], seed: int) -> dict[str, Any]:
    moved = perturb({name: inputs[name] for name in names}, seed, own=True)
    return {**inputs, **{name: np.asarray(moved[name], inputs[name].dtype) for name in names}}


def _is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype in (np.float32, np.float64)


def _largest_change(base: np.ndarray, other: np.ndarray, where: np.ndarray) -> float:
    where = where & np.isfinite(base) & np.isfinite(other)
    with np.errstate(all="ignore"):
        return _largest(base.astype(np.float64) - other, where)


def _largest(array: np.ndarray, where: np.ndarray) -> float:
    return float(np.abs(array.astype(np.float64))[where].max(initial=0.0))
