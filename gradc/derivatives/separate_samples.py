"""Test that the samples of a function do not interact: a rule on types and ops, then a sample that changes.

The rule follows the axis of samples with a size that occurs nowhere else. It accepts a sum or mean over
the samples if the differentiated value is a linear function of it, as a loss is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from dialects.lifetimes import last_uses
from dialects.onnx import ops as onnx
from dialects.support import entry
from dialects.support.diagnostics import Diagnostic, GradcError, UnsupportedError, error_at, usage
from dialects.support.option_names import option
from dialects.support.shapes import has_rank, shape_of
from gradc.derivatives.row_requests import SampleRequest
from gradc.derivatives.samples import Samples, samples_of, with_samples
from gradc.graph.batch_axes import PROBE, batch_axes, obstacle
from gradc.graph.batch_repairs import attribute_of
from gradc.verification.evaluation import Evaluation, NotComputed, wide_of
from gradc.verification.gradient_spec import remark
from gradc.verification.kernels import Kernels
from gradc.verification.sample_points import guesses_of, sample_inputs
from gradc.verification.samples import Guess
from gradc.verification.widening import wide, widen
from passes.autodiff.named_values import add_elements, base_of, values_by_name
from passes.builder.captured_values import dependents, values_read_by

COUNT = 3
"""Number of samples of the evaluation."""

CLOSE = 1e-9
"""Largest relative difference of equal values."""

SIZES = (onnx.ShapeOp, onnx.SizeOp)
"""Ops whose results depend on sizes only."""

SUMS = (
    onnx.NegativeLogLikelihoodLossOp,
    onnx.ReduceMeanOp,
    onnx.ReduceSumOp,
    onnx.ReduceSumSquareOp,
    onnx.SoftmaxCrossEntropyLossOp,
)
"""Ops that may sum over the samples what each of them makes."""

LINEAR = (
    onnx.AddOp,
    onnx.CastOp,
    onnx.DivOp,
    onnx.IdentityOp,
    onnx.MulOp,
    onnx.NegOp,
    onnx.ReshapeOp,
    onnx.SqueezeOp,
    onnx.SubOp,
    onnx.UnsqueezeOp,
)
"""Ops that are linear in a sum over samples, if their other operands do not depend on samples."""

Arrays = Mapping[str, Any]


@dataclass
class Rule:
    """A walk over a function whose number of samples is PROBE.

    dependent: the values that depend on samples. sums: the values that are sums over samples, with the op
    that sums.
    """

    module: ModuleOp
    samples: Samples
    dependent: set[SSAValue] = field(default_factory=set[SSAValue])
    sums: dict[SSAValue, Operation] = field(default_factory=dict[SSAValue, Operation])

    def run(self) -> None:
        """Raise UnsupportedError at the first op in which samples interact."""
        function = entry.entry_function(self.module)
        named = zip(entry.input_names(function), function.args, strict=True)
        self.dependent |= {value for name, value in named if name in self.samples.inputs}
        last = entry.return_op(function)
        for op in function.body.block.ops:
            if op is not last and not isinstance(op, SIZES):
                self._follow(op)

    def axes(self, value: SSAValue) -> list[int]:
        """Return the axes of samples of a value: those of unknown size if no size shows them."""
        if value not in self.dependent or value in self.sums:
            return batch_axes(value)
        return batch_axes(value) or [axis for axis, dim in enumerate(shape_of(value)) if dim is None][:1]

    def _follow(self, op: Operation) -> None:
        read = set(values_read_by(op))
        given = [value for value in read if value in self.dependent]
        if not given:
            return
        summed = [value for value in given if value in self.sums]
        if summed:
            first = self.sums[summed[0]]
            if not isinstance(op, LINEAR) or len(given) > len(summed) or _is_product(op, summed):
                raise interaction_at(first)
            self.sums |= dict.fromkeys(op.results, first)
        elif why := _joins(op, self.dependent):
            if isinstance(op, SUMS) and why == CONSUMED:
                self.sums |= dict.fromkeys(op.results, op)
            else:
                raise interaction_at(op)
        self.dependent |= set(op.results)


CONSUMED, PAIRED, ALONG = "consumed", "paired", "along"


def _is_product(op: Operation, summed: Sequence[SSAValue]) -> bool:
    """Return whether an op multiplies sums, or divides by one."""
    if isinstance(op, onnx.MulOp):
        return op.operands[0] in summed and op.operands[1] in summed
    return isinstance(op, onnx.DivOp) and op.operands[1] in summed


def _joins(op: Operation, dependent: set[SSAValue]) -> str:
    """Return the reason why samples interact in an op, or ''."""
    given = [value for value in op.operands if value in dependent]
    known = [result for result in op.results if has_rank(result) and result.first_use]
    if any(len(batch_axes(result)) > 1 for result in known):
        return PAIRED
    if op.operands and op.operands[0] in dependent and obstacle(op) is not None:
        return ALONG
    if isinstance(op, onnx.BatchNormalizationOp) and attribute_of(op, "training_mode", 0):
        return ALONG
    if isinstance(op, onnx.MatMulOp | onnx.GemmOp) and _contracts_samples(op, dependent):
        return ALONG
    lost = any(not batch_axes(result) and None not in shape_of(result) for result in known)
    return CONSUMED if lost and not op.regions and any(batch_axes(value) for value in given) else ""


def _contracts_samples(op: Operation, dependent: set[SSAValue]) -> bool:
    """Return whether a matrix product sums over the samples."""
    for index, name in enumerate(("transA", "transB")):
        value = op.operands[index]
        if value not in dependent or not has_rank(value):
            continue
        rank = len(shape_of(value))
        flipped = isinstance(op, onnx.GemmOp) and bool(attribute_of(op, name, 0))
        contracted = rank - 1 if (index == 0) != flipped or rank == 1 else rank - 2
        if contracted in batch_axes(value):
            return True
    return False


def interaction_at(op: Operation) -> GradcError:
    """Return the error at an op in which samples interact."""
    what = f"{option('per_sample', True)}: samples interact in this op"
    hint = "a function whose samples are independent has a derivative for each of them"
    return error_at(op, f"{what}; {hint}", kind=UnsupportedError)


def with_axes(module: ModuleOp, of: Sequence[str], samples: Samples) -> Samples:
    """Return the samples with the axes and ranks of the values of a module.

    Raises UnsupportedError if samples interact by the rule.
    """
    if samples.size == 1:
        values, dependent = _values_by_name(module, of), _dependent(module, samples)
        leading = {name for name, value in values.items() if shape_of(value)[:1] == (1,)}
        axes = {name: 0 for name in leading if values[name] in dependent}
        return replace(samples, axes=axes, ranks=_ranks(values))
    probe = with_samples(module, samples, PROBE)
    rule = Rule(probe, samples)
    rule.run()
    values = _values_by_name(probe, of)
    _check_elements(values, of)
    axes = {name: axes[0] for name, value in values.items() if (axes := rule.axes(value))}
    merged = [name for name, axis in axes.items() if shape_of(values[name])[axis] not in (PROBE, None)]
    return replace(samples, axes=axes, ranks=_ranks(values), merged=merged)


def _ranks(values: Mapping[str, SSAValue]) -> dict[str, int]:
    return {name: len(shape_of(value)) for name, value in values.items()}


def _check_elements(values: Mapping[str, SSAValue], of: Sequence[str]) -> None:
    """Raise UsageError for an element of one sample, such as `y[0,1]`."""
    for name in of:
        whole = values.get(base_of(name))
        if name in values and whole is not None and batch_axes(whole) and not batch_axes(values[name]):
            raise usage(option("of", name), "an element of one sample", "':' for the axis of the samples")


def _dependent(module: ModuleOp, samples: Samples) -> set[SSAValue]:
    """Return the values of a function that depend on samples."""
    function = entry.entry_function(module)
    named = zip(entry.input_names(function), function.args, strict=True)
    starts = (value for name, value in named if name in samples.inputs)
    return dependents(function.body.block.ops, starts)[1]


def _values_by_name(module: ModuleOp, of: Sequence[str]) -> dict[str, SSAValue]:
    function = entry.entry_function(module)
    values = values_by_name(function)
    values |= add_elements(function, of, values)
    return {name: value for name, value in values.items() if has_rank(value)}


def confirm(
    module: ModuleOp,
    one: ModuleOp,
    of: Sequence[str],
    samples: Samples,
    kernels: Mapping[str, Callable[..., Any]] | None,
) -> str:
    """Compare the function of several samples with that of one; return why that is not possible, or ''.

    Raises UnsupportedError at the first op in which samples interact.
    """
    from gradc.compiler.runtime_kernels import runtime_kernel

    try:
        several = with_samples(module, samples, COUNT)
    except GradcError as error:
        return error.diagnostic.message
    probe = with_samples(module, samples, PROBE)
    kernel, why = Kernels(kernels, runtime_kernel), ""
    for guess in guesses_of(several):
        try:
            _compare(several, probe, one, of, samples, kernel, guess)
        except UnsupportedError as error:
            if error.diagnostic.severity == "error" and "samples interact" in error.diagnostic.message:
                raise
            why = error.diagnostic.message
        except (NotComputed, GradcError) as error:
            why = error.diagnostic.message if isinstance(error, GradcError) else str(error)
        else:
            return ""
    return why


def _compare(
    several: ModuleOp,
    probe: ModuleOp,
    one: ModuleOp,
    of: Sequence[str],
    samples: Samples,
    kernel: Kernels,
    guess: Guess,
) -> None:
    given, other = (dict(sample_inputs(several, seed, guess)) for seed in (0, 1))
    shared = {name: array for name, array in given.items() if name not in samples.inputs}
    if any(np.shape(given[name]) != np.shape(other[name]) for name in samples.inputs):
        raise NotComputed("the shapes of samples differ")
    moved = given | {name: np.concatenate([other[name][:1], given[name][1:]]) for name in samples.inputs}
    base, after = _values(several, given, kernel), _values(several, moved, kernel)
    for (op, before), (_, then), probed in zip(base, after, _ops(probe), strict=True):
        for index, (a, b) in enumerate(zip(before, then, strict=True)):
            if _others_moved(probed.results[index], a, b):
                raise interaction_at(op)
    for name in of:
        _compare_of(name, several, one, samples, kernel, given, moved, shared)


def _compare_of(
    name: str,
    several: ModuleOp,
    one: ModuleOp,
    samples: Samples,
    kernel: Kernels,
    given: Arrays,
    moved: Arrays,
    shared: Arrays,
) -> None:
    """Compare a differentiated value of several samples with that of each."""

    def value(module: ModuleOp, inputs: Arrays) -> np.ndarray:
        return _value(module, name, inputs, kernel)

    def single(inputs: Arrays, index: int) -> np.ndarray:
        rows = {key: inputs[key][index : index + 1] for key in samples.inputs}
        return value(one, {**shared, **rows})

    whole = value(several, given)
    axis = samples.axis(name)
    if axis is not None:
        rows = [single(given, index) for index in range(COUNT)]
        if not _are_close(np.concatenate(rows, axis), whole):
            raise _differs(several, name)
        return
    change = value(several, moved) - whole
    own = single(moved, 0) - single(given, 0)
    size = np.max(np.abs(whole), initial=0.0)
    if not any(_are_close(factor * own, change, size) for factor in (1.0, 1 / COUNT)):
        raise _differs(several, name)


def _differs(module: ModuleOp, name: str) -> GradcError:
    function = entry.entry_function(module)
    values = values_by_name(function)
    value = values.get(name, values.get(name.partition("[")[0]))
    if value is not None and isinstance(value.owner, Operation):
        return interaction_at(value.owner)
    text = f"{option('per_sample', True)}: samples interact in {name}"
    return UnsupportedError(Diagnostic("error", text))


def _ops(module: ModuleOp) -> list[Operation]:
    function = entry.entry_function(module)
    return [op for op in function.body.block.ops if op is not entry.return_op(function)]


def _values(module: ModuleOp, inputs: Arrays, kernel: Kernels) -> Iterator[tuple[Operation, list[Any]]]:
    """Yield each op of a module with its results in float64."""
    original, module = module, module.clone()
    widen(module)
    function, evaluation = entry.entry_function(module), Evaluation(module, kernel=kernel)
    for name, argument in zip(entry.input_names(function), function.args, strict=True):
        evaluation[argument] = wide(inputs[name])
    ends = last_uses(function.body.block)
    for op, source in zip(_ops(module), _ops(original), strict=True):
        evaluation.run(op)
        yield source, [wide_of(evaluation[result]) for result in op.results]
        for value in ends.get(op, ()):
            evaluation.forget(value)


def _value(module: ModuleOp, name: str, inputs: Arrays, kernel: Kernels) -> np.ndarray:
    from gradc.verification.primal import values_of

    return values_of(module, [name], inputs, (), False, kernel)[name]


def _others_moved(probed: SSAValue, before: Any, after: Any) -> bool:
    """Return whether samples but the first changed."""
    if not isinstance(before, np.ndarray) or before.dtype.kind != "f" or not isinstance(after, np.ndarray):
        return False
    axes = batch_axes(probed)
    if len(axes) != 1 or before.shape != after.shape or before.shape[axes[0]] != COUNT:
        return False
    rows = [np.take(array, range(1, COUNT), axes[0]) for array in (before, after)]
    return not _are_close(rows[0], rows[1])


def _are_close(a: np.ndarray, b: np.ndarray, size: float = 0.0) -> bool:
    """Return whether arrays are equal up to rounding, relative to their largest number or `size`."""
    if a.shape != b.shape:
        return False
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    if not np.array_equal(np.where(finite, 0, a), np.where(finite, 0, b), equal_nan=True):
        return False
    largest = max(size, float(np.max(np.abs(b[finite]), initial=0.0)))
    return bool(np.all(np.abs(a[finite] - b[finite]) <= CLOSE * largest))


def function_of_one_sample(
    module: ModuleOp, user_request: SampleRequest
) -> tuple[ModuleOp, Samples, list[Diagnostic]]:
    """Return the function of one sample of a module, the samples, and remarks.

    Raises UnsupportedError at the first op in which samples interact.
    """
    of = user_request.of_names(module)
    samples = with_axes(module, of, samples_of(module, of, user_request.batch_axis or {}))
    one = with_samples(module, samples, 1)
    why = "" if samples.size == 1 else option("check", False)
    if why and user_request.check is not False:
        why = confirm(module, one, of, samples, user_request.kernels)
    text = f"no evaluation confirmed that the samples do not interact: {why}"
    return one, samples, [remark(text)] if why else []
