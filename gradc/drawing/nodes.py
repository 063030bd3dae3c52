"""Nodes of a picture: the text of each op, input and output."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue

from dialects.onnx import traits
from dialects.onnx.attributes import python_values
from dialects.onnx.base import OnnxOp
from dialects.onnx.node import NodeOp
from dialects.onnx.ops import CastOp
from dialects.onnx.ops import ConstantOp as OnnxConstantOp
from dialects.support import dtypes, entry, shapes
from dialects.support.attributes import documented_attributes
from dialects.support.constants import constant_value
from dialects.support.diagnostics import kind_of, name_of, position_of, printable
from dialects.support.documented_op import STRATEGY, DocumentedOp
from dialects.support.error_list import is_opaque
from gradc.graph.printing import ELIDED_ABOVE
from passes.builder.captured_values import values_read_by

MAX_LINE = 36
"""Maximum characters of a line in a box."""

MAX_TITLE = 26

MAX_TOOLTIP = 300
"""Maximum characters of a line of a tooltip."""

MOST_LINES = 4
"""Maximum lines of attributes and constants in a box."""

LAYOUT_OPS = traits.VIEWS | traits.MOVES
"""ONNX ops that only move values."""

TRIVIAL: Mapping[str, Any] = {
    "auto_pad": "none", "dilations": 1, "group": 1, "groups": 1, "output_padding": 0,
    "pads": 0, "pads_begin": 0, "pads_end": 0, "strides": 1,
}  # fmt: skip
"""Default values that are not shown, for each list element."""

TOOLTIP_ONLY = frozenset({
    "auto_pad_rule", "dst_shape", "inputSize", "input_sizes", "layout", "outputSize",
    "scales", "sizes", "step_denominators", "step_numerators",
})  # fmt: skip
"""Attributes shown in tooltips only: types imply them, or they are of little interest."""

SIZES = frozenset({"dilations", "strides"})
"""Lists that are formatted as sizes."""


@dataclass(frozen=True)
class Node:
    """A node of a picture.

    `kind` and `family` are CSS classes, `number` in the id is the op's index in the function's body. `source`
    names the source op, `result` is the result type, `inputs` are the nodes read, `tooltip` has all details.
    `of` is the node that a reference refers to. A `culprit` prevents compilation.
    """

    id: str
    kind: str
    family: str
    title: str
    lines: tuple[str, ...]
    source: str
    strategy: str
    result: str
    inputs: tuple[int, ...]
    tooltip: str
    of: str = ""
    culprit: bool = False


def source_of(op: Operation) -> str:
    """Return the source op of an op: its name, else its position (`file:line:column`), else ''."""
    place = position_of(op)
    return cut(printable(name_of(op) or (str(place) if place else "")), MAX_TOOLTIP)


def nodes(module: ModuleOp, name: str, culprits: Collection[Operation] = ()) -> list[Node]:
    """Return the nodes in textual order, inputs first. A constant is shown within the ops that read it."""
    return list(_Nodes(module, name, culprits).all())


class _Nodes:
    def __init__(self, module: ModuleOp, name: str, culprits: Collection[Operation]):
        self.function = entry.entry_function(module)
        self.culprits = culprits
        self.name = name
        self.places: dict[SSAValue, int] = {}

    def all(self) -> Iterator[Node]:
        inputs = zip(self.function.args, entry.input_names(self.function), strict=True)
        for index, (value, name) in enumerate(inputs):
            self.places[value] = len(self.places)
            node = self._border(f"input-{index}", "input", name, value, ())
            yield node if value.uses else _mark_unused(node)
        returned = entry.return_op(self.function).arguments
        count = len(self.places)
        for number, op in enumerate(self.function.body.block.ops):
            if isinstance(op, ReturnOp) or (_is_constant(op) and op.results[0] not in returned):
                continue
            yield self._op(number, op)
            self.places |= dict.fromkeys(op.results, count)
            count += 1
        for index, (value, name) in enumerate(zip(returned, entry.output_names(self.function), strict=True)):
            yield self._border(f"output-{index}", "output", name, value, (self.places[value],))

    def _border(self, id: str, kind: str, name: str, value: SSAValue, inputs: tuple[int, ...]) -> Node:
        title, type_ = cut(printable(name), MAX_TITLE), type_text(value)
        tooltip = f"{kind} {cut(printable(name), MAX_TOOLTIP)}\ntype: {type_}"
        return Node(f"{self.name}-{id}", kind, kind, title, (type_,), "", "", "", inputs, tooltip)

    def _op(self, number: int, op: Operation) -> Node:
        kind = printable(kind_of(op).removeprefix("onnx."))
        read = dict.fromkeys(self.places[value] for value in values_read_by(op) if value in self.places)
        strategy = op.attributes.get(STRATEGY)
        return Node(
            id=f"{self.name}-{number}",
            kind=re.sub(r"[^A-Za-z0-9_]+", "-", op.name),
            family=_family(op),
            title=cut(kind, MAX_TITLE),
            lines=tuple(_lines(op)),
            source=source_of(op),
            strategy=printable(strategy.data) if isinstance(strategy, StringAttr) else "",
            result=", ".join(map(type_text, op.results)),
            inputs=tuple(read),
            tooltip="\n".join(cut(line, MAX_TOOLTIP) for line in _tooltip(kind, op)),
            culprit=op in self.culprits,
        )


def _mark_unused(node: Node) -> Node:
    """Mark an input whose values are unused; its shape may matter."""
    tooltip = f"{node.tooltip}\nnot read: its values change nothing"
    return replace(node, kind="unread", lines=(*node.lines, "not read"), tooltip=tooltip)


def _is_constant(op: Operation) -> bool:
    return isinstance(op, OnnxConstantOp | ConstantOp)


def _family(op: Operation) -> str:
    if is_opaque(op):
        return "source"
    if isinstance(op, DocumentedOp):
        return "gradient" if op.name.startswith("grad.") else "source"
    if _is_constant(op):
        return "constant"
    if isinstance(op, CastOp):
        return "cast"
    if _makes_integers(op):
        return "size"
    return "layout" if op.name.removeprefix("onnx.") in LAYOUT_OPS else "arithmetic"


def _makes_integers(op: Operation) -> bool:
    """Return whether an op computes sizes or indices rather than data."""
    types = [type_.element_type for type_ in op.result_types if isinstance(type_, TensorType)]
    return bool(types) and all(dtypes.name_of(type_) in ("s64", "s32", "boolean") for type_ in types)


def type_text(value: SSAValue) -> str:
    """Format a type: `1×64×?×N f32`."""
    if not isinstance(value.type, TensorType):
        return printable(str(value.type))
    dims = "×".join("?" if dim is None else str(dim) for dim in shapes.shape_of(value))
    dtype = dtypes.name_of(shapes.element_type_of(value))
    return cut(printable(f"{dims or 'scalar'} {dtype}"), MAX_LINE)


def _lines(op: Operation) -> list[str]:
    attributes = [_brief(name, value) for name, value in _attributes(op) if _is_shown(name, value)]
    if kernel := _kernel(op):
        attributes.insert(0, f"kernel {kernel}")
    found = [*_pack_lines(attributes), *_constant_lines(op)]
    if len(found) > MOST_LINES:
        found[MOST_LINES - 1 :] = ["…"]
    return [cut(printable(line), MAX_LINE) for line in found]


def _pack_lines(parts: Sequence[str]) -> list[str]:
    """Join the parts to lines."""
    lines: list[str] = []
    for part in parts:
        joined = f"{lines[-1]} · {part}" if lines else part
        if lines and len(joined) <= MAX_LINE:
            lines[-1] = joined
        else:
            lines.append(part)
    return lines


def _attributes(op: Operation) -> Iterator[tuple[str, Any]]:
    """Yield the given attributes as Python values; a constant has none, its value is shown elsewhere."""
    if _is_constant(op):
        return
    if isinstance(op, OnnxOp):
        yield from op.onnx_attributes().items()
    elif isinstance(op, NodeOp):
        yield "op", op.title
        yield from python_values(op.given.data).items()
    elif isinstance(op, DocumentedOp):
        yield from ((name, op.value(name)) for name in documented_attributes(type(op)) if op.is_given(name))
    else:
        yield from op.properties.items()


def _is_shown(name: str, value: Any) -> bool:
    if name in TOOLTIP_ONLY:
        return False
    parts = value if isinstance(value, list | tuple) else [value]
    return name not in TRIVIAL or any(part != TRIVIAL[name] for part in parts)


def _brief(name: str, value: Any) -> str:
    """Format an attribute in a box; words such as modes and layouts need no name."""
    if isinstance(value, str) and not value.isdigit():
        return value
    return f"{name} {'×'.join(map(str, value)) if name in SIZES else format_value(value)}"


def format_value(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case list() | tuple():
            return ",".join(map(str, value))
        case Attribute():
            return dtypes.name_of(value)
        case _:
            return str(value)


def _kernel(op: Operation) -> str:
    """Return the spatial sizes of the weights of a convolution or its gradient."""
    if not op.name.startswith(("onnx.Conv", "onednn.conv", "grad.conv")):
        return ""
    shape = shapes.shape_of(op.operands[1])
    channels_last = isinstance(op, DocumentedOp) and _weights_format(op).startswith("X")
    return "×".join(map(str, shape[:-2] if channels_last else shape[2:]))


def _weights_format(op: DocumentedOp) -> str:
    return op.value("weights_format") if "weights_format" in documented_attributes(type(op)) else ""


def _constant_lines(op: Operation) -> Iterator[str]:
    for role, value in _operands(op):
        array = constant_value(value)
        if array is not None and array.size <= ELIDED_ABOVE:
            yield f"{role} = {_numbers(array)}"
        elif array is not None:
            yield f"{role} = constant {type_text(value)}"


def _numbers(array: Any) -> str:
    return str(array.item()) if array.size == 1 else ",".join(map(str, array.ravel().tolist()))


def _operands(op: Operation) -> Iterator[tuple[str, SSAValue]]:
    """Yield the operands with their documented names."""
    if isinstance(op, DocumentedOp):
        yield from ((op.port(index), value) for index, value in enumerate(op.operands))
        return
    if not isinstance(op, OnnxOp):
        yield from ((f"operand {i}", value) for i, value in enumerate(op.operands))
        return
    names = [name for name, _ in op.get_irdl_definition().operands]
    for index, value in enumerate(op.onnx_inputs()):
        if value is not None:
            yield names[min(index, len(names) - 1)], value


def _tooltip(kind: str, op: Operation) -> Iterator[str]:
    yield kind
    if source := source_of(op):
        yield f"from {source}"
    for name, value in (*_attributes(op), *_discardable(op)):
        yield f"{name} = {printable(format_value(value))}"
    for role, value in _operands(op):
        yield f"{role}: {_describe(value)}"
    for value in op.results:
        yield f"result: {type_text(value)}"


def _discardable(op: Operation) -> Iterator[tuple[str, str]]:
    for name, value in op.attributes.items():
        if is_opaque(op) and name == "op_name__":
            continue
        yield printable(name), value.data if isinstance(value, StringAttr) else str(value)


def _describe(value: SSAValue) -> str:
    array = constant_value(value)
    if array is None:
        return type_text(value)
    return f"constant {type_text(value)}" + (f" {_numbers(array)}" if array.size <= ELIDED_ABOVE else "")


def cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
