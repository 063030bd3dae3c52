"""Evaluation of captured graphs by torch's own ops: an oracle for the capture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from dialects.aten.ratios import Ratio
from dialects.shapes.forms import Size
from dialects.shapes.sizes import substitute
from dialects.support.dtypes import by_name
from gradc.importers.torch.captured import CapturedGraph, CapturedOp, ValueRef

torch: Any = pytest.importorskip("torch")

from gradc.importers.torch import torch_internals as internals  # noqa: E402
from gradc.importers.torch.elements import dtype_name, torch_dtype  # noqa: E402

_DTYPES = {dtype_name(dtype): dtype for dtype in vars(torch).values() if isinstance(dtype, torch.dtype)}


def tensor_of(array: np.ndarray) -> Any:
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())


def evaluate(
    graph: CapturedGraph, arguments: Sequence[Any], state: Mapping[str, Any] | None = None
) -> tuple[list[Any], dict[str, Any]]:
    """Return the outputs and the updates of a captured graph; shapes and types are checked at each op."""
    values: dict[int, Any] = {index: tensor_of(array) for index, array in graph.constants.items()}
    given = iter(arguments)
    for entry in graph.inputs:
        values[entry.value] = next(given) if entry.kind == "argument" else (state or {})[entry.name]
    dims = dict[str, int]()
    for entry in graph.inputs:
        for size, actual in zip(graph.values[entry.value].shape, values[entry.value].shape, strict=True):
            if isinstance(size, Size) and size.name:
                dims.setdefault(size.name, actual)
    with torch.no_grad():
        for op in graph.ops:
            results = _run(op, values, dims)
            for index, result in zip(op.results, results, strict=True):
                values[index] = result
                if result is not None:
                    _check(graph, op, index, result, dims)
    outputs = [values[output.value] for output in graph.outputs]
    return outputs, {name: values[index] for name, index in graph.updates.items()}


def _run(op: CapturedOp, values: Mapping[int, Any], dims: Mapping[str, int]) -> list[Any]:
    packet, overload = op.op.split(".")
    target = getattr(getattr(torch.ops.aten, packet), overload)
    given = iter(op.arguments)
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for name, _, is_keyword in internals.kept_arguments(target):
        value = _plain(next(given), values, dims)
        if is_keyword:
            keywords[name] = value
        else:
            positional.append(value)
    assert next(given, None) is None, op
    if op.op == "view.default":
        positional[0] = positional[0].contiguous()
    result = target(*positional, **keywords)
    return list(result) if isinstance(result, (list, tuple)) else [result]


def _plain(item: Any, values: Mapping[int, Any], dims: Mapping[str, int]) -> Any:
    if isinstance(item, ValueRef):
        return values[item.index]
    if isinstance(item, tuple):
        return [_plain(part, values, dims) for part in item]
    if isinstance(item, str):
        return torch_dtype(item) if by_name(item) else item
    if isinstance(item, Ratio):
        with np.errstate(all="ignore"):
            return float(np.float64(_plain(item.dividend, {}, dims)) / _plain(item.divisor, {}, dims))
    return substitute(item, dims) if isinstance(item, Size) else item


def _check(graph: CapturedGraph, op: CapturedOp, index: int, result: Any, dims: Mapping[str, int]) -> None:
    kind = graph.values[index]
    assert tuple(_plain(size, {}, dims) for size in kind.shape) == tuple(result.shape), op
    assert kind.dtype == dtype_name(result.dtype), op
