"""Remarks on losses of probabilities in place of logits, and of logits in place of log-probabilities."""

from __future__ import annotations

import onnx.parser
import pytest

import gradc
from dialects.support.entry import entry_function
from gradc.compiler.driver import load
from gradc.losses import MSE, NLL, BCEWithLogits, CrossEntropy, Distillation, KLDiv, Loss
from gradc.losses.remarks import value_remarks
from passes.infer_types import infer_types
from passes.training.attach_loss import Term

WEIGHTS = "float[4, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, float[3] b = {1, 2, 3}"
HEAD = "h = MatMul (x, w) logits = Add (h, b)"


def model(tail: str) -> onnx.ModelProto:
    text = f"""<ir_version: 9, opset_import: ["": 18]> g (float[N, 4] x) => (float[N, 3] y)
      <{WEIGHTS}> {{ {HEAD} {tail} }}"""
    return onnx.parser.parse_model(text)


def remarks(loss: Loss, tail: str) -> list[str]:
    module = load(model(tail), for_gradients=())
    infer_types(module)
    return [one.message for one in value_remarks(entry_function(module), [Term(["y"], loss)])]


@pytest.mark.parametrize(
    ("loss", "tail", "message"),
    [
        (CrossEntropy(), "y = Softmax (logits)", "Softmax, but takes logits; of=logits reads the logits"),
        (Distillation(), "y = Softmax (logits)", "Softmax, but takes logits"),
        (BCEWithLogits(), "s = Sigmoid (logits) y = Identity (s)", "Sigmoid, but takes logits"),
        (NLL(), "y = Identity (logits)", "MatMul, but takes log-probabilities; CrossEntropy"),
        (NLL(), "y = Softmax (logits)", "Softmax, but takes log-probabilities; LogSoftmax"),
        (KLDiv(), "y = Identity (logits)", "MatMul, but takes log-probabilities; LogSoftmax"),
    ],
)  # fmt: skip
def test_values_that_a_loss_does_not_take(loss: Loss, tail: str, message: str):
    (found,) = remarks(loss, tail)
    assert found.startswith(f"{loss.title} reads y, a result of {message}")


@pytest.mark.parametrize(
    ("loss", "tail"),
    [
        (CrossEntropy(), "y = Identity (logits)"),
        (CrossEntropy(), "y = LogSoftmax (logits)"),
        (NLL(), "y = LogSoftmax (logits)"),
        (NLL(), "s = Softmax (logits) y = Log (s)"),
        (MSE(), "y = Softmax (logits)"),
    ],
)
def test_values_that_it_takes(loss: Loss, tail: str):
    assert remarks(loss, tail) == []


def test_a_training_step_has_the_remark():
    step = gradc.train_step(
        model("y = Softmax (logits)"), loss=CrossEntropy(), optimizer=gradc.optim.SGD(), check=False
    )
    assert "but takes logits" in "\n".join(map(str, step.remarks))
