"""Options of a compilation."""

from __future__ import annotations

from dataclasses import dataclass

from dialects.support.documented_op import documented_attributes
from dialects.support.limits import Limits
from gradc.util import arguments
from passes import pipelines
from passes.select_strategy import AUTO, find_strategy
from passes.targets import TARGETS
from passes.targets.target import Target

FLAGS = ("strict", "strict_ieee", "drop_unused_inputs", "checked", "record_pipeline")
"""Boolean options."""


@dataclass(frozen=True)
class Options:
    """Options of a compilation. Raises UsageError for an invalid value."""

    target: str = "cpu"
    opset: int | None = None
    strategy: str = AUTO
    auto_pad_rule: str | None = None
    strict: bool = False
    threads: int | None = None
    limits: Limits | None = None
    strict_ieee: bool = False
    drop_unused_inputs: bool = False
    checked: bool = False
    record_pipeline: bool = False

    def __post_init__(self) -> None:
        from gradc.runtime.session import opset_argument, threads_argument

        arguments.one_of("target", self.target, TARGETS)
        if self.auto_pad_rule is not None:
            arguments.one_of("auto_pad_rule", self.auto_pad_rule, _auto_pad_rules())
        if not isinstance(self.strategy, str):
            raise arguments.invalid("strategy", self.strategy, "auto or the name of a strategy")
        find_strategy(self.strategy)
        if not isinstance(self.limits, Limits | None):
            raise arguments.invalid("limits", self.limits, "a gradc.Limits")
        plain = {name: arguments.flag(name, getattr(self, name)) for name in FLAGS}
        numbers = {"opset": opset_argument(self.opset), "threads": threads_argument(self.threads)}
        for name, value in (plain | numbers).items():
            object.__setattr__(self, name, value)

    def resolve_target(self) -> Target:
        return Target.of(self.target, self.opset, self.threads, self.strict_ieee)

    @property
    def pipeline(self) -> str:
        return pipelines.lower(self.resolve_target(), self.strategy_name)

    @property
    def strategy_name(self) -> str:
        return self.strategy.replace("_", "-")


def _auto_pad_rules() -> tuple[str, ...]:
    from dialects.onednn.conv_backward_data import ConvolutionBackwardDataOp  # slow to import

    return documented_attributes(ConvolutionBackwardDataOp)["auto_pad_rule"].spec.words
