"""attach-loss: add label inputs and the loss of a training step.

The label inputs follow the other inputs; the first result is `loss`, the weighted sum of the terms, a scalar.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, f64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.onnx import ops as onnx
from dialects.support.diagnostics import location, suggest, usage
from dialects.support.entry import (
    entry_function,
    input_names,
    output_names,
    return_op,
    set_names,
    set_new_names,
    update_function_type,
)
from dialects.support.interfaces import set_type
from dialects.support.names import hint_of, name_of_value
from dialects.support.option_names import advice, option
from dialects.support.shapes import has_rank, shape_of, tensor_type
from passes.autodiff.named_values import values_by_name
from passes.builder.values import Builder, Value

LOSS = "loss"
"""Name of the result."""


class Loss(Protocol):
    """A scalar function of values and label inputs; `gradc.losses` has implementations."""

    def bind(self, of: Sequence[str]) -> Loss:
        """Return the loss for values of these names."""
        ...

    def labels(self, of: Sequence[TensorType]) -> Mapping[str, TensorType]:
        """Return the types of the label inputs by name."""
        ...

    def write(self, of: Sequence[Value], labels: Mapping[str, Value], e: Builder) -> Value:
        """Return the loss, a scalar."""
        ...


@dataclass(frozen=True)
class Term:
    """A loss of values by name, times a weight.

    `labels`: name of a label -> name of its input, if it has another one.
    """

    of: Sequence[str]
    loss: Loss
    weight: float = 1.0
    labels: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, init=False)
class AttachLossPass(ModulePass):
    """Add label inputs, and a first result `loss`, to a function with inferred types.

    The terms are Python objects: in the text of a pipeline the pass has none, and changes nothing.
    """

    name = "attach-loss"

    terms: tuple[Term, ...] = field(default=(), init=False)

    def __init__(self, terms: Sequence[Term] = ()):
        object.__setattr__(self, "terms", tuple(terms))

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.terms:
            attach_losses(entry_function(op), self.terms)


def attach_losses(function: FuncOp, terms: Sequence[Term]) -> list[str]:
    """Add the weighted sum of losses to a function, in place; return the names of the label inputs.

    Raises UsageError for unknown values, values that a loss does not accept, and names that are in use.
    """
    inputs, outputs = list(input_names(function)), list(output_names(function))
    set_names(function, inputs, outputs)
    e, values = Builder(), values_by_name(function)
    losses, added = list[Value](), list[str]()
    ops = function.body.block.ops
    weights = {name_of_value(op.output): op.output for op in ops if isinstance(op, onnx.ConstantOp)}
    taken = {*inputs, *outputs, *weights}
    for term in terms:
        of = [_value(name, values) for name in term.of]
        types = [_name_sizes(value, name) for name, value in zip(term.of, of, strict=True)]
        loss, labels = term.loss.bind(term.of), dict[str, Value]()
        for label, type_ in loss.labels(types).items():
            name = term.labels.get(label, label)
            if name in (*taken, *added):
                raise _name_in_use(name)
            labels[label] = e(_add_input(function, name, type_))
            added.append(name)
        losses.append(_scale(loss.write([e(value) for value in of], labels, e), term.weight))
    total = _total(losses)
    if LOSS in taken and values[LOSS] is not total.value:
        raise _name_in_use(LOSS)
    _finish(function, e, total, [*inputs, *added], outputs)
    return added


def label_names(of: Sequence[str], labels: Sequence[str], *, several: bool) -> dict[str, str]:
    """Return the names of the inputs of the labels of a term: their own, with `_<of>` if there are several
    terms."""
    behind = f"_{of[0]}" if several and of else ""
    return {label: f"{label}{behind}" for label in labels}


def _value(name: str, values: Mapping[str, SSAValue]) -> SSAValue:
    if name not in values:
        hint = suggest(name, values) or "gradc inspect --values lists all values"
        raise usage(f"{option('of')}: there is no value {name or repr(name)}", hint=hint)
    return values[name]


def _tensor(value: SSAValue, name: str) -> TensorType:
    if not has_rank(value):
        raise usage(f"{option('of')} {name}", value.type, "a tensor of known rank")
    assert isinstance(value.type, TensorType)
    return value.type


def _name_sizes(value: SSAValue, name: str) -> TensorType:
    """Give unknown sizes of a value names, which the labels then share; return its type."""
    type_ = _tensor(value, name)
    named = [f"{name}_dim_{axis}" if dim is None else dim for axis, dim in enumerate(shape_of(type_))]
    set_type(value, tensor_type(type_.element_type, named))
    return tensor_type(type_.element_type, named)


def _name_in_use(name: str) -> Exception:
    hint = advice("rename", f"gives it another name, as {name}={name}_of_model")
    return usage(f"the model has a value named {name}", hint=hint)


def _add_input(function: FuncOp, name: str, type_: TensorType) -> SSAValue:
    block = function.body.block
    argument = block.insert_arg(type_, len(block.args))
    argument.name_hint = hint_of(name)
    return argument


def _scale(loss: Value, weight: float) -> Value:
    return loss if weight == 1 else loss * weight


def _total(losses: Sequence[Value]) -> Value:
    is_double = any(loss.dtype == f64 for loss in losses)
    total, *others = [loss.cast(f64) if is_double else loss for loss in losses]
    for other in others:
        total = total + other
    return total


def _finish(function: FuncOp, e: Builder, loss: Value, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    last = return_op(function)
    if loss.value.owner not in e.emit.ops and LOSS not in outputs:
        loss = loss.apply(onnx.IdentityOp)
    loss.value.name_hint = LOSS
    for op in e.emit.ops:
        op.location = location(LOSS if op is loss.value.owner else f"{LOSS}.{op.name.split('.')[-1]}")
    Rewriter.insert_op(e.emit.ops, InsertPoint.before(last))
    results = {LOSS: loss.value} | dict(zip(outputs, last.arguments, strict=True))
    Rewriter.insert_op(ReturnOp(*results.values()), InsertPoint.before(last))
    Rewriter.erase_op(last)
    set_new_names(function, inputs, list(results))
    update_function_type(function)
