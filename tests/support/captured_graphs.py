"""Evaluation of captured graphs by torch's own ops: an oracle for the capture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from dialects.shapes.forms import Size
from gradc.importers.torch.captured import CapturedGraph, CapturedOp

torch: Any = pytest.importorskip("torch")

from gradc.importers.torch import capture as capture_module  # noqa: E402
from gradc.importers.torch.elements import dtype_name  # noqa: E402
from gradc.torch.replay import number_at, run_op  # noqa: E402
from passes.lower_aten.table import KNOWN  # noqa: E402

capture = partial(capture_module.capture, kept=KNOWN)
"""Capture with the ops decomposed that `gradc.torch.export` decomposes."""


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
            results = run_op(op, values, dims)
            for index, result in zip(op.results, results, strict=True):
                values[index] = result
                if result is not None:
                    _check(graph, op, index, result, dims)
    outputs = [values[output.value] for output in graph.outputs]
    return outputs, {name: values[index] for name, index in graph.updates.items()}


def _check(graph: CapturedGraph, op: CapturedOp, index: int, result: Any, dims: Mapping[str, int]) -> None:
    kind = graph.values[index]
    assert tuple(number_at(size, dims) for size in kind.shape) == tuple(result.shape), op
    assert kind.dtype == dtype_name(result.dtype), op
