"""Ranks of results that follow although an operand has no rank."""

from __future__ import annotations

import onnx.parser
import pytest
from xdsl.dialects.builtin import TensorType

from dialects.support import entry
from dialects.support.shapes import shape_of
from gradc.importers.onnx import import_onnx
from passes.infer_types import infer_types

TEXT = """<ir_version: 8, opset_import: ["": 18]>
    g (float x, int64[N] n, int64[K] t, float[3, 2] w) => (y) <int64[2] s = {-1, 3}, int64[3] z = {2, 0, 4}> {
        e = Expand (x, n)
        y = OP
    }"""

KNOWN = {
    "ReduceMax <keepdims = 0> (e)": (),
    "ReduceLogSumExp <keepdims = 0> (e)": (),
    "SoftmaxCrossEntropyLoss (e, t)": (),
    "Shape (e)": (None,),
    "Unique (e)": (None,),
    "Flatten (e)": (None, None),
    "Gemm (e, w)": (None, None),
    "NonZero (e)": (None, None),
    "Reshape (e, s)": (None, 3),
    "Reshape (e, z)": (2, None, 4),
}
UNKNOWN = (
    "ReduceMax (e)",
    "ReduceMax <keepdims = 0, noop_with_empty_axes = 1> (e)",
    'SoftmaxCrossEntropyLoss <reduction = "none"> (e, t)',
    "Unique <axis = 0> (e)",
    "Reshape (e, n)",
)


def type_of(op: str):
    module = import_onnx(onnx.parser.parse_model(TEXT.replace("OP", op)))
    infer_types(module)
    return entry.return_op(entry.entry_function(module)).operands[0].type


@pytest.mark.parametrize(("op", "shape"), KNOWN.items())
def test_a_rank_that_follows(op: str, shape: tuple[int | None, ...]):
    assert shape_of(type_of(op)) == shape


@pytest.mark.parametrize("op", UNKNOWN)
def test_a_rank_that_does_not(op: str):
    assert not isinstance(type_of(op), TensorType)
