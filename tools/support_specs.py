"""Small graphs of table-declared ops, from their declarations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dialects.onednn.families import TableOp
from dialects.onednn.spec_classes import FAMILIES, spec_class
from dialects.support.attributes import AttributeSpec, documented_attributes
from gradc.builder.graph import Graph, GraphValue

SIZE = 3
SOME_VALUE = {"f32": 0.5, "s64": 1, "bool": True, "s64[]": [0], "f32[]": [0.5]}


def page_of(family: str) -> str:
    """Return the page of a family; ops with spatial axes have their own."""
    base, _ = FAMILIES[family]
    return "nonspatial.md" if min(base.RANKS) < 3 else "spatial.md"


def example_rank(kind: str) -> int:
    """Return the representative rank of an op's data: 2, or the next supported one."""
    return min(rank for rank in spec_class(kind).RANKS if rank >= 2)


def probe(kind: str, dtype: str, rank: int, dynamic: bool) -> Graph:
    """Return a graph of one op on tensors of a rank, with static or dynamic sizes."""
    cls, g = spec_class(kind), Graph()
    shape: list[Any] = [f"S{axis}" if dynamic else SIZE for axis in range(rank)]
    documented = documented_attributes(cls)
    ports = [port for port in cls.PORTS if port not in documented]
    required = {name: _some(d.spec) for name, d in documented.items() if d.required}
    required |= cls.SAMPLE
    if cls.CHOOSES_DTYPE:
        required["result_dtype"] = cls.result_dtypes(dtype)[0]
    operands: list[Any] = [_input(g, cls, port, dtype, shape) for port in ports]
    if cls.is_variadic():
        operands[-1] = [operands[-1], _input(g, cls, "src_1", dtype, shape)]
    results = getattr(g, cls.SPEC.method)(*operands, **required)
    for role, result in zip(cls.RESULTS, results if isinstance(results, tuple) else (results,), strict=True):
        g.output(result, role)
    return g


def _input(g: Graph, cls: type[TableOp], port: str, dtype: str, shape: Sequence[Any]) -> GraphValue:
    known = [SIZE] * len(shape) if cls.knows_sizes(port) else shape
    return g.input(port, cls.port_dtype(port, dtype), cls.port_shape(port, tuple(known)))


def _some(spec: AttributeSpec) -> Any:
    return spec.words[0] if spec.words else SOME_VALUE[spec.tag]
