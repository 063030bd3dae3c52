"""Options of a training step, in Python and in commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypedDict

from dialects.support.limits import Limits
from gradc.derivatives.request import REQUIRED, GradientRequest, Names
from gradc.optim import Group, Optimizer, Schedule, no_decay
from gradc.util import arguments
from passes.autodiff.common.primal import Rule
from passes.training.attach_loss import LOSS
from passes.training.lora import RANK

TRAINABLE = ":weights"
"""Default of `trainable`."""


class TrainOptions(TypedDict, total=False):
    """Options of `train_step`."""

    loss: Any
    optimizer: Optimizer
    of: Names
    trainable: Names
    frozen: Names
    untie: bool
    keep_outputs: Names
    batchnorm: str | None
    dropout: str | None
    groups: Sequence[Group]
    no_decay: Names
    clip: float | None
    ema: float | None
    lr: Schedule | None
    accumulate: int | None
    in_place: bool
    recompute: bool
    lora: Names
    rank: int
    alpha: float | None
    straight_through: bool
    stop_gradient: Names
    constants: Any
    static_shapes: Mapping[str, Sequence[int]] | None
    rebatch: int | str | None
    rename: Mapping[str, str] | None
    rules: Mapping[str, Rule] | None
    kernels: Mapping[str, Callable[..., Any]] | None
    check: bool | None
    check_seconds: float | None
    target: str
    opset: int | None
    threads: int | None
    strict_ieee: bool
    limits: Limits | None


@dataclass(frozen=True)
class TrainRequest(GradientRequest):
    """Options of a training step: `wrt` are the trained weights, `of` the values that the loss reads."""

    wrt: Names = TRAINABLE
    weights: str = REQUIRED
    batchnorm: str | None = "train"
    dropout: str | None = "hashed"
    loss: Any = None
    optimizer: Optimizer | None = None
    groups: Sequence[Group] = ()
    no_decay: Names = None
    clip: float | None = None
    ema: float | None = None
    lr: Schedule | None = None
    accumulate: int | None = None
    in_place: bool = False
    recompute: bool = False
    lora: Names = None
    rank: int = RANK
    alpha: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.optimizer, Optimizer):
            raise arguments.invalid("optimizer", self.optimizer, "an optimizer of gradc.optim, as AdamW()")
        arguments.whole_number("rank", self.rank, 1)
        if self.accumulate is not None:
            arguments.whole_number("accumulate", self.accumulate, 1)
        if not all(isinstance(group, Group) for group in self.groups):
            raise arguments.invalid("groups", self.groups, "a list of gradc.optim.Group")
        if not isinstance(self.lr, Schedule | None):
            hint = "without a schedule, the learning rate is an input of the step"
            raise arguments.invalid("lr", self.lr, "a schedule of gradc.optim, as Cosine(...)", hint)

    @property
    def given_optimizer(self) -> Optimizer:
        assert self.optimizer is not None  # __post_init__ raises
        return self.optimizer

    @property
    def all_groups(self) -> tuple[Group, ...]:
        """The groups, with those of `no_decay`."""
        patterns = names_of(self.no_decay)
        return (*self.groups, no_decay(patterns)) if patterns else tuple(self.groups)

    def with_loss(self, of: Sequence[str], outputs: Sequence[str], trained: Sequence[str]) -> GradientRequest:
        """Return the request of the gradient of the loss, once it is a result.

        of: the values that the loss reads. outputs: those of the source, in order. trained: names of weights.
        """
        match self.keep_outputs:
            case ("none",) | ():
                kept: Sequence[str] = ()
            case ("of",):
                kept = of
            case ("all",):
                kept = outputs
            case names:
                kept = names_of(names)
        given = {one.name: getattr(self, one.name) for one in fields(GradientRequest)}
        return GradientRequest(
            **{**given, "wrt": trained, "of": LOSS, "keep_outputs": [LOSS, *kept], "rename": None}
        )


def names_of(given: Names) -> tuple[str, ...]:
    """Return one or several names as a tuple."""
    return (given,) if isinstance(given, str) else tuple(given or ())
