"""write-optimizer: turn the gradients that a function returns into updated parameters and states.

    loss, grad_w = f(x, w)   becomes   loss, new_w, new_w.exp_avg, ... = f(x, w, lr, step, w.exp_avg, ...)

New inputs are `lr`, a float32 scalar (absent with a schedule), `step`, an int64 scalar that counts from 1,
and the states `<parameter>.<slot>`. A result `new_<name>` is the next value of the input `<name>`.

f16 and bf16 parameters are updated in float32: the state `<parameter>.master` is the parameter without the
rounding, and the parameter is the rounded master. The states of large parameters have the shape [number of
chunks, elements of a chunk].
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, reduce

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, f32, f64, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.onnx import ops as onnx
from dialects.support.diagnostics import UsageError, location, suggest, usage
from dialects.support.dtypes import FLOATS, known_dtype
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
from dialects.support.shapes import has_rank, shape_of, tensor_type
from passes.builder.op_builder import OpBuilder
from passes.builder.values import Builder, Value
from passes.training.optimizer import (
    EMA,
    LR,
    MASTER,
    NEW,
    STEP,
    Optimizer,
    Overrides,
    Schedule,
    Slot,
    State,
    compute_dtype,
    states_of,
)
from passes.training.parameter_update import ParameterUpdate

__all__ = ["EMA", "LR", "MASTER", "NEW", "STEP", "Slot", "State", "WriteOptimizerPass"]


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
        return {one.name: one.initial(parameters[one.parameter]) for one in self.states(types)}

    def _groups_of(self, parameter: str) -> list[Overrides]:
        return [group for group in self.groups if group.matches(parameter)]

    def _states_of(self, name: str, type_: TensorType) -> Iterator[State]:
        return states_of(name, type_, self.optimizer_of(name), has_ema=self.ema is not None)

    def _check_options(self) -> None:
        if self.clip is not None and not 0 < self.clip < math.inf:
            raise usage(option("clip"), self.clip, "a number above 0")
        if self.ema is not None and not 0 <= self.ema < 1:
            raise usage(option("ema"), self.ema, "a number of at least 0 and below 1")
        for group in self.groups:
            if not any(map(group.matches, self.gradients)):
                hint = suggest(str(group), self.gradients)
                raise usage(f"the group {group} matches no trained parameter", hint=hint)


class _ScalarSharingBuilder(OpBuilder):
    """A builder that creates an op on scalars once: all parameters share the bias corrections."""

    def all(self, op: Operation) -> Sequence[OpResult]:
        if isinstance(op, onnx.ConstantOp) or any(_rank(result) != 0 for result in op.results):
            return super().all(op)
        key = (type(op), tuple(op.operands), *op.properties.items(), *op.attributes.items())
        known = self._known.setdefault(key, op)
        if known is op:
            return super().all(op)
        op.erase()
        return known.results

    @cached_property
    def _known(self) -> dict[object, Operation]:
        return {}


def _rank(value: SSAValue) -> int | None:
    return len(shape_of(value)) if has_rank(value) else None


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
        self.e = Builder(_ScalarSharingBuilder())
        self._check_names()

    def write(self) -> None:
        schedule = self.options.lr
        inputs = [] if schedule else [self._add_input(LR, tensor_type(f32, ()))]
        step = self._add_input(STEP, tensor_type(i64, ()))
        arguments = {state: self._add_input(state.name, state.type) for state in self.states}
        lr = self.e(inputs[0]) if inputs else self._schedule_rate(step)
        gradients = {name: self._gradient(name) for name in self.options.gradients}
        factor = None if self.options.clip is None else self._clip_factor(gradients, self.options.clip)
        for name, gradient in gradients.items():
            own = {state: arguments[state] for state in self.states if state.parameter == name}
            self._update(name, gradient, own, lr, self.e(step), factor)
        self._finish()

    def _update(
        self,
        name: str,
        gradient: SSAValue,
        states: Mapping[State, SSAValue],
        lr: Value,
        step: Value,
        factor: Value | None,
    ) -> None:
        e, options, type_ = self.e, self.options, self.types[name]
        p, g, dtype = e(self._parameter(name)), e(gradient), compute_dtype(type_.element_type)
        with self._located(f"{name}.update"):
            update = ParameterUpdate(
                options.optimizer_of(name),
                type_.element_type,
                options.rate_of(name, lr.cast(dtype)),
                step,
                None if factor is None else factor.cast(dtype),
                options.ema,
            )
            own = {state.slot: e(value) for state, value in states.items()}
            chunks = {state.type.get_shape() for state in states} - {type_.get_shape()}
            if update.optimizer.is_elementwise and chunks:
                new, after = update.apply_in_chunks(chunks.pop(), p, g, own)
            else:
                new, after = update.apply(e, p, g, own)
        self.new[NEW + name] = new.value
        self.new |= {NEW + state.name: after[state.slot].value for state in states}

    def _clip_factor(self, gradients: Mapping[str, SSAValue], largest: float) -> Value:
        e = self.e
        with self._located("clip"):
            wide = [e(g).cast(compute_dtype(e(g).dtype)) for g in gradients.values()]
            return _clip_factor(wide, largest)

    def _schedule_rate(self, step: SSAValue) -> Value:
        assert self.options.lr is not None
        with self._located(LR):
            return self.options.lr.rate(self.e(step), self.e)

    @contextmanager
    def _located(self, name: str) -> Generator[None]:
        """Give the new ops of the context a location."""
        first = len(self.e.emit.ops)
        yield
        for op in self.e.emit.ops[first:]:
            op.location = location(name)

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

    def _finish(self) -> None:
        """Replace the gradients among the results by the new parameters; add the new states."""
        function, last = self.function, return_op(self.function)
        of = {result: NEW + name for name, result in self.options.gradients.items()}
        kept = dict(zip(self.outputs, self.results, strict=True))
        outputs = [of.get(name, name) for name in self.outputs]
        outputs += [name for name in self.new if name not in outputs]
        values = [self._result_of(name) if name in self.new else kept[name] for name in outputs]
        Rewriter.insert_op([*self.e.emit.ops, ReturnOp(*values)], InsertPoint.before(last))
        Rewriter.erase_op(last)
        set_new_names(function, self.inputs, outputs)
        mark_states(function, {*self.new, *(name.removeprefix(NEW) for name in self.new)})
        update_function_type(function)

    def _result_of(self, name: str) -> SSAValue:
        value = self.new[name]
        if value in self.function.args or value.name_hint:
            with self._located(name):
                value = self.e(value).apply(onnx.IdentityOp).value
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
