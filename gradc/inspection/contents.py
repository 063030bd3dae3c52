"""Contents of a model: ops by kind, weights, dynamic dims, arithmetic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from dialects.onnx.base import OnnxOp
from dialects.onnx.node import NodeOp
from dialects.onnx.ops import ConstantOp
from dialects.shapes.forms import Form
from dialects.support import entry, shapes
from gradc.inspection.arithmetic import Arithmetic, arithmetic
from gradc.inspection.memory import peak_bytes
from gradc.terminal.numbers import size, with_prefix
from gradc.terminal.tables import PLAIN, Look, table

if TYPE_CHECKING:
    from gradc.model.exporter import ModelProto

LONGEST = 60
"""Longest formula in the table, in characters; JSON has all of it."""


@dataclass(frozen=True)
class Kind:
    """Number of nodes of one op in the model and in the compiled one, subgraphs included, and the arithmetic
    of the latter, a formula if it depends on dynamic dims, None if it is unknown."""

    count: int
    compiled: int
    macs: int | str | None
    flops: int | str | None


@dataclass(frozen=True)
class Weights:
    """Weights of the model; `parameters` counts float elements, `tensors` is the list of `gradc weights`."""

    count: int
    bytes: int
    parameters: int
    by_dtype: Mapping[str, int] = field(default_factory=dict)
    tensors: Sequence[Mapping[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Contents:
    """Contents of a model. `uncounted` ops are not, or not all, in the sums. `memory` is the peak memory of
    the compiled model's values in bytes, with dynamic dims of 1, None if sizes are unknown."""

    opsets: Mapping[str, int]
    kinds: Mapping[str, Kind]
    dims: Sequence[str]
    weights: Weights
    macs: int | str
    flops: int | str
    uncounted: Sequence[str]
    memory: int | None


def contents(module: ModuleOp, lowered: ModuleOp, model: ModelProto) -> Contents:
    """Return the contents of a typed module, its lowering (itself if it does not compile) and its model."""
    given = Counter(map(_kind, _nodes(module)))
    left = Counter(map(_kind, _nodes(lowered)))
    found = {kind: list[Arithmetic]() for kind, _ in (given + left).most_common()}
    for op in _nodes(lowered):
        found[_kind(op)].append(arithmetic(op))
    total = sum((each for kind in found.values() for each in map(_or_nothing, kind)), Arithmetic())
    return Contents(
        opsets=_imports(model),
        kinds={kind: _sum_of_kind(given[kind], each) for kind, each in found.items()},
        dims=_dynamic_dims(module),
        weights=_weights(model),
        macs=_plain(total.macs) or 0,
        flops=_plain(total.flops) or 0,
        uncounted=[kind for kind, each in found.items() if any(one.flops is None for one in each)],
        memory=peak_bytes(lowered, _dynamic_dims(module)),
    )


def _nodes(module: ModuleOp) -> Iterator[Operation]:
    nodes = (op for op in module.walk() if isinstance(op, OnnxOp | NodeOp))
    return (op for op in nodes if not isinstance(op, ConstantOp))


def _kind(op: Operation) -> str:
    if isinstance(op, NodeOp):
        return f"{op.domain.data}.{op.op_type.data}" if op.domain.data else op.op_type.data
    assert isinstance(op, OnnxOp)
    return op.onnx_name()


def _or_nothing(one: Arithmetic) -> Arithmetic:
    return Arithmetic() if one.flops is None else one


def _sum_of_kind(count: int, parts: Sequence[Arithmetic]) -> Kind:
    whole = sum(parts, Arithmetic())
    return Kind(count, len(parts), _plain(whole.macs), _plain(whole.flops))


def _plain(form: Form | None) -> int | str | None:
    return form if form is None or isinstance(form, int) else str(form)


def _imports(model: Any) -> dict[str, int]:
    """Return the model's opsets by domain."""
    return {each.domain or "ai.onnx": each.version for each in model.opset_import}


def _dynamic_dims(module: ModuleOp) -> list[str]:
    """Return the names of the inputs' dynamic dims, ? for an unnamed one."""
    arguments = entry.entry_function(module).args
    dims = [
        dim
        for value in arguments
        if shapes.has_rank(value)
        for dim in shapes.dim_texts(shapes.shape_of(value))
    ]
    return list(dict.fromkeys(str(dim) if dim else "?" for dim in dims if not isinstance(dim, int)))


def _weights(model: ModelProto) -> Weights:
    from gradc.inspection.weights import as_data
    from gradc.model.stored_weights import list_weights

    found = list_weights(model)
    by_dtype: Counter[str] = Counter()
    for one in found:
        by_dtype[one.dtype] += one.bytes
    sizes = ([size for size in one.shape if isinstance(size, int)] for one in found if _is_float(one.dtype))
    ordered = dict(by_dtype.most_common())
    return Weights(len(found), sum(by_dtype.values()), sum(map(prod, sizes)), ordered, as_data(found))


def _is_float(name: str) -> bool:
    return name.startswith(("f", "bf"))


def lines(found: Contents, look: Look = PLAIN) -> Iterator[str]:
    if found.opsets:
        yield "opset   " + ", ".join(f"{domain} {version}" for domain, version in found.opsets.items())
    if found.dims:
        yield f"dynamic {', '.join(found.dims)}"
    weights = found.weights
    split = ", ".join(f"{name} {' '.join(size(count))}" for name, count in weights.by_dtype.items())
    summary = f"weights {weights.count:,}, {' '.join(size(weights.bytes))}"
    yield f"{summary} ({split}), {weights.parameters:,} parameters" if split else summary
    if found.memory is not None:
        dims = ", ".join(f"{dim} = 1" for dim in found.dims)
        yield f"memory  {' '.join(size(found.memory))} of values at once{f', where {dims}' if dims else ''}"
    yield ""
    rows = [
        (kind, f"{one.count:,}", f"{one.compiled:,}", _format_number(one.macs), _format_number(one.flops))
        for kind, one in found.kinds.items()
    ]
    given = sum(one.count for one in found.kinds.values())
    left = sum(one.compiled for one in found.kinds.values())
    rows.append(("all", f"{given:,}", f"{left:,}", _format_number(found.macs), _format_number(found.flops)))
    yield table(("", "nodes", "compiled", "MACs", "FLOPs"), rows, (1, 2, 3, 4), look)
    if found.uncounted:
        yield f"not counted, or not all of them: {', '.join(found.uncounted)}"


def _format_number(number: int | str | None) -> str:
    if number is None:
        return "?"
    if isinstance(number, int):
        return with_prefix(number).strip() if number else ""
    return number if len(number) <= LONGEST else f"{number[: LONGEST - 2]} ..."
