"""write-optimizer: turn the gradients that a function returns into updated parameters and states.

    loss, grad_w = f(x, w)   becomes   loss, new_w, new_w.exp_avg, ... = f(x, w, lr, step, w.exp_avg, ...)

New inputs are `lr`, a float32 scalar (absent with a schedule), `step`, an int64 scalar that counts from 1,
and the states `<parameter>.<slot>`. A result `new_<name>` is the next value of the input `<name>`.

f16 and bf16 parameters are updated in float32: the state `<parameter>.master` is the parameter without the
rounding, and the parameter is the rounded master.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Protocol

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, f32, f64, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.onnx import ops as onnx
from dialects.support.diagnostics import UsageError, location, suggest, usage
from dialects.support.dtypes import FLOATS, HALVES, known_dtype
from dialects.support.entry import (
    entry_function,
    input_names,
    mark_states,
    output_names,
    return_op,
    set_names,
    set_new_names,
    update_function_type,
)
from dialects.support.names import hint_of
from dialects.support.option_names import advice, option
from dialects.support.shapes import shape_of, tensor_type
from passes.builder.values import Value, ValueBuilder

LR = "lr"
"""Name of the input of the learning rate."""

STEP = "step"
"""Name of the input that counts steps from 1."""

NEW = "new_"
"""Prefix of the result that replaces an input."""

MASTER, EMA = "master", "ema"
"""States of any optimizer: the float32 value of a half-precision parameter, and the moving average."""


@dataclass(frozen=True)
class Slot:
    """One state of a parameter. `fill` is the initial value of all elements; None means the initial
    value of the parameter."""

    type: TensorType
    fill: float | None = 0.0


class Optimizer(Protocol):
    """The update of one parameter."""

    def slots(self, parameter: TensorType) -> Mapping[str, Slot]:
        """Return the states by name."""
        ...

    def update(
        self, p: Value, g: Value, state: Mapping[str, Value], lr: Value, step: Value, e: ValueBuilder
    ) -> tuple[Value, Mapping[str, Value]]:
        """Return the new parameter and all new states. `lr` is a scalar of the parameter's dtype, `step` an
        int64 scalar."""
        ...


class Overrides(Protocol):
    """Other options for some parameters."""

    def matches(self, name: str) -> bool:
        """Return whether a parameter belongs to the group."""
        ...

    def optimizer(self, base: Optimizer) -> Optimizer:
        """Return the optimizer with the options of the group."""
        ...

    def rate(self, lr: Value) -> Value:
        """Return the learning rate of the group, given that of the step."""
        ...


class Schedule(Protocol):
    """The learning rate as a function of the step."""

    def rate(self, step: Value, e: ValueBuilder) -> Value:
        """Return a float32 scalar."""
        ...


@dataclass(frozen=True)
class State:
    """A state input: its name, the parameter and the slot that it belongs to."""

    name: str
    parameter: str
    slot: str
    type: TensorType
    fill: float | None


@dataclass(frozen=True)
class WriteOptimizerPass(ModulePass):
    """Turn the gradients that a function returns into updated parameters and states.

    `gradients`: parameter name -> name of the result with its gradient. `groups`: all that match a parameter
    apply, in order. `clip`: the largest global norm of the gradients. `ema`: decay of the moving average of
    the parameters. `lr`: a schedule in place of the input `lr`.
    """

    name = "write-optimizer"

    gradients: Mapping[str, str] = field(default_factory=dict[str, str])
    optimizer: Optimizer | None = None
    groups: Sequence[Overrides] = ()
    clip: float | None = None
    ema: float | None = None
    lr: Schedule | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.gradients:
            self._check_options()
            _Step(self, entry_function(op)).write()

    def optimizer_of(self, parameter: str) -> Optimizer:
        """Return the optimizer of a parameter, with the options of its groups."""
        assert self.optimizer is not None
        return reduce(lambda found, group: group.optimizer(found), self._groups_of(parameter), self.optimizer)

    def rate_of(self, parameter: str, lr: Value) -> Value:
        """Return the learning rate of a parameter, given that of the step."""
        return reduce(lambda found, group: group.rate(found), self._groups_of(parameter), lr)

    def states(self, types: Mapping[str, TensorType]) -> list[State]:
        """Return the states for parameters of these types, in the order of the inputs."""
        return [state for name in self.gradients for state in self._states_of(name, types[name])]

    def updates(self, types: Mapping[str, TensorType]) -> dict[str, str]:
        """Return input name -> name of the result that replaces it, for parameters and states."""
        names = [*self.gradients, *(state.name for state in self.states(types))]
        return {name: NEW + name for name in names}

    def initial(self, parameters: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the initial states, given the initial parameters."""
        types = {
            name: tensor_type(known_dtype(array.dtype).mlir, array.shape)
            for name, array in parameters.items()
        }
        return {state.name: _initial(state, parameters[state.parameter]) for state in self.states(types)}

    def _groups_of(self, parameter: str) -> list[Overrides]:
        return [group for group in self.groups if group.matches(parameter)]

    def _states_of(self, name: str, type_: TensorType) -> Iterator[State]:
        own = tensor_type(_compute_dtype(type_.element_type), shape_of(type_))
        slots = dict(self.optimizer_of(name).slots(own))
        if own != type_:
            slots[MASTER] = Slot(own, None)
        if self.ema is not None:
            slots[EMA] = Slot(own, None)
        for slot, of in slots.items():
            yield State(f"{name}.{slot}", name, slot, of.type, of.fill)

    def _check_options(self) -> None:
        if self.clip is not None and not 0 < self.clip < math.inf:
            raise usage(option("clip"), self.clip, "a number above 0")
        if self.ema is not None and not 0 <= self.ema < 1:
            raise usage(option("ema"), self.ema, "a number of at least 0 and below 1")
        for group in self.groups:
            if not any(map(group.matches, self.gradients)):
                hint = suggest(str(group), self.gradients)
                raise usage(f"the group {group} matches no trained parameter", hint=hint)


def _compute_dtype(dtype: Attribute) -> Attribute:
    return f32 if known_dtype(dtype).name in HALVES else dtype


def _initial(state: State, parameter: np.ndarray) -> np.ndarray:
    dtype = known_dtype(state.type.element_type).numpy
    if state.fill is None:
        return parameter.astype(dtype)
    return np.full(state.type.get_shape(), state.fill, dtype)


class _Step:
    """The training step that is written into a function."""

    def __init__(self, options: WriteOptimizerPass, function: FuncOp):
        self.options, self.function = options, function
        self.inputs, self.outputs = list(input_names(function)), list(output_names(function))
        self.results = list[SSAValue](return_op(function).arguments)
        set_names(function, self.inputs, self.outputs)
        types = {name: self._parameter(name).type for name in options.gradients}
        self.types = {name: type_ for name, type_ in types.items() if isinstance(type_, TensorType)}
        self.states = options.states(self.types)
        self.new = dict[str, SSAValue]()
        self._check_names()

    def write(self) -> None:
        schedule = self.options.lr
        inputs = [] if schedule else [self._add_input(LR, tensor_type(f32, ()))]
        step = self._add_input(STEP, tensor_type(i64, ()))
        arguments = {state: self._add_input(state.name, state.type) for state in self.states}
        lr = self._schedule_rate(schedule, step) if schedule else inputs[0]
        gradients = self._gradients()
        for name in self.options.gradients:
            own = {state.slot: arguments[state] for state in self.states if state.parameter == name}
            self._update(name, gradients[name], own, lr, step)
        self._finish()

    def _update(
        self, name: str, gradient: SSAValue, states: Mapping[str, SSAValue], lr: SSAValue, step: SSAValue
    ) -> None:
        e, options, parameter = ValueBuilder(), self.options, self._parameter(name)
        own = {slot: e(value) for slot, value in states.items()}
        ema, p = own.pop(EMA, None), own.pop(MASTER, e(parameter))
        rate = options.rate_of(name, e(lr).cast(p.dtype))
        g = e(gradient).cast(p.dtype)
        new, found = options.optimizer_of(name).update(p, g, own, rate, e(step), e)
        after = dict(found)
        if MASTER in states:
            after[MASTER] = new
        if ema is not None and options.ema is not None:
            after[EMA] = ema + (new - ema) * (1 - options.ema)
        self.new[NEW + name] = new.cast(e(parameter).dtype).value
        self.new |= {f"{NEW}{name}.{slot}": after[slot].value for slot in states}
        self._insert(e, f"{name}.update")

    def _gradients(self) -> dict[str, SSAValue]:
        """Return the gradients by parameter, clipped."""
        e, options = ValueBuilder(), self.options
        found = {name: self._gradient(name) for name in options.gradients}
        if options.clip is None:
            return found
        wide = {name: e(g).cast(_compute_dtype(e(g).dtype)) for name, g in found.items()}
        factor = _clip_factor(list(wide.values()), options.clip)
        clipped = {name: (g * factor.cast(g.dtype)).value for name, g in wide.items()}
        self._insert(e, "clip")
        return clipped

    def _schedule_rate(self, schedule: Schedule, step: SSAValue) -> SSAValue:
        e = ValueBuilder()
        lr = schedule.rate(e(step), e).value
        self._insert(e, LR)
        return lr

    def _parameter(self, name: str) -> SSAValue:
        if name not in self.inputs:
            raise usage(f"the model has no parameter {name}", hint=suggest(name, self.inputs))
        found = self.function.args[self.inputs.index(name)]
        dtype = (
            known_dtype(found.type.element_type).name if isinstance(found.type, TensorType) else "unranked"
        )
        if dtype not in FLOATS:
            raise usage(f"the dtype of the parameter {name}", dtype, "f32, f64, f16 or bf16")
        return found

    def _gradient(self, name: str) -> SSAValue:
        result = self.options.gradients[name]
        if result not in self.outputs:
            raise usage(f"the model has no gradient {result}", hint=suggest(result, self.outputs))
        return self.results[self.outputs.index(result)]

    def _add_input(self, name: str, type_: TensorType) -> SSAValue:
        block = self.function.body.block
        argument = block.insert_arg(type_, len(block.args))
        argument.name_hint = hint_of(name)
        self.inputs.append(name)
        return argument

    def _insert(self, e: ValueBuilder, name: str) -> None:
        for op in e.emit.ops:
            op.location = location(name)
        Rewriter.insert_op(e.emit.ops, InsertPoint.before(return_op(self.function)))

    def _finish(self) -> None:
        """Replace the gradients among the results by the new parameters; add the new states."""
        function, last = self.function, return_op(self.function)
        of = {result: NEW + name for name, result in self.options.gradients.items()}
        kept = dict(zip(self.outputs, self.results, strict=True))
        outputs = [of.get(name, name) for name in self.outputs]
        outputs += [name for name in self.new if name not in outputs]
        values = [self._result_of(name) if name in self.new else kept[name] for name in outputs]
        Rewriter.insert_op(ReturnOp(*values), InsertPoint.before(last))
        Rewriter.erase_op(last)
        set_new_names(function, self.inputs, outputs)
        mark_states(function, {*self.new, *(name.removeprefix(NEW) for name in self.new)})
        update_function_type(function)

    def _result_of(self, name: str) -> SSAValue:
        value = self.new[name]
        if value in self.function.args or value.name_hint:
            e = ValueBuilder()
            value = e(value).apply(onnx.IdentityOp).value
            self._insert(e, name)
        value.name_hint = hint_of(name)
        return value

    def _check_names(self) -> None:
        """Raise UsageError if the function has a name that the step gives to something else."""
        own = [STEP, *(() if self.options.lr else (LR,)), *(state.name for state in self.states)]
        own += [NEW + name for name in (*self.options.gradients, *(state.name for state in self.states))]
        taken = {*self.inputs, *self.outputs}
        for name in own:
            if name in taken:
                raise _clash(name)


def _clash(name: str) -> UsageError:
    hint = advice("rename", f"gives it another name, as {name}={name}_of_model")
    return usage(f"the model has a value named {name}, a name of the training step", hint=hint)


def _clip_factor(gradients: Sequence[Value], largest: float) -> Value:
    """Return min(1, largest / (norm + 1e-6)) of the global norm (torch.nn.utils.clip_grad_norm_)."""
    dtype = f64 if any(g.dtype == f64 for g in gradients) else f32
    squares = [g.apply(onnx.ReduceSumSquareOp, keepdims=0).cast(dtype) for g in gradients]
    norm = reduce(lambda a, b: a + b, squares).sqrt()
    return (largest / (norm + 1e-6)).at_most(1)
