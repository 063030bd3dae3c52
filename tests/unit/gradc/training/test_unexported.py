"""Remarks on what the exported module does, and a step does not: detached values, padding, dropout, norms."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from support.trained_files import model, node, with_program

import gradc
from gradc.losses import MSE
from gradc.optim import SGD

RNG = np.random.default_rng(2)
W = RNG.normal(size=(4, 4)).astype(np.float32)
ONES = np.ones(4, np.float32)


def step_of(source: onnx.ModelProto, **options: Any) -> gradc.TrainStep:
    return gradc.train_step(source, loss=MSE(), optimizer=SGD(), check=False, **options)


def ambiguities(source: onnx.ModelProto, **options: Any) -> str:
    return "\n".join(map(str, step_of(source, **options).ambiguities))


def detached() -> onnx.ModelProto:
    nodes = [
        node("MatMul", "x w", "h", "n1"),
        node("Identity", "h", "held", "n2"),
        node("MatMul", "held v", "y", "n3"),
    ]
    calls = {
        "n1": ("matmul.default](args = (%x, %p_w)", "['']"),
        "n2": ("detach.default](args = (%h,)", "['']"),
        "n3": ("matmul.default](args = (%held, %p_v)", "['']"),
    }
    source = with_program(model(nodes, {"w": W, "v": W + 1}), {"w": "PARAMETER", "v": "PARAMETER"}, calls)
    for one in source.graph.node:
        call = next(each for each in one.metadata_props if each.key.endswith("fx_node"))
        call.value = call.value.replace("%v :", f"%{one.output[0]} :")
    return source


def test_a_detached_value_is_a_remark_that_names_the_remedy():
    assert "gradients flow through held, which the exported module detaches" in ambiguities(detached())
    step = step_of(detached(), stop_gradient="held")
    assert not step.ambiguities
    assert step.parameters == ("v",)


def embedding(arguments: str) -> onnx.ModelProto:
    nodes = [node("Gather", "table x", "y", "n1")]
    source = model(nodes, {"table": W})
    source.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.INT64
    calls = {"n1": (f"embedding.default](args = (%p_table, %x{arguments})", "['']")}
    return with_program(source, {"table": "PARAMETER"}, calls)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (", 0", "row 0 of table trains"),
        (", 12", "row 12 of table trains"),
        (", -1, True", "table is not divided by the frequency"),
    ],
)
def test_options_of_an_embedding_that_the_file_lacks(arguments: str, words: str):
    step = step_of(embedding(arguments))
    assert words in "\n".join(map(str, step.remarks))
    assert not step.ambiguities


@pytest.mark.parametrize("arguments", ["", ", -1", ", -1, False"])
def test_an_embedding_without_options(arguments: str):
    assert not step_of(embedding(arguments)).remarks


@pytest.mark.parametrize("ratio", [0.5, 0.0])
def test_dropout_between_recurrent_layers(ratio: float):
    nodes = [node("MatMul", "x w", "a", "n1"), node("Tanh", "a", "y", "n2")]
    given = f"%x, [%h0], [%p_w], True, 2, {ratio}, True, False, True"
    call = {"n1": (f"lstm.input](args = ({given})", "['']")}
    found = ambiguities(with_program(model(nodes, {"w": W}), {"w": "PARAMETER"}, call))
    assert ("dropout between the layers" in found) == (ratio > 0)


def norms(**modes: float) -> onnx.ModelProto:
    """Two norms; attributes of the first."""
    made = "h mean var" if modes.get("training_mode") else "h"
    arrays = {f"{name}{k}": ONES * k for k in (1, 2) for name in ("s", "b", "m", "v")}
    nodes = [
        node("BatchNormalization", "x s1 b1 m1 v1", made, "n1", **modes),
        node("Tanh", "h", "t", "n2"),
        node("BatchNormalization", "t s2 b2 m2 v2", "y", "n3"),
    ]
    return model(nodes, arrays)


@pytest.mark.parametrize(("momentum", "words"), [(0.0, "those of the last batch"), (1.0, "never change")])
def test_running_statistics_without_an_average(momentum: float, words: str):
    found = ambiguities(norms(momentum=momentum))
    assert words in found
    assert "BatchNormalization n1" in found
    assert not ambiguities(norms(momentum=momentum), batchnorm="eval")
    assert not ambiguities(norms(momentum=0.9))


def test_norms_that_the_export_froze():
    source = norms(training_mode=1)
    assert "BatchNormalization n3 use running statistics in the export" in ambiguities(source)
    assert not ambiguities(source, batchnorm=None)
    assert not ambiguities(norms())


def test_random_numbers_are_a_remark():
    nodes = [
        node("RandomNormalLike", "x", "r", "noise"),
        node("Add", "x r", "a"),
        node("MatMul", "a w", "y"),
    ]
    step = step_of(model(nodes, {"w": W}))
    assert "RandomNormalLike noise of the file draw other numbers" in "\n".join(map(str, step.remarks))


def test_an_alias_of_a_parameter_is_that_parameter():
    """The program of torch's exporter has such calls for weights that a function returns."""
    nodes = [
        node("MatMul", "x w", "h", "n1"),
        node("Identity", "w", "alias", "n2"),
        node("MatMul", "h alias", "y", "n3"),
    ]
    calls = {
        "n1": ("matmul.default](args = (%x, %p_w)", "['']"),
        "n2": ("alias.default](args = (%p_w,)", "['']"),
        "n3": ("matmul.default](args = (%h, %alias)", "['']"),
    }
    step = step_of(with_program(model(nodes, {"w": W}), {"w": "PARAMETER"}, calls))
    assert step.parameters == ("w",)
    copied = step_of(model(nodes, {"w": W}))
    assert set(copied.parameters) == {"w", "alias"}
