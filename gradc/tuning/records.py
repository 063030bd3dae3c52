"""What is kept of a measurement, and what it depends on."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gradc.base.machine import Machine, this_machine
from gradc.base.version import __version__
from passes.kernels.target import Target
from passes.strategies import by_name


@dataclass(frozen=True)
class Tuning:
    """The strategies that were measured for a problem, in seconds a run, and the one to use.

    `measured_on` says for people where and with what.
    """

    choice: str
    seconds: Mapping[str, float]
    measured_on: str

    def json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of_json(cls, value: Any) -> Tuning:
        """Raises ValueError for anything but what `json` gives."""
        if not isinstance(value, dict) or set(value) != {"choice", "seconds", "measured_on"}:
            raise ValueError("not the record of a tuning")
        choice, seconds, where = value["choice"], value["seconds"], value["measured_on"]
        if not isinstance(seconds, dict) or not all(map(is_positive, seconds.values())):
            raise ValueError("seconds: expected positive numbers by strategy")
        if not isinstance(choice, str) or choice not in seconds or not isinstance(where, str):
            raise ValueError("choice: expected one of the measured strategies")
        return cls(choice, {name: float(time) for name, time in seconds.items()}, where)


def is_positive(value: Any) -> bool:
    """A JSON number above zero that a float holds."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < sys.float_info.max


@dataclass(frozen=True)
class Setting:
    """What a measurement depends on besides the problem."""

    target: str
    opset: int
    threads: int
    machine: Machine
    runtime: str
    strategies: str
    strict_ieee: bool = False

    @classmethod
    def of(cls, target: Target) -> Setting:
        """The setting of a measurement here and now. UnsupportedError without onnxruntime."""
        from gradc.runtime.session import runtime_version

        opset, threads = target.opset, target.threads
        machine, runtime, strategies = this_machine(), runtime_version(), strategies_version()
        return cls(target.name, opset, threads, machine, runtime, strategies, target.strict_ieee)

    def key(self, what: str) -> dict[str, Any]:
        """JSON that differs where the time of `what`, a problem's string, may."""
        return json.loads(json.dumps({"what": what, "setting": asdict(self)}))

    def __str__(self) -> str:
        return f"{self.machine}; onnxruntime {self.runtime}; gradc {__version__}"


def strategies_version() -> str:
    """Another word for every other set of strategies."""
    text = " ".join((__version__, *sorted(by_name())))
    return hashlib.sha256(text.encode()).hexdigest()[:12]
