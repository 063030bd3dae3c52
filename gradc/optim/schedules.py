"""Learning rates as functions of the step, computed in the graph.

`step` counts from 1, and step 1 has the first value of the schedule: where torch's optimizer has taken
`step - 1` steps and its scheduler as many. With a `warmup` the rate rises linearly to `base` in the first
`warmup` steps, from base / warmup on; the schedule starts after them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import f32

from dialects.onnx import ops as onnx
from dialects.support.diagnostics import usage
from gradc.optim.base import Builder, Value, check_count, check_range, check_steps


@dataclass(frozen=True)
class Schedule(ABC):
    """A learning rate that starts at `base`, after a linear warmup of `warmup` steps."""

    base: float
    warmup: int = 0

    def __post_init__(self) -> None:
        check_range(f"{type(self).__name__}: base", self.base, 0)
        check_count(f"{type(self).__name__}: warmup", self.warmup, 0)

    def rate(self, step: Value, e: Builder) -> Value:
        """Return the learning rate, a float32 scalar, for the int64 scalar `step`."""
        zero = e.constant(np.array(0, np.int64))
        found = self.base_rate((step - (self.warmup + 1)).at_least(zero))
        return found * (step.cast(f32) / self.warmup).at_most(1) if self.warmup > 1 else found

    @abstractmethod
    def base_rate(self, count: Value) -> Value:
        """Return the rate after `count` steps, an int64 scalar, without the warmup."""


@dataclass(frozen=True)
class Constant(Schedule):
    """A constant rate after the warmup: torch.optim.lr_scheduler.LinearLR or ConstantLR."""

    def base_rate(self, count: Value) -> Value:
        return count.e.number(self.base, f32)


@dataclass(frozen=True)
class _Decay(Schedule):
    """A rate that goes from `base` to `final` until step `total`, and stays there."""

    total: int = 0
    final: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(f"{type(self).__name__}: final", self.final, 0)
        check_steps(f"{type(self).__name__}: total", self.total)
        if self.total <= self.warmup:
            what = f"{type(self).__name__}: total"
            raise usage(what, self.total, f"more than the warmup of {self.warmup} steps")

    def base_rate(self, count: Value) -> Value:
        share = (count.cast(f32) / (self.total - self.warmup)).at_most(1)
        return self.share_left(share) * (self.base - self.final) + self.final

    @abstractmethod
    def share_left(self, share: Value) -> Value:
        """Return the share of base - final that is left, for the share of the steps that were taken."""


@dataclass(frozen=True)
class Cosine(_Decay):
    """Half a cosine wave from `base` to `final`: torch's CosineAnnealingLR(total - warmup, eta_min=final)."""

    def share_left(self, share: Value) -> Value:
        return ((share * math.pi).apply(onnx.CosOp) + 1) * 0.5


@dataclass(frozen=True)
class Linear(_Decay):
    """A line from `base` to `final`: torch's LinearLR(1, final / base, total - warmup)."""

    def share_left(self, share: Value) -> Value:
        return 1 - share


@dataclass(frozen=True)
class StepDecay(Schedule):
    """A rate that is multiplied by `gamma` after every `every` steps: torch's StepLR(every, gamma)."""

    every: int = 0
    gamma: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_steps("StepDecay: every", self.every)
        check_range("StepDecay: gamma", self.gamma, 0)

    def base_rate(self, count: Value) -> Value:
        gamma = count.e.number(self.gamma, f32)
        return gamma ** (count / self.every).cast(f32) * self.base
