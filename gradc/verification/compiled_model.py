"""Comparison of the compiled gradient with the checked one, evaluated in float64 and run on its runtime."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.support import dense, entry
from dialects.support.diagnostics import Diagnostic, GradcError, UnsupportedError
from dialects.support.dtypes import by_name
from dialects.support.shapes import has_rank, shape_of
from gradc.graph.tensors import TensorInfo
from gradc.verification.evaluation import NotComputed, reason_of, run_in_float64
from gradc.verification.gradient_spec import CheckError, Written
from gradc.verification.inexact_functions import evaluate_inexactly
from gradc.verification.kernels import Kernels
from gradc.verification.point import Outcome
from gradc.verification.transforms import lost_in_transforms
from gradc.verification.widening import wide, widen

Arrays = Mapping[str, Any]

READ_BACK = 1e-6
"""Largest relative difference of the compiled gradient in float64; its constants are f32."""

RUN = {"f64": 1e-9, "f32": 1e-4, "f16": 4e-3, "bf16": 3e-2}
"""Largest relative difference of a runtime's result that needs no further test."""

EPS = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}

F32 = EPS["f32"]

PER_OP = 4
"""Error in units in the last place of an op of a runtime."""

EXPLAINED = 16.0
"""Largest error of a result relative to its change when the inputs change by a few rounding errors."""

OF_FUNCTIONS = 4.0
"""Largest error of a result relative to that of functions with random errors."""

PERTURBATIONS = 4


@dataclass
class Model:
    """A compiled gradient.

    module: the model, imported again.
    run: runs the model on its runtime; None if that is not available.
    weights: values of the inputs that are weights, by name.
    rounds_more: True if the model rounds to half types that the function does not have.
    """

    module: ModuleOp
    written: Written
    infos: Mapping[str, TensorInfo]
    run: Callable[[dict[str, Any]], Mapping[str, np.ndarray]] | None = None
    kernel: Kernels | None = None
    rounds_more: bool = False
    weights: Mapping[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])
    ran: bool = False
    reason: str = ""

    @cached_property
    def _wide_module(self) -> ModuleOp:
        module = self.module.clone()
        widen(module)
        return module

    def values(self, inputs: Arrays) -> dict[str, np.ndarray]:
        """Return the results in float64 by name."""
        arguments = {
            value: wide(array) for value, array in self._arguments(self._wide_module, inputs).items()
        }
        results = run_in_float64(self._wide_module, arguments, self.kernel)
        names = entry.output_names(entry.entry_function(self._wide_module))
        return dict(zip(names, results, strict=True))

    def _arguments(self, module: ModuleOp, given: Mapping[str, Any]) -> dict[SSAValue, Any]:
        """Return the arrays of a module's arguments: given ones, else defaults and weights."""
        function = entry.entry_function(module)
        defaults = {name: dense.to_numpy(value) for name, value in entry.defaults(function).items()}
        arrays = {**self.weights, **defaults, **given}
        names = entry.input_names(function)
        return {value: arrays[name] for name, value in zip(names, function.args, strict=True)}

    def judge(self, inputs: Arrays, outcome: Outcome) -> None:
        """Raise CheckError if the compiled gradient differs from the checked one."""
        for written in self.written.arrangements():
            self._judge(written, inputs, outcome)

    def _judge(self, written: Written, inputs: Arrays, outcome: Outcome) -> None:
        given = self.given(inputs, outcome.cotangents, written)
        try:
            wide_ = self.values(given)
        except UnsupportedError as error:
            self.reason = f"the compiled model was not evaluated: {error.diagnostic.message}"
            return
        except (NotComputed, GradcError) as error:
            text = (
                f"the compiled model is wrong: it has no value where the gradient has one: {reason_of(error)}"
            )
            raise CheckError(Diagnostic("error", text)) from error
        point = {**inputs, **outcome.cotangents}
        found = written.read(wide_, point)

        def read(inputs: Arrays) -> dict[str, np.ndarray]:
            return written.read(self.values(inputs), point)

        for name, got in found.items():
            expected = outcome.gradients.get(name)
            if not isinstance(expected, np.ndarray):
                continue
            off = distance(got, expected)
            if (
                off > READ_BACK
                and not self._is_below(name, got, expected, 2.0**-24, outcome)
                and not is_rounding_effect(off, name, {name: expected}, given, read, found)
            ):
                what = self.written.gradients.get(name, name)
                raise _wrong(what, off, "the gradient that was proved")
        self._judge_run(given, wide_, outcome)

    def given(self, inputs: Arrays, cotangents: Arrays, written: Written | None = None) -> dict[str, Any]:
        """Return the compiled model's inputs in its types; `cotangents` are by the names of `of`."""
        written = self.written if written is None else written
        found = {**written.inputs(inputs), **written.feeds(cotangents)}
        return {name: _as(array, self.infos[name]) for name, array in found.items() if name in self.infos}

    def _is_below(
        self, name: str | None, got: np.ndarray, expected: np.ndarray, eps: float, outcome: Outcome
    ) -> bool:
        """Return whether the error is below the rounding of the largest terms that cancel in a gradient."""
        direction = outcome.directions.get(name) if name is not None else None
        if not isinstance(direction, np.ndarray) or np.shape(got) != direction.shape:
            return False
        off = np.nan_to_num(got - expected, nan=np.inf)
        terms = max((one.norm for one in outcome.balances if np.isfinite(one.norm)), default=0.0)
        return float(np.linalg.norm(off * direction)) <= EXPLAINED * eps * terms

    @cached_property
    def _roundings(self) -> int:
        """Number of roundings that add up: terms of the longest product, or ops of the longest chain."""
        longest, depth = 0, dict[SSAValue, int]()
        for op in entry.entry_function(self.module).body.block.ops:
            longest = max(longest, _terms(op))
            row = 1 + max((depth.get(value, 0) for value in op.operands), default=0)
            depth.update(dict.fromkeys(op.results, row))
        return max(longest, PER_OP * max(depth.values(), default=0))

    def _judge_run(self, given: dict[str, Any], expected: Arrays, outcome: Outcome) -> None:
        if self.run is None:
            return
        try:
            found = self.run(given)
        except Exception as error:
            self.reason = f"the model did not run: {_first_clause(error)}"
            return
        self.ran = True
        by = {result: name for name, result in self.written.gradients.items()}
        for result, got in found.items():
            if not _is_floats(got):
                continue
            off = distance(got.astype(np.float64), expected[result])
            if off <= max(RUN.get(_name(got), 1e-4), EPS.get(_name(got), 0.0) * self._roundings):
                continue
            exact, eps = got.astype(np.float64), EPS.get(_name(got), 2.0**-23)
            if self._is_below(by.get(result), exact, expected[result], eps, outcome):
                continue
            if not self._is_rounding(result, off, given, expected):
                raise _wrong(result, off, "the same model in float64")

    def _is_rounding(self, result: str, off: float, given: Arrays, expected: Arrays) -> bool:
        """Return whether a few rounding errors of the inputs, of each op's result, or of each function's,
        explain the difference."""
        assert self.run is not None
        run = self.run

        def ran(inputs: Arrays) -> dict[str, np.ndarray]:
            return {name: wide(array) for name, array in run(dict(inputs)).items()}

        if is_rounding_effect(off, result, expected, given, ran, ran(given), narrow=True):
            return True
        if self.rounds_more:
            return False
        arguments = self._arguments(self.module, given)
        if off <= lost_in_transforms(self.module, list(arguments.values())):
            return True
        index = list(entry.output_names(entry.entry_function(self.module))).index(result)

        def error_of(values: tuple[Any, ...]) -> float:
            return distance(wide(values[index]), expected[result])

        if off <= EXPLAINED * error_of(narrow_values(self.module, arguments)):
            return True
        given_values = list(arguments.values())
        errors = (error_of(evaluate_inexactly(self.module, given_values, seed)) for seed in range(2))
        return off <= OF_FUNCTIONS * max(filter(np.isfinite, errors), default=0.0)


def _first_clause(error: Exception) -> str:
    return " ".join(str(error).split()).removeprefix("error: ").split("; ")[0][:200]


def _terms(op: Operation) -> int:
    if not isinstance(op, onnx.MatMulOp | onnx.GemmOp | onnx.ConvOp | onnx.ConvTransposeOp):
        return 0
    sizes = [shape_of(value) if has_rank(value) else () for value in op.operands[:2]]
    dims = sizes[1][1:] if isinstance(op, onnx.ConvOp | onnx.ConvTransposeOp) else sizes[0][-1:]
    return prod(dim for dim in dims if isinstance(dim, int))


def narrow_values(module: ModuleOp, arguments: Mapping[Any, Any]) -> tuple[Any, ...]:
    """Return the results of a module in which each op rounds to its type."""
    from dialects.evaluate import evaluate

    return evaluate(module, list(arguments.values()))


def is_rounding_effect(
    off: float,
    name: str,
    expected: Mapping[str, np.ndarray],
    inputs: Arrays,
    values: Callable[[Arrays], Mapping[str, np.ndarray]],
    base: Mapping[str, np.ndarray] | None = None,
    *,
    narrow: bool = False,
) -> bool:
    """Return whether a function changes as much when its inputs change by a few f32 rounding errors."""
    if not np.isfinite(off):
        return False
    start = values(inputs) if base is None else base
    size = float(np.linalg.norm(np.nan_to_num(expected[name]))) or 1.0
    for seed in range(PERTURBATIONS):
        moved = values(_perturb_inputs(inputs, np.random.default_rng(seed), narrow))[name]
        if np.shape(moved) != np.shape(start[name]):
            continue
        change = float(np.linalg.norm(np.nan_to_num(moved - start[name]))) / size
        if off <= EXPLAINED * change:
            return True
    return False


def _perturb_inputs(inputs: Arrays, rng: np.random.Generator, narrow: bool) -> dict[str, Any]:
    return {name: _perturb_array(array, rng, narrow) for name, array in inputs.items()}


def _perturb_array(array: Any, rng: np.random.Generator, narrow: bool) -> Any:
    if not isinstance(array, np.ndarray) or not _is_floats(array):
        return array
    eps = EPS.get(_name(array), F32)
    eps = eps if narrow else min(eps, F32)
    moved = array.astype(np.float64) * (1 + eps * rng.integers(-4, 5, array.shape))
    return moved.astype(array.dtype) if narrow else moved


def distance(got: np.ndarray, expected: np.ndarray) -> float:
    """Return the norm of the difference relative to that of the expected values; inf for another shape, or if
    only the expected value is finite."""
    if np.shape(got) != np.shape(expected):
        return np.inf
    both = np.isfinite(expected)
    if not np.isfinite(np.asarray(got)[both]).all():
        return np.inf
    size = float(np.linalg.norm(expected[both]))
    off = float(np.linalg.norm(np.asarray(got)[both] - expected[both]))
    return off / size if size else off


def _wrong(result: str, off: float, other: str) -> CheckError:
    text = f"{result} of the compiled model is wrong: it is off by {off:.3g} of its size from {other}"
    return CheckError(Diagnostic("error", text))


def _as(array: Any, info: TensorInfo) -> Any:
    dtype = by_name(info.dtype)
    if not isinstance(array, np.ndarray) or dtype is None:
        return array
    return array.astype(dtype.numpy, copy=False)


def _is_floats(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.dtype.kind not in "iubOUSTc"


def _name(array: np.ndarray) -> str:
    from dialects.support.dtypes import of_numpy

    dtype = of_numpy(array.dtype)
    return "" if dtype is None else dtype.name
