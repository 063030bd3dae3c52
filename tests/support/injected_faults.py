"""Measurement of injected faults: how far each changes the gradient of a model, and whether a gradient check
finds it and names the op."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from support.faults import placed_rules, pointwise_rules, tensor_rules, walks
from support.faults.fault import FAULTS, Fault, scaled
from support.proof_models import RANDOM, proof_model

import gradc
from passes.autodiff.table import RULES

__all__ = ["FAULTS", "MODULES", "Fault", "Outcome", "change", "outcome", "pairs", "slips", "undecided"]

MODULES = (placed_rules, pointwise_rules, tensor_rules, walks)

VISIBLE = 1e-4
"""A fault that changes some gradient by more of its size has to be found."""

CAUGHT, UNDECIDED, PASSED, BROKEN = "caught", "undecided", "passed", "does not run"

_UNDECIDED = re.compile(r"not (be )?(decided|checked|looked at|proved)|undecided")


@dataclass(frozen=True)
class Outcome:
    """change: of the gradient that is changed most, over its size; inf where the gradient does not run.
    right_op: whether the message names the op to blame, None where there is no such op or no message.
    """

    fault: str
    model: str
    change: float
    verdict: str
    right_op: bool | None
    message: str
    seconds: float

    @property
    def is_visible(self) -> bool:
        return self.change > VISIBLE


def pairs() -> list[tuple[Fault, str]]:
    """Each fault with each of its models."""
    return [(fault, model) for fault in FAULTS.values() for model in fault.models]


def slips(seed: int, factor: float = 1.01) -> list[tuple[Fault, str]]:
    """Each op of the random graph of a seed one per cent off, if it has a rule of its own."""
    model = f"{RANDOM}{seed}"
    nodes = [node for node in proof_model(model).model.graph.node if node.op_type in RULES]
    return [(scaled(node.op_type, node.output[0], factor, model), model) for node in nodes]


@cache
def _right(model: str) -> Mapping[str, np.ndarray]:
    found = proof_model(model)
    return found.run(found.gradient(check=False))


def change(fault: Fault, model: str) -> float:
    """The largest change of a gradient over its size, as onnxruntime runs it with and without a fault."""
    right, found = _right(model), proof_model(model)
    with fault.injected():
        try:
            wrong = found.run(found.gradient(check=False))
        except Exception:
            return np.inf
    least = SMALL * max(map(_norm, right.values()))
    return max(_apart(wrong[name], value, least) for name, value in right.items())


SMALL = 1e-3
"""A gradient that is smaller than this part of the largest one may be zero but for roundings."""


def _apart(wrong: np.ndarray, right: np.ndarray, least: float) -> float:
    if wrong.shape != right.shape or not np.isfinite(wrong).all():
        return np.inf
    return _norm(wrong.astype(np.float64) - right.astype(np.float64)) / max(_norm(right), least, 1e-30)


def _norm(array: np.ndarray) -> float:
    return float(np.linalg.norm(array.astype(np.float64)))


def undecided(compiled: gradc.Compiled) -> list[str]:
    """The remarks of a check on what it did not decide."""
    return [text for remark in compiled.remarks if _UNDECIDED.search(text := str(remark))]


def outcome(fault: Fault, model: str) -> Outcome:
    """Measure a fault in a model."""
    size, begin = change(fault, model), time.process_time()
    verdict, right_op, message = PASSED, None, ""
    with fault.injected():
        try:
            compiled = proof_model(model).gradient(check=True)
        except gradc.CheckError as error:
            verdict, message = CAUGHT, str(error)
            right_op = names_op(fault, message) if fault.blamed else None
        except Exception as error:
            verdict, message = BROKEN, f"{type(error).__name__}: {error}"
        else:
            if remarks := undecided(compiled):
                verdict, message = UNDECIDED, remarks[0]
    seconds = time.process_time() - begin
    return Outcome(fault.name, model, size, verdict, right_op, message, seconds)


def names_op(fault: Fault, message: str) -> bool:
    """Whether a message names an op that is to blame."""
    return re.search(rf"\b({fault.blamed})\b", message) is not None
