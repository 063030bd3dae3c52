"""Problem classes that are derived from an op's declaration.

`KIND,dtype,layout,PORT=shape,...,ATTRIBUTE=value,...`: diff_dst, the other ports and the attributes, in the
order of the declaration. Attributes with neutral values are omitted. Shapes of ports in `LAYOUT_PORTS` are
channels first, whatever the layout.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from xdsl.ir import Attribute, Block

from dialects.grad.tunable import TunableOp
from dialects.support import limits, shapes
from dialects.support.attributes import AttributeSpec, documented_attributes
from dialects.support.documented_op import DocumentedOp, build
from dialects.support.dtypes import name_of
from dialects.support.shapes import Shape
from gradc.problems.base import Problem, reorder
from gradc.problems.text import Fields, show_ints, show_shape

NEUTRAL: Mapping[str, int] = MappingProxyType(
    {"strides": 1, "dilations": 1, "pads_begin": 0, "pads_end": 0, "residue": 0, "groups": 1}
)
"""Attribute -> neutral value of each list entry."""

LAYOUT = "layout"


@dataclass(frozen=True)
class DerivedProblem(Problem):
    """`diff_dst`, the shapes of the other ports, and the attributes except the layout."""

    others: tuple[tuple[str, Shape], ...]
    values: tuple[tuple[str, Any], ...]

    OP: ClassVar[type[TunableOp]]

    @classmethod
    def read(cls, fields: Fields, dtype: str, layout: str) -> Self:
        if layout != "NCX" and not _has_layout(cls.OP):
            raise fields.error("layout", layout, f"NCX: {cls.OP.name} has no other")
        ports = {port: fields.shape(port) for port in cls.OP.PORTS}
        diff_dst = ports.pop("diff_dst")
        rank = len(diff_dst) - 2
        specs = documented_attributes(cls.OP)
        values = tuple((name, _read(fields, name, specs[name].spec, rank)) for name in _attributes(cls.OP))
        return cls(dtype, layout, diff_dst, tuple(ports.items()), values)

    @classmethod
    def of_op(cls, op: Any) -> Self:
        layout = op.layout if _has_layout(cls.OP) else "NCX"
        ports = {
            port: _known_sizes(op, index, layout if port in cls.OP.LAYOUT_PORTS else "NCX")
            for index, port in enumerate(op.PORTS)
        }
        values = tuple((name, op.value(name)) for name in _attributes(cls.OP))
        dtype = name_of(shapes.element_type_of(op.operands[0]))
        return cls(dtype, layout, ports.pop("diff_dst"), tuple(ports.items()), values)

    def _fields(self) -> dict[str, str]:
        found = {port: show_shape(shape) for port, shape in self.others}
        return found | {name: _show(value) for name, value in self.values if not _is_neutral(name, value)}

    def _inputs(self) -> dict[str, tuple[Attribute, Shape]]:
        given = {"diff_dst": self.diff_dst, **dict(self.others)}
        return {port: (self._element_type, self._to_layout(port, given[port])) for port in self.OP.PORTS}

    def _to_layout(self, name: str, shape: Shape) -> Shape:
        return reorder(shape, "NCX", self.layout) if name in self.OP.LAYOUT_PORTS else shape

    def _attributes(self) -> dict[str, Any]:
        return dict(self.values) | ({LAYOUT: self.layout} if _has_layout(self.OP) else {})

    @cached_property
    def diff_src(self) -> Shape:
        """The shape of the result."""
        return self._to_channels_first(self.OP.RESULTS[0], shapes.shape_of(self._op().results[0]))

    def _op(self) -> Any:
        inputs = self._inputs()
        block = Block(arg_types=[shapes.tensor_type(*given) for given in inputs.values()])
        return build(self.OP, list(block.args), self._attributes())

    def _to_channels_first(self, name: str, shape: Shape) -> Shape:
        return reorder(shape, self.layout, "NCX") if name in self.OP.LAYOUT_PORTS else shape

    def feeds(self, seed: int = 0) -> dict[str, np.ndarray]:
        found: dict[str, np.ndarray] = {}
        for index, (port, shape) in enumerate(zip(self.OP.PORTS, self._op().sample_shapes(), strict=True)):
            limits.check_tensor(shape, "input-elements", f"elements of {port}")
            drawn = np.random.default_rng([seed, index]).standard_normal(shape)
            found[port] = self._of_dtype(drawn)
        return found

    @property
    def flops(self) -> int | None:
        return self._op().flops()


def _known_sizes(op: Any, index: int, layout: str) -> Shape:
    shape = [dim if isinstance(dim, int) else None for dim in shapes.shape_of(op.operands[index])]
    return reorder(shape, layout, "NCX")


def _has_layout(op: type[DocumentedOp]) -> bool:
    """Return whether the op has a layout attribute; problems of other ops are NCX."""
    return LAYOUT in documented_attributes(op)


def _attributes(op: type[DocumentedOp]) -> list[str]:
    return [name for name in documented_attributes(op) if name != LAYOUT]


def _read(fields: Fields, name: str, spec: AttributeSpec[Any], rank: int) -> Any:
    neutral = NEUTRAL.get(name)
    if spec.tag == "s64":
        return fields.integer(name, neutral) if neutral is not None else fields.ints(name)[0]
    return fields.ints(name, None if neutral is None else (neutral,) * rank)


def _show(value: Any) -> str:
    return show_ints(value if isinstance(value, tuple) else (value,))


def _is_neutral(name: str, value: Any) -> bool:
    entries = value if isinstance(value, tuple) else (value,)
    return name in NEUTRAL and set(entries) <= {NEUTRAL[name]}


def problem_class(op: type[TunableOp]) -> type[DerivedProblem]:
    """Create the problem class of an op class."""
    kind = op.name.partition(".")[2]
    fields = (*(port for port in op.PORTS if port != "diff_dst"), *_attributes(op))
    return type(
        f"{op.__name__}Problem",
        (DerivedProblem,),
        {"KIND": kind, "OP": op, "FIELDS": fields, "__doc__": f"`{op.name}`."},
    )
