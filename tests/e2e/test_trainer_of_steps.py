"""`gradc.Trainer` on the folders of `gradc.train_step`: its losses, resuming, accumulation and export."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto
from support.trainable_models import batch_for, convolutional, perceptron

import gradc
from gradc.training import trainer as module

LR = 1e-2


@dataclass(frozen=True)
class Network:
    name: str
    model: ModelProto
    shape: tuple[int, ...]

    def step(self, **options: object) -> gradc.TrainStep:
        loss, optimizer = gradc.losses.CrossEntropy(), gradc.optim.AdamW(weight_decay=0.1)
        return gradc.train_step(self.model, loss=loss, optimizer=optimizer, check=False, **options)

    def batch(self, seed: int, count: int = 12) -> dict[str, np.ndarray]:
        return batch_for(self.shape, count, seed)


NETWORKS = (Network("perceptron", perceptron(), (4,)), Network("convolutional", convolutional(), (2, 8, 8)))


@pytest.fixture(params=NETWORKS, ids=lambda network: network.name)
def network(request: pytest.FixtureRequest) -> Network:
    return request.param


@pytest.fixture(scope="module")
def steps() -> dict[str, gradc.TrainStep]:
    return {network.name: network.step(keep_outputs="all") for network in NETWORKS}


@pytest.fixture
def run(network: Network, steps: dict[str, gradc.TrainStep], tmp_path: Path) -> Path:
    steps[network.name].save(tmp_path / "run")
    return tmp_path / "run"


def plain_session(model: ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options)


class TestLosses:
    def test_are_those_of_a_plain_loop(self, network: Network, run: Path, steps: dict[str, gradc.TrainStep]):
        """A loop over `updates` with `InferenceSession.run` has the same bits."""
        step, trainer = steps[network.name], gradc.Trainer(run, threads=1)
        session, values = plain_session(step.model), dict(step.initial)
        has_seed = "seed" in step.facts["scalars"]
        names = [output.name for output in session.get_outputs()]
        for number in range(1, 5):
            scalars = {"lr": np.float32(LR), "step": np.int64(number)}
            scalars |= {"seed": np.int64((7 << 32) + number)} if has_seed else {}
            feeds = {**values, **network.batch(number), **scalars}
            results = dict(
                zip(names, session.run(names, {k: np.asarray(v) for k, v in feeds.items()}), strict=True)
            )
            values = {name: results[new] for name, new in step.updates.items()}
            trainer.seed = 7
            assert trainer.step(network.batch(number), lr=LR) == float(results["loss"])
            np.testing.assert_array_equal(trainer.outputs["logits"], results["logits"])
        for name, array in trainer.parameters().items():
            np.testing.assert_array_equal(array, values[name])

    def test_fall(self, network: Network, run: Path):
        trainer = gradc.Trainer(run, threads=1)
        losses = [trainer.step(network.batch(index % 4, 32), lr=LR) for index in range(40)]
        assert np.mean(losses[-4:]) < 0.97 * np.mean(losses[:4])

    def test_dropout_depends_on_the_seed(self, tmp_path: Path, steps: dict[str, gradc.TrainStep]):
        network = NETWORKS[1]
        steps[network.name].save(tmp_path / "run")
        losses = []
        for seed in (0, 1, 0):
            trainer = gradc.Trainer(tmp_path / "run", threads=1)
            trainer.seed = seed
            losses.append(trainer.step(network.batch(0), lr=LR))
        assert losses[0] == losses[2] != losses[1]


class TestResuming:
    SCRIPT = """
import sys
import numpy as np
from trainer import Trainer
run, batches, checkpoint, first, last = sys.argv[1:]
arrays = np.load(batches)
trainer = Trainer(run, threads=1)
trainer.load(checkpoint)
for index in range(int(first), int(last)):
    batch = {name: arrays[f"{name}{index}"] for name in ("x", "label")}
    print(trainer.step(batch, lr=1e-2).hex())
trainer.save(sys.argv[3])
"""

    def test_has_the_same_bits_in_a_new_process(self, network: Network, run: Path, tmp_path: Path):
        batches = {f"{k}{index}": v for index in range(4) for k, v in network.batch(index).items()}
        np.savez(tmp_path / "batches.npz", **batches)
        whole, half = gradc.Trainer(run, threads=1), gradc.Trainer(run, threads=1)
        whole.seed = half.seed = 5
        want = [whole.step(network.batch(index), lr=LR) for index in range(4)]
        for index in range(2):
            half.step(network.batch(index), lr=LR)
        half.save(tmp_path / "half.safetensors")
        whole.save(tmp_path / "whole.safetensors")
        shutil.copy(module.__file__, tmp_path / "trainer.py")
        command = [
            sys.executable,
            "-c",
            self.SCRIPT,
            run,
            tmp_path / "batches.npz",
            tmp_path / "half.safetensors",
        ]
        done = subprocess.run(
            [*map(str, command), "2", "4"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={"PATH": ""},
            check=False,
        )
        assert not done.returncode, done.stderr
        assert [float.fromhex(line) for line in done.stdout.split()] == want[2:]
        assert (tmp_path / "half.safetensors").read_bytes() == (tmp_path / "whole.safetensors").read_bytes()


class TestEvaluation:
    def test_export_is_the_evaluated_model(self, network: Network, run: Path, tmp_path: Path):
        trainer = gradc.Trainer(run, threads=1)
        for index in range(3):
            trainer.step(network.batch(index), lr=LR)
        trainer.export(tmp_path / "trained.onnx")
        batch = network.batch(9)
        session = onnxruntime.InferenceSession(tmp_path / "trained.onnx")
        assert [one.name for one in session.get_inputs()] == ["x"]
        (logits,) = session.run(["logits"], {"x": batch["x"]})
        found = trainer.evaluate(batch)
        np.testing.assert_allclose(found["logits"], logits, rtol=1e-5, atol=1e-6)
        shifted = logits - logits.max(1, keepdims=True)
        log_p = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
        want = -log_p[np.arange(len(logits)), batch["label"]].mean()
        np.testing.assert_allclose(found["loss"], want, rtol=1e-5)

    def test_export_with_initial_values_is_the_source(self, network: Network, run: Path, tmp_path: Path):
        gradc.Trainer(run).export(tmp_path / "same.onnx")
        batch = network.batch(3)
        got, want = (
            onnxruntime.InferenceSession(source).run(["logits"], {"x": batch["x"]})[0]
            for source in (tmp_path / "same.onnx", network.model.SerializeToString())
        )
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)

    def test_running_statistics_are_exported(self, tmp_path: Path, steps: dict[str, gradc.TrainStep]):
        network = NETWORKS[1]
        steps[network.name].save(tmp_path / "run")
        trainer = gradc.Trainer(tmp_path / "run")
        trainer.step(network.batch(0), lr=0.0)
        trainer.export(tmp_path / "trained.onnx")
        gradc.Trainer(tmp_path / "run").export(tmp_path / "initial.onnx")
        assert (tmp_path / "trained.onnx").read_bytes() != (tmp_path / "initial.onnx").read_bytes()


class TestAccumulation:
    def test_equals_the_whole_batch(self, tmp_path: Path):
        network = NETWORKS[0]
        network.step(accumulate=3).save(tmp_path / "parts")
        network.step().save(tmp_path / "whole")
        parts, whole = (gradc.Trainer(tmp_path / name, threads=1) for name in ("parts", "whole"))
        for index in range(4):
            batch = network.batch(index)
            assert parts.step(batch, lr=LR) == pytest.approx(whole.step(batch, lr=LR), rel=1e-5)
        for name, array in parts.parameters().items():
            np.testing.assert_allclose(array, whole.parameters()[name], rtol=1e-3, atol=1e-5)


def test_moving_averages_are_evaluated_and_exported(tmp_path: Path):
    network = NETWORKS[1]
    network.step(ema=0.5).save(tmp_path / "run")
    trainer = gradc.Trainer(tmp_path / "run", threads=1)
    values = [trainer.parameters()]
    for index in range(3):
        trainer.step(network.batch(index), lr=LR)
        values.append(trainer.parameters())
    name = "conv.weight"
    want = values[0][name]
    for new in values[1:]:
        want = 0.5 * want + 0.5 * new[name]
    trainer.export(tmp_path / "averages.onnx", ema=True)
    (found,) = [one for one in onnx.load(tmp_path / "averages.onnx").graph.initializer if one.name == name]
    np.testing.assert_allclose(onnx.numpy_helper.to_array(found), want, rtol=1e-5)
    batch = network.batch(9)
    (logits,) = onnxruntime.InferenceSession(tmp_path / "averages.onnx").run(None, {"x": batch["x"]})
    np.testing.assert_allclose(trainer.evaluate(batch, ema=True)["logits"], logits, rtol=1e-5, atol=1e-6)
    assert np.abs(trainer.evaluate(batch)["logits"] - logits).max() > 1e-4


class TestHalfTypes:
    @pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
    def test_follow_float32(self, dtype: str, tmp_path: Path):
        """Parameters, states, batch and export of a half type; bfloat16 as bits."""
        half = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)
        wide, narrow = NETWORKS[0], Network(dtype, perceptron(half), (4,))
        wide.step().save(tmp_path / "wide")
        narrow.step(accumulate=2).save(tmp_path / "narrow")
        first, second = gradc.Trainer(tmp_path / "wide"), gradc.Trainer(tmp_path / "narrow")
        for index in range(4):
            batch = wide.batch(index)
            cast = {**batch, "x": batch["x"].astype(half)}
            np.testing.assert_allclose(second.step(cast, lr=LR), first.step(batch, lr=LR), rtol=3e-2)
        second.export(tmp_path / "trained.onnx")
        for one in onnx.load(tmp_path / "trained.onnx").graph.initializer:
            array = onnx.numpy_helper.to_array(one)
            assert array.dtype == half
            np.testing.assert_array_equal(
                array.view(np.uint16), second.parameters()[one.name].view(np.uint16)
            )


class TestFolder:
    def test_a_loaded_step_is_the_saved_one(
        self, network: Network, run: Path, steps: dict[str, gradc.TrainStep]
    ):
        found, step = gradc.TrainStep.load(run), steps[network.name]
        assert found.updates == step.updates
        assert set(found.initial) == set(step.initial)
        for name, array in step.initial.items():
            np.testing.assert_array_equal(found.initial[name], array)

    def test_parameters_have_the_names_and_shapes_of_the_source(self, network: Network, run: Path):
        source = {one.name: list(one.dims) for one in network.model.graph.initializer}
        facts = json.loads((run / "train.json").read_text())
        kept = [*facts["parameters"], *facts["statistics"]]
        assert set(kept) == set(source) - {"ratio"}
        assert all(facts["inputs"][name]["shape"] == source[name] for name in kept)


@pytest.mark.parametrize("accumulate", [None, 2])
def test_in_place_gives_the_bits_of_two_buffers(network: Network, accumulate: int | None, tmp_path: Path):
    found = list[dict[str, bytes]]()
    for in_place in (False, True):
        run = tmp_path / f"run{in_place}"
        network.step(in_place=in_place, accumulate=accumulate, clip=1.0, ema=0.9).save(run)
        assert json.loads((run / "train.json").read_text())["in_place"] is in_place
        trainer = gradc.Trainer(run, threads=1)
        for seed in range(4):
            trainer.step(network.batch(seed), lr=LR)
        trainer.save()
        found.append(
            {name: (run / name).read_bytes() for name in ("params.safetensors", "state.safetensors")}
        )
    assert found[0] == found[1]
