"""batchnorm-train: let every BatchNormalization use the statistics of the batch.

Results `new_<statistic>` have the updated running statistics. ONNX's momentum is the share of the old value,
1 minus PyTorch's. The running variance is unbiased as in PyTorch: ONNX's variance times N / (N - 1), for N
numbers per channel.

A running statistic of the file becomes an input of its name, whose default is its value; one that several
ops share becomes one input for each, `<name>`, `<name>.2` and so on.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, f32, f64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.onnx import ops as onnx
from dialects.support.attributes import int_attribute
from dialects.support.constants import constant_attribute
from dialects.support.diagnostics import Diagnostic, name_of, sentence, several
from dialects.support.entry import (
    entry_function,
    input_names,
    mark_states,
    output_names,
    return_op,
    set_defaults,
    set_names,
    set_new_names,
    update_function_type,
)
from dialects.support.names import hint_of, name_of_value
from dialects.support.shapes import element_type_of, has_rank, shape_of
from passes.builder.locations import place_at
from passes.builder.operands import set_operand
from passes.builder.values import Builder, Value

NEW = "new_"
"""Prefix of the result that replaces a state."""

FOLDED_NAMES = ("onnx::Conv_", "onnx::ConvTranspose_", "onnx::Gemm_")
"""Beginnings of the names that PyTorch's TorchScript exporter gives weights that it computed."""


@dataclass(frozen=True)
class BatchNormTrainPass(ModulePass):
    """Let every BatchNormalization use the statistics of the batch.

    `running`: return the updated running statistics. `inputs`: make the statistics of the file inputs.
    """

    name = "batchnorm-train"

    running: bool = True
    inputs: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        use_batch_statistics(entry_function(op), running=self.running, inputs=self.inputs)


@dataclass(frozen=True)
class BatchNormEvalPass(ModulePass):
    """Let every BatchNormalization use its running statistics, which stay as they are."""

    name = "batchnorm-eval"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if isinstance(inner, onnx.BatchNormalizationOp) and _trains(inner):
                inner.properties["training_mode"] = int_attribute(0)
                for result, kept in zip(inner.results[1:], inner.operands[3:5], strict=False):
                    result.replace_all_uses_with(kept)


def use_batch_statistics(function: FuncOp, *, running: bool = True, inputs: bool = True) -> None:
    """Change the ops of a function with inferred types, in place. Those within regions stay as they are, and
    those that train and whose running statistics are read."""
    states = _States(function, inputs)
    for op in _changeable(function):
        op.properties["training_mode"] = int_attribute(1)
        if running:
            states.update(op)
    states.finish()


def batch_norm_remarks(function: FuncOp) -> list[Diagnostic]:
    """Return remarks on what `use_batch_statistics` cannot change, and on shared statistics."""
    everywhere = [op for op in function.walk() if isinstance(op, onnx.BatchNormalizationOp)]
    inner = [op for op in everywhere if op.parent is not function.body.block]
    found = list[str]()
    computed = computed_weights(function)
    if not everywhere:
        hint = "an export in evaluation mode folds them into products"
        found.append(sentence("the file has no BatchNormalization to train", hint=hint))
    if computed:
        what = f"the weights {several(computed)} have names that PyTorch's exporter gives computed ones"
        found.append(f"{what}: a BatchNormalization may be folded into them")
    if inner:
        names = several([name_of(op) or "without a name" for op in inner])
        found.append(f"BatchNormalization {names} within a subgraph keeps its running statistics")
    read = [op.operands[index] for op in _changeable(function) for index in (3, 4)]
    shared = [value for value in dict.fromkeys(read) if read.count(value) > 1]
    if shared:
        names = several([name_of_value(value) or "without a name" for value in shared])
        found.append(
            f"the file has one tensor {names} for the statistics of several ops; each has its own now"
        )
    return [Diagnostic("remark", text) for text in found]


def _changeable(function: FuncOp) -> list[onnx.BatchNormalizationOp]:
    ops = [op for op in function.body.block.ops if isinstance(op, onnx.BatchNormalizationOp)]
    return [op for op in ops if not _is_complete(op) and has_rank(op.X)]


@dataclass
class _States:
    """The running statistics of a function on the way to inputs and results."""

    function: FuncOp
    inputs: bool
    added: dict[str, DenseIntOrFPElementsAttr] = field(default_factory=dict[str, DenseIntOrFPElementsAttr])
    results: dict[str, SSAValue] = field(default_factory=dict[str, SSAValue])

    def __post_init__(self) -> None:
        self.names = list(input_names(self.function))
        self.outputs = list(output_names(self.function))
        set_names(self.function, self.names, self.outputs)

    def update(self, op: onnx.BatchNormalizationOp) -> None:
        """Add the inputs and results of one op."""
        names = [self._state(op, index) for index in (3, 4)]
        e = Builder()
        for name, value in zip(names, _running_statistics(op, e), strict=True):
            value.value.name_hint = hint_of(name)
            self.results[name] = value.value
        Rewriter.insert_op(e.emit.ops, InsertPoint.after(op))
        place_at(e.emit.ops, op, "statistics")

    def _state(self, op: onnx.BatchNormalizationOp, index: int) -> str:
        """Return the name of a result, after making the statistic that it updates an input."""
        value = op.operands[index]
        role = "running_mean" if index == 3 else "running_var"
        of_op = f"{name_of(op) or 'BatchNormalization'}.{role}"
        name = of_op if _has_other_readers(value) else name_of_value(value) or of_op
        if isinstance(value.owner, onnx.ConstantOp) or f"{NEW}{name}" in self.results:
            own = self._free(name)
            if self.inputs:
                self._add_input(op, index, own)
            name = own
        return f"{NEW}{name}"

    def _free(self, name: str) -> str:
        taken: Container[str] = {*self.names, *self.added}
        return next(
            one for one in _candidate_names(name) if one not in taken and f"{NEW}{one}" not in self.results
        )

    def _add_input(self, op: onnx.BatchNormalizationOp, index: int, name: str) -> None:
        value, block = op.operands[index], self.function.body.block
        constant = constant_attribute(value)
        if not isinstance(constant, DenseIntOrFPElementsAttr):
            return
        argument = block.insert_arg(value.type, len(block.args))
        argument.name_hint = hint_of(name)
        set_operand(op, index, argument)
        if not value.first_use:
            Rewriter.erase_op(cast("Operation", value.owner))
        self.added[name] = constant

    def finish(self) -> None:
        function = self.function
        last = return_op(function)
        Rewriter.insert_op(ReturnOp(*last.arguments, *self.results.values()), InsertPoint.before(last))
        Rewriter.erase_op(last)
        set_new_names(function, [*self.names, *self.added], [*self.outputs, *self.results])
        set_defaults(function, self.added)
        mark_states(function, {*self.added, *self.results})
        update_function_type(function)


def _candidate_names(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}.{number}"
        number += 1


def _running_statistics(op: onnx.BatchNormalizationOp, e: Builder) -> tuple[Value, Value]:
    """Return the new running mean and the new unbiased running variance."""
    axes = [axis for axis in range(len(shape_of(op.X))) if axis != 1]
    mean, biased, old = e(op.results[1]), e(op.results[2]), e(op.operands[4])
    by = _unbiased_factor(op, axes, e)
    by = by.cast(biased.dtype) if isinstance(by, Value) else by
    momentum = op.call().attribute("momentum", 0.9)
    return mean, biased * by - old * ((by - 1) * momentum)


def _unbiased_factor(op: onnx.BatchNormalizationOp, axes: Sequence[int], e: Builder) -> Value | float:
    """Return N / (N - 1) for N numbers along some axes, 1 for N = 1."""
    sizes = [size for axis in axes if isinstance(size := shape_of(op.X)[axis], int)]
    if len(sizes) == len(axes):
        number = math.prod(sizes)
        return number / max(number - 1, 1)
    product = e(e.emit.sizes(op.X, axes)).apply(onnx.ReduceProdOp, keepdims=0)
    number = product.cast(f64 if element_type_of(op.results[2]) == f64 else f32)
    return number / (number - 1).at_least(1)


def _has_other_readers(value: SSAValue) -> bool:
    """Return whether a constant is also something else than a running statistic: exporters merge equal
    tensors."""
    return isinstance(value.owner, onnx.ConstantOp) and any(
        not isinstance(use.operation, onnx.BatchNormalizationOp) or use.index not in (3, 4)
        for use in value.uses
    )


def _trains(op: onnx.BatchNormalizationOp) -> bool:
    return bool(op.call().attribute("training_mode", 0))


def _is_complete(op: onnx.BatchNormalizationOp) -> bool:
    """Return whether an op trains, and its running statistics are read."""
    return _trains(op) and any(result.first_use for result in op.results[1:])


def computed_weights(function: FuncOp) -> list[str]:
    """Return the names of weights of products that an exporter computed from several tensors."""
    products = (onnx.ConvOp, onnx.ConvTransposeOp, onnx.GemmOp)
    weights = [name_of_value(op.operands[1]) for op in function.walk() if isinstance(op, products)]
    return [name for name in dict.fromkeys(weights) if name.startswith(FOLDED_NAMES)]
