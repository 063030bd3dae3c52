"""Data of `--json` of the commands that compile and run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dialects.support.diagnostics import name_of, position_of
from dialects.support.documented_op import STRATEGY
from gradc.compiler.compiled import Compiled
from gradc.graph.tensors import TensorInfo
from gradc.model.saving import model_bytes
from gradc.verification.exact_match import is_measured, kind_of


def of_compiled(
    compiled: Compiled, output: str | None, passes: Sequence[tuple[str, float]] | None
) -> dict[str, Any]:
    """Summarize a compiled graph: inputs, outputs, nodes by op, strategies, remarks.

    `passes` are names and seconds, in order.
    """
    target = compiled.options.resolve_target()
    return {
        "output": output,
        "target": target.name,
        "opset": target.opset,
        "threads": target.threads,
        "inputs": [_info(info) for info in compiled.inputs],
        "outputs": [_info(info) for info in compiled.outputs],
        "bytes": model_bytes(compiled.parts),
        "nodes": dict(Counter(node.op_type for node in compiled.proto.graph.node).most_common()),
        "strategies": _strategies(compiled),
        "remarks": [remark.as_data() for remark in compiled.remarks],
        "passes": None if passes is None else [{"name": name, "seconds": s} for name, s in passes],
    }


def of_gradient(compiled: Compiled, output: str | None) -> dict[str, Any]:
    """Summarize a compiled derivative, with the names of results and cotangents and its check's outcome."""
    proof = None if compiled.proof is None else compiled.proof.as_data()
    derivatives = [one.as_data() for one in compiled.derivatives]
    names: dict[str, Any] = {"gradients": dict(compiled.gradients), "cotangents": dict(compiled.cotangents)}
    names["derivatives"] = derivatives
    return of_compiled(compiled, output, None) | names | {"check": proof}


def _info(info: TensorInfo) -> dict[str, Any]:
    return {"name": info.name, "dtype": info.dtype, "shape": None if info.shape is None else list(info.shape)}


def _strategies(compiled: Compiled) -> list[dict[str, Any]]:
    """Return each strategy of each source op once, sorted by op."""
    found = {
        (name_of(op), str(position_of(op) or ""), op.attributes[STRATEGY].data)  # pyright: ignore
        for op in compiled.module.walk()
        if STRATEGY in op.attributes
    }
    keys = ("op", "position", "strategy")
    return [dict(zip(keys, values, strict=True)) for values in sorted(found)]


def of_run(
    results: Mapping[str, np.ndarray], placement: Mapping[str, int], output: str | None
) -> dict[str, Any]:
    """Summarize a run: outputs, and the number of nodes of each execution provider."""
    outputs = [_of_array(name, array) for name, array in results.items()]
    return {"output": output, "outputs": outputs, "placement": dict(placement)}


def _of_array(name: str, array: Any) -> dict[str, Any]:
    """Summarize an output; the shape of a value that is no tensor is None."""
    shape = list(array.shape) if isinstance(array, np.ndarray) else None
    found = {"name": name, "dtype": kind_of(array), "shape": shape}
    return found | (range_of(array) or dict.fromkeys(("min", "max", "mean")))


def range_of(array: Any) -> dict[str, float] | None:
    """Return min, max and mean; None for empty arrays and values that are no numbers."""
    if not is_measured(array) or not array.size:
        return None
    values = array.astype(np.float64)
    return {"min": float(values.min()), "max": float(values.max()), "mean": float(values.mean())}
