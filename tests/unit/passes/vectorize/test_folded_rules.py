"""Batching rules of losses and of weight gradients of convolutions: against single rows, without a Scan."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from support.vectorized import ROWS, assert_rows

import gradc
from gradc.compiler.driver import load
from gradc.derivatives.module import differentiate_source
from gradc.derivatives.request import GradientRequest
from passes.vectorize import vectorize
from passes.vectorize.table import RULES
from tests.support.cli import run_gradc

CONV = """<ir_version: 8, opset_import: ["": 18]>
f (float[{B},{C},{H},{W}] x, float[{O},{I},2,3] w) => (float[{B},{O},{Y},{Z}] y) {{
    y = Conv {form} (x, w)
}}"""
PLAIN = "", {"B": 1, "C": 2, "H": 4, "W": 5, "O": 3, "I": 2, "Y": 3, "Z": 3}
STRIDED = (
    "strides = [2, 1], pads = [1, 0, 0, 2], dilations = [1, 2]",
    {"B": 2, "C": 2, "H": 5, "W": 6, "O": 3, "I": 2, "Y": 3, "Z": 4},
)
GROUPED = "group = 2, pads = [0, 1, 1, 0]", {"B": 2, "C": 4, "H": 3, "W": 4, "O": 6, "I": 2, "Y": 3, "Z": 3}


def weight_gradient(attributes: str, sizes: dict[str, int]) -> Any:
    """The gradient by the weights, a function of x, w and the cotangent."""
    text = CONV.format(form=f"<{attributes}>" if attributes else "", **sizes)
    source = load(onnx.parser.parse_model(text), for_gradients=())
    return differentiate_source(source, GradientRequest(wrt="w", cotangents=True))


@pytest.mark.sweep
@pytest.mark.parametrize("form", [PLAIN, STRIDED, GROUPED], ids=["plain", "strided", "grouped"])
@pytest.mark.parametrize("batched", [(0,), (2,), (0, 2)], ids=["data", "cotangent", "both"])
@pytest.mark.parametrize("size", ["K", ROWS])
def test_gradients_by_the_weights_of_a_convolution(
    form: tuple[str, dict[str, int]], batched: tuple[int, ...], size: int | str
):
    module = weight_gradient(*form)
    assert any(op.name == "grad.conv_backward_weights" for op in module.walk())
    rng, sizes = np.random.default_rng(0), form[1]
    shapes = [[sizes[n] for n in "BCHW"], [sizes["O"], sizes["I"], 2, 3], [sizes[n] for n in "BOYZ"]]
    inputs = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
    assert assert_rows(module, inputs, batched, size) == 0


@pytest.mark.parametrize("form", [PLAIN, STRIDED, GROUPED], ids=["plain", "strided", "grouped"])
@pytest.mark.parametrize("size", ["K", ROWS])
def test_convolutions_of_the_same_data(form: tuple[str, dict[str, int]], size: int | str):
    attributes, sizes = form
    text = CONV.format(form=f"<{attributes}>" if attributes else "", **sizes)
    module, rng = load(onnx.parser.parse_model(text), for_gradients=()), np.random.default_rng(0)
    shapes = [[sizes[n] for n in "BCHW"], [sizes["O"], sizes["I"], 2, 3]]
    inputs = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
    assert assert_rows(module, inputs, (1,), size) == 0


@pytest.mark.parametrize("form", [PLAIN, STRIDED, GROUPED], ids=["plain", "strided", "grouped"])
def test_gradients_by_the_data_of_many_weights(form: tuple[str, dict[str, int]]):
    attributes, sizes = form
    text = CONV.format(form=f"<{attributes}>" if attributes else "", **sizes)
    source, rng = load(onnx.parser.parse_model(text), for_gradients=()), np.random.default_rng(0)
    module = differentiate_source(source, GradientRequest(wrt="x", cotangents=True))
    shapes = [[sizes[n] for n in "BCHW"], [sizes["O"], sizes["I"], 2, 3], [sizes[n] for n in "BOYZ"]]
    inputs = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
    assert assert_rows(module, inputs, (1,), ROWS) == 0


LOSS = """<ir_version: 8, opset_import: ["": 18]>
f ({inputs}) => ({type}) {{ l{log} = {op} <reduction = "{how}"{ignored}> ({operands}) }}"""


@pytest.mark.sweep
@pytest.mark.parametrize("op", ["SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"])
@pytest.mark.parametrize("how", ["mean", "sum", "none"])
@pytest.mark.parametrize(("weighted", "ignored"), list(itertools.product([False, True], [None, 1, -100])))
@pytest.mark.parametrize("batched", [(0,), (0, 1)], ids=["scores", "both"])
def test_losses(op: str, how: str, weighted: bool, ignored: int | None, batched: tuple[int, ...]):
    types = ["float[2,4,3] x", "int64[2,3] t", *(["float[4] q"] if weighted else [])]
    text = LOSS.format(
        inputs=", ".join(types),
        type="float[2,3] l" if how == "none" else "float l",
        log="",
        op=op,
        how=how,
        ignored="" if ignored is None else f", ignore_index = {ignored}",
        operands=", ".join("xtq"[: len(types)]),
    )
    module = load(onnx.parser.parse_model(text), for_gradients=())
    rng = np.random.default_rng(0)
    target = np.array([[0, 1, 3], [2, 1, -100 if ignored == -100 else 0]])
    inputs = [rng.normal(size=(2, 4, 3)).astype(np.float32), target]
    inputs += [np.array([0.5, 2, 1, 3], np.float32)] if weighted else []
    assert assert_rows(module, inputs, batched, ROWS) == 0


def test_weights_per_sample_of_a_dynamic_batch():
    source = onnx.parser.parse_model(CONV.format(form="", **{**PLAIN[1], "B": "N"}))
    found = gradc.vjp(source, wrt="w", per_sample=True, check=True)
    assert found.proof is not None
    assert found.proof.status == "proved"
    assert not any("row by row" in str(one) for one in found.remarks)
    assert not any(node.op_type == "Scan" for node in found.model.graph.node)


def test_explain_lists_ops_that_are_computed_row_by_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = '<ir_version: 8, opset_import: ["": 18]> f (float[3] x) => (float[3] y) { y = Exp(x) }'
    path = tmp_path / "f.onnx"
    onnx.save(onnx.parser.parse_model(text), path)
    shown = run_gradc("explain", path, "--wrt", "x", "--num-cotangents", "K")
    assert shown.code == 0
    assert "row by row" not in shown.out
    monkeypatch.setattr(vectorize, "RULES", {name: rule for name, rule in RULES.items() if name != "Mul"})
    shown = run_gradc("explain", path, "--wrt", "x", "--num-cotangents", "K")
    assert 'remark: [onnx.Mul "y"] computed row by row, in a Scan' in shown.out
    assert "--num-cotangents needs --wrt or --of" in run_gradc("explain", path, "--num-cotangents", "K").err
