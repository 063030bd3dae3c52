"""The fallback of a vectorization: a Scan that applies an op to one row after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import TensorType, UnitAttr, UnrankedTensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.control import YieldOp
from dialects.onnx.types import SequenceType
from dialects.support.diagnostics import UnsupportedError, error_at
from dialects.support.shapes import shape_of, tensor_type
from passes.builder.values import Value
from passes.vectorize.batch import Batch

ROW_BY_ROW = "gradc.row_by_row"
"""Attribute of a Scan that applies one op to one row after the other."""


def scan_rows(
    op: Operation, batched: Mapping[SSAValue, Value], b: Batch
) -> tuple[Operation, Sequence[Value]]:
    """Return an op within a Scan over all rows, and the Scan's results. `batched` maps the values that the op
    reads to those with the new axis.

    Raises UnsupportedError for an op on sequences, which a Scan cannot go over.
    """
    for value in (*batched, *op.results):
        if not isinstance(value.type, TensorType | UnrankedTensorType):
            error = error_at(op, "op computed row by row", given=value.type, expected="tensors")
            raise UnsupportedError(error.diagnostic)
    block = Block(arg_types=[value.type for value in batched])
    inner = op.clone(dict(zip(batched, block.args, strict=True)))
    block.add_ops([inner, YieldOp(*inner.results)])
    scan = onnx.ScanOp(
        [value.value for value in batched.values()],
        num_scan_inputs=len(batched),
        body=Region(block),
        result_types=[row_type(result, b) for result in op.results],
    )
    scan.attributes[ROW_BY_ROW] = UnitAttr()
    return inner, list(map(b.e, b.e.emit.all(scan)))


def row_type(value: SSAValue | Attribute, b: Batch) -> Attribute:
    """Return the type of a value, or of the tensors of a sequence, with the new axis."""
    type_ = value.type if isinstance(value, SSAValue) else value
    tensor = type_.element if isinstance(type_, SequenceType) else type_
    if not isinstance(tensor, TensorType):
        return type_
    rows = tensor_type(tensor.element_type, (b.dim, *shape_of(tensor)))
    return SequenceType(rows) if isinstance(type_, SequenceType) else rows
