"""Sizes of arguments, and broadcasts to sizes that may depend on dims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from dialects.onnx import ops as onnx
from dialects.shapes.forms import Form
from passes.builder.values import Value
from passes.lower_aten.call import Call


def sizes(value: Value) -> tuple[Form, ...]:
    """Return the sizes of an argument, which are all known or depend on dims."""
    return cast("tuple[Form, ...]", value.shape)


def expand_to(f: Call, x: Value, shape: Sequence[Form]) -> Value:
    """Broadcast to a shape."""
    return x if tuple(shape) == x.shape else x.apply(onnx.ExpandOp, f.vector(shape))
