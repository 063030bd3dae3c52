"""Scan of opset 8, which has a batch axis, as a Scan of opset 9 within another."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType, UnrankedTensorType, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from dialects.onnx import ops
from dialects.onnx.control import YieldOp
from dialects.onnx.types import UnknownType
from dialects.support.attributes import int_attribute
from dialects.support.diagnostics import violation
from dialects.support.dtypes import of_mlir
from gradc.importers.onnx import control, upgrade_steps
from gradc.importers.onnx.attributes import int_of
from gradc.importers.onnx.source import Source


def scan_over_samples(node: Source) -> None:
    """Turn the node into a Scan over the batch, whose body is the node's own Scan of one sample.

    Operand 0, optional, holds the lengths of the sequences. Each sample is cut to its length before the inner
    Scan, and the stacked results are padded with zeros, as in onnxruntime.
    """
    lengths, *values = node.operands or [None]
    given = [value for value in values if value is not None]
    if len(given) != len(values):
        raise violation("inputs of Scan", given="an omitted one", expected="all but sequence_lens")
    count = int_of(node.attributes.get("num_scan_inputs"), 0)
    block = Block(arg_types=[control.without_axis(value.type, 0) for value in given])
    inner = Source(
        "Scan",
        node.since,
        list(block.args),
        {"num_scan_inputs": int_attribute(count)},
        node.regions,
        list[Attribute | None]([None] * len(node.declared)),
        block,
        node.location,
    )
    directions = node.attributes.pop("directions", None)
    if directions is not None:
        inner.attributes["scan_input_directions"] = directions
    if lengths is None:
        yielded = _scan(inner)
    else:
        given.append(lengths)
        length = block.insert_arg(TensorType(i64, []), len(block.args))
        yielded = _scan_of_length(inner, length, count)
    block.add_op(YieldOp(*yielded))
    node.operands = list(given)
    node.attributes["num_scan_inputs"] = int_attribute(len(given))
    node.regions = {"body": Region(block)}


def _scan(node: Source) -> list[SSAValue]:
    types = control.results(node, node.declared)
    known = [UnknownType() if type_ is None else type_ for type_ in types]
    operands: list[Any] = node.operands
    given: dict[str, Any] = {**node.attributes, **node.regions}
    op = ops.ScanOp(operands, result_types=known, **given)
    node.emit(op)
    return list(op.results)


def _scan_of_length(node: Source, length: SSAValue, count: int) -> list[SSAValue]:
    """Return the final states and the padded scan outputs of a Scan over the first `length` elements."""
    end = node.emit(ops.ReshapeOp(length, node.ints(1)))
    states = len(node.operands) - count
    longest = node.emit(ops.ShapeOp(node.operand(states), start=0, end=1))
    padding = node.emit(ops.SubOp(longest, end))
    for index in range(states, len(node.operands)):
        cut = ops.SliceOp(node.operand(index), node.ints(0), end, node.ints(0))
        node.operands[index] = node.emit(cut)
    results = _scan(node)
    return [*results[:states], *(_pad_with_zeros(node, value, padding) for value in results[states:])]


def _pad_with_zeros(node: Source, value: SSAValue, count: SSAValue) -> SSAValue:
    """Pad a value with `count` zeros at the end of its first axis."""
    if not _is_numeric(value.type):
        raise upgrade_steps.unsupported(
            "Scan of opset 8 with sequence_lens", "only numbers can be padded with zeros"
        )
    sizes = node.emit(ops.ConcatOp([count, node.emit(ops.ShapeOp(value, start=1))], axis=0))
    zeros = node.emit(ops.ConstantOfShapeOp(sizes, value=np.zeros(1, upgrade_steps.numpy_dtype(value))))
    return node.emit(ops.ConcatOp([value, zeros], axis=0))


def _is_numeric(type_: Attribute) -> bool:
    if not isinstance(type_, TensorType | UnrankedTensorType):
        return False
    dtype = of_mlir(type_.element_type)
    return dtype is not None and dtype.numpy.kind in "biuf"
