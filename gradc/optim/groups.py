"""Parameter groups: other options for the parameters that match a pattern."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from typing import Any

from dialects.support.diagnostics import several, suggest, usage
from gradc.optim.base import Optimizer, Value, check_range


@dataclass(frozen=True, init=False)
class Group:
    """Options of the parameters whose names match a pattern.

        gradc.optim.Group("*.bias", lr_scale=2, weight_decay=0)

    `patterns`: shell patterns, one or several, also separated by commas. `lr`: a fixed learning rate, which
    neither the input nor a schedule changes. `lr_scale`: a factor of the learning rate. Other keywords are
    options of the optimizer. Of several groups that match a parameter all apply, in order.
    """

    patterns: tuple[str, ...]
    lr: float | None
    lr_scale: float | None
    options: Mapping[str, Any]

    def __init__(
        self,
        patterns: str | Sequence[str],
        *,
        lr: float | None = None,
        lr_scale: float | None = None,
        **options: Any,
    ):
        given = patterns.split(",") if isinstance(patterns, str) else patterns
        values = {"patterns": tuple(given), "lr": lr, "lr_scale": lr_scale, "options": options}
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if not all(given):
            raise usage("Group: an empty pattern", hint="* matches every parameter")
        if lr is not None and lr_scale is not None:
            raise usage(f"Group {self}: lr and lr_scale", hint="lr is a fixed number, lr_scale a factor")
        for name in ("lr", "lr_scale"):
            if values[name] is not None:
                check_range(f"Group {self}: {name}", values[name], 0)

    def __str__(self) -> str:
        return ",".join(self.patterns)

    def matches(self, name: str) -> bool:
        """Return whether a parameter belongs to the group."""
        return any(fnmatchcase(name, pattern) for pattern in self.patterns)

    def optimizer(self, base: Optimizer) -> Optimizer:
        """Return the optimizer with the options of the group."""
        known = [option.name for option in fields(base)]
        unknown = [name for name in self.options if name not in known]
        if unknown:
            what, kind = f"Group {self}: {several(unknown)}", type(base).__name__
            raise usage(what, expected=f"options of {kind}", hint=suggest(unknown[0], known))
        return replace(base, **self.options)

    def rate(self, lr: Value) -> Value:
        """Return the learning rate of the group, given that of the step."""
        if self.lr is not None:
            return lr.e.scalar(self.lr, lr)
        return lr if self.lr_scale is None else lr * self.lr_scale


def no_decay(patterns: str | Sequence[str]) -> Group:
    """Return the group of parameters without weight decay."""
    return Group(patterns, weight_decay=0.0)
