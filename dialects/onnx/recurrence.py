"""Directions and activations, with their parameters, of LSTM, GRU and RNN."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from dialects.support.diagnostics import violation

GATES: Mapping[str, int] = MappingProxyType({"LSTM": 4, "GRU": 3, "RNN": 1})
"""Gates per op, whose weights and biases are stacked as rows."""

_DEFAULTS = {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh"), "RNN": ("Tanh",)}

_NUMBERS: Mapping[str, tuple[float | None, float | None]] = MappingProxyType(
    {
        "Affine": (0.0, 0.0),
        "Elu": (1.0, None),
        "HardSigmoid": (0.2, 0.5),
        "LeakyRelu": (0.01, None),
        "Relu": (None, None),
        "ScaledTanh": (0.0, 0.0),
        "Sigmoid": (None, None),
        "Softplus": (None, None),
        "Softsign": (None, None),
        "Tanh": (None, None),
        "ThresholdedRelu": (0.0, None),
    }
)
"""Defaults of alpha and beta; None if a function has none. They are onnxruntime's: ONNX has none for Affine
and ScaledTanh, and 1 for ThresholdedRelu."""

_NAMES = {name.lower(): name for name in _NUMBERS}


@dataclass(frozen=True)
class Activation:
    name: str
    alpha: float = 0.0
    beta: float = 0.0


@dataclass(frozen=True)
class Direction:
    """One pass over the steps, forward or backward."""

    backward: bool
    activations: Sequence[Activation]


def directions_of(op: str, attributes: Mapping[str, Any]) -> list[Direction]:
    """Return the passes of an op; raises GradcError for an unknown activation."""
    word = attributes.get("direction", "forward")
    backward = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}.get(word)
    if backward is None:
        raise violation(f"direction of {op}", given=word, expected="forward, reverse or bidirectional")
    defaults = _DEFAULTS[op]
    names = attributes.get("activations") or defaults * len(backward)
    if len(names) != len(defaults) * len(backward):
        expected = f"{len(defaults)} for each direction"
        raise violation(f"activations of {op}", given=len(names), expected=expected)
    found = _with_numbers(op, names, attributes)
    count = len(defaults)
    return [Direction(back, found[i * count :][:count]) for i, back in enumerate(backward)]


def _with_numbers(op: str, names: Sequence[str], attributes: Mapping[str, Any]) -> list[Activation]:
    """Assign alpha and beta (f32), which are listed only for the functions that have them, in order."""
    alphas, betas = (iter(attributes.get(f"activation_{which}") or ()) for which in ("alpha", "beta"))
    found: list[Activation] = []
    for name in names:
        known = _NAMES.get(name.lower())
        if known is None:
            raise violation(f"activations of {op}", given=name, expected=f"one of {', '.join(_NUMBERS)}")
        alpha, beta = _NUMBERS[known]
        alpha = 0.0 if alpha is None else next(alphas, alpha)
        beta = 0.0 if beta is None else next(betas, beta)
        found.append(Activation(known, float(np.float32(alpha)), float(np.float32(beta))))
    return found
