"""The loop over a folder: values, resuming, messages, and that its module needs nothing of gradc."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from safetensors.numpy import load_file, save_file
from support.training_folders import Loop, batch_of, initial, write_run

from gradc.training import trainer as module
from gradc.training.trainer import Tensor, Trainer, TrainerError, read_safetensors, write_safetensors


@pytest.fixture
def run(tmp_path: Path) -> Path:
    write_run(tmp_path / "run")
    return tmp_path / "run"


def contents(trainer: Trainer) -> dict[str, bytes]:
    """The bytes of all arrays that are saved."""
    return {name: trainer._now[name].array.tobytes() for name in trainer._names}


def change_facts(run: Path, **facts: Any) -> None:
    path = run / "train.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | facts))


class TestStep:
    def test_follows_numpy(self, run: Path):
        trainer, loop = Trainer(run, threads=1), Loop()
        for index in range(5):
            batch = batch_of(8, index)
            assert trainer.step(batch, lr=0.1) == pytest.approx(loop.step(batch, 0.1), rel=1e-5)
        for name, array in trainer.parameters().items():
            np.testing.assert_allclose(array, loop.arrays[name], rtol=1e-5)
        assert trainer.steps == 5

    def test_keeps_outputs_of_any_size(self, run: Path):
        trainer = Trainer(run)
        for size in (4, 7):
            trainer.step(batch_of(size), lr=0.1)
            assert trainer.outputs["y"].shape == (size, 2)
        first = trainer.outputs["y"].copy()
        kept = trainer.outputs["y"]
        trainer.step(batch_of(7, 5), lr=0.1)
        np.testing.assert_array_equal(kept, first)

    def test_updates_statistics(self, run: Path):
        trainer = Trainer(run)
        batch = batch_of(8)
        trainer.step(batch, lr=0.0)
        np.testing.assert_allclose(trainer._now["mean"].array, batch["x"].mean(0) / 2, rtol=1e-5)

    def test_in_place_uses_one_buffer(self, tmp_path: Path):
        write_run(tmp_path / "two")
        write_run(tmp_path / "one", in_place=True)
        two, one = Trainer(tmp_path / "two"), Trainer(tmp_path / "one")
        held = one._now["w"].array
        for index in range(3):
            assert two.step(batch_of(8, index), lr=0.1) == one.step(batch_of(8, index), lr=0.1)
        assert contents(two) == contents(one)
        assert one._now["w"].array is held

    def test_assigned_parameters_are_the_next_ones(self, run: Path):
        first, second = Trainer(run, threads=1), Trainer(run, threads=1)
        first.step(batch_of(4), lr=0.1)
        second.assign(first.parameters())
        assert all(np.array_equal(a, second.parameters()[n]) for n, a in first.parameters().items())
        with pytest.raises(TrainerError, match=r"assign.*z is no parameter"):
            second.assign({"z": np.zeros(2)})
        with pytest.raises(TrainerError, match=r"assign\(\): b: given shape"):
            second.assign({"b": np.zeros(3, np.float32)})

    def test_parameters_are_copies(self, run: Path):
        trainer = Trainer(run)
        trainer.parameters()["w"][:] = 0
        assert trainer.parameters()["w"].any()

    def test_a_failed_step_changes_nothing(self, run: Path):
        trainer = Trainer(run)
        before = contents(trainer)
        with pytest.raises(TrainerError):
            trainer.step(batch_of(8) | {"label": batch_of(7)["label"]}, lr=0.1)
        assert contents(trainer) == before
        assert trainer.steps == 0

    def test_a_loss_of_nan_is_returned(self, run: Path):
        trainer = Trainer(run)
        assert np.isnan(trainer.step(batch_of(2) | {"x": np.full((2, 3), np.nan, np.float32)}, lr=0.1))

    def test_evaluate(self, run: Path):
        trainer = Trainer(run)
        batch = batch_of(8)
        found = trainer.evaluate(batch)
        assert float(found["loss"]) == trainer.step(batch, lr=0.1)
        want = batch["x"] @ initial()["w"] + initial()["b"]
        np.testing.assert_allclose(found["y"], want, rtol=1e-5, atol=1e-6)

    def test_evaluate_reads_the_arrays_that_the_folder_names(self, run: Path):
        change_facts(run, evaluation={"w": "w.momentum_buffer", "b": "b"})
        batch = batch_of(8)
        want = np.broadcast_to(initial()["b"], (8, 2))
        np.testing.assert_allclose(Trainer(run).evaluate(batch)["y"], want, rtol=1e-6)


class TestMovingAverages:
    @pytest.fixture
    def averages(self, run: Path) -> Path:
        """A run whose momentum has the role of the moving average."""
        states = {f"{name}.momentum_buffer": {"of": name, "slot": "ema"} for name in ("w", "b")}
        change_facts(run, states=states)
        return run

    def test_are_evaluated_and_exported(self, averages: Path, tmp_path: Path):
        trainer = Trainer(averages)
        trainer.step(batch_of(8), lr=0.1)
        x = batch_of(5)["x"]
        buffers = {name: trainer._now[f"{name}.momentum_buffer"].array for name in ("w", "b")}
        want = x @ buffers["w"] + buffers["b"]
        np.testing.assert_allclose(trainer.evaluate(batch_of(5), ema=True)["y"], want, rtol=1e-4, atol=1e-5)
        trainer.export(tmp_path / "m.onnx", ema=True)
        (y,) = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(None, {"x": x})
        np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-5)

    def test_a_run_without_them(self, run: Path, tmp_path: Path):
        for method, given in (("evaluate", batch_of(8)), ("export", tmp_path / "m.onnx")):
            with pytest.raises(TrainerError, match="no moving averages; `gradc train --ema"):
                getattr(Trainer(run), method)(given, ema=True)


class TestSeed:
    @pytest.fixture
    def seeds(self, run: Path) -> Path:
        """A run whose step also returns its seed."""
        model = onnx.load(run / "step.onnx")
        model.graph.node.append(helper.make_node("Identity", ["seed"], ["seed_was"]))
        model.graph.output.append(helper.make_tensor_value_info("seed_was", TensorProto.INT64, []))
        onnx.save(model, run / "step.onnx")
        return run

    def test_is_a_function_of_seed_and_step(self, seeds: Path):
        trainer = Trainer(seeds)
        trainer.seed = 5
        found = []
        for _ in range(2):
            trainer.step(batch_of(2), lr=0.1)
            found.append(int(trainer.outputs["seed_was"]))
        assert found == [5 * 2**32 + 1, 5 * 2**32 + 2]

    def test_is_saved(self, seeds: Path, tmp_path: Path):
        trainer = Trainer(seeds)
        trainer.seed = 5
        trainer.step(batch_of(2), lr=0.1)
        trainer.save(tmp_path / "c.safetensors")
        other = Trainer(seeds)
        other.load(tmp_path / "c.safetensors")
        other.step(batch_of(2), lr=0.1)
        assert int(other.outputs["seed_was"]) == 5 * 2**32 + 2


class TestResuming:
    SCRIPT = """
import sys
from trainer import Trainer
import numpy as np
rng = np.random.default_rng(9)
sizes = {"x": (8, 3), "label": (8, 2)}
batches = [{name: rng.standard_normal(size).astype("f4") for name, size in sizes.items()} for _ in range(6)]
run, first, last, source, target = sys.argv[1:]
trainer = Trainer(run, threads=1)
if source != "-":
    trainer.load(source)
for batch in batches[int(first):int(last)]:
    print(trainer.step(batch, lr=0.1).hex())
trainer.save(target)
others = {"gradc", "onnx", "passes", "dialects", "safetensors", "ml_dtypes"}
assert not others.intersection(name.split(".")[0] for name in sys.modules)
"""

    def go(self, folder: Path, *args: object) -> list[str]:
        shutil.copy(module.__file__, folder / "trainer.py")
        command = [sys.executable, "-c", self.SCRIPT, *map(str, args)]
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, env={"PATH": ""}, check=False
        )
        assert not done.returncode, done.stderr
        return done.stdout.split()

    def test_in_a_new_process_that_has_a_copy_of_the_module_alone(self, run: Path, tmp_path: Path):
        whole = self.go(tmp_path, run, 0, 6, "-", tmp_path / "whole")
        first = self.go(tmp_path, run, 0, 3, "-", tmp_path / "half")
        second = self.go(tmp_path, run, 3, 6, tmp_path / "half", tmp_path / "parts")
        assert whole == [*first, *second]
        assert (tmp_path / "whole").read_bytes() == (tmp_path / "parts").read_bytes()

    def test_without_a_path_into_the_folder(self, run: Path):
        trainer = Trainer(run)
        trainer.step(batch_of(8), lr=0.1)
        trainer.save()
        assert contents(Trainer(run)) == contents(trainer)
        assert Trainer(run).steps == 1

    def test_a_checkpoint_is_a_plain_safetensors_file(self, run: Path, tmp_path: Path):
        trainer = Trainer(run)
        trainer.step(batch_of(8), lr=0.1)
        trainer.save(tmp_path / "c.safetensors")
        found = load_file(tmp_path / "c.safetensors")
        assert set(found) == {"w", "b", "mean", "w.momentum_buffer", "b.momentum_buffer", "step", "seed"}
        assert found["step"] == 1
        np.testing.assert_array_equal(found["w"], trainer.parameters()["w"])

    @pytest.mark.parametrize(
        ("change", "text"),
        [
            ({"w": None}, r"lacks w: it belongs to another training run"),
            ({"c": np.zeros(2, np.float32)}, r"also has c: it belongs to another training run"),
            ({"w": np.zeros((2, 3), np.float32)}, r'"w" of .*: given shape \[2, 3\], expected \[3, 2\]'),
            ({"w": np.zeros((3, 2))}, r'"w" of .*: given dtype float64, expected float32'),
        ],
    )
    def test_another_run(self, run: Path, tmp_path: Path, change: dict[str, Any], text: str):
        trainer = Trainer(run)
        trainer.save(tmp_path / "c.safetensors")
        arrays = load_file(tmp_path / "c.safetensors") | change
        save_file(
            {name: array for name, array in arrays.items() if array is not None}, tmp_path / "d.safetensors"
        )
        before = contents(trainer)
        with pytest.raises(TrainerError, match=text):
            trainer.load(tmp_path / "d.safetensors")
        assert contents(trainer) == before

    @pytest.mark.parametrize("content", [b"", b"12", b"\xff" * 40, b"\x02\0\0\0\0\0\0\0{}"[:9]])
    def test_damaged_file(self, run: Path, tmp_path: Path, content: bytes):
        (tmp_path / "c").write_bytes(content)
        with pytest.raises(TrainerError, match=r"cannot read .*: it is cut short"):
            Trainer(run).load(tmp_path / "c")

    def test_truncated_file(self, run: Path, tmp_path: Path):
        trainer = Trainer(run)
        trainer.save(tmp_path / "c")
        (tmp_path / "c").write_bytes((tmp_path / "c").read_bytes()[:-3])
        with pytest.raises(TrainerError, match=r"cannot read .*: it is cut short"):
            trainer.load(tmp_path / "c")

    def test_missing_file_and_folder(self, run: Path, tmp_path: Path):
        with pytest.raises(TrainerError, match=r"cannot read .*c: No such file"):
            Trainer(run).load(tmp_path / "c")
        with pytest.raises(TrainerError, match=r"cannot write .*No such file"):
            Trainer(run).save(tmp_path / "none" / "c")
        assert not list(tmp_path.glob("*.tmp"))


class TestExport:
    def test_is_the_model_with_the_trained_parameters(self, run: Path, tmp_path: Path):
        trainer = Trainer(run)
        for index in range(3):
            trainer.step(batch_of(8, index), lr=0.1)
        trainer.export(tmp_path / "trained.onnx")
        model = onnx.load(tmp_path / "trained.onnx")
        onnx.checker.check_model(model, full_check=True)
        arrays = {one.name: onnx.numpy_helper.to_array(one) for one in model.graph.initializer}
        for name, array in trainer.parameters().items():
            np.testing.assert_array_equal(arrays[name], array)
        batch = batch_of(5)
        session = onnxruntime.InferenceSession(tmp_path / "trained.onnx")
        np.testing.assert_array_equal(session.run(None, {"x": batch["x"]})[0], trainer.evaluate(batch)["y"])

    def test_another_model_in_the_folder(self, run: Path, tmp_path: Path):
        model = onnx.load(run / "model.onnx")
        model.doc_string = "changed"
        onnx.save(model, run / "model.onnx")
        with pytest.raises(TrainerError, match="is not the file that gradc wrote"):
            Trainer(run).export(tmp_path / "trained.onnx")
        assert not (tmp_path / "trained.onnx").exists()


class TestAccumulation:
    def test_parts_equal_the_whole_batch(self, tmp_path: Path):
        write_run(tmp_path / "run", accumulate=4)
        trainer, loop = Trainer(tmp_path / "run", threads=1), Loop()
        for index in range(4):
            batch = batch_of(12, index)
            assert trainer.step(batch, lr=0.1) == pytest.approx(loop.step(batch, 0.1), rel=1e-5)
        for name, array in trainer.parameters().items():
            np.testing.assert_allclose(array, loop.arrays[name], rtol=1e-5)
        assert trainer.steps == 4

    def test_a_list_of_parts(self, tmp_path: Path):
        write_run(tmp_path / "run", accumulate=4)
        trainer, loop = Trainer(tmp_path / "run"), Loop()
        batch = batch_of(12)
        parts = [{name: array[at : at + 4] for name, array in batch.items()} for at in (0, 4, 8)]
        for _ in range(2):
            assert trainer.step(parts, lr=0.1) == pytest.approx(loop.step(batch, 0.1), rel=1e-5)

    def test_a_failed_part_leaves_no_gradients(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        write_run(tmp_path / "run", accumulate=2)
        good, bad = Trainer(tmp_path / "run"), Trainer(tmp_path / "run")
        calls = []

        def fails_once(*args: Any) -> Any:
            calls.append(args)
            if len(calls) == 2:
                raise TrainerError("onnxruntime cannot run the model")
            return module.Model.run(*args)

        monkeypatch.setattr(bad._models[0], "run", lambda *args: fails_once(bad._models[0], *args))
        with pytest.raises(TrainerError):
            bad.step(batch_of(4), lr=0.1)
        for trainer in (good, bad):
            trainer.step(batch_of(4), lr=0.1)
        np.testing.assert_array_equal(good.parameters()["w"], bad.parameters()["w"])

    def test_indivisible(self, tmp_path: Path):
        write_run(tmp_path / "run", accumulate=4)
        text = r'input "x" of shape \[6, 3\] is not divisible by 4'
        with pytest.raises(TrainerError, match=text):
            Trainer(tmp_path / "run").step(batch_of(6), lr=0.1)

    def test_resuming(self, tmp_path: Path):
        write_run(tmp_path / "run", accumulate=2)
        first, second = Trainer(tmp_path / "run"), Trainer(tmp_path / "run")
        first.step(batch_of(4), lr=0.1)
        first.save(tmp_path / "c")
        second.load(tmp_path / "c")
        assert first.step(batch_of(4, 1), lr=0.1) == second.step(batch_of(4, 1), lr=0.1)
        assert contents(first) == contents(second)

    @pytest.mark.parametrize("returned", [True, False])
    def test_all_reduce_has_one_flat_vector(self, tmp_path: Path, returned: bool):
        write_run(tmp_path / "run", accumulate=2)
        seen = []

        def f(flat: np.ndarray) -> np.ndarray | None:
            seen.append(flat.copy())
            if returned:
                return flat * 0.5
            flat *= 0.5
            return None

        plain, halved = Trainer(tmp_path / "run"), Trainer(tmp_path / "run", all_reduce=f)
        plain.step(batch_of(4), lr=0.1)
        halved.step(batch_of(4), lr=0.2)
        assert seen[0].dtype == np.float32
        assert seen[0].shape == (8,)
        for name, array in plain.parameters().items():
            np.testing.assert_allclose(halved.parameters()[name], array, rtol=1e-5)

    def test_all_reduce_that_changes_nothing(self, tmp_path: Path):
        write_run(tmp_path / "run", accumulate=3)
        plain, reduced = Trainer(tmp_path / "run"), Trainer(tmp_path / "run", all_reduce=lambda flat: flat)
        for trainer in (plain, reduced):
            trainer.step(batch_of(6), lr=0.1)
        assert contents(plain) == contents(reduced)

    def test_all_reduce_of_float64(self, tmp_path: Path):
        write_run(tmp_path / "run", accumulate=1, dtype=np.float64)
        dtypes = []
        trainer = Trainer(tmp_path / "run", all_reduce=lambda flat: dtypes.append(flat.dtype))
        trainer.step(batch_of(4, dtype=np.float64), lr=0.1)
        assert dtypes == [np.float64]

    def test_errors(self, tmp_path: Path, run: Path):
        with pytest.raises(TrainerError, match=r"all_reduce needs a folder of .* --accumulate N"):
            Trainer(run, all_reduce=lambda flat: flat)
        with pytest.raises(TrainerError, match="a list of batches, not empty, only of `gradc train"):
            Trainer(run).step([batch_of(2)], lr=0.1)
        write_run(tmp_path / "sums", accumulate=2)
        with pytest.raises(TrainerError, match=r"all_reduce: given shape \(3,\), expected \(8,\)"):
            Trainer(tmp_path / "sums", all_reduce=lambda flat: flat[:3]).step(batch_of(2), lr=0.1)
        with pytest.raises(TrainerError, match="a list of batches, not empty"):
            Trainer(tmp_path / "sums").step([], lr=0.1)


class TestMessages:
    @pytest.mark.parametrize(
        ("change", "text"),
        [
            ({"x": None}, r"step\(\): missing x, expected x, label"),
            (
                {"labels": np.zeros(2)},
                r"step\(\): unknown input 'labels', expected x, label",
            ),
            ({"x": np.zeros((8, 3))}, r'input "x": given dtype float64, expected float32'),
            ({"x": np.zeros((8, 4), np.float32)}, r'input "x": given shape \[8, 4\], expected \[N, 3\]'),
            ({"x": np.float32(1)}, r'input "x": given shape \[\], expected \[N, 3\]'),
            ({"x": np.zeros((7, 3), np.float32)}, r'input "label": size N is 8, but 7 in input "x"'),
        ],
    )
    def test_batch(self, run: Path, change: dict[str, Any], text: str):
        batch = {name: array for name, array in (batch_of(8) | change).items() if array is not None}
        trainer = Trainer(run)
        with pytest.raises(TrainerError, match=text):
            trainer.step(batch, lr=0.1)
        with pytest.raises(TrainerError, match=text.replace("step", "evaluate")):
            trainer.evaluate(batch)

    def test_learning_rate(self, run: Path):
        with pytest.raises(TrainerError, match=r"step\(\) needs lr="):
            Trainer(run).step(batch_of(8))
        change_facts(run, scalars={"step": "int64"})
        with pytest.raises(TrainerError, match=r"step\(\) takes no lr="):
            Trainer(run).step(batch_of(8), lr=0.1)

    def test_no_folder(self, tmp_path: Path):
        with pytest.raises(
            TrainerError, match=r"is no training folder: cannot read .*train\.json: No such file"
        ):
            Trainer(tmp_path)

    def test_another_version(self, run: Path):
        change_facts(run, format=2)
        with pytest.raises(TrainerError, match=r"format of .*: given 2, expected 1; use the trainer\.py of"):
            Trainer(run)

    @pytest.mark.parametrize("text", ["{", "[]", "\xff"])
    def test_damaged_facts(self, run: Path, text: str):
        (run / "train.json").write_bytes(text.encode("latin-1"))
        with pytest.raises(TrainerError, match=r"is no training folder|format of .*train\.json: given None"):
            Trainer(run)

    def test_missing_model(self, run: Path):
        (run / "step.onnx").unlink()
        with pytest.raises(TrainerError, match=r"onnxruntime cannot load .*step\.onnx"):
            Trainer(run)

    def test_damaged_model(self, run: Path):
        (run / "step.onnx").write_bytes(b"no model")
        with pytest.raises(TrainerError, match="onnxruntime cannot load"):
            Trainer(run)


class TestSafetensors:
    def test_all_types_round_trip(self, tmp_path: Path):
        tensors = {
            code: Tensor(code, np.arange(6).reshape(2, 3).astype(dtype))
            for code, dtype in module.DTYPES.items()
        }
        tensors["ü"] = Tensor("F32", np.zeros((0, 3), np.float32))
        tensors["scalar"] = Tensor("I64", np.array(7))
        write_safetensors(tmp_path / "a", tensors)
        found = read_safetensors(tmp_path / "a")
        assert {name: one.code for name, one in found.items()} == {
            name: one.code for name, one in tensors.items()
        }
        for name, one in tensors.items():
            assert found[name].array.dtype == one.array.dtype
            np.testing.assert_array_equal(found[name].array, one.array)

    def test_the_package_reads_what_is_written_and_the_reverse(self, tmp_path: Path):
        arrays = {"a": np.arange(3, dtype=np.int8), "b": np.ones((2, 2)), "c": np.array(1, np.float32)}
        codes = {"a": "I8", "b": "F64", "c": "F32"}
        write_safetensors(
            tmp_path / "a", {name: Tensor(codes[name], array) for name, array in arrays.items()}
        )
        for name, array in load_file(tmp_path / "a").items():
            np.testing.assert_array_equal(array, arrays[name])
        save_file(arrays, tmp_path / "b", metadata={"k": "v"})
        for name, one in read_safetensors(tmp_path / "b").items():
            np.testing.assert_array_equal(one.array, arrays[name])


class TestBfloat16:
    def test_rounds_to_nearest_even(self):
        ml_dtypes = pytest.importorskip("ml_dtypes")
        rng = np.random.default_rng(0)
        wide = rng.standard_normal(4096).astype(np.float32) * np.float32(10.0) ** rng.integers(-38, 38, 4096)
        wide = np.concatenate(
            [wide, np.array([0, -0.0, np.inf, -np.inf, 1 + 2**-8, 1 + 3 * 2**-8], np.float32)]
        )
        bits = module._narrow(wide, "BF16")
        np.testing.assert_array_equal(bits, wide.astype(ml_dtypes.bfloat16).view(np.uint16))
        np.testing.assert_array_equal(
            module._widen(bits, "BF16"), wide.astype(ml_dtypes.bfloat16).astype("f4")
        )
        assert np.isnan(module._widen(module._narrow(np.array([np.nan], "f4"), "BF16"), "BF16")).all()

    def test_inputs_outputs_and_state_of_a_model(self, tmp_path: Path):
        info = helper.make_tensor_value_info
        nodes = [
            helper.make_node("Cast", ["x"], ["wide"], to=TensorProto.FLOAT),
            helper.make_node("Cast", ["w"], ["w_wide"], to=TensorProto.FLOAT),
            helper.make_node("Add", ["wide", "w_wide"], ["sum"]),
            helper.make_node("Cast", ["sum"], ["new_w"], to=TensorProto.BFLOAT16),
            helper.make_node("Identity", ["new_w"], ["kept"]),
        ]
        inputs = [info("x", TensorProto.BFLOAT16, [2]), info("w", TensorProto.BFLOAT16, [2])]
        outputs = [info(name, TensorProto.BFLOAT16, [2]) for name in ("new_w", "kept")]
        graph = helper.make_graph(nodes, "g", inputs, outputs)
        onnx.save(
            helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9),
            tmp_path / "m.onnx",
        )
        model = module.Model(tmp_path / "m.onnx", 1, None)
        one, two = (Tensor("BF16", np.array([bits] * 2, np.uint16)) for bits in (0x3F80, 0x4000))
        into = Tensor("BF16", np.zeros(2, np.uint16))
        found = model.run({"x": one, "w": two}, {"new_w": into})
        np.testing.assert_array_equal(into.array, [0x4040] * 2)
        np.testing.assert_array_equal(module._copy(found["kept"]), [0x4040] * 2)
