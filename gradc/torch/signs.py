"""Whether results depend on the signs of eigenvectors and singular vectors, which are arbitrary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradc.importers.torch.captured import CapturedGraph, CapturedOp
from gradc.importers.torch.elements import tensor_of
from gradc.importers.torch.torch_internals import torch
from gradc.torch.replay import run_op

VECTORS = {"_linalg_eigh.default": 0, "_linalg_svd.default": 1}
"""Op whose other results are vectors, known up to their signs -> its result of values."""

BOUND = 1e-2
"""Change of a result, relative to its norm, that is no rounding."""


def has_vectors(graph: CapturedGraph) -> bool:
    """Return whether vectors that are known up to their signs are read."""
    return any(op.op in VECTORS for op in graph.ops)


def depends_on_signs(
    graph: CapturedGraph, inputs: Mapping[str, np.ndarray], sizes: Mapping[str, int]
) -> bool:
    """Return whether a result changes if all vectors, or every second one, point the other way.

    inputs: a value for each input of the graph, at these sizes of its dims.
    """
    arrays = dict(graph.constants) | {one.value: inputs[one.name] for one in graph.inputs}
    given = {index: tensor_of(array, graph.values[index].dtype) for index, array in arrays.items()}
    expected = _results(graph, given, sizes, None)
    return any(
        _differ(one, other)
        for every in (1, 2)
        for one, other in zip(expected, _results(graph, given, sizes, every), strict=True)
    )


def _results(
    graph: CapturedGraph, given: Mapping[int, Any], sizes: Mapping[str, int], every: int | None
) -> list[Any]:
    """Return the results by torch, with every n-th vector turned."""
    values = dict(given)
    for op in graph.ops:
        found = run_op(op, values, sizes)
        if every is not None and op.op in VECTORS:
            found = _turned(op, found, every)
        values.update(zip(op.results, found, strict=False))
    return [values[output.value] for output in graph.outputs]


def _turned(op: CapturedOp, found: Sequence[Any], every: int) -> list[Any]:
    first, *others = found
    if op.op == "_linalg_eigh.default":
        return [first, others[0] * _signs(others[0], every)]
    values, right = others
    u_signs, v_signs = _signs(first, every), _signs(right.mT, every).mT
    return [first * u_signs, values, right * v_signs]


def _signs(vectors: Any, every: int) -> Any:
    """Return -1 for every n-th column and 1 for the others: (1, n)."""
    is_turned = torch.arange(vectors.shape[-1]) % every == 0
    return torch.where(is_turned, -1.0, 1.0).to(vectors.dtype).unsqueeze(0)


def _differ(one: Any, other: Any) -> bool:
    if not one.is_floating_point():
        return not torch.equal(one, other)
    change = torch.linalg.vector_norm(torch.nan_to_num(one - other))
    return bool(change > BOUND * torch.linalg.vector_norm(torch.nan_to_num(one)))
