"""What programs read: the keys of every `--json` document, which are stable, and numbers that JSON has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.cli import Result, run_gradc, run_opt

from gradc.compiler.pipeline_text import PIPELINES
from gradc.files.json_text import json_text
from passes import PASS_NAMES
from passes.registry import all_passes

ROOT = Path(__file__).resolve().parents[2]
GRAPH = ROOT / "examples" / "conv_backward.mlir"
PROBLEM = "conv_backward_data,f32,NCX,diff_dst=1x4x5x5,weights=4x3x3x3"


def document(found: Result) -> Any:
    """The document on stdout, read as strictly as JSON is."""
    assert found.code == 0, found.err

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(found.out, parse_constant=refuse)


def test_compile(tmp_path):
    out = tmp_path / "o.onnx"
    words = ("--strategy", "conv-to-conv-transpose", "--auto-pad-rule", "documented")
    found = document(run_gradc("compile", GRAPH, "-o", out, "--json", *words))
    assert list(found) == [
        "output",
        "target",
        "opset",
        "threads",
        "inputs",
        "outputs",
        "bytes",
        "nodes",
        "strategies",
        "remarks",
        "passes",
    ]
    assert out.exists()
    assert found["inputs"][0] == {"name": "diff_dst", "dtype": "f32", "shape": [1, 14, 14, 64]}
    assert found["outputs"] == [{"name": "diff_src", "dtype": "f32", "shape": [1, 28, 28, 32]}]
    assert found["nodes"]["ConvTranspose"] == 1
    assert found["strategies"] == [
        {"op": "diff_src", "position": f"{GRAPH}:4:3", "strategy": "conv-to-conv-transpose"}
    ]
    assert list(found["remarks"][0]) == ["severity", "message", "subject", "file", "line", "column"]
    assert found["passes"] is None


def test_compile_with_timing(tmp_path):
    result = run_gradc("compile", GRAPH, "-o", tmp_path / "o.onnx", "--json", "--timing")
    passes = document(result)["passes"]
    assert [list(entry) for entry in passes] == [["name", "seconds"]] * len(passes)
    assert {entry["name"] for entry in passes} <= set(PASS_NAMES) | {"canonicalize", "cse", "dce"}
    assert all(entry["seconds"] >= 0 for entry in passes)


@pytest.mark.parametrize(
    "more", [["-o", "-"], ["-o", "o.mlir", "--emit", "mlir"], ["--stop-after", "simplify"]]
)
def test_compile_says_what_json_is_about(more):
    found = run_gradc("compile", GRAPH, "--json", *more)
    assert found.code == 2
    assert "-o FILE.onnx" in found.err


def test_run(tmp_path):
    pytest.importorskip("onnxruntime")
    out = tmp_path / "out.npz"
    found = document(run_gradc("run", GRAPH, "--json", "-o", out))
    assert list(found) == ["output", "outputs", "placement"]
    (output,) = found["outputs"]
    assert list(output) == ["name", "dtype", "shape", "min", "max", "mean"]
    array = np.load(out)["diff_src"]
    assert output["max"] == pytest.approx(float(array.max()))
    assert run_gradc("run", GRAPH, "--json", "-o", "-").code == 2


def test_verify():
    pytest.importorskip("onnxruntime")
    (row,) = document(run_gradc("verify", GRAPH, "--json"))
    assert list(row) == ["name", "dtype", "shape", "worst", "typical", "rtol", "finite", "ok", "op"]


def test_inspect():
    found = document(run_gradc("inspect", GRAPH, "--json"))
    assert list(found) == ["inputs", "outputs", "ops", "remarks", "refusal"]
    keys = ["kind", "name", "position", "inputs", "outputs", "attributes", "understood"]
    assert list(found["ops"][0]) == keys
    assert list(found["ops"][0]["attributes"][0]) == ["name", "value", "given"]


def test_explain():
    found = document(run_gradc("explain", GRAPH, "--json"))
    assert list(found) == ["target", "opset", "threads", "peak_flops", "gradients", "remarks"]
    assert list(found["gradients"][0]) == [
        "problem",
        "ops",
        "strategies",
        "choice",
        "why",
        "nodes",
        "constant_elements",
        "flops",
        "peak_fraction",
    ]
    assert list(found["gradients"][0]["strategies"][0]) == ["name", "predicted", "measured", "refusal"]


def test_doctor():
    assert {tuple(entry) for entry in document(run_gradc("doctor", "--json"))} == {
        ("what", "value", "advice")
    }


def test_bench():
    pytest.importorskip("onnxruntime")
    options = ("--peers", "none", "--threads", 1, "--budget", 0, "--json", "-")
    found = document(run_gradc("bench", PROBLEM, *options))
    assert list(found) == ["date", "machine", "versions", "settings", "groups", "cases"]
    assert found["cases"][0]["problem"].startswith("conv_backward_data")


def test_reduce(tmp_path):
    out = tmp_path / "small.mlir"
    found = document(run_gradc("reduce", GRAPH, "--interesting", "true {}", "-o", out, "--json"))
    assert list(found) == ["source", "output", "failure", "before", "after", "tests", "finished"]
    assert list(found["before"]) == list(found["after"]) == ["ops", "elements"]
    assert found["after"]["elements"] <= found["before"]["elements"]
    assert found["finished"] is True
    assert run_gradc("reduce", GRAPH, "--interesting", "true {}", "--json").code == 2


def test_passes():
    found = document(run_opt("--list-passes", "--json"))
    assert {tuple(entry) for entry in found} == {("name", "kind", "summary", "options")}
    assert [entry["name"] for entry in found] == [*PIPELINES, *all_passes()]
    assert all(entry["summary"] for entry in found)
    (lower,) = (entry for entry in found if entry["name"] == "lower")
    assert {"name": "opset", "type": "int", "default": 18} in lower["options"]
    listing = run_opt("--list-passes").out
    assert all(entry["summary"] in listing for entry in found)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_json_has_no_such_number(number: float):
    assert json.loads(json_text({"a": [number, 1.5], "b": (number,)})) == {"a": [None, 1.5], "b": [None]}
