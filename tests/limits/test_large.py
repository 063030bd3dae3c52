"""Files and graphs as large as gradc takes, each within 4 GB. Minutes: `pytest -m heavy tests/limits`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.bounded import gradc_within
from support.large import interpolation, parallel

pytestmark = pytest.mark.heavy

MILLION = 10**6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" " * 100 * MILLION, "the file is empty"),
        ("\n" * 100 * MILLION + "{", "not JSON"),
        ('{"version": "' + "a" * 100 * MILLION + '"}', "version of the document"),
        ('"' + "a" * 100 * MILLION, "not JSON: Unterminated string"),
        ("[" * 100 * MILLION, "the limit nesting"),
        ('{"graph": [' + "[]," * 33 * MILLION + "[]]}", "the limit ops"),
    ],
    ids=["spaces", "lines", "string", "unterminated", "nested", "arrays"],
)
def test_a_file_of_100_megabytes(tmp_path: Path, text: str, message: str):
    path = tmp_path / "graph.json"
    path.write_text(text)
    ended = gradc_within("compile", path, "-o", tmp_path / "out.onnx")
    assert ended.code in (3, 4)
    assert message in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize(
    ("begin", "part", "limit"),
    [
        ("func.func @f() {\n  %c = arith.constant dense<[", "0.5, ", "commas"),
        (
            "func.func @f(%x: tensor<1xf32>) {\n",
            "  onnx.Abs %x : (tensor<1xf32>) -> tensor<1xf32>\n",
            "ops",
        ),
    ],
    ids=["list", "ops"],
)
def test_an_mlir_text_of_100_megabytes(tmp_path: Path, begin: str, part: str, limit: str):
    path = tmp_path / "graph.mlir"
    path.write_text(begin + part * (100 * MILLION // len(part)))
    ended = gradc_within("compile", path, "-o", tmp_path / "out.onnx")
    assert ended.code == 3
    assert f"the limit {limit};" in ended.err


def test_a_larger_file(tmp_path: Path):
    path = tmp_path / "graph.json"
    path.write_text(" " * 130 * MILLION)
    ended = gradc_within("compile", path, "-o", tmp_path / "out.onnx")
    assert ended.code == 3
    assert "--limit file-bytes=130000000 raises it" in ended.err


def test_ten_thousand_ops(tmp_path: Path):
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(parallel(10_000)))
    ended = gradc_within("compile", path, "-o", tmp_path / "out.onnx")
    assert ended.code == 0, ended.err


@pytest.mark.parametrize("mode", ["linear", "nearest"])
@pytest.mark.parametrize(("x", "y"), [(1, 10**7), (10**7, 1), (97, 10**7 + 3), (5 * 10**6, 10**7)])
def test_an_interpolation_of_ten_million_positions(tmp_path: Path, mode: str, x: int, y: int):
    path = tmp_path / "graph.mlir"
    path.write_text(interpolation((1, 1, x), (1, 1, y), mode))
    ended = gradc_within("compile", path, "-o", tmp_path / "out.onnx")
    assert ended.code == 0, ended.err
    assert (tmp_path / "out.onnx").stat().st_size < 100 * (x + y)


AXIS = 2**25
"""The limit axis-positions: the largest axis of which every position is looked at."""

VERBS = {
    "inspect": (),
    "explain": (),
    "compile": ("-o", "out.onnx"),
    "verify": (),
    "report": ("-o", "page.html"),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(("x", "y"), [(AXIS // 2, AXIS), (AXIS // 3, AXIS)], ids=["periods", "no period"])
def test_every_verb_at_the_largest_axis(tmp_path: Path, verb: str, x: int, y: int):
    path = tmp_path / "graph.mlir"
    path.write_text(interpolation((1, 1, x), (1, 1, y)))
    options = [tmp_path / option if "." in option else option for option in VERBS[verb]]
    ended = gradc_within(verb, path, *options, seconds=240)
    assert ended.code in ((0,) if y == 2 * x else (0, 3)), ended.err
    assert ended.code == 0 or "the limit" in ended.err


@pytest.mark.parametrize("verb", ["run", "verify"])
@pytest.mark.parametrize(("rows", "code"), [(150, 0), (200, 3)], ids=["below", "beyond"])
def test_runs_of_some_67_million_elements(tmp_path: Path, verb: str, rows: int, code: int):
    """The limits tensor-elements and input-elements are 256 rows."""
    path = tmp_path / "graph.mlir"
    path.write_text(interpolation((1, 1, 64, 2**18), (1, 1, rows, 2**18)))
    ended = gradc_within(verb, path, *(("-o", tmp_path / "out.npz") if verb == "run" else ()), seconds=240)
    assert ended.code == code, ended.err
    assert code == 0 or "the limit input-elements" in ended.err
