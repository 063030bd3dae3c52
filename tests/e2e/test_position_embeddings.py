"""Rows of a table up to the length of a sequence, as encoders of text take their positions."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest
from onnx import numpy_helper

import gradc
from dialects.onnx.dims import broadcast_dims, is_min_with
from dialects.shapes import sizes
from dialects.shapes.forms import name

T, N = name("t"), name("n")


def _model(rows: int) -> onnx.ModelProto:
    zeros = ", ".join(["0"] * 2 * rows)
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 18]>
        g (float[n,t,2] x) => (float[n,t,2] y) <float[1,{rows},2] table = {{{zeros}}}> {{
        zero = Constant <value_ints = [0]> () one = Constant <value_ints = [1]> ()
        length = Shape <start = 1, end = 2> (x)
        taken = Slice (table, zero, length, one)
        sum = Add(x, taken) y = Mul(sum, sum) }}""")
    values = np.random.default_rng(0).standard_normal((1, rows, 2)).astype(np.float32)
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(values, "table"))
    return model


@pytest.mark.parametrize("shape", [(2, 5, 2), (1, 1, 2), (3, 8, 2), (0, 4, 2), (2, 0, 2)])
def test_they_are_as_long_as_the_sequence(shape: tuple[int, ...]):
    model = _model(8)
    compiled = gradc.vjp(model, wrt=["x", "table"], check=False)
    used = [node.op_type for node in compiled.model.graph.node]
    assert "NonZero" not in used  # nothing is looked up at run time
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    table = numpy_helper.to_array(model.graph.initializer[0])
    wanted = 2 * (x + table[:, : shape[1]])
    found = compiled.run({"x": x, "cotangent_y": np.ones_like(x)})
    np.testing.assert_allclose(found["grad_x"], wanted, rtol=1e-5)
    np.testing.assert_allclose(found["grad_table"][:, : shape[1]], wanted.sum(0, keepdims=True), rtol=1e-5)
    assert not found["grad_table"][:, shape[1] :].any()


def test_a_table_of_one_row_is_repeated():
    compiled = gradc.vjp(_model(1), wrt=["table"], check=False)
    x = np.ones((2, 3, 2), np.float32)
    found = compiled.run({"x": x, "cotangent_y": x})["grad_table"]
    assert found.shape == (1, 1, 2)


def test_which_sizes_are_cut():
    cut = sizes.smallest(8, T)
    assert is_min_with(cut, T)
    assert broadcast_dims(cut, T) == broadcast_dims(T, cut) == T
    assert not is_min_with(sizes.smallest(1, T), T)
    assert not is_min_with(sizes.smallest(N, T), T)
    assert not is_min_with(sizes.smallest(8, N), T)
    assert not is_min_with(sizes.largest(8, T), T)
    assert not is_min_with(8, T)
