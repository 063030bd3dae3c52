"""`gradc train`: the folder, the list, consent, export, and messages."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper
from support.cli import run_gradc
from support.deep_networks import chain
from support.trained_networks import ARRAYS, BATCH, model_of, network

import gradc


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "net.onnx"
    onnx.save(network(), path)
    return str(path)


def train(model: str, *options: str):
    return run_gradc("train", model, *options)


def test_a_folder_that_a_trainer_runs(model: str, tmp_path: Path):
    run = tmp_path / "run"
    found = train(model, "--loss", "cross-entropy", "--optimizer", "sgd:momentum=0.9", "-o", str(run))
    assert found.code == 0, found.err
    assert "3 parameters, 40 numbers" in found.err
    assert "gradients proved" in found.err
    trainer = gradc.Trainer(run, threads=1)
    losses = [trainer.step(BATCH, lr=0.5) for _ in range(20)]
    assert losses[-1] < 0.7 * losses[0]
    trainer.save()
    out = tmp_path / "trained.onnx"
    assert run_gradc("train", "--export", str(run), "-o", str(out)).code == 0
    names = [one.name for one in onnx.load(out).graph.initializer]
    assert {*ARRAYS} <= {*names}
    y = gradc.compile(str(out)).run({"x": BATCH["x"]})["y"]
    np.testing.assert_allclose(y, trainer.evaluate(BATCH)["y"], rtol=1e-6)


def test_updates_in_place(model: str, tmp_path: Path):
    run = tmp_path / "run"
    found = train(model, "--loss", "cross-entropy", "--in-place", "-o", str(run), "--no-check")
    assert found.code == 0, found.err
    assert json.loads((run / "train.json").read_text())["in_place"] is True
    names = {one.op_type for one in onnx.load(run / "step.onnx").graph.node}
    assert {"Less", "Where"} <= names


def test_activations_are_computed_again(tmp_path: Path):
    model, sizes = str(tmp_path / "chain.onnx"), list[int]()
    onnx.save(chain(6, 64), model)
    for options in ((), ("--recompute",)):
        run = tmp_path / f"run{len(options)}"
        found = train(model, "--loss", "mse", "--optimizer", "sgd", "-o", str(run), "--no-check", *options)
        assert found.code == 0, found.err
        sizes.append(sum(node.op_type == "Tanh" for node in onnx.load(run / "step.onnx").graph.node))
    assert sizes[0] == 6 < sizes[1]


def test_another_run_is_kept(model: str, tmp_path: Path):
    run = str(tmp_path / "run")
    assert train(model, "--loss", "mse", "-o", run, "--no-check").code == 0
    found = train(model, "--loss", "l1", "-o", run, "--no-check")
    assert found.code == 2
    assert "--force" in found.line
    assert train(model, "--loss", "l1", "-o", run, "--no-check", "--force").code == 0


def test_the_list_of_parameters(model: str, tmp_path: Path):
    found = train(model, "--loss", "mse", "--list", "--frozen", "fc2.*")
    assert found.code == 0, found.err
    assert "fc1.weight" in found.out
    assert "exp_avg, exp_avg_sq" in found.out
    assert re.search(r"fc2.weight .*not trained: frozen .*fc2 \(MatMul\)", found.out)
    rows = json.loads(train(model, "--loss", "mse", "--list", "--json").out)
    assert [row["name"] for row in rows] == [*ARRAYS]
    assert rows[1]["states"] == ["exp_avg", "exp_avg_sq"]
    assert rows[1]["state_bytes"] == 80
    assert rows[1]["trained"]
    assert rows[1]["read_by"] == ["fc1 (Gemm)"]


def test_what_no_file_contains_is_mentioned_below_the_list(model: str):
    assert "requires_grad=False" in train(model, "--loss", "mse", "--list").err
    assert "requires_grad" not in train(model, "--loss", "mse", "--list", "--json").err


def test_a_loss_of_probabilities_needs_consent(tmp_path: Path):
    path, run = str(tmp_path / "net.onnx"), str(tmp_path / "run")
    nodes = [
        helper.make_node("MatMul", ["x", "fc2.weight"], ["z"], "fc"),
        helper.make_node("Softmax", ["z"], ["y"]),
    ]
    arrays = {"fc2.weight": ARRAYS["fc2.weight"]}
    onnx.save(model_of(nodes, {"x": ["N", 5]}, {"y": ["N", 3]}, arrays), path)
    found = train(path, "--loss", "cross-entropy", "-o", run, "--no-check")
    assert found.code == 2
    assert "--of z reads the logits" in found.err
    assert "something else than you mean (1 remark above)" in found.err
    chosen = train(path, "--loss", "cross-entropy", "--of", "z", "-o", run, "--no-check")
    assert chosen.code == 0, chosen.err
    assert "1 parameter, 15 numbers" in chosen.err


def test_weights_without_a_name_need_consent(tmp_path: Path):
    path, run = str(tmp_path / "net.onnx"), str(tmp_path / "run")
    arrays = {"val_3": ARRAYS["fc2.weight"]}
    nodes = [helper.make_node("MatMul", ["x", "val_3"], ["y"], "fc")]
    onnx.save(model_of(nodes, {"x": ["N", 5]}, {"y": ["N", 3]}, arrays), path)
    found = train(path, "--loss", "mse", "-o", run, "--no-check")
    assert found.code == 2
    assert "--yes" in found.lines[-1]
    assert "val_3" in found.err
    assert not Path(run).exists()
    assert train(path, "--loss", "mse", "-o", run, "--no-check", "--yes").code == 0
    assert train(path, "--loss", "mse", "-o", run, "--no-check", "--force", "--trainable", "val_3").code == 0


def test_losses_of_several_values_groups_and_a_schedule(model: str, tmp_path: Path):
    run = str(tmp_path / "run")
    found = train(
        model, "--loss", "y=cross-entropy:label_smoothing=0.1", "--loss", "h=0.5*mse", "-o", run,
        "--lr", "cosine:base=0.1,warmup=2,total=9", "--group", "*.bias:weight_decay=0", "--clip", "1",
        "--ema", "0.9", "--accumulate", "2", "--keep-outputs", "of", "--no-check",
    )  # fmt: skip
    assert found.code == 0, found.err
    facts = json.loads((tmp_path / "run" / "train.json").read_text())
    assert facts["labels"] == ["label_y", "label_h"]
    assert "lr" not in facts["scalars"]
    assert "fc1.bias.ema" in facts["states"]
    assert facts["accumulate"] == 2
    assert facts["outputs"] == ["loss", "y", "h"]
    assert (tmp_path / "run" / "apply.onnx").exists()


def test_names_of_other_files(model: str, tmp_path: Path):
    step, exported = str(tmp_path / "step.onnx"), str(tmp_path / "m.npz")
    found = train(model, "--loss", "mse", "-o", step, "--no-check")
    assert (found.code, "expected the name of a folder" in found.err) == (2, True)
    found = train("--export", str(tmp_path), "-o", exported)
    assert (found.code, "expected a name that ends in .onnx" in found.err) == (2, True)
    assert not [*tmp_path.glob("step.onnx"), *tmp_path.glob("m.npz")]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--loss", "cross"], "cross-entropy"),
        (["--loss", "mse", "--optimizer", "adan"], "adam"),
        (["--loss", "y=mse", "--loss", "mse"], "a value before each loss"),
        (["--loss", "y=x*mse"], "a number before"),
        (["--loss", "mse", "--trainable", "fc3.weight"], "--trainable"),
        (["--loss", "mse", "--group", "fc9.*:lr=1"], "fc9"),
        (["--loss", "mse", "--clip", "-1"], "clip"),
        (["--loss", "mse", "--ema", "2"], "ema"),
        ([], "--loss"),
        (["--loss", "mse", "--lr", "cosine:warmup=3"], "cosine"),
    ],
)
def test_messages(model: str, tmp_path: Path, options: list[str], words: str):
    found = train(model, "-o", str(tmp_path / "run"), "--no-check", *options)
    assert found.code == 2
    assert words in found.err
    assert "internal" not in found.err
    assert "Traceback" not in found.err


def test_the_folder_names_its_source(model: str, tmp_path: Path):
    """A model in memory has no name, but its hash is that of its file."""
    digest = hashlib.sha256(Path(model).read_bytes()).hexdigest()
    assert train(model, "--loss", "mse", "-o", str(tmp_path / "run"), "--no-check").code == 0
    facts = json.loads((tmp_path / "run" / "train.json").read_text())
    assert facts["source"] == {"name": "net.onnx", "sha256": digest}
    options = {"loss": gradc.losses.MSE(), "optimizer": gradc.optim.SGD(), "check": False}
    assert gradc.train_step(Path(model), **options).facts["source"] == facts["source"]
    assert gradc.train_step(network(), **options).facts["source"] == {"sha256": digest}
