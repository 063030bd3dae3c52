"""Derivatives per sample: the batched inputs, the function of one sample, and the derivative of them all."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from dialects.shapes.forms import name as named_size
from dialects.support import entry, shapes
from dialects.support.diagnostics import (
    Diagnostic,
    UnsupportedError,
    UsageError,
    sentence,
    suggest,
    usage,
)
from dialects.support.interfaces import set_type
from dialects.support.option_names import option
from dialects.support.shapes import Dim, has_rank, shape_of, tensor_type
from gradc.compiler.compiled import Derivative
from gradc.graph.batch_axes import PROBE
from gradc.graph.batch_probe import set_leading_dims
from gradc.graph.rebatching import infer_again, probe_batch, set_batch
from gradc.verification.gradient_spec import Written
from gradc.verification.written_forms import WrittenSamples
from passes.autodiff.named_values import base_of, values_by_name
from passes.vectorize.samples_pass import PerSamplePass

SAMPLES = "samples"
"""Name of the number of samples, if the model has none for it."""


@dataclass(frozen=True)
class Samples:
    """The samples of a function.

    inputs: the names of the inputs that have them on axis 0. size: their number, a number or a name.
    axes: name of a value -> its axis of samples. ranks: name of a value -> its rank.
    merged: names of values whose axis of samples has other elements, too.
    """

    inputs: Sequence[str]
    size: int | str
    axes: Mapping[str, int]
    ranks: Mapping[str, int]
    merged: Collection[str] = ()

    def pass_of(
        self,
        module: ModuleOp,
        derivatives: Sequence[Derivative],
        cotangents: Mapping[str, str],
        *,
        strict_ieee: bool,
    ) -> PerSamplePass:
        """Return the pass that makes the derivative of one sample that of all samples.

        `cotangents`: name of a value -> its input.
        """
        function = entry.entry_function(module)
        given = dict.fromkeys(self.inputs, 0) | {
            name: self.axis(value) for value, name in cotangents.items() if self.axis(value) is not None
        }
        present = {name: axis for name, axis in given.items() if name in entry.input_names(function)}
        removed, places = self._results(function, derivatives)
        pairs = [(name, axis) for name, axes in removed.items() for axis in axes]
        moved = {name: place for name, place in places.items() if place}
        return PerSamplePass(
            inputs=tuple(present),
            size=self.size,
            axes=tuple(axis for axis in present.values() if axis is not None),
            stacked=tuple(name for value, name in cotangents.items() if self.axis(value) is None),
            results=tuple(removed),
            removed=tuple(name for name, _ in pairs),
            removed_axes=tuple(axis for _, axis in pairs),
            moved=tuple(moved),
            moved_to=tuple(moved.values()),
            strict_ieee=strict_ieee,
        )

    def write_form(self, pass_: PerSamplePass, one: Written) -> WrittenSamples:
        """Return the form of the derivative of all samples, from that of one sample."""
        removed = {name: list[int]() for name in pass_.results}
        for name, axis in zip(pass_.removed, pass_.removed_axes, strict=True):
            removed[name].append(axis)
        axes: dict[str, int | None] = dict(zip(pass_.inputs, pass_.axes, strict=True))
        return WrittenSamples(
            one.gradients,
            one.cotangents,
            one=one,
            axes=axes | dict.fromkeys(pass_.stacked),
            removed=removed,
            places=dict(zip(pass_.moved, pass_.moved_to, strict=True)),
            samples=self.size if isinstance(self.size, int) else None,
        )

    def axis(self, name: str) -> int | None:
        """Return the axis of samples of a value or an element of it.

        Raises UnsupportedError if the samples have no axis of their own, or the rank is unknown.
        """
        name = name if name in self.ranks else base_of(name)
        what = option("per_sample", True)
        if name not in self.ranks:
            text = sentence(what, f"{name} of unknown rank", hint=f"{option('static_shapes')} gives sizes")
            raise UnsupportedError(Diagnostic("error", text))
        if name in self.merged:
            given = f"axis {self.axes[name]} of {name}, which has several elements of each sample"
            hint = "name a value before the op that merges the axes"
            raise UnsupportedError(
                Diagnostic("error", sentence(what, given, "an axis of the samples alone", hint))
            )
        return self.axes.get(name)

    def _results(
        self, function: FuncOp, derivatives: Sequence[Derivative]
    ) -> tuple[dict[str, Sequence[int]], dict[str, int]]:
        """Return the axes of size 1 to remove from each result with samples, and the axis of these."""
        removed: dict[str, Sequence[int]] = {}
        places: dict[str, int] = {}
        values = dict(zip(entry.output_names(function), entry.return_op(function).arguments, strict=True))
        for name in values.keys() & self.axes.keys():
            if (axis := self.axis(name)) is not None:
                removed[name], places[name] = (axis,), axis
        for one in derivatives:
            parts = (*one.of, *one.wrt) if one.kind in ("jacobian", "hessian") else one.wrt[-1:]
            parts = one.of if one.kind == "jvp" else parts
            removed[one.result] = tuple(self._axes_of(parts))
            if len(parts) == 1 and removed[one.result]:
                places[one.result] = removed[one.result][0]
        return removed, places

    def _axes_of(self, names: Sequence[str]) -> Iterator[int]:
        """Yield the axes of samples of a result whose axes are those of several values."""
        start = 0
        for index, name in enumerate(names):
            if (axis := self.axis(name)) is not None:
                yield start + axis
            start += self.ranks[name] if index + 1 < len(names) else 0


def samples_of(module: ModuleOp, of: Sequence[str], batch_axis: Mapping[str, int | None]) -> Samples:
    """Return the samples of a function. Raises UsageError if no input has them."""
    function = entry.entry_function(module)
    _check_inputs(function, batch_axis)
    inputs, dim = _batched_inputs(function, of, batch_axis)
    name = shapes.dim_names([dim])[0]
    size = SAMPLES if name is None else name
    return Samples(inputs, size, {}, {})


def _check_inputs(function: FuncOp, batch_axis: Mapping[str, int | None]) -> None:
    names, defaults = entry.input_names(function), entry.defaults(function)
    known = {name: value for name, value in zip(names, function.args, strict=True) if name not in defaults}
    for name, axis in batch_axis.items():
        if name not in known:
            raise _error(f"{name}={axis}", f"one of the inputs {', '.join(known)}", suggest(name, known))
        if axis is not None and not (has_rank(known[name]) and shape_of(known[name])):
            raise _error(f"{name}={axis}", "an input that has an axis 0")


def _batched_inputs(
    function: FuncOp, of: Sequence[str], batch_axis: Mapping[str, int | None]
) -> tuple[list[str], Dim]:
    """Return the inputs that have samples, and the size of their axis."""
    defaults = entry.defaults(function)
    leading = {
        name: shape_of(value)[0]
        for name, value in zip(entry.input_names(function), function.args, strict=True)
        if name not in defaults and has_rank(value) and shape_of(value)
    }
    given = [name for name, axis in batch_axis.items() if axis is not None]
    free = {name: dim for name, dim in leading.items() if name not in batch_axis}
    if given:
        dim = leading[given[0]]
    else:
        values = values_by_name(function)
        bases = [values.get(name, values.get(base_of(name))) for name in of]
        dims = [
            shape_of(value)[0] for value in bases if value is not None and has_rank(value) and shape_of(value)
        ]
        dim = next((dim for dim in dims if dim in free.values()), next(iter(free.values()), None))
    inputs = [*given, *(name for name, own in free.items() if own == dim and dim is not None)]
    inputs = inputs or list(free)[:1]
    if not inputs:
        expected = f"an input with an axis of samples; {option('batch_axis')} names them"
        raise usage(option("per_sample", True), expected=expected)
    if differing := [name for name in inputs if leading[name] != leading[inputs[0]]]:
        sizes = (f"{leading[name]} of {name}" for name in (inputs[0], differing[0]))
        raise _error(" and ".join(sizes), "one number of samples")
    return inputs, leading[inputs[0]]


def with_samples(module: ModuleOp, samples: Samples, size: int) -> ModuleOp:
    """Return a copy of a module for a number of samples.

    Raises UnsupportedError at an op that prevents another number.
    """
    module = module.clone()
    function = entry.entry_function(module)
    arguments = [entry.input_names(function).index(name) for name in samples.inputs]
    what = option("per_sample", True)
    if samples.size == size == 1:
        return module  # as it is; other sizes have the ops by which `set_batch` mends it
    if isinstance(samples.size, int):
        if size == PROBE:
            return probe_batch(module, arguments, samples.size, what)
        return set_batch(module, arguments, samples.size, size, what)
    if not _is_shared(function, arguments, samples.size):
        _substitute(module, samples.size, size)
    set_leading_dims(function, arguments, size)
    infer_again(module)
    return module


def _is_shared(function: FuncOp, arguments: Sequence[int], size: str) -> bool:
    """Return whether an axis without samples has the name of their number."""
    dim = named_size(size)
    others = [
        own
        for index, value in enumerate(function.args)
        if has_rank(value)
        for own in shape_of(value)[index in arguments :]
    ]
    return dim in others


def _substitute(module: ModuleOp, name: str, size: int) -> None:
    """Give all values of a module a size for a name."""
    values = [result for op in module.walk() for result in op.results]
    values += [
        arg for op in module.walk() for region in op.regions for block in region.blocks for arg in block.args
    ]
    for value in values:
        if has_rank(value) and not shapes.is_static(shape_of(value)):
            shape = shapes.with_sizes(shape_of(value), {name: size})
            if shape != shape_of(value):
                set_type(value, tensor_type(shapes.element_type_of(value), shape))


def _error(given: str, expected: str, hint: str = "") -> UsageError:
    return usage(option("batch_axis"), given, expected, hint)
