"""The cases that onnx ships for the ops of its standard domain, as ops and modules."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, helper, numpy_helper
from xdsl.dialects import builtin, func, test
from xdsl.ir import Block, Region, SSAValue

from dialects.onnx import ops
from dialects.onnx.base import OnnxOp
from dialects.support import shapes
from dialects.support.dtypes import by_number, of_numpy

Case = Any
"""onnx's TestCase."""


@cache
def cases() -> dict[str, list[Case]]:
    """Op -> cases of one node in its newest form, whose operands and results are tensors."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = defaultdict(list)
        for case in collect_testcases(None):  # pyright: ignore[reportArgumentType]
            graph = case.model.graph
            (node, *others) = graph.node
            ours = not node.domain and node.op_type in ops.op_names()
            if others or not ours or not case.data_sets or not is_newest(case.model, node):
                continue
            if all(v.type.HasField("tensor_type") for v in (*graph.input, *graph.output)):
                found[node.op_type].append(case)
    return found


def is_newest(model: onnx.ModelProto, node: onnx.NodeProto) -> bool:
    """Whether the model's opset has today's form of the op, or one that means the same."""
    if any(attribute.type == AttributeProto.GRAPH for attribute in node.attribute):
        return False
    (opset,) = (entry.version for entry in model.opset_import if not entry.domain)
    signature = ops.op_class(node.op_type).SIGNATURE
    known = set(signature.kinds)
    old = {attribute.name for attribute in node.attribute} - known
    return opset >= signature.revisions[0] and not old


def attributes(node: onnx.NodeProto, op: type[OnnxOp]) -> dict[str, Any]:
    found = {}
    for attribute in node.attribute:
        value = helper.get_attribute_value(attribute)
        kind = op.SIGNATURE.kinds[attribute.name]
        if kind == "TYPE":
            dtype = by_number(value)
            value = dtype.mlir if dtype else None
        elif kind == "TENSOR":
            value = numpy_helper.to_array(value)
        elif kind in ("STRING", "STRINGS"):
            value = value.decode() if kind == "STRING" else [text.decode() for text in value]
        found[attribute.name] = value
    return found


def op_of(node: onnx.NodeProto, operands: Sequence[SSAValue | None]) -> OnnxOp:
    cls: Any = ops.op_class(node.op_type)
    if node.op_type == "Constant":
        return cls(**attributes(node, cls))
    ports = cls.SIGNATURE.operands
    variadic = bool(ports) and ports[-1].option.startswith("*")
    singles = len(ports) - variadic
    given = [*operands[:singles], *[None] * (singles - len(operands))]
    more = [list(operands[singles:])] if variadic else []
    count = {"results": len(node.output)} if cls.SIGNATURE.results[-1].option.startswith("*") else {}
    return cls(*given, *more, **attributes(node, cls), **count)


def array_of(given: Any) -> np.ndarray:
    return numpy_helper.to_array(given) if isinstance(given, onnx.TensorProto) else np.asarray(given)


def operands_of(case: Case) -> list[np.ndarray | None]:
    arrays = dict(zip((v.name for v in case.model.graph.input), case.data_sets[0][0], strict=True))
    (node,) = case.model.graph.node
    return [array_of(arrays[name]) if name else None for name in node.input]


def value(array: np.ndarray | None, constant: bool) -> SSAValue | None:
    if array is None:
        return None
    dtype = of_numpy(array.dtype)
    dtype = dtype or of_numpy(np.dtype(object))
    assert dtype is not None
    if constant and dtype.name != "string":
        return ops.ConstantOp(array.astype(dtype.numpy)).output
    return test.TestOp(result_types=[shapes.tensor_type(dtype.mlir, array.shape)]).results[0]


def expected(case: Case) -> list[tuple[int, np.ndarray]]:
    """The results that the case names, by their place."""
    (node,) = case.model.graph.node
    arrays = dict(zip((v.name for v in case.model.graph.output), case.data_sets[0][1], strict=True))
    return [(i, array_of(arrays[name])) for i, name in enumerate(node.output) if name in arrays]


def module_of(case: Case) -> builtin.ModuleOp:
    """A function of the case's op, which gives the results that the case names."""
    given = [value(array, False) for array in operands_of(case)]
    block = Block(arg_types=[v.type for v in given if v is not None])
    arguments = iter(block.args)
    (node,) = case.model.graph.node
    op = op_of(node, [None if v is None else next(arguments) for v in given])
    named = [result for name, result in zip(node.output, op.results, strict=False) if name]
    block.add_ops([op, func.ReturnOp(*named)])
    types = [argument.type for argument in block.args], [result.type for result in named]
    return builtin.ModuleOp([func.FuncOp("f", types, Region(block))])
