"""Writing and reading the folder of a training run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.training_folders import Shapes, batch_of, forward, initial, write_run

from dialects.support.diagnostics import GradcError, UsageError
from gradc.files.safetensors import read_safetensors
from gradc.model.split_model import KEPT_BYTES
from gradc.training import folder, trainer
from gradc.training.folder import METADATA_KEY, read_folder, write_folder, write_trained
from gradc.training.trainer import Trainer
from gradc.util.version import __version__


@pytest.fixture
def run(tmp_path: Path) -> Path:
    write_run(tmp_path / "run")
    return tmp_path / "run"


def write_model(folder: Path, model: onnx.ModelProto, export: dict[str, dict[str, str]]) -> dict[str, Any]:
    """Write a folder with nothing but model.onnx, and return train.json."""
    write_folder(folder, {"model.onnx": model}, {}, {}, {"export": export})
    return json.loads((folder / "train.json").read_text())


def take_model(run: Path, other: Path, facts: dict[str, Any]) -> None:
    """Replace a run's model.onnx by another folder's, of which `facts` is the train.json."""
    (run / "model.onnx").write_bytes((other / "model.onnx").read_bytes())
    own = json.loads((run / "train.json").read_text()) | {key: facts[key] for key in ("model", "export")}
    (run / "train.json").write_text(json.dumps(own))


class TestWriting:
    def test_files(self, run: Path):
        names = {path.name for path in run.iterdir()}
        assert names == {
            "step.onnx",
            "eval.onnx",
            "model.onnx",
            "params.safetensors",
            "state.safetensors",
            "train.json",
        }
        facts = json.loads((run / "train.json").read_text())
        assert (facts["format"], facts["gradc"]) == (1, __version__)
        state = read_safetensors(run / "state.safetensors")
        assert (state["step"], state["seed"]) == (0, 0)

    def test_the_step_has_the_facts_as_metadata(self, run: Path):
        model = onnx.load(run / "step.onnx")
        (text,) = [entry.value for entry in model.metadata_props if entry.key == METADATA_KEY]
        assert json.loads(text) == json.loads((run / "train.json").read_text())

    def test_another_run_is_refused(self, run: Path):
        before = {path: path.read_bytes() for path in run.iterdir()}
        with pytest.raises(UsageError, match=r"holds another run: train\.json"):
            write_folder(run, {}, {}, {}, {})
        assert before == {path: path.read_bytes() for path in run.iterdir()}

    def test_force_replaces_all_its_files(self, run: Path):
        (run / "notes.txt").write_text("kept")
        write_folder(run, {}, {}, {}, {"export": {}}, force=True)
        names = {path.name for path in run.iterdir()}
        assert names == {"notes.txt", "train.json", "params.safetensors", "state.safetensors"}

    def test_other_files_do_not_matter(self, tmp_path: Path):
        (tmp_path / "data.npz").write_bytes(b"")
        write_run(tmp_path)
        assert (tmp_path / "train.json").exists()

    def test_a_file_and_a_missing_parent(self, tmp_path: Path):
        (tmp_path / "file").write_text("")
        with pytest.raises(UsageError, match="expected a folder, not a file"):
            write_folder(tmp_path / "file", {}, {}, {}, {})
        with pytest.raises(GradcError, match="there is no folder"):
            write_folder(tmp_path / "none" / "run", {}, {}, {}, {})


class TestExport:
    def test_positions_are_those_of_the_bytes(self, run: Path):
        facts = json.loads((run / "train.json").read_text())
        content = (run / "model.onnx").read_bytes()
        for name, array in initial().items():
            one = facts["export"][name]
            assert (one["from"], one["dtype"]) == (name, "F32")
            assert content[one["offset"] : one["offset"] + one["bytes"]] == array.tobytes()

    def test_all_forms_of_initializers(self, tmp_path: Path):
        """Elements in float_data and int32_data, scalars, empty tensors, a tensor without elements."""
        arrays = {"w": initial()["w"], "b": np.array([1, 2], np.float32)}
        model = Shapes(np.float32).model(forward(), ["x"], ["y"], arrays)
        stored = model.graph.initializer
        stored.append(helper.make_tensor("floats", TensorProto.FLOAT, [2], [3.0, 4.0]))
        stored.append(helper.make_tensor("halves", TensorProto.FLOAT16, [1], [0.5]))
        stored.append(helper.make_tensor("brains", TensorProto.BFLOAT16, [1], [0.5]))
        stored.append(numpy_helper.from_array(np.array(7, np.float32), "scalar"))
        stored.append(numpy_helper.from_array(np.zeros((0, 2), np.float32), "empty"))
        names = {one.name: {"from": one.name} for one in stored}
        facts = write_model(tmp_path / "run", model, names)
        content = (tmp_path / "run" / "model.onnx").read_bytes()
        found = {
            name: content[one["offset"] : one["offset"] + one["bytes"]]
            for name, one in facts["export"].items()
        }
        assert found["floats"] == np.array([3, 4], np.float32).tobytes()
        assert found["halves"] == np.array([0.5], np.float16).tobytes()
        assert found["brains"] == np.array([0.5], ml_dtypes.bfloat16).tobytes()
        assert found["scalar"] == np.array(7, np.float32).tobytes()
        assert found["empty"] == b""

    def test_parameters_of_another_type_are_rounded(self, run: Path, tmp_path: Path):
        """Parameters of float32 whose initializers are of float16 and bfloat16."""
        halves = {"w": np.zeros((3, 2), np.float16), "b": np.zeros(2, ml_dtypes.bfloat16)}
        nodes = [
            helper.make_node("Cast", [name], [f"{name}_wide"], to=TensorProto.FLOAT) for name in ("w", "b")
        ]
        nodes += [
            helper.make_node("MatMul", ["x", "w_wide"], ["product"]),
            helper.make_node("Add", ["product", "b_wide"], ["y"]),
        ]
        model = Shapes(np.float32).model(nodes, ["x"], ["y"], halves)
        facts = write_model(tmp_path / "other", model, {name: {"from": name} for name in halves})
        take_model(run, tmp_path / "other", facts)
        Trainer(run).export(tmp_path / "trained.onnx")
        found = {
            one.name: numpy_helper.to_array(one)
            for one in onnx.load(tmp_path / "trained.onnx").graph.initializer
        }
        for name, array in initial().items():
            np.testing.assert_array_equal(found[name], array.astype(found[name].dtype))

    def test_weights_in_another_file(self, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("gradc.training.folder.PROTO_LIMIT", 10)
        model = Shapes(np.float32).model(forward(), ["x"], ["y"], initial())
        model.graph.initializer.append(numpy_helper.from_array(np.zeros(KEPT_BYTES, np.float32), "large"))
        facts = write_model(tmp_path / "other", model, {"large": {"from": "w"}})
        take_model(run, tmp_path / "other", facts)
        with pytest.raises(
            ValueError, match=r"model\.onnx has weights in another file; use `gradc train --export`"
        ):
            Trainer(run).export(tmp_path / "trained.onnx")

    def test_unknown_initializer(self, tmp_path: Path):
        model = Shapes(np.float32).model(forward(), ["x"], ["y"], initial())
        with pytest.raises(ValueError, match=r"model\.onnx has no initializers \['c'\]"):
            write_folder(tmp_path / "run", {"model.onnx": model}, {}, {}, {"export": {"c": {"from": "w"}}})


class TestTrainedModel:
    """The model that `gradc train --export` writes."""

    def test_has_the_bytes_that_a_trainer_writes(self, run: Path, tmp_path: Path):
        trainer = Trainer(run)
        trainer.step(batch_of(4), lr=0.1)
        trainer.export(tmp_path / "a.onnx")
        found = read_folder(run)
        write_trained(found.model("model.onnx"), found.facts, trainer.parameters(), tmp_path / "b.onnx")
        assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()

    def test_rounds_to_the_types_of_the_model(self, tmp_path: Path):
        halves = {"w": np.zeros((3, 2), np.float16), "b": np.zeros(2, ml_dtypes.bfloat16)}
        model = Shapes(np.float32).model(forward(), ["x"], ["y"], halves)
        write_trained(
            model, {"export": {name: {"from": name} for name in halves}}, initial(), tmp_path / "m.onnx"
        )
        for one in onnx.load(tmp_path / "m.onnx").graph.initializer:
            want = initial()[one.name].astype(halves[one.name].dtype)
            np.testing.assert_array_equal(numpy_helper.to_array(one), want)

    def test_leaves_the_model_unchanged(self, run: Path, tmp_path: Path):
        found = read_folder(run)
        model = found.model("model.onnx")
        before = model.SerializeToString()
        state = {name: array + 1 for name, array in found.parameters.items()}
        write_trained(model, found.facts, state, tmp_path / "m.onnx")
        assert model.SerializeToString() == before

    @pytest.mark.parametrize(
        ("change", "text"),
        [
            ({"w": None}, "the state: given b and mean, expected also w"),
            ({"w": np.zeros((2, 3), np.float32)}, r'shape of "w": given \[2, 3\], expected \[3, 2\]'),
        ],
    )
    def test_errors(self, run: Path, tmp_path: Path, change: dict[str, Any], text: str):
        found = read_folder(run)
        state = {name: array for name, array in {**found.parameters, **change}.items() if array is not None}
        with pytest.raises(UsageError, match=text):
            write_trained(found.model("model.onnx"), found.facts, state, tmp_path / "m.onnx")


class TestReading:
    def test_returns_what_was_written(self, run: Path):
        found = read_folder(run)
        np.testing.assert_array_equal(found.parameters["w"], initial()["w"])
        assert set(found.state) == {"w.momentum_buffer", "b.momentum_buffer", "step", "seed"}
        assert found.facts["updates"]["w"] == "new_w"
        assert found.model("step.onnx").graph.output[0].name == "loss"

    def test_no_folder(self, tmp_path: Path):
        with pytest.raises(GradcError, match="is no training folder"):
            read_folder(tmp_path)

    def test_another_version(self, run: Path):
        facts = json.loads((run / "train.json").read_text()) | {"format": 2}
        (run / "train.json").write_text(json.dumps(facts))
        with pytest.raises(GradcError, match=r"format of .*: given 2, expected 1"):
            read_folder(run)

    def test_the_trainer_reads_the_same_version(self):
        assert folder.FORMAT == trainer.FORMAT

    def test_a_missing_model(self, run: Path):
        with pytest.raises(GradcError, match=r"cannot read .*apply\.onnx: No such file"):
            read_folder(run).model("apply.onnx")
