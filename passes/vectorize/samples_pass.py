"""per-sample: turn the function of one sample into that of all samples, whose inputs keep their rank.

An axis of size 1 of the function of one sample is the one of the samples.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.support.entry import entry_function, input_names, output_names, return_op, update_function_type
from dialects.support.shapes import element_type_of, shape_of, tensor_type
from passes.autodiff.pin_values import set_results
from passes.builder.locations import place_by_operands
from passes.builder.operands import replace_uses
from passes.builder.values import Builder, Value
from passes.vectorize.vectorize import vectorize

T = TypeVar("T")


@dataclass(frozen=True)
class PerSamplePass(ModulePass):
    """Compute a function of one sample for `size` samples, a number or a name.

    inputs, axes: the inputs that differ between samples, and their axis of size 1, which becomes that of the
    samples; those of `stacked` have no such axis and get a leading one.
    results: results that have all samples even if they depend on no input of `inputs`.
    removed, removed_axes: results with axes of size 1 that are removed.
    moved, moved_to: results whose samples are not on axis 0, and their axis.
    """

    name = "per-sample"

    inputs: tuple[str, ...] = ()
    size: int | str = 1
    axes: tuple[int, ...] = ()
    stacked: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    removed_axes: tuple[int, ...] = ()
    moved: tuple[str, ...] = ()
    moved_to: tuple[int, ...] = ()
    strict_ieee: bool = False

    fallbacks: list[Operation] = field(default_factory=list[Operation], init=False, repr=False, compare=False)
    """The ops that are computed sample by sample."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        function = entry_function(op)
        named, names = _arguments(function), output_names(function)
        found = vectorize(
            function,
            [named[name] for name in (*self.inputs, *self.stacked)],
            self.size,
            expand=[name in self.results for name in names],
            strict_ieee=self.strict_ieee,
        )
        self.fallbacks.extend(found.fallbacks)
        self._shape_inputs(function)
        pairs = zip(names, found.batched, strict=True)
        with_samples = {name for name, batched in pairs if batched or name in self.results}
        self._shape_results(function, names, with_samples)
        update_function_type(function)

    def _shape_inputs(self, function: FuncOp) -> None:
        """Give the samples of each input their axis."""
        named, e, block = _arguments(function), Builder(), function.body.block
        for name, axis in zip(self.inputs, self.axes, strict=True):
            old = named[name]
            size, *row = shape_of(old)
            shape = _insert(size, [*row[:axis], *row[axis + 1 :]], axis)
            new = block.insert_arg(tensor_type(element_type_of(old), shape), old.index)
            order = [axis, *(i for i in range(len(shape)) if i != axis)]
            rows = e(new).transpose(order) if axis else e(new)
            replace_uses(old, rows.unsqueeze([axis + 1]).value)
            new.name_hint = old.name_hint
            block.erase_arg(old)
        first = block.first_op
        assert first is not None
        place_by_operands(e.emit.ops, function.body.block, "samples")
        Rewriter.insert_op(e.emit.ops, InsertPoint.before(first))

    def _shape_results(self, function: FuncOp, names: Sequence[str], with_samples: set[str]) -> None:
        """Remove axes of size 1 from the results, and move the samples to their axis.

        A result with the name of an input is that input.
        """
        removed: Mapping[str, list[int]] = defaultdict(list[int])
        for name, axis in zip(self.removed, self.removed_axes, strict=True):
            removed[name].append(axis)
        places = dict(zip(self.moved, self.moved_to, strict=True))
        e, results, inputs = Builder(), list[SSAValue](), _arguments(function)
        for name, value in zip(names, return_op(function).arguments, strict=True):
            shaped = e(inputs.get(name, value))
            if name not in inputs and name in with_samples:
                shaped = _place(shaped, removed.get(name, ()), places.get(name, 0))
            results.append(shaped.value)
        set_results(function, e, results)


def _arguments(function: FuncOp) -> dict[str, BlockArgument]:
    return dict(zip(input_names(function), function.args, strict=True))


def _place(rows: Value, removed: Sequence[int], place: int) -> Value:
    """Return rows without axes of size 1, and with the first axis at a place."""
    found = rows.squeeze([axis + 1 for axis in removed]) if removed else rows
    return found.transpose(_insert(0, range(1, found.rank), place)) if place else found


def _insert(first: T, others: Sequence[T], place: int) -> list[T]:
    """Return `others` with `first` inserted at a place."""
    return [*others[:place], first, *others[place:]]
