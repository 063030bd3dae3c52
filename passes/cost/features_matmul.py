"""Features of matrix products in onnxruntime's GEMM: packed panels of B, 12 rows of A at a time."""

from __future__ import annotations

import math

from passes.cost.graph import Step
from passes.cost.vector import Features, traffic

ROWS, COLUMNS = 12, 16
"""Rows of A and columns of B in registers; fewer take as long."""

PANEL = 128
"""Columns of B in a packed panel, and rows of B in one pass over C."""

STREAMED = 32
"""Columns of B from which on multiplying a row of A takes longer than fetching the next one."""


def matmul(step: Step) -> Features:
    left, right = step.operand(0), step.operand(1)
    depth = left.shape[-1]
    columns = right.shape[-1] if len(right.shape) > 1 else 1
    if len(right.shape) <= 2:
        rows, products = left.elements // max(1, depth), 1
    else:
        rows = left.shape[-2] if len(left.shape) > 1 else 1
        products = step.result.elements // max(1, rows * columns)
    packed = right.constant and len(right.shape) == 2
    turned, itemsize = bool(step.int("transA", 0)), step.result.itemsize
    found = gemm(rows, columns, depth, products, packed=packed, turned=turned, itemsize=itemsize)
    fetched = left.bytes * max(0.0, 1 - columns / STREAMED)
    return found | traffic("MatMul", fetched + right.bytes + step.result.bytes)


def gemm_op(step: Step) -> Features:
    """Count ONNX's Gemm of two matrices."""
    left, right = step.operand(0), step.operand(1)
    turned = bool(step.int("transA", 0))
    depth, rows = left.shape if turned else left.shape[::-1]
    columns = right.shape[0 if step.int("transB", 0) else 1]
    found = gemm(rows, columns, depth, 1, packed=right.constant, turned=turned, itemsize=step.result.itemsize)
    return found | traffic("MatMul", right.bytes + step.result.bytes)


def gemm(
    rows: int,
    columns: int,
    depth: int,
    products: int,
    *,
    packed: bool = False,
    turned: bool = False,
    itemsize: int = 4,
) -> Features:
    """Count `products` times (rows, depth) x (depth, columns). `packed`: the second factor is packed at
    compile time; `turned`: the first is transposed on the fly, for every panel of the second."""
    name = "Gemm" if itemsize == 4 else "GemmWide"
    if rows == 1 and not packed:
        return {
            f"{name}.vector": float(products * depth * columns),
            f"{name}.products": float(products),
        }
    if columns == 1 and not packed and not turned:
        return {f"{name}.vector": float(products * depth * rows), f"{name}.products": float(products)}
    padded = math.ceil(columns / COLUMNS) * COLUMNS
    panels = products * padded * depth
    found = {
        f"{name}.flops": float(panels * rows),
        f"{name}.tiles": float(panels * math.ceil(rows / ROWS)),
        f"{name}.products": float(products),
        f"{name}.rows": float(products * rows * depth * math.ceil(columns / PANEL)),
        f"{name}.sums": float(products * rows * columns * math.ceil(depth / PANEL)),
    }
    if turned:
        found[f"{name}.turned"] = found[f"{name}.rows"]
    return found | ({f"{name}.packed": float(panels)} if packed else {f"{name}.packing": float(panels)})
