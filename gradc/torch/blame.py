"""The first op of a captured graph whose lowering differs from torch's own, for error messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gradc.compiler.driver import compile_module
from gradc.compiler.options import Options
from gradc.compiler.pass_runner import parse, run_passes
from gradc.importers.torch.captured import CapturedGraph, CapturedOp, Output
from gradc.importers.torch.elements import array_of, tensor_of
from gradc.importers.torch.module import module_of
from gradc.torch.replay import run_op
from gradc.torch.signs import VECTORS

BOUND = 1e-3
"""Error of one op, relative to its norm."""

VALUES = VECTORS | {"_ctc_loss.Tensor": 0}
"""Op whose other results may differ from torch's -> the result to compare."""


def first_difference(
    graph: CapturedGraph, options: Options, inputs: Mapping[str, np.ndarray], sizes: Mapping[str, int]
) -> CapturedOp | None:
    """Return the first op whose result differs from torch's for the same operands; None if there is none.

    inputs: a value for each input of the graph, at these sizes of its dims.
    """
    given = {one.value for one in graph.inputs} | set(graph.constants)
    inner = [index for op in graph.ops for index in op.results if index not in given | _empty(graph)]
    module = module_of(replace(graph, outputs=tuple(Output(f"v{i}", i) for i in inner), updates={}))
    run_passes(module, parse("lower-aten"), options, start=module.clone())
    found = compile_module(module, options).run(inputs)
    arrays = dict(graph.constants)
    arrays |= {one.value: inputs[one.name] for one in graph.inputs}
    arrays |= {index: found[f"v{index}"] for index in inner}
    values = {index: tensor_of(array, graph.values[index].dtype) for index, array in arrays.items()}
    return next((op for op in graph.ops if _differs(op, values, sizes)), None)


def _empty(graph: CapturedGraph) -> set[int]:
    """Return the values without elements: gradients that the mask of a backward op leaves out."""
    return {index for index, value in enumerate(graph.values) if 0 in value.shape}


def _differs(op: CapturedOp, values: Mapping[int, Any], sizes: Mapping[str, int]) -> bool:
    try:
        expected = run_op(op, values, sizes)
    except RuntimeError:  # an op that refuses these sizes, which the function does not run then
        return False
    pairs = list(zip(op.results, expected, strict=False))  # a split has fewer parts at some sizes
    pairs = [pairs[VALUES[op.op]]] if op.op in VALUES else pairs
    return any(
        i in values and wanted is not None and _distance(values[i], wanted) > BOUND for i, wanted in pairs
    )


def _distance(found: Any, wanted: Any) -> float:
    """Return the distance relative to the norm; NaN equals NaN."""
    if found.shape != wanted.shape:
        return float("inf")
    got, want = (array_of(tensor).astype(np.float64) for tensor in (found, wanted))
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    with np.errstate(invalid="ignore"):
        error = float(np.linalg.norm(np.where(same, 0.0, got - want)))
    return (
        float("inf") if np.isnan(error) else error / (float(np.linalg.norm(want[np.isfinite(want)])) or 1.0)
    )
