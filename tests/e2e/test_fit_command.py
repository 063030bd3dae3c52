"""`gradc fit`: losses, what is written, and errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from support.cli import run_gradc
from support.training_folders import batch_of, initial, write_run

from gradc.training.trainer import Trainer

W = np.array([[1, 2], [3, -4], [0.5, 0]], np.float32)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    write_run(tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    x = batch_of(100)["x"]
    np.savez(tmp_path / "data.npz", x=x, label=x @ W)
    return tmp_path / "data.npz"


def fit(run: Path, data: Path, *args: object) -> list[float]:
    result = run_gradc("fit", run, "--data", data, "--json", *args)
    assert result.code == 0, result.err
    return json.loads(result.out)["losses"]


class TestTraining:
    def test_reaches_the_parameters(self, run: Path, data: Path):
        result = run_gradc("fit", run, "--data", data, "--lr", 0.1, "--steps", 200)
        assert result.code == 0
        assert result.written == [f"wrote {run}: 200 steps, 2 parameters"]
        assert "1 to 200" in result.out
        found = load_file(run / "params.safetensors")
        np.testing.assert_allclose(found["w"], W, atol=1e-2)

    def test_is_the_loop_over_shuffled_batches(self, run: Path, data: Path):
        arrays = dict(np.load(data))
        trainer = Trainer(run)
        order = np.random.default_rng([3, 0]).permutation(100)
        want = []
        for first in (0, 40):
            batch = {name: array[order[first : first + 40]] for name, array in arrays.items()}
            want.append(trainer.step(batch, lr=0.1))
        assert fit(run, data, "--lr", 0.1, "--steps", 2, "--seed", 3, "--batch-size", 40) == want

    def test_two_runs_continue_as_one(self, run: Path, data: Path, tmp_path: Path):
        write_run(tmp_path / "other")
        whole = fit(run, data, "--lr", 0.1, "--steps", 10)
        parts = [fit(tmp_path / "other", data, "--lr", 0.1, "--steps", 5) for _ in range(2)]
        assert whole == [*parts[0], *parts[1]]
        for name in ("params.safetensors", "state.safetensors"):
            assert (run / name).read_bytes() == (tmp_path / "other" / name).read_bytes()

    def test_a_checkpoint_leaves_the_folder_unchanged(self, run: Path, data: Path, tmp_path: Path):
        before = {path: path.read_bytes() for path in run.iterdir()}
        fit(run, data, "--lr", 0.1, "--steps", 3, "--save", tmp_path / "c.safetensors")
        assert before == {path: path.read_bytes() for path in run.iterdir()}
        trainer = Trainer(run)
        trainer.load(tmp_path / "c.safetensors")
        assert trainer.steps == 3
        assert (trainer.parameters()["w"] != initial()["w"]).any()

    def test_accumulation(self, data: Path, tmp_path: Path):
        write_run(tmp_path / "run", accumulate=4)
        write_run(tmp_path / "whole")
        parts = fit(tmp_path / "run", data, "--lr", 0.1, "--steps", 3)
        whole = fit(tmp_path / "whole", data, "--lr", 0.1, "--steps", 3)
        np.testing.assert_allclose(parts, whole, rtol=1e-5)

    def test_a_model_of_one_batch_size(self, data: Path, tmp_path: Path):
        write_run(tmp_path / "run", batch=10)
        fit(tmp_path / "run", data, "--lr", 0.1, "--steps", 11)

    def test_a_loss_that_is_not_finite_is_a_remark(self, run: Path, data: Path):
        result = run_gradc("fit", run, "--data", data, "--lr", 1e30, "--steps", 5)
        assert result.code == 0
        assert "remark: the loss is" in result.err
        assert "a smaller --lr may help" in result.err


class TestErrors:
    def refuse(self, run: Path, data: Path, *args: object) -> str:
        result = run_gradc("fit", run, "--data", data, *args)
        assert result.code in (2, 4)
        return result.line

    @pytest.mark.parametrize(
        ("arrays", "text"),
        [
            ({"x": batch_of(9)["x"]}, "arrays of --data: given x, expected also label"),
            (
                batch_of(9) | {"labels": np.zeros(9)},
                "given labels, expected x and label; did you mean label?",
            ),
            (
                batch_of(9) | {"label": batch_of(8)["label"]},
                "given 9 of x, 8 of label, expected as many of each",
            ),
            (batch_of(0), "given 0 of x, 0 of label"),
            (
                batch_of(9) | {"x": np.float32(3)},
                "arrays of --data: x: given scalar, expected an axis of samples",
            ),
            (batch_of(9) | {"x": np.zeros((9, 3))}, 'input "x": given dtype float64, expected float32'),
            (
                batch_of(9) | {"x": np.zeros((9, 4), np.float32)},
                'input "x": given shape [9, 4], expected [N, 3]',
            ),
        ],
    )
    def test_data(self, run: Path, tmp_path: Path, arrays: dict[str, Any], text: str):
        save_file({name: np.asarray(array) for name, array in arrays.items()}, tmp_path / "d.safetensors")
        assert text in self.refuse(run, tmp_path / "d.safetensors", "--lr", 0.1, "--steps", 1)

    @pytest.mark.parametrize(
        ("args", "text"),
        [
            (("--steps", 1), "--lr is missing: the learning rate is an input of the step; try --lr 1e-3"),
            (
                ("--steps", 1, "--lr", 1, "--batch-size", 101),
                "--batch-size: given 101, expected at most the 100",
            ),
            (
                ("--steps", 1, "--lr", 1, "--save", "a.npz"),
                "--save: given a.npz, expected a name that ends in",
            ),
        ],
    )
    def test_options(self, run: Path, data: Path, args: tuple[object, ...], text: str):
        assert text in self.refuse(run, data, *args)

    def test_a_schedule_in_the_step(self, data: Path, tmp_path: Path):
        write_run(tmp_path / "run", scalars={"step": "int64"})
        text = "--lr: the schedule of the learning rate is part of the step"
        assert text in self.refuse(tmp_path / "run", data, "--steps", 1, "--lr", 0.1)

    def test_sizes_of_the_model(self, data: Path, tmp_path: Path):
        write_run(tmp_path / "one", batch=10)
        text = "--batch-size: given 20, expected 10, the size of the model"
        assert text in self.refuse(tmp_path / "one", data, "--steps", 1, "--lr", 1, "--batch-size", 20)
        write_run(tmp_path / "parts", accumulate=3)
        text = "--batch-size: given 20, expected a multiple of 3"
        assert text in self.refuse(tmp_path / "parts", data, "--steps", 1, "--lr", 1, "--batch-size", 20)

    def test_no_run(self, data: Path, tmp_path: Path):
        text = "is no training folder: it has no train.json"
        assert text in self.refuse(tmp_path, data, "--steps", 1, "--lr", 1)
        for path in (tmp_path / "none", data):
            assert text in run_gradc("fit", str(path)).err

    def test_a_damaged_model(self, run: Path, data: Path):
        (run / "step.onnx").write_bytes(b"no model")
        assert "onnxruntime cannot load" in self.refuse(run, data, "--steps", 1, "--lr", 1)
