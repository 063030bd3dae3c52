"""Weights that a file has once and several nodes read."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import pytest

import gradc

HEAD = '<ir_version: 8, opset_import: ["": 18]> g (float[N, 2] x) => (float[N, 2] y) <float[2] w = {1, 1}>'
X = np.array([[1, 2], [3, -1]], np.float32)


def model(body: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f"{HEAD} {{ {body} }}")


IDENTITY = "v = Identity (w) [first] a = Mul (x, w) [second] y = Mul (a, v)"


def test_an_identity_of_a_weight_is_a_weight_of_its_own():
    found = gradc.grad(model(IDENTITY), wrt=["w", "v"], reduce="sum", check=True, weights="default")
    assert not found.remarks
    weights = {"w": np.array([2, 3], np.float32), "v": np.array([5, 7], np.float32)}
    got = found.run({"x": X, **weights})
    np.testing.assert_allclose(got["grad_w"], (X * weights["v"]).sum(0))
    np.testing.assert_allclose(got["grad_v"], (X * weights["w"]).sum(0))


def test_a_copy_that_is_left_out_has_a_remark():
    found = gradc.grad(model(IDENTITY), wrt="w", reduce="sum", check=True)
    (remark,) = found.remarks
    assert remark.message.startswith("the gradient of w leaves out v, an Identity of it in the file")
    np.testing.assert_allclose(found.run({"x": X})["grad_w"], X.sum(0))


def test_the_readers_of_a_weight_have_a_remark():
    source = model(
        "[first] a = Mul (x, w) [second] t = Transpose (a) [third] b = Transpose (t) [last] y = Add (b, w)"
    )
    (remark,) = gradc.grad(source, wrt="w", reduce="sum", check=True).remarks
    assert remark.message.startswith("w is read by Mul first and Add last; its gradient is the sum over them")


SLICES = """<ir_version: 8, opset_import: ["": 18]> g (float[N, 2] x) => (float[N, 2] y)
    <float[4] w = {1, 2, 3, 4}, int64[1] zero = {0}, int64[1] from = {FROM}, int64[1] two = {2},
    int64[1] four = {4}> {
    [s1] a = Slice (w, zero, two) [s2] b = Slice (w, from, four) [m] c = Mul (x, a) d = Exp (c) REST }"""


@pytest.mark.parametrize(("start", "remarks"), [(2, 0), (1, 1)])
def test_parts_of_a_weight_have_a_remark_if_they_overlap(start: int, remarks: int):
    rest = "[m2] e = ReduceSum (b) y = Mul (d, e)"
    text = SLICES.replace("FROM", str(start)).replace("REST", rest)
    found = gradc.grad(onnx.parser.parse_model(text), wrt="w", reduce="sum", check=True)
    assert len(found.remarks) == remarks


def test_one_reader_has_none():
    source = model("[first] a = Mul (x, w) [second] c = Mul (w, w) [third] y = Exp (a)")
    assert not gradc.grad(source, wrt="w", reduce="sum", check=True).remarks
