"""What `--json` of the commands that compile and run says, as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dialects.support.diagnostics import name_of, position_of
from dialects.support.documented_op import STRATEGY
from gradc.checking.alike import is_measured, kind_of
from gradc.compiler.compiled import Compiled
from gradc.graph.tensors import TensorInfo
from gradc.model.saving import model_bytes


def of_compiled(
    compiled: Compiled, output: str | None, passes: Sequence[tuple[str, float]] | None
) -> dict[str, Any]:
    """A compiled graph: its edge, its nodes by kind, how its ops are written, what was remarked.

    `passes` are names and seconds, in order.
    """
    target = compiled.options.resolved()
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
    """A compiled gradient: the names of its results and cotangents, and the outcome of its check."""
    proof = None if compiled.proof is None else compiled.proof.as_data()
    names = {"gradients": dict(compiled.gradients), "cotangents": dict(compiled.cotangents)}
    return of_compiled(compiled, output, None) | names | {"check": proof}


def _info(info: TensorInfo) -> dict[str, Any]:
    return {"name": info.name, "dtype": info.dtype, "shape": None if info.shape is None else list(info.shape)}


def _strategies(compiled: Compiled) -> list[dict[str, Any]]:
    """Each strategy of each source op once, in the order of the model."""
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
    """The outputs of a run, and how many nodes each execution provider took."""
    outputs = [_of_array(name, array) for name, array in results.items()]
    return {"output": output, "outputs": outputs, "placement": dict(placement)}


def _of_array(name: str, array: Any) -> dict[str, Any]:
    """The shape is None of what is no tensor."""
    shape = list(array.shape) if isinstance(array, np.ndarray) else None
    found = {"name": name, "dtype": kind_of(array), "shape": shape}
    return found | (range_of(array) or dict.fromkeys(("min", "max", "mean")))


def range_of(array: Any) -> dict[str, float] | None:
    """None for an array without elements, and for what are no numbers."""
    if not is_measured(array) or not array.size:
        return None
    values = array.astype(np.float64)
    return {"min": float(values.min()), "max": float(values.max()), "mean": float(values.mean())}
