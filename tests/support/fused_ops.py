"""The ops that onnxruntime's optimizer makes of a model."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import onnx
import onnxruntime as ort

EXTENDED = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
ALL = ort.GraphOptimizationLevel.ORT_ENABLE_ALL

STANDARD = frozenset(
    (
        "Gelu",
        "Gemm",
        "LayerNormalization",
        "QLinearConv",
        "QLinearMatMul",
        "SimplifiedLayerNormalization",
        "Split",
    )
)
"""Ops of the standard domain that the optimizer writes for several others."""

LAYOUT = frozenset(("ReorderInput", "ReorderOutput", "Upsample"))
"""Ops of onnxruntime's blocked layout that move data: fewer are better."""


def optimized_ops(model: onnx.ModelProto, level: ort.GraphOptimizationLevel = EXTENDED) -> Counter[str]:
    """How many nodes of each op, with its domain, are left of a model on the CPU provider."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = level
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "optimized.onnx"
        options.optimized_model_filepath = str(path)
        ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        optimized = onnx.load(path, load_external_data=False)
    return Counter(f"{node.domain}.{node.op_type}".lstrip(".") for node in _nodes(optimized.graph))


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from _nodes(attribute.g)


def fused_ops(ops: Counter[str]) -> Counter[str]:
    """The fused ops among those of an optimized graph."""
    kinds = (op for op in ops if op in STANDARD or ("." in op and op.rpartition(".")[2] not in LAYOUT))
    return Counter({op: ops[op] for op in kinds})


def lost_fusions(before: Counter[str], after: Counter[str]) -> dict[str, tuple[int, int]]:
    """The fused ops of which there are fewer after than before: op -> both numbers."""
    return {op: (count, after[op]) for op, count in fused_ops(before).items() if after[op] < count}
