"""Gradients of classification losses scatter one number per label, and other cotangents stay dense."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest

import gradc

X = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
LABEL = np.array([0, 3, 1])


def gradient(body: str, label: str = "int64[N] label", opset: int = 18, **options: object) -> gradc.Compiled:
    text = f'<ir_version: 8, opset_import: ["": 18]> g (float[N, C] x, {label}) => (float loss) {{ {body} }}'
    return gradc.grad(onnx.parser.parse_model(text), wrt=["x"], opset=opset, check=True, **options)  # type: ignore[arg-type]


def expected(label: np.ndarray, counted: int) -> np.ndarray:
    """The gradient of the mean cross entropy of the rows that have a label of at least 0."""
    p = np.exp(X) / np.exp(X).sum(1, keepdims=True)
    return np.where(label[:, None] >= 0, p - np.eye(4)[label], 0) / counted


def count(compiled: gradc.Compiled, *ops: str) -> int:
    return sum(node.op_type in ops for node in compiled.model.graph.node)


FORMS = {
    "op": "loss = SoftmaxCrossEntropyLoss (x, label)",
    "parts": "p = LogSoftmax (x) loss = NegativeLogLikelihoodLoss (p, label)",
    "gather": """p = LogSoftmax <axis = 1> (x) one = Constant <value = int64[1] {1}> ()
        at = Unsqueeze (label, one) q = GatherElements <axis = 1> (p, at)
        m = ReduceMean <keepdims = 0> (q) loss = Neg (m)""",
}


@pytest.mark.sweep(parts=2)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("opset", [13, 18])
def test_one_scatter_and_no_dense_labels(form: str, opset: int):
    found = gradient(FORMS[form], opset=opset)
    assert count(found, "ScatterElements") == 1
    assert count(found, "OneHot", "Sub", "SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss") == 0
    np.testing.assert_allclose(found.run({"x": X, "label": LABEL})["grad_x"], expected(LABEL, 3), atol=1e-6)


@pytest.mark.parametrize("op", ["SoftmaxCrossEntropyLoss (x, label)", "NegativeLogLikelihoodLoss (p, label)"])
def test_without_counted_labels_the_gradient_is_zero(op: str):
    found = gradient(f"p = LogSoftmax (x) loss = {op.replace(' (', ' <ignore_index = -1> (')}")
    got = found.run({"x": X, "label": np.full(3, -1)})["grad_x"]
    np.testing.assert_array_equal(got, np.zeros_like(X))


def test_ignored_labels():
    label = np.array([0, -1, 1])
    found = gradient("loss = SoftmaxCrossEntropyLoss <ignore_index = -1> (x, label)")
    np.testing.assert_allclose(found.run({"x": X, "label": label})["grad_x"], expected(label, 2), atol=1e-6)


def test_several_labels_of_one_row_are_added():
    body = """p = LogSoftmax <axis = 1> (x) q = GatherElements <axis = 1> (p, label)
        loss = ReduceSum <keepdims = 0> (q)"""
    found = gradient(body, "int64[N, 2] label")
    label = np.stack([LABEL, LABEL], 1)
    got = found.run({"x": X, "label": label})["grad_x"]
    np.testing.assert_allclose(got, -2 * expected(LABEL, 1), atol=1e-6)


def test_labels_along_another_axis_than_the_softmax():
    body = """p = LogSoftmax <axis = 0> (x) q = GatherElements <axis = 1> (p, label)
        loss = ReduceSum <keepdims = 0> (q)"""
    found = gradient(body, "int64[N, 1] label")
    got = found.run({"x": X, "label": LABEL[:, None]})["grad_x"]
    picked = np.eye(4)[LABEL]
    p = np.exp(X) / np.exp(X).sum(0)
    np.testing.assert_allclose(got, picked - p * picked.sum(0), atol=1e-6)


def test_half_types_are_computed_in_float32():
    text = """<ir_version: 8, opset_import: ["": 18]>
    g (float16[N, C] x, int64[N, 1] label) => (float16 loss) {
      p = LogSoftmax (x) q = GatherElements <axis = 1> (p, label) m = ReduceMean <keepdims = 0> (q)
      loss = Neg (m)
    }"""
    found = gradc.grad(onnx.parser.parse_model(text), wrt=["x"], check=True)
    got = found.run({"x": X.astype(np.float16), "label": LABEL[:, None]})["grad_x"]
    assert got.dtype == np.float16
    np.testing.assert_allclose(got, expected(LABEL, 3), atol=2e-3)
