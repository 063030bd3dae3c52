"""Whole models in a benchmark: who is judged how, what is reported, what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.cli import run_gradc
from support.tiers import some

from gradc.bench.races import MODEL_PEERS
from gradc.bench.races.command import is_model
from gradc.bench.races.race import PEERS_SLACK, Entrant, Race, race, within
from gradc.bench.races.report import as_data, as_text
from gradc.bench.run import GRADC

WANT = {"y": np.array([1.0, -4.0])}
JUDGE = within(WANT, 1e-3)


def entrant(name: str, off: float = 0.0, **more) -> Entrant:
    return Entrant(name, lambda: None, lambda: {"y": WANT["y"] + off}, **more)


def raced(*entrants: Entrant) -> Race:
    return race("m.onnx", "model", entrants, {"onnxslim": "not installed"}, JUDGE, 0.0)


class TestJudging:
    def test_who_is_right_is_timed(self):
        found = raced(entrant(GRADC, nodes=5), entrant("original", 1e-3))
        assert [finish.name for finish in found.finishes] == [GRADC, "original", "onnxslim"]
        assert found.finishes[1].ratio is not None
        assert found.gradc.ratio == 1.0
        assert found.finishes[2].note == "not installed"
        assert not found.failure

    def test_a_peer_that_is_wrong_has_no_ratio(self):
        found = raced(entrant(GRADC), entrant("original", PEERS_SLACK * 4.1e-3))
        assert found.finishes[1].note.startswith("wrong: off by 0.0082 of the largest magnitude")
        assert found.finishes[1].ratio is None

    @pytest.mark.parametrize("off", [4.1e-3, np.nan, np.inf])
    def test_gradc_that_is_wrong_is_a_failure(self, off: float):
        found = raced(entrant(GRADC, off), entrant("original"))
        assert found.failure.startswith("gradc is wrong: off by")
        assert all(finish.ratio is None for finish in found.finishes)

    def test_another_shape_is_wrong(self):
        assert JUDGE({"y": np.zeros((2, 1))})[0] == np.inf

    def test_a_yardstick_is_timed_and_not_judged(self):
        found = raced(entrant(GRADC), entrant("forward", 9.0, yardstick=True))
        assert found.finishes[1].ratio is not None
        assert "; gradc takes " in as_text([found], {}, 1)

    def test_what_is_written(self):
        found = raced(entrant(GRADC, nodes=5), entrant("original"))
        data = as_data([found], {"onnxslim": "0.1"}, 1)
        assert data["models"][0]["finishes"][0]["nodes"] == 5
        text = as_text([found], {"onnxslim": "0.1"}, 1)
        assert "m.onnx, model" in text
        assert "in the geometric mean of 1" in text
        assert "FAILED: gradc is wrong" in as_text([raced(entrant(GRADC, 1.0))], {}, 1)


@pytest.fixture
def path(tmp_path: Path) -> str:
    weights = numpy_helper.from_array(np.eye(3, 2, dtype=np.float32), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])]
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N", s]) for n, s in (("x", 3), ("y", 2))]
    graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], [weights])
    found = str(tmp_path / "model.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), found)
    return found


class TestCommand:
    def test_a_model_against_itself(self, path: str):
        done = run_gradc(
            "bench", path, "--peers", "original", "--threads", "1", "--budget", "0", "--json", "-"
        )
        (model,) = json.loads(done.out)["models"]
        assert [(f["name"], f["nodes"]) for f in model["finishes"]] == [(GRADC, 2), ("original", 2)]
        assert model["finishes"][1]["ratio"] > 0
        assert (done.code, model["failure"]) == (0, "")

    def test_a_gradient_against_its_forward(self, path: str):
        options = ("--wrt", "x", "--shape", "x=4x3", "--peers", "forward", "--threads", "1", "--budget", "0")
        done = run_gradc("bench", path, *options)
        assert done.code == 0, done.err
        assert "model.onnx, gradient" in done.out
        assert "gradient, forward: " in done.out

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["--peers", "onnxslin"], "onnxslin, expected one of .*; did you mean onnxslim"),
            (["--strategy", "all"], "--strategy all: models are compiled with auto"),
            (["--suite", "quick"], "--suite quick: its cases are problems, not models"),
            (["--plot", "x.svg"], "--plot x.svg: models have no chart; use --json"),
            (
                ["conv_backward_data,f32"],
                "is not a model: measure problems and models in separate runs",
            ),
        ],
    )
    def test_what_does_not_go_together(self, path: str, arguments: list[str], words: str):
        done = run_gradc("bench", path, *arguments)
        assert done.code == 2
        assert re.search(words, done.err), done.err

    def test_options_of_models_without_one(self):
        done = run_gradc("bench", "--wrt", "x", "--suite", "none")
        assert (done.code, "--wrt needs an ONNX model" in done.err) == (2, True)

    def test_a_model_that_is_missing_is_a_failure_of_its_own(self, path: str, tmp_path: Path):
        done = run_gradc("bench", path, str(tmp_path / "none.onnx"), "--peers", "none", "--threads", "1")
        assert done.code == 1
        assert "FAILED" in done.out
        assert "model.onnx, model" in done.out


def test_names():
    assert is_model("A.ONNX")
    assert not is_model("a.json")
    assert len(set(MODEL_PEERS)) == len(MODEL_PEERS)


@pytest.mark.sweep
def test_a_network_against_torch():
    pytest.importorskip("torch", reason="pip install torch")
    from gradc.bench.races.models import RaceSettings
    from gradc.bench.races.training import KINDS, import_torch, race_network

    for kind in some(KINDS):
        found = race_network(
            "lstm-cells", kind, import_torch(1), RaceSettings(1, 0.0, 0, ("torch", "forward"))
        )
        assert not found.failure
        assert [finish.name for finish in found.finishes if finish.ratio] == [GRADC, "torch", "forward"]
