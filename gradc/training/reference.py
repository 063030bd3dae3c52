"""Optimizers in numpy and float64: the reference of what a step computes, independent of its ONNX ops."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import ModuleOp, f64, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from dialects.evaluate import evaluate
from dialects.support.shapes import tensor_type
from gradc.optim import (
    SGD,
    Adagrad,
    Adam,
    AdamW,
    Cosine,
    Group,
    Linear,
    Lion,
    Optimizer,
    RMSprop,
    Schedule,
    StepDecay,
)
from passes.builder.values import Builder
from passes.training.optimizer import EMA, MASTER, Slot

Arrays: TypeAlias = Mapping[str, np.ndarray]
Updated: TypeAlias = tuple[np.ndarray, dict[str, np.ndarray]]

FORMULAS = (SGD, Adam, AdamW, RMSprop, Adagrad, Lion)
"""Optimizers with a formula in numpy; a user's class may derive from them and compute something else."""


def train_step(
    parameters: Arrays,
    gradients: Arrays,
    states: Arrays,
    *,
    optimizer: Optimizer,
    lr: float | Schedule,
    step: int,
    groups: Sequence[Group] = (),
    clip: float | None = None,
    ema: float | None = None,
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the parameters and the states after one step, in float64.

    `gradients` are those of the parameters, by their names. `states` are named `<parameter>.<slot>` and have
    their stored form: torch's value divided by the scale of the slot, in any shape. A parameter with a state
    `master` is updated from that state, and is not rounded.
    """
    rate = learning_rate(lr, step) if isinstance(lr, Schedule) else lr
    factor = 1.0 if clip is None else clip_factor(gradients, clip)
    new, new_states = dict[str, np.ndarray](), dict[str, np.ndarray]()
    for name, gradient in gradients.items():
        mine, own_rate, p = optimizer, rate, _wide(parameters[name])
        for group in (group for group in groups if group.matches(name)):
            mine, own_rate = group.optimizer(mine), _rate(group, own_rate)
        stored = _own(states, name)
        slots = mine.slots(tensor_type(f64, p.shape))
        _check_shapes(mine, slots.values(), p.shape)
        scales = {slot: slots[slot].scale if slot in slots else 1.0 for slot in stored}
        own = {slot: _wide(value).reshape(p.shape) * scales[slot] for slot, value in stored.items()}
        p, average = own.pop(MASTER, p), own.pop(EMA, None)
        new[name], after = update(mine, p, _wide(gradient) * factor, own, own_rate, step)
        if MASTER in stored:
            after[MASTER] = new[name]
        if average is not None and ema is not None:
            after[EMA] = ema * average + (1 - ema) * new[name]
        for slot, value in stored.items():
            new_states[f"{name}.{slot}"] = (after[slot] / scales[slot]).reshape(value.shape)
    return new, new_states


def _check_shapes(optimizer: Optimizer, slots: Iterable[Slot], shape: tuple[int, ...]) -> None:
    if any(slot.type.get_shape() != shape for slot in slots):
        name = type(optimizer).__name__
        raise NotImplementedError(f"states of {name} have not the shape of the parameter")


def _own(states: Arrays, parameter: str) -> dict[str, np.ndarray]:
    """Return the states of a parameter by slot."""
    prefix = f"{parameter}."
    rest = {key.removeprefix(prefix): value for key, value in states.items() if key.startswith(prefix)}
    return {slot: value for slot, value in rest.items() if "." not in slot}


def _rate(group: Group, lr: float) -> float:
    if group.lr is not None:
        return group.lr
    return lr if group.lr_scale is None else lr * group.lr_scale


def clip_factor(gradients: Arrays, largest: float) -> float:
    """Return the factor of torch.nn.utils.clip_grad_norm_ for gradients and the largest global norm."""
    norm = math.sqrt(sum(float(np.sum(_wide(g) ** 2)) for g in gradients.values()))
    return min(1.0, largest / (norm + 1e-6))


def learning_rate(schedule: Schedule, step: int) -> float:
    """Return the learning rate of a step that counts from 1."""
    if step <= schedule.warmup:
        return schedule.base * step / schedule.warmup
    count = step - 1 - schedule.warmup
    match schedule:
        case StepDecay():
            return schedule.base * schedule.gamma ** (count // schedule.every)
        case Cosine() | Linear():
            share = min(count / (schedule.total - schedule.warmup), 1.0)
            left = (1 + math.cos(math.pi * share)) / 2 if isinstance(schedule, Cosine) else 1 - share
            return schedule.final + (schedule.base - schedule.final) * left
        case _:
            return schedule.base


def update(optimizer: Any, p: np.ndarray, g: np.ndarray, state: Arrays, lr: float, step: int) -> Updated:
    """Return the parameter and the states of one parameter after one step, by a formula for the optimizers of
    gradc, for others by the numpy semantics of the ops that they write."""
    if type(optimizer) not in FORMULAS:
        return _run_ops(optimizer, p, g, state, lr, step)
    if optimizer.maximize:
        g = -g
    if isinstance(optimizer, AdamW | Lion):
        p = p - lr * optimizer.weight_decay * p
    else:
        g = g + optimizer.weight_decay * p
    match optimizer:
        case SGD():
            direction, new = _sgd(optimizer, g, state, step)
        case Adam() | AdamW():
            direction, new = _adam(optimizer, g, state, step)
        case RMSprop():
            direction, new = _rmsprop(optimizer, g, state)
        case Adagrad():
            total = state["sum"] + g**2
            scale = 1 + (step - 1) * optimizer.lr_decay
            direction, new = g / scale / (np.sqrt(total) + optimizer.eps), {"sum": total}
        case _:
            first, second = optimizer.betas
            direction = np.sign(first * state["exp_avg"] + (1 - first) * g)
            new = {"exp_avg": second * state["exp_avg"] + (1 - second) * g}
    return p - lr * direction, new


def _sgd(optimizer: SGD, g: np.ndarray, state: Arrays, step: int) -> Updated:
    if not optimizer.momentum:
        return g, {}
    buffer = g if step == 1 else optimizer.momentum * state["momentum_buffer"] + (1 - optimizer.dampening) * g
    return (g + optimizer.momentum * buffer if optimizer.nesterov else buffer), {"momentum_buffer": buffer}


def _adam(optimizer: Adam | AdamW, g: np.ndarray, state: Arrays, step: int) -> Updated:
    first, second = optimizer.betas
    mean = first * state["exp_avg"] + (1 - first) * g
    squares = second * state["exp_avg_sq"] + (1 - second) * g**2
    new, used = {"exp_avg": mean, "exp_avg_sq": squares}, squares
    if optimizer.amsgrad:
        used = new["max_exp_avg_sq"] = np.maximum(state["max_exp_avg_sq"], squares)
    unbiased = np.sqrt(used / (1 - second**step))
    return mean / (1 - first**step) / (unbiased + optimizer.eps), new


def _rmsprop(optimizer: RMSprop, g: np.ndarray, state: Arrays) -> Updated:
    alpha = optimizer.alpha
    variance = alpha * state["square_avg"] + (1 - alpha) * g**2
    new = {"square_avg": variance}
    if optimizer.centered:
        new["grad_avg"] = alpha * state["grad_avg"] + (1 - alpha) * g
        variance = np.maximum(variance - new["grad_avg"] ** 2, 0)
    direction = g / (np.sqrt(variance) + optimizer.eps)
    if optimizer.momentum:
        direction = new["momentum_buffer"] = optimizer.momentum * state["momentum_buffer"] + direction
    return direction, new


def _run_ops(
    optimizer: Optimizer, p: np.ndarray, g: np.ndarray, state: Arrays, lr: float, step: int
) -> Updated:
    """Run the update of a user's function or class in float64 by the numpy semantics of its ops."""
    scales = {slot: one.scale for slot, one in optimizer.slots(tensor_type(f64, p.shape)).items()}
    slots = list(scales)
    own, scalar = tensor_type(f64, p.shape), tensor_type(f64, ())
    types = [own, own, scalar, tensor_type(i64, ()), *(own for _ in slots)]
    block, e = Block(arg_types=types), Builder()
    new_p, rate, count, *rest = (e(value) for index, value in enumerate(block.args) if index != 1)
    new, states = optimizer.update(
        new_p, e(block.args[1]), dict(zip(slots, rest, strict=True)), rate, count, e
    )
    results = [new.value, *(states[slot].value for slot in slots)]
    block.add_ops([*e.emit.ops, ReturnOp(*results)])
    function = FuncOp("main", (types, [result.type for result in results]), Region(block))
    arrays = [p, g, np.array(lr), np.array(step), *(state[slot] / scales[slot] for slot in slots)]
    after, *found = evaluate(ModuleOp([function]), arrays)
    return after, {slot: array * scales[slot] for slot, array in zip(slots, found, strict=True)}


def _wide(array: np.ndarray) -> np.ndarray:
    return np.asarray(array).astype(np.float64)
