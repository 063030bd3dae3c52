"""recompute: the same numbers, ops that onnxruntime keeps apart, and memory."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto
from support.deep_networks import chain, convolutions, residual

import gradc
from passes.training.checkpoints import Activation, choose_ends

NETWORKS = {
    "chain": (chain(10, 64), (64,)),
    "residual": (residual(6, 64), (64,)),
    "convolutions": (convolutions(5, 8, 8), (8, 8, 8)),
}

FILES = ("step.onnx", "gradients.onnx")


def step_of(model: ModelProto, **options: Any) -> gradc.TrainStep:
    loss, optimizer = gradc.losses.MSE(), gradc.optim.SGD(momentum=0.9)
    return gradc.train_step(model, loss=loss, optimizer=optimizer, **options)


def run(model: ModelProto, feeds: dict[str, Any], optimized: bool) -> dict[str, np.ndarray]:
    options = onnxruntime.SessionOptions()
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimized else level.ORT_DISABLE_ALL
    session: Any = onnxruntime.InferenceSession(model.SerializeToString(), options)
    names = [one.name for one in session.get_outputs()]
    given = {one.name: feeds[one.name] for one in session.get_inputs()}
    return dict(zip(names, session.run(names, given), strict=True))


def batch(shape: tuple[int, ...], count: int = 6) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    x, label = (rng.standard_normal((count, *shape)).astype(np.float32) for _ in range(2))
    scalars = {"lr": np.array(0.1, np.float32), "step": np.array(2), "seed": np.array(7)}
    return {"x": x, "label": label, **scalars}


def ops(model: ModelProto) -> Counter[str]:
    return Counter(node.op_type for node in model.graph.node)


SWEPT = [pytest.param(name, file, marks=pytest.mark.sweep) for name in NETWORKS for file in FILES]


@pytest.mark.parametrize(("name", "file"), [("residual", FILES[0]), *SWEPT[:2], *SWEPT[3:]])
def test_the_results_are_those_of_kept_activations(name: str, file: str):
    """The bits are the same if onnxruntime runs the ops as they are; its fusions may round otherwise."""
    model, shape = NETWORKS[name]
    options = {"check": False, "keep_outputs": "all", "accumulate": 2 if file == FILES[1] else None}
    kept, again = (step_of(model, recompute=flag, **options) for flag in (False, True))
    assert len(again.models[file].graph.node) > len(kept.models[file].graph.node)
    sums = {
        name: np.zeros_like(kept.initial[name.removeprefix("grad_")])
        for name in kept.facts.get("gradients", ())
    }
    feeds = {**kept.initial, **sums, **batch(shape)}
    expected = run(kept.models[file], feeds, optimized=False)
    found = run(again.models[file], feeds, optimized=False)
    assert found.keys() == expected.keys()
    for result, array in expected.items():
        np.testing.assert_array_equal(found[result], array, err_msg=result)
    for result, array in run(again.models[file], feeds, optimized=True).items():
        np.testing.assert_allclose(array, expected[result], rtol=2e-5, atol=1e-6, err_msg=result)


def test_the_check_proves_it():
    model, _ = NETWORKS["residual"]
    assert "proved" in str(step_of(model, recompute=True).proof)


def test_an_empty_batch():
    model, shape = NETWORKS["chain"]
    step = step_of(model, recompute=True, check=False)
    found = run(step.model, {**step.initial, **batch(shape, count=0)}, optimized=True)
    assert np.isfinite(found["new_w0"]).all()


def test_updates_in_place_follow_the_second_readers(tmp_path: Path):
    """The ops that are computed again read parameters too."""
    model, shape = NETWORKS["chain"]
    losses = list[list[float]]()
    for options in ({}, {"recompute": True, "in_place": True}):
        run_folder = tmp_path / f"run{len(losses)}"
        step_of(model, check=False, **options).save(run_folder)
        trainer = gradc.Trainer(run_folder, threads=1)
        data = {name: array for name, array in batch(shape).items() if name in ("x", "label")}
        losses.append([trainer.step(data, lr=0.5) for _ in range(5)])
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-5)


def test_onnxruntime_does_not_merge_the_ops(tmp_path: Path):
    model, _ = NETWORKS["chain"]
    step = step_of(model, recompute=True, check=False)
    options, path = onnxruntime.SessionOptions(), str(tmp_path / "optimized.onnx")
    options.optimized_model_filepath = path
    onnxruntime.InferenceSession(step.model.SerializeToString(), options)
    assert ops(onnx.load(path))["Tanh"] == ops(step.model)["Tanh"] > 10


def test_a_step_with_few_activations_stays_as_it_is():
    model = chain(6, 16)
    plain, again = (step_of(model, recompute=flag, check=False) for flag in (False, True))
    assert ops(again.model) == ops(plain.model)


def test_random_ops_run_once():
    """Dropout as the file has it draws other numbers in each run."""
    model, _ = NETWORKS["residual"]
    for one in model.graph.node:
        if one.op_type == "Dropout" and len(one.input) == 2:
            one.input.append("training")
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(True), "training"))
    plain, again = (step_of(model, recompute=flag, check=False, dropout="keep") for flag in (False, True))
    assert ops(again.model)["Dropout"] == ops(plain.model)["Dropout"]
    assert ops(again.model)["LayerNormalization"] > ops(plain.model)["LayerNormalization"]


PROGRAM = """
import sys
import numpy as np
from gradc.training.trainer import Trainer

def resident(key):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(key)) / 1024

trainer = Trainer(sys.argv[1], threads=1)
x = np.random.default_rng(0).standard_normal((8192, 64)).astype(np.float32)
before = resident("VmRSS")
trainer.step({"x": x, "label": x}, lr=0.1)
print(resident("VmHWM") - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory(tmp_path: Path):
    """Each of 24 layers has activations of 2 MB."""
    grown = list[float]()
    for flag in (False, True):
        folder = tmp_path / f"run{flag}"
        step_of(chain(24, 64), recompute=flag, check=False).save(folder)
        done = subprocess.run([sys.executable, "-c", PROGRAM, folder], capture_output=True, check=True)
        grown.append(float(done.stdout))
    assert grown[1] < 0.65 * grown[0]


def peak(activations: list[Activation], ends: tuple[int, ...], count: int) -> int:
    """Return the most bytes of the checkpoints up to the end of a segment and its other saved activations."""
    kept, start, most = 0, 0, 0
    for end in (*ends, count):
        own = [a for a in activations if a.saved and start <= a.start <= end and a.end <= end]
        kept += sum(a.size for a in activations if a.start <= end < a.end)
        most, start = max(most, kept + sum(a.size for a in own)), end + 1
    return most


@pytest.mark.parametrize("seed", range(20))
def test_the_choice_is_the_best_of_all(seed: int):
    """The ends are positions that no more bytes cross than their neighbours, in chains with skips."""
    rng, count = np.random.default_rng(seed), 10
    value: Any = None
    activations = [
        Activation(
            value, int(size), index, min(index + int(rng.integers(1, 4)), count - 1), rng.random() < 0.8
        )
        for index, size in enumerate(rng.integers(1, 9, count))
    ]
    crossing = [sum(a.size for a in activations if a.start <= end < a.end) for end in range(count)]
    around = [99, *crossing, 99]
    ends = [i for i, size in enumerate(crossing) if size <= min(around[i], around[i + 2])]
    choices = [chosen for length in range(len(ends) + 1) for chosen in combinations(ends, length)]
    best = min(peak(activations, chosen, count) for chosen in choices)
    found = peak(activations, tuple(choose_ends(activations, count)), count)
    assert found == best or found == peak(activations, (), count) < best / 0.89


def test_a_long_chain_keeps_about_its_root():
    value: Any = None
    activations = [Activation(value, 1, index, min(index + 1, 899), saved=True) for index in range(900)]
    found = choose_ends(activations, 900)
    assert peak(activations, tuple(found), 900) < 100
