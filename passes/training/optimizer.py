"""Protocols of optimizers, groups and schedules for `write-optimizer`, and the states that it adds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import numpy as np
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Attribute

from dialects.support.dtypes import HALVES, known_dtype
from dialects.support.shapes import shape_of, static, tensor_type
from passes.builder.values import Builder, Value

LR = "lr"
"""Name of the input of the learning rate."""

STEP = "step"
"""Name of the input that counts steps from 1."""

NEW = "new_"
"""Prefix of the result that replaces an input."""

MASTER, EMA = "master", "ema"
"""States of any optimizer: the float32 value of a half-precision parameter, and the moving average."""

LEAST_CHUNKED = 300_000
"""Elements from which on a parameter is updated in chunks. A Scan costs more than it saves below."""

CHUNK = range(16_384, 65_536 + 1)
"""Sizes of a chunk: its temporaries stay in the cache."""


@dataclass(frozen=True)
class Slot:
    """One state of a parameter. `fill` is the initial value of all elements; None means the initial value
    of the parameter. torch's value of the state is `scale` times the stored one."""

    type: TensorType
    fill: float | None = 0.0
    scale: float = 1.0


class Optimizer(Protocol):
    """The update of one parameter."""

    @property
    def is_elementwise(self) -> bool:
        """True if an element of a result depends on this element of the parameter, gradient and states only,
        and all states have the type of the parameter."""
        ...

    def slots(self, parameter: TensorType) -> Mapping[str, Slot]:
        """Return the states by name."""
        ...

    def update(
        self, p: Value, g: Value, state: Mapping[str, Value], lr: Value, step: Value, e: Builder
    ) -> tuple[Value, Mapping[str, Value]]:
        """Return the new parameter and all new states. `lr` is a scalar of the parameter's dtype, `step` an
        int64 scalar. Tensors are values of the builder `e`, scalars may be of an outer block: they are no
        first operands of an op with a tensor."""
        ...


class Overrides(Protocol):
    """Other options for some parameters."""

    def matches(self, name: str) -> bool:
        """Return whether a parameter belongs to the group."""
        ...

    def optimizer(self, base: Any) -> Any:
        """Return the optimizer with the options of the group."""
        ...

    def rate(self, lr: Value) -> Value:
        """Return the learning rate of the group, given that of the step."""
        ...


class Schedule(Protocol):
    """The learning rate as a function of the step."""

    def rate(self, step: Value, e: Builder) -> Value:
        """Return a float32 scalar."""
        ...


@dataclass(frozen=True)
class State:
    """A state input: its name, the parameter and the slot that it belongs to, and its stored form.

    `type` has the shape of the parameter, or [number of chunks, elements of a chunk] of one that is updated
    in chunks. torch's value is `scale` times the stored one.
    """

    name: str
    parameter: str
    slot: str
    type: TensorType
    fill: float | None
    scale: float = 1.0

    def initial(self, parameter: np.ndarray) -> np.ndarray:
        """Return the initial value, given that of the parameter."""
        dtype, shape = known_dtype(self.type.element_type).numpy, self.type.get_shape()
        if self.fill is None:
            return parameter.astype(dtype).reshape(shape)
        return np.full(shape, self.fill, dtype)

    def as_data(self) -> dict[str, Any]:
        """Return the entry of train.json; a scale of 1 is left out."""
        scale = {} if self.scale == 1 else {"scale": self.scale}
        return {"of": self.parameter, "slot": self.slot, **scale}

    def to_torch(self, stored: np.ndarray, parameter: np.ndarray) -> np.ndarray:
        """Return torch's value of the state."""
        scaled = stored if self.scale == 1 else stored * np.asarray(self.scale, stored.dtype)
        return scaled.reshape(parameter.shape) if stored.size == parameter.size else scaled

    def from_torch(self, value: np.ndarray) -> np.ndarray:
        """Return the stored form of torch's value."""
        dtype = known_dtype(self.type.element_type).numpy
        return (value / self.scale).astype(dtype).reshape(self.type.get_shape())


def states_of(name: str, type_: TensorType, optimizer: Optimizer, *, has_ema: bool) -> Iterator[State]:
    """Return the states of one parameter."""
    own = compute_type(type_)
    slots = dict(optimizer.slots(own))
    if own != type_:
        slots[MASTER] = Slot(own, None)
    if has_ema:
        slots[EMA] = Slot(own, None)
    chunks = chunks_of(type_) if optimizer.is_elementwise else None
    for slot, of in slots.items():
        stored = tensor_type(of.type.element_type, chunks) if chunks else of.type
        yield State(f"{name}.{slot}", name, slot, stored, of.fill, of.scale)


def compute_type(type_: TensorType) -> TensorType:
    """Return the type in which a parameter is updated."""
    return tensor_type(compute_dtype(type_.element_type), shape_of(type_))


def compute_dtype(dtype: Attribute) -> Attribute:
    """Return float32 for half types, else the dtype."""
    return f32 if known_dtype(dtype).name in HALVES else dtype


def chunks_of(parameter: TensorType) -> tuple[int, int] | None:
    """Return the number and the size of equal chunks for a parameter that is worth them, as few as fit."""
    shape = static(shape_of(parameter))
    size = prod(shape) if shape else 0
    if size < LEAST_CHUNKED:
        return None
    counts = range(-(-size // CHUNK[-1]), size // CHUNK[0] + 1)
    return next(((count, size // count) for count in counts if size % count == 0), None)
