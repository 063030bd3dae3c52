"""Reflections and repetitions of borders, and their gradients by the VJP rule of Pad."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from dialects.onnx import ops as onnx
from dialects.shapes.bounds import is_at_least
from dialects.shapes.forms import Form
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call, Rule
from passes.lower_aten.derivative import pull_back


def _sides(f: Call, rank: int) -> tuple[list[Form], list[Form]]:
    """Return the pads of all axes at both ends; torch lists pairs from the last axis on."""
    given: Sequence[Form] = f.padding
    n = len(given) // 2
    begin, end = list(given[::2])[::-1], list(given[1::2])[::-1]
    return [0] * (rank - n) + begin, [0] * (rank - n) + end


def _widen(f: Call, x: Value, mode: str) -> tuple[Value, list[int]]:
    """Emit the Pad of the sides that grow; return it and how much of each side is cropped after it."""
    sides = [side for part in _sides(f, x.rank) for side in part]
    if any(not isinstance(side, int) and not is_at_least(side, 0) for side in sides):
        raise f.refusal("a pad that may be negative", given=sides, expected="fixed pads")
    wider = [max(side, 0) if isinstance(side, int) else side for side in sides]
    cropped = [max(-side, 0) if isinstance(side, int) else 0 for side in sides]
    return x.apply(onnx.PadOp, f.vector(wider), mode=mode), cropped


def pad(mode: str) -> Rule:
    def rule(f: Call, e: Builder) -> Value:
        y, cropped = _widen(f, f.self, mode)
        return y.apply(onnx.PadOp, e.ints([-side for side in cropped])) if any(cropped) else y

    return rule


def pad_backward(mode: str) -> Rule:
    def rule(f: Call, e: Builder) -> Value:
        y, cropped = _widen(f, f.self, mode)
        g = f.grad_output.apply(onnx.PadOp, e.ints(cropped)) if any(cropped) else f.grad_output
        (found,) = pull_back(y, g)
        return found

    return rule


_MODES: Mapping[str, str] = {"reflection_pad": "reflect", "replication_pad": "edge"}

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        f"{name}{n}d{suffix}.default": rule(mode)
        for name, mode in _MODES.items()
        for n in (1, 2, 3)
        for suffix, rule in (("", pad), ("_backward", pad_backward))
    }
)
