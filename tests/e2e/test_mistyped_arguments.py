"""Messages on arguments of the command line that name nothing, or another thing than is meant."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import helper
from support.cli import run_gradc

MODEL = (
    '<ir_version: 8, opset_import: ["": 18]> g (float[2, 10] x) => (float[2, 10] logits) { logits = Exp (x) }'
)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "a.onnx"
    onnx.save(onnx.parser.parse_model(MODEL), path)
    return path


def test_only_the_rules_of_named_ops_are_listed():
    rows = run_gradc("grad", "--list-rules", "Conv", "Global*Pool", "com.microsoft.Gelu").out.splitlines()
    names = [row.split()[0] for row in rows]
    assert {"Conv", "GlobalMaxPool", "com.microsoft.Gelu"} <= set(names)
    assert "MaxPool" not in names
    assert run_gradc("grad", "Conv", "--list-rules").out == "Conv  has a rule\n"


@pytest.mark.parametrize(
    ("word", "near"),
    [("Convv", "did you mean Conv?"), ("conv", "did you mean Conv or"), ("*Pol", ""), ("", "given ''")],
)
def test_an_op_without_a_row_among_the_rules(word: str, near: str):
    done = run_gradc("grad", "--list-rules", word)
    assert done.code == 2
    assert not done.out
    assert "expected an op, or a pattern such as *Pool" in done.line
    assert near in done.line


OUTPUTS = [
    ("report", "page.onnx", ".html or .htm"),
    ("report", "page.npz", ".html or .htm"),
    ("compile", "model.json", ".onnx"),
    ("compile", "model.html", ".onnx"),
    ("grad", "gradient.npz", ".onnx"),
    ("run", "results.onnx", ".npz"),
    ("run", "results.safetensors", ".npz"),
    ("reduce", "small.onnx", ".mlir"),
]


@pytest.mark.parametrize(("command", "name", "expected"), OUTPUTS)
def test_an_output_with_the_ending_of_another_kind_of_file(
    model: Path, tmp_path: Path, command: str, name: str, expected: str
):
    path = tmp_path / name
    done = run_gradc(command, model, "-o", path)
    assert done.code == 2
    assert f"-o: given {path}, expected a name that ends in {expected}" in done.err
    assert not path.exists()


def test_ir_is_written_to_a_file_of_its_ending(model: Path, tmp_path: Path):
    assert run_gradc("compile", model, "--emit", "mlir", "-o", tmp_path / "a.mlir").code == 0
    assert "ends in .mlir" in run_gradc("compile", model, "--emit", "mlir", "-o", tmp_path / "b.onnx").err


@pytest.mark.parametrize("name", ["model", "model.pb", "model.ort"])
def test_other_endings_are_taken(model: Path, tmp_path: Path, name: str):
    assert run_gradc("compile", model, "-o", tmp_path / name).code == 0


@pytest.mark.parametrize("command", ["compile", "grad", "run", "report", "reduce", "weights"])
def test_an_output_of_no_name(model: Path, command: str):
    done = run_gradc(command, model, "-o", "")
    assert done.code == 2
    assert "-o '': expected a file name, or - for stdout." in done.err


@pytest.mark.parametrize("option", ["--wrt", "--of", "--keep-outputs"])
def test_a_value_of_no_name(model: Path, tmp_path: Path, option: str):
    done = run_gradc("grad", model, "--reduce", "sum", option, "", "-o", tmp_path / "g.onnx")
    assert done.code == 2
    assert f"{option}: there is no value ''; " in done.line


def test_a_file_of_no_name(model: Path, tmp_path: Path):
    assert "cannot read ''" in run_gradc("run", model, "--inputs", "").err
    assert "cannot read ''" in run_gradc("compile", model, "--constants", "", "-o", tmp_path / "c.onnx").err


ELEMENT = "an element of logits is written logits[0,0]"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("logits[9", f"the closing ] is missing: {ELEMENT}"),
        ("logits[0,9", f"the closing ] is missing: {ELEMENT}"),
        ("logits9]", f"the opening [ is missing: {ELEMENT}"),
        ("logits[9]", ELEMENT),
        ("logit[9", "did you mean logits?"),
    ],
)
def test_an_element_with_a_bracket_missing(model: Path, tmp_path: Path, name: str, hint: str):
    done = run_gradc("grad", model, "--of", name, "-o", tmp_path / "g.onnx")
    assert done.code == 2
    assert f"there is no value {name}; {hint}" in done.line


def test_verify_of_two_models(model: Path):
    done = run_gradc("verify", model, model)
    assert done.code == 2
    assert "verify compares one model with what gradc compiles of it, not two models" in done.err


def test_several_models_are_no_parts_of_a_dump(model: Path, tmp_path: Path):
    done = run_gradc("compile", model, model, "-o", tmp_path / "c.onnx")
    assert done.code == 4
    assert f"2 files, of which {model} is an ONNX model" in done.line


@pytest.fixture
def misspelt(tmp_path: Path) -> Path:
    node = helper.make_node("FusedMatMull", ["x", "x"], ["y"], domain="com.microsoft")
    edges = [helper.make_tensor_value_info(name, 1, [3, 3]) for name in "xy"]
    graph = helper.make_graph([node], "g", edges[:1], edges[1:])
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    path = tmp_path / "misspelt.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


def test_a_misspelt_op_of_onnxruntime(misspelt: Path, tmp_path: Path):
    why = "the installed onnxruntime has no op com.microsoft.FusedMatMull; did you mean FusedMatMul"
    done = run_gradc("compile", misspelt, "-o", tmp_path / "c.onnx")
    assert done.code == 0
    assert why in done.line
    assert why in run_gradc("inspect", misspelt).out
    done = run_gradc("grad", misspelt, "--reduce", "sum", "-o", tmp_path / "g.onnx")
    assert done.code == 3
    assert why in done.line


def test_ops_of_onnxruntime_and_of_others_get_no_remark(tmp_path: Path, misspelt: Path):
    model = onnx.load(misspelt)
    model.graph.node[0].op_type = "FusedMatMul"
    onnx.save(model, misspelt)
    assert "remark" not in run_gradc("compile", misspelt, "-o", tmp_path / "c.onnx").err
    model.graph.node[0].domain = model.opset_import[1].domain = "com.example"
    onnx.save(model, misspelt)
    assert "no op" not in run_gradc("compile", misspelt, "-o", tmp_path / "c.onnx").err
