"""`compile` and `gradc compile` with measured choices; the measurements are made up."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.cli import run_gradc
from support.tuning import Bench
from xdsl.dialects.builtin import StringAttr

import gradc
from dialects.support.documented_op import CHOICE
from gradc.tuning import request
from gradc.tuning.stores import FOLDER_VARIABLE
from passes.strategies.base import STRATEGY


def graph() -> gradc.Graph:
    g = gradc.Graph()
    dy, w = g.input("dy", "f32", (1, 4, 5, 5)), g.input("w", "f32", (4, 2, 3, 3))
    keys = {"strides": (1, 1), "pads_begin": (0, 0), "pads_end": (0, 0), "dilations": (1, 1)}
    layout = {"data_format": "NCX", "weights_format": "OIX"}
    g.output(g.convolution_backward_data(dy, w, (1, 2, 7, 7), **keys, **layout), "dx")
    return g


def strategies_in(compiled: gradc.Compiled) -> set[str]:
    found = (op.attributes.get(STRATEGY) for op in compiled.module.walk())
    return {attribute.data for attribute in found if isinstance(attribute, StringAttr)}


def data(compiled: gradc.Compiled) -> bytes:
    return compiled.model.SerializeToString(deterministic=True)


@pytest.fixture
def bench(monkeypatch, tmp_path) -> Bench:
    """What `--tune` measures with, and a cache of its own."""
    found = Bench(lambda name: 1.0 if name == "conv-to-col2im" else 2.0)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(request, "_measure", found)
    return found


class TestCompile:
    def test_tune(self, bench):
        tuned, again = gradc.compile(graph(), tune=True), gradc.compile(graph(), tune=True)
        assert strategies_in(tuned) == {"conv-to-col2im"}
        assert len(bench.measured_keys) == 1
        assert data(tuned) == data(again)
        assert tuned.remarks == ()

    def test_the_values(self, bench):
        rng = np.random.default_rng(0)
        feeds = {
            "dy": rng.standard_normal((1, 4, 5, 5)).astype(np.float32),
            "w": rng.standard_normal((4, 2, 3, 3)).astype(np.float32),
        }
        tuned, usual = gradc.compile(graph(), tune=True), gradc.compile(graph())
        np.testing.assert_allclose(tuned.run(feeds)["dx"], usual.run(feeds)["dx"], rtol=1e-4, atol=1e-5)

    def test_without_tune_no_measurement_is_used(self, bench):
        before = data(gradc.compile(graph()))
        gradc.compile(graph(), tune=True)
        assert data(gradc.compile(graph())) == before

    def test_threads_are_measured_apart(self, bench):
        for threads in (1, 2, 1):
            gradc.compile(graph(), tune=True, threads=threads)
        assert len(bench.measured_keys) == 2

    def test_a_tuning_file_is_all_that_is_needed(self, bench, tmp_path, monkeypatch):
        path = tmp_path / "tunings.json"
        tuned = gradc.compile(graph(), tune=True, tuning_file=path, threads=3)
        assert not (tmp_path / "cache").exists()
        monkeypatch.setattr(request, "_measure", None)
        monkeypatch.setattr("gradc.tuning.records.Setting", None)  # nothing of this machine is asked for
        shipped = gradc.compile(graph(), tuning_file=path)
        assert data(shipped) == data(tuned)
        assert shipped.options.threads == 3

    def test_a_tuning_file_grows(self, bench, tmp_path):
        path = tmp_path / "tunings.json"
        gradc.compile(graph(), tune=True, tuning_file=path)
        other = gradc.Graph()
        dy = other.input("dy", "f32", (1, 2, 8, 8))
        src = other.input("src", "f32", (1, 2, 4, 4))
        other.output(
            other.interpolate_backward(src, dy, mode="linear", sizes=(8, 8), data_format="NCX"), "dx"
        )
        gradc.compile(other, tune=True, tuning_file=path)
        assert len(json.loads(path.read_text())["tunings"]) == 2
        assert len(bench.measured_keys) == 2

    def test_a_tuning_file_of_other_threads(self, bench, tmp_path):
        path = tmp_path / "tunings.json"
        gradc.compile(graph(), tune=True, tuning_file=path, threads=3)
        with pytest.raises(gradc.GradcError, match=r"threads of .*: given 3, expected 2; name another"):
            gradc.compile(graph(), tuning_file=path, threads=2)

    def test_a_file_that_cannot_be_written(self, bench, tmp_path):
        with pytest.raises(gradc.GradcError, match="there is no folder"):
            gradc.compile(graph(), tune=True, tuning_file=tmp_path / "none" / "tunings.json")

    def test_a_broken_cache(self, bench, tmp_path):
        (tmp_path / "cache").write_text("")
        tuned = gradc.compile(graph(), tune=True)
        assert strategies_in(tuned) == {"conv-to-col2im"}
        assert "measurements that cannot be read or kept are ignored" in str(*tuned.remarks)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"tune": True, "tune_budget": -1}, "tune_budget: given -1, expected seconds, 0 or more"),
            ({"tune": True, "tune_budget": float("nan")}, "tune_budget: given nan"),
            ({"tune": True, "tune_budget": "1"}, "tune_budget: given '1', expected seconds"),
            ({"tune": True, "shapes": [1]}, "shapes: given .*, expected a mapping"),
            ({"tune": True, "shapes": {"dy": 3}}, "shapes: given .*, expected a mapping"),
            (
                {"tune": True, "shapes": {"dy": (0, 1)}},
                "shapes of dy: given 0, expected a whole number, 1 or more",
            ),
            ({"shapes": {"dy": (1, 4, 5, 5)}}, "shapes: given dy, expected tune=True"),
        ],
    )
    def test_what_makes_no_sense(self, options, message):
        with pytest.raises(gradc.UsageError, match=message):
            gradc.compile(graph(), **options)

    def test_a_choice_in_the_text_that_cannot_be_used(self, tmp_path):
        text = str(graph().module()).replace(
            "weights_format =", f'{CHOICE} = "resize-to-matmul", weights_format ='
        )
        path = tmp_path / "g.mlir"
        path.write_text(text)
        (remark,) = gradc.compile(path).remarks
        assert "the chosen strategy resize-to-matmul does not apply: it does not know" in str(remark)
        path.write_text(text.replace("resize-to-matmul", "conv-to-matmul"))
        assert strategies_in(gradc.compile(path)) == {"conv-to-matmul"}


class TestCommand:
    @pytest.fixture
    def source(self, tmp_path) -> Path:
        path = tmp_path / "g.mlir"
        path.write_text(str(graph().module()))
        return path

    def test_tune(self, bench, source, tmp_path):
        out, file = tmp_path / "m.onnx", tmp_path / "tunings.json"
        result = run_gradc("compile", source, "-o", out, "--tune", "--tuning-file", file, "--threads", 1)
        assert (result.code, result.out, result.lines) == (0, "", [])
        assert result.written[0] == f"wrote {file}: measurements"
        assert result.written[1].startswith(f"wrote {out}: ")
        tuned = out.read_bytes()
        assert run_gradc("compile", source, "-o", out, "--tuning-file", file).code == 0
        assert out.read_bytes() == tuned
        assert json.loads(file.read_text())["threads"] == 1

    def test_budget(self, bench, source, tmp_path):
        result = run_gradc("compile", source, "-o", tmp_path / "m.onnx", "--tune", "--tune-budget", 0)
        assert result.code == 0
        assert "1 gradient could not be measured within 0 seconds (--tune-budget)" in result.line

    def test_no_tuning_file(self, source, tmp_path):
        result = run_gradc("compile", source, "-o", tmp_path / "m.onnx", "--tuning-file", tmp_path / "t.json")
        assert result.code == 4
        assert "t.json: No such file or directory; --tune makes it" in result.line
