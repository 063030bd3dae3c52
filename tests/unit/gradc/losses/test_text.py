"""Losses as text, and what an argument `loss` stands for."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import onnx.helper
import pytest

from dialects.support.diagnostics import UsageError
from gradc import losses
from gradc.losses import (
    BCEWithLogits,
    CrossEntropy,
    Distillation,
    Function,
    Huber,
    KLDiv,
    Loss,
    Model,
    Output,
    SmoothL1,
    Triplet,
    as_loss,
    parse,
)
from gradc.losses.text import LOSSES

TEXTS: tuple[tuple[str, Loss], ...] = (
    ("cross-entropy", CrossEntropy()),
    (" Cross_Entropy : ", CrossEntropy()),
    ("cross-entropy:ignore_index=-1,label_smoothing=0.1", CrossEntropy(ignore_index=-1, label_smoothing=0.1)),
    ("cross-entropy:ignore-index=none, axis=-1", CrossEntropy(ignore_index=None, axis=-1)),
    ("cross-entropy:weight=1/2/0.5,reduction=sum", CrossEntropy(weight=(1, 2, 0.5), reduction="sum")),
    ("cross-entropy:soft_labels=True", CrossEntropy(soft_labels=True)),
    ("bce-with-logits:pos_weight=3", BCEWithLogits(pos_weight=[3])),
    ("huber:delta=1e-1", Huber(delta=0.1)),
    ("smooth-l1:beta=0", SmoothL1(beta=0)),
    ("kl-div:reduction=batchmean,log_target=true", KLDiv("batchmean", log_target=True)),
    ("triplet:p=1,swap=true", Triplet(p=1, swap=True)),
    ("distillation:temperature=4,alpha=0.9", Distillation(temperature=4, alpha=0.9)),
    ("output", Output()),
)


@pytest.mark.parametrize(("text", "loss"), TEXTS, ids=[text for text, _ in TEXTS])
def test_parse(text: str, loss: Loss):
    assert parse(text) == loss
    assert as_loss(text) == loss


@pytest.mark.parametrize("name", LOSSES)
def test_every_option_can_be_written(name: str):
    defaults = LOSSES[name]()
    given = {f.name: getattr(defaults, f.name) for f in fields(defaults)}
    text = ",".join(f"{key}={'none' if value is None else value}" for key, value in given.items())
    assert parse(f"{name}:{text}") == defaults


def test_every_loss_has_a_text():
    members = vars(losses).values()
    classes = {member for member in members if isinstance(member, type) and issubclass(member, Loss)}
    assert set(LOSSES.values()) == classes - {Loss, Function, Model}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cross-entrop", "loss: given cross-entrop, expected one of .*; did you mean cross-entropy"),
        ("huber:dleta=1", "loss huber: given dleta=1, expected options reduction, delta; did you mean delta"),
        ("huber:delta", "loss huber: given delta, expected options"),
        ("huber:delta=1,delta=2", "given delta twice"),
        ("huber:delta=x", "loss huber delta: given x, expected a number"),
        ("huber:delta=-1", "Huber delta: given -1, expected a number above 0"),
        ("output:a=1", "loss output: given a=1, expected no option"),
        ("cross-entropy:soft_labels=1", "given 1, expected true or false"),
        ("model", "loss model: given no path, expected model:loss.onnx"),
    ],
)  # fmt: skip
def test_wrong_texts(text: str, message: str):
    with pytest.raises(UsageError, match=message):
        parse(text)


def test_models_and_functions(tmp_path: Path):
    value = onnx.helper.make_tensor_value_info("x", 1, [])
    node = onnx.helper.make_node("Neg", ["x"], ["y"])
    result = onnx.helper.make_tensor_value_info("y", 1, [])
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", [value], [result]))
    path = tmp_path / "neg.onnx"
    onnx.save(model, path)
    for given in (model, path, str(path), f"model:{path}"):
        assert isinstance(as_loss(given), Model)
    assert as_loss(abs) == Function(abs)
    loss = CrossEntropy()
    assert as_loss(loss) is loss


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            CrossEntropy,
            r"loss: given CrossEntropy, .*; CrossEntropy\(\) makes one",
        ),
        (3, "loss: given int"),
        (None, "loss: given NoneType"),
    ],
)
def test_what_is_no_loss(given: Any, message: str):
    with pytest.raises(UsageError, match=message):
        as_loss(given)


def test_the_page_has_every_loss_and_option():
    page = Path(__file__).resolve().parents[4].joinpath("docs/training_losses.md").read_text(encoding="utf-8")
    rows = {line.split("`")[1]: line for line in page.splitlines() if line.startswith("| `")}
    for name, cls in LOSSES.items():
        row = rows[cls.__name__]
        assert f"`{name}`" in row
        inherited = {f.name for f in fields(CrossEntropy)} if cls is Distillation else set[str]()
        for option in {f.name for f in fields(cls)} - inherited:
            assert re.search(rf"`{option}(=|`)", row), f"{name} has an option {option}"
    assert {"Model(path)", "Function(f)"} < set(rows)
