"""Record of a measurement, and the setting that it depends on."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gradc.util.machine import Machine, this_machine
from gradc.util.version import __version__
from passes.strategies import by_name
from passes.targets.target import Target


@dataclass(frozen=True)
class Tuning:
    """The measured strategies of a problem, in seconds per run, and the chosen one.

    `measured_on` describes machine and software.
    """

    choice: str
    seconds: Mapping[str, float]
    measured_on: str

    def json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of_json(cls, value: Any) -> Tuning:
        """Parse what `json` returns. Raises ValueError for anything else."""
        if not isinstance(value, dict) or set(value) != {"choice", "seconds", "measured_on"}:
            raise ValueError("not the record of a tuning")
        choice, seconds, where = value["choice"], value["seconds"], value["measured_on"]
        if not isinstance(seconds, dict) or not all(map(is_positive, seconds.values())):
            raise ValueError("seconds: expected positive numbers by strategy")
        if not isinstance(choice, str) or choice not in seconds or not isinstance(where, str):
            raise ValueError("choice: expected one of the measured strategies")
        return cls(choice, {name: float(time) for name, time in seconds.items()}, where)


def is_positive(value: Any) -> bool:
    """Return whether a JSON value is a positive number within the float range."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < sys.float_info.max


@dataclass(frozen=True)
class Setting:
    """Everything but the problem that a measurement depends on."""

    target: str
    opset: int
    threads: int
    machine: Machine
    runtime: str
    strategies: str
    strict_ieee: bool = False

    @classmethod
    def of(cls, target: Target) -> Setting:
        """Return the current setting. Raises UnsupportedError without onnxruntime."""
        from gradc.runtime.session import runtime_version

        opset, threads = target.opset, target.threads
        machine, runtime, strategies = this_machine(), runtime_version(), strategies_version()
        return cls(target.name, opset, threads, machine, runtime, strategies, target.strict_ieee)

    def key(self, what: str) -> dict[str, Any]:
        """Return JSON that identifies the setting and `what`, a problem's string."""
        return json.loads(json.dumps({"what": what, "setting": asdict(self)}))

    def __str__(self) -> str:
        return f"{self.machine}; onnxruntime {self.runtime}; gradc {__version__}"


def strategies_version() -> str:
    """Return a hash that changes with the set of strategies."""
    text = " ".join((__version__, *sorted(by_name())))
    return hashlib.sha256(text.encode()).hexdigest()[:12]
