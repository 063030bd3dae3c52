"""Values of a model that a gradient request can name: inputs, weights, intermediate values, outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, SSAValue

from dialects.onnx.types import word_of
from dialects.support import entry, shapes
from dialects.support.constants import constant_attribute
from gradc.compiler.driver import load
from gradc.compiler.options import Options
from gradc.derivatives.module import convert_to_onnx
from gradc.files.json_text import json_text
from gradc.terminal.tables import PLAIN, Look, table
from passes.autodiff.activity.active_values import is_float
from passes.autodiff.named_values import values_by_name


@dataclass(frozen=True)
class Value:
    """A named value. `role` is input, weight, value or output; `floats` is True if a gradient with respect to
    it is possible; `also` are its other names, such as that of its node."""

    name: str
    role: str
    dtype: str
    shape: list[int | str | None] | None
    floats: bool
    also: list[str]


def values(source: Any, auto_pad_rule: str | None = None) -> list[Value]:
    """Return the values, inputs first, then in model order. Raises GradcError for an invalid graph."""
    module = convert_to_onnx(load(source, auto_pad_rule), Options())
    function = entry.entry_function(module)
    named = values_by_name(function)
    inputs = entry.input_names(function)
    roles = _roles(function, named)
    own = {value: name for name, value in named.items()}
    also: dict[SSAValue, list[str]] = {value: [] for value in own}
    for name, value in named.items():
        if name != own[value]:
            also[value].append(name)
    order = [*inputs, *(name for name in own.values() if name not in set(inputs))]
    return [_value(name, roles[name], named[name], also[named[name]]) for name in order]


def _roles(function: FuncOp, named: Mapping[str, SSAValue]) -> dict[str, str]:
    outputs = set(entry.output_names(function))
    found = {}
    for name, value in named.items():
        if isinstance(value, BlockArgument):
            found[name] = "input"
        elif name in outputs:
            found[name] = "output"
        else:
            found[name] = "value" if constant_attribute(value) is None else "weight"
    return found


def _value(name: str, role: str, value: SSAValue, also: list[str]) -> Value:
    shape = list(shapes.dim_names(shapes.shape_of(value))) if shapes.has_rank(value) else None
    return Value(name, role, word_of(value.type), shape, is_float(value), also)


def as_json(found: Sequence[Value]) -> str:
    return json_text([asdict(value) for value in found])


def as_text(found: Sequence[Value], look: Look = PLAIN) -> str:
    rows = [(one.name, one.role, one.dtype, _shape(one), ", ".join(one.also)) for one in found]
    return table(("name", "role", "dtype", "shape", "also called"), rows, (), look)


def _shape(value: Value) -> str:
    return "?" if value.shape is None else shapes.show(value.shape)
