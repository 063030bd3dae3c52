"""Dumps of partitions are compiled as the one graph that they were, with names of the user's choice."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import gradc
from dialects.support.diagnostics import GradcError
from gradc.cli.main import cli

SHAPE = [2, 3]


def tensor(identifier: int) -> dict[str, Any]:
    return {"id": identifier, "dtype": "f32", "shape": SHAPE, "stride": [3, 1], "layout_type": "strided"}


def op(identifier: int, kind: str, inputs: Sequence[int], output: int) -> dict[str, Any]:
    records = {"inputs": [tensor(i) for i in inputs], "outputs": [tensor(output)]}
    return {"id": identifier, "name": kind, "kind": kind, "attrs": {}, **records}


def document(ops: Sequence[dict[str, Any]], inputs: Sequence[int], outputs: Sequence[int]) -> dict[str, Any]:
    head = {"version": "3.13.0", "engine_kind": "cpu", "fpmath_mode": "strict"}
    return {**head, "input_ports": list(inputs), "output_ports": list(outputs), "graph": list(ops)}


EXP, SUM, PRODUCT = op(1, "Exp", [10], 11), op(2, "Add", [11, 12], 13), op(3, "Multiply", [11, 13], 14)
PARTS = (document([PRODUCT], [11, 13], [14]), document([EXP], [10], [11]), document([SUM], [11, 12], [13]))
"""exp(x) (exp(x) + y), a partition for each op, in no order."""

X, Y = np.linspace(-1, 1, 6, dtype=np.float32).reshape(SHAPE), np.full(SHAPE, 2, np.float32)


def written(folder: Path) -> list[str]:
    paths = [folder / f"graph-{index}.json" for index in range(len(PARTS))]
    for path, part in zip(paths, PARTS, strict=True):
        path.write_text(json.dumps(part))
    return [str(path) for path in paths]


def test_joined_by_ids_and_renamed(tmp_path: Path):
    names = {"t10": "x", "t14": "layer.out"}
    compiled = gradc.compile(written(tmp_path), rename=names)
    assert [given.name for given in compiled.inputs] == ["x", "t12"]
    (found,) = compiled.run({"x": X, "t12": Y}).items()
    assert found[0] == "layer.out"
    np.testing.assert_allclose(found[1], np.exp(X) * (np.exp(X) + Y), rtol=1e-6)


def test_what_a_document_alone_gives_is_an_output(tmp_path: Path):
    """t11 goes to both of the others, t13 to one that is not given."""
    compiled = gradc.compile(written(tmp_path)[1:])
    assert set(compiled.run({"t10": X, "t12": Y})) == {"t13"}


def test_the_command_line(tmp_path: Path):
    model = tmp_path / "model.onnx"
    given = ["compile", *written(tmp_path), "-o", str(model), "--rename", "t12=bias", "--rename", "t14=y"]
    done = CliRunner().invoke(cli, given)
    assert done.exit_code == 0, done.output
    import onnx

    graph = onnx.load(model).graph
    assert [value.name for value in (*graph.input, *graph.output)] == ["t10", "bias", "y"]


COMMANDS = (
    ("run --inputs in.npz -o out.npz", "layer.y: float32 2x3"),
    ("verify --inputs in.npz", "layer.y"),
    ("inspect --json", '"layer.y"'),
    ("inspect --values", "bias"),
    ("explain --constants weights.npz --json", '"gradients"'),
    ("report --inputs in.npz --json", '"layer.y"'),
    ("reduce --interesting 'grep -q layer.y {}'", '"layer.y"'),
    ("grad -o out.onnx --wrt bias --reduce sum", "bias"),
)
"""Each with something that it prints. An input that is not found under its new name is an error."""


@pytest.mark.parametrize(("line", "reported"), COMMANDS, ids=[line for line, _ in COMMANDS])
def test_every_command_that_reads_a_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, reported: str
):
    monkeypatch.chdir(tmp_path)
    np.savez("in.npz", t10=X, bias=Y)
    np.savez("weights.npz", bias=Y)
    naming = ["--rename", "t12=bias", "--rename", "t14=layer.y"]
    done = CliRunner().invoke(cli, [*shlex.split(line), *written(tmp_path), *naming])
    assert done.exit_code == 0, done.output
    assert reported in done.output


@pytest.mark.parametrize("command", ["run", "verify"])
def test_a_compiled_model_has_names_of_its_own(tmp_path: Path, command: str):
    model = tmp_path / "model.onnx"
    gradc.compile(written(tmp_path)).save(model)
    done = CliRunner().invoke(cli, [command, str(model), "--rename", "t12=bias"])
    assert (done.exit_code, "--rename" in done.output) == (2, True)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ({"t9": "x"}, "rename: given t9=x, expected an input or output: t10, t12, t14"),
        ({"t10": "t12"}, "a name that no other has; t12 is taken"),
        ({"t10": "t14"}, "different names for inputs and outputs"),
        ({"t10": ""}, "a name, not empty"),
        ({"t10": "\udcff"}, "text that UTF-8 can spell"),
    ],
)
def test_a_name_that_cannot_be(tmp_path: Path, names: dict[str, str], words: str):
    with pytest.raises(GradcError) as caught:
        gradc.compile(written(tmp_path), rename=names)
    assert words in str(caught.value)


def test_parts_that_contradict_each_other(tmp_path: Path):
    paths = written(tmp_path)
    Path(paths[2]).write_text(json.dumps(PARTS[1]))
    with pytest.raises(GradcError, match="op id 1 is given to"):
        gradc.compile(paths)


def test_only_json_is_joined(tmp_path: Path):
    text = tmp_path / "graph.mlir"
    text.write_text("func.func @main() { func.return }")
    with pytest.raises(GradcError, match=r"of which .* is not oneDNN Graph JSON"):
        gradc.compile([*written(tmp_path), str(text)])
