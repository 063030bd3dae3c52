"""Arguments of losses, and values that a loss does not accept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dialects.support.diagnostics import UsageError
from gradc.losses import (
    MSE,
    BCEWithLogits,
    Cosine,
    CrossEntropy,
    Distillation,
    Huber,
    KLDiv,
    SmoothL1,
    Triplet,
)
from tests.support.attached_losses import attach


@pytest.mark.parametrize(
    ("loss", "arguments", "message"),
    [
        (CrossEntropy, {"label_smoothing": 1.5}, "given 1.5, expected a number of at least 0 and at most 1"),
        (CrossEntropy, {"label_smoothing": float("nan")}, "given nan"),
        (CrossEntropy, {"weight": [1, -2]}, "weight: given -2, expected finite numbers"),
        (CrossEntropy, {"weight": 3}, "weight: given 3, expected a list of numbers"),
        (CrossEntropy, {"ignore_index": 1.5}, "ignore_index: given 1.5, expected an integer"),
        (CrossEntropy, {"axis": "1"}, "axis: given '1', expected an integer"),
        (CrossEntropy, {"reduction": "none"}, "a training step needs a scalar"),
        (CrossEntropy, {"soft_labels": True, "ignore_index": 3}, "ignore_index: given 3"),
        (CrossEntropy, {"soft_labels": 1}, "soft_labels: given 1, expected True or False"),
        (MSE, {"reduction": "avg"}, "MSE reduction: given 'avg', expected one of mean, sum"),
    ],
)  # fmt: skip
def test_wrong_arguments(loss: Any, arguments: dict[str, Any], message: str):
    with pytest.raises(UsageError, match=message):
        loss(**arguments)


@pytest.mark.parametrize(
    ("loss", "shape", "message"),
    [
        (CrossEntropy(), (), r"logits: given \[\], expected an axis of classes"),
        (CrossEntropy(), (4, 1), "one class on axis 1; the loss would be constant"),
        (CrossEntropy(axis=2), (4, 3), "axis: given 2, expected -2 to 1"),
        (CrossEntropy(weight=[1, 2]), (4, 3), "weight: given 2 numbers, expected 3, one for each class"),
    ],
)
def test_wrong_shapes(loss: Any, shape: tuple[int, ...], message: str):
    with pytest.raises(UsageError, match=message):
        attach(loss, {"x": np.zeros(shape)})


@pytest.mark.parametrize("loss", [CrossEntropy(), MSE()], ids=str)
def test_integers_are_no_logits(loss: Any):
    with pytest.raises(UsageError, match=r"of a value: given s64 \[4, 3\], expected floats of known rank"):
        attach(loss, {"x": np.zeros((4, 3), np.int64)})


def test_another_number_of_values():
    with pytest.raises(
        UsageError, match="CrossEntropy reads another number of values: given 2, expected 1 value"
    ):
        attach(CrossEntropy(), {"x": np.zeros((4, 3)), "y": np.zeros((4, 3))})


def test_arrays_and_numpy_numbers_are_arguments():
    loss = CrossEntropy(weight=np.array([1, 2]), ignore_index=np.int64(3), label_smoothing=np.float32(0.5))
    assert loss == CrossEntropy(weight=(1.0, 2.0), ignore_index=3, label_smoothing=0.5)
    assert str(loss) == "CrossEntropy(weight=(1.0, 2.0), ignore_index=3, label_smoothing=0.5)"


def test_reads_the_only_output():
    assert CrossEntropy().reads(["logits"]) == ["logits"]
    with pytest.raises(
        UsageError, match="outputs that CrossEntropy reads: given a and b, expected 1 value; of names them"
    ):
        CrossEntropy().reads(["a", "b"])


@pytest.mark.parametrize(
    ("loss", "arguments", "message"),
    [
        (Huber, {"delta": 0}, "Huber delta: given 0, expected a number above 0"),
        (SmoothL1, {"beta": -1}, "SmoothL1 beta: given -1, expected a number of at least 0"),
        (
            BCEWithLogits,
            {"pos_weight": [-1.0]},
            "pos_weight: given .*, expected finite numbers",
        ),
        (BCEWithLogits, {"weight": "a"}, "weight: given 'a', expected a number or an array"),
        (KLDiv, {"reduction": "batch"}, "one of mean, sum, batchmean"),
        (KLDiv, {"log_target": None}, "log_target: given None"),
        (Cosine, {"margin": 2}, "margin: given 2, expected a number of at least -1 and at most 1"),
        (Triplet, {"p": 0.5}, "p: given 0.5, expected a number of at least 1"),
        (Triplet, {"margin": 0}, "margin: given 0, expected a number above 0"),
        (Distillation, {"temperature": 0}, "temperature: given 0, expected a number above 0"),
        (Distillation, {"alpha": 1, "label_smoothing": 0.1}, "none with alpha=1, which reads no label"),
    ],
)
def test_wrong_arguments_of_others(loss: Any, arguments: dict[str, Any], message: str):
    with pytest.raises(UsageError, match=message):
        loss(**arguments)


@pytest.mark.parametrize(
    ("loss", "shapes", "message"),
    [
        (BCEWithLogits(pos_weight=[1, 2]), [(4, 3)], r"pos_weight: given shape \[2\], expected one"),
        (BCEWithLogits(weight=[[1], [2]]), [(3,)], r"weight: given shape \[2, 1\]"),
        (KLDiv("batchmean"), [()], "an axis of samples, for batchmean"),
        (Cosine(margin=0.5), [(4, 3)], "one value has no negative pairs; name two values"),
        (Cosine(), [(4, 3), (4, 2)], r"of vectors: given f64 \[4, 3\] and f64 \[4, 2\], expected one type"),
        (Cosine(), [()], "an axis of the elements of a vector"),
        (Triplet(), [(4, 3), (4, 3)], "given 2, expected 1 or 3 values"),
        (Distillation(), [(4, 1)], "one class on axis 1"),
    ],
)  # fmt: skip
def test_wrong_shapes_of_others(loss: Any, shapes: list[tuple[int, ...]], message: str):
    with pytest.raises(UsageError, match=message):
        attach(loss, {f"x{i}": np.zeros(shape) for i, shape in enumerate(shapes)})
