"""The commands on models whose inputs or outputs are sequences, optionals, strings, or of no known rank."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.cli import run_gradc

FLOATS = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])
RESULT = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 4])
RELU = helper.make_node("Relu", ["x"], ["y"])
OPTIONAL = helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [2, 4]))


def sequence(name: str) -> onnx.ValueInfoProto:
    return helper.make_tensor_sequence_value_info(name, TensorProto.FLOAT, ["N", 4])


MODELS = {
    "a sequence goes in": (
        [helper.make_node("SequenceAt", ["s", "i"], ["x"]), RELU],
        [sequence("s")],
        [RESULT],
    ),
    "a sequence comes out": ([helper.make_node("SplitToSequence", ["x"], ["s"])], [FLOATS], [sequence("s")]),
    "an optional goes in": (
        [helper.make_node("OptionalGetElement", ["o"], ["x"]), RELU],
        [helper.make_value_info("o", OPTIONAL)],
        [RESULT],
    ),
    "strings": (
        [helper.make_node("StringNormalizer", ["s"], ["t"]), RELU],
        [helper.make_tensor_value_info("s", TensorProto.STRING, [3]), FLOATS],
        [helper.make_tensor_value_info("t", TensorProto.STRING, None), RESULT],
    ),
    "no known rank": (
        [RELU],
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, None)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    ),
}


def written(kind: str, folder: Path) -> Path:
    nodes, inputs, outputs = MODELS[kind]
    index = [numpy_helper.from_array(np.array(0), "i")]
    graph = helper.make_graph(nodes, "g", inputs, outputs, index)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    onnx.save(model, folder / "model.onnx")
    text = run_gradc("compile", folder / "model.onnx", "--stop-after", "infer-types").out
    (folder / "model.mlir").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("kind", MODELS)
def test_nothing_ends_in_an_internal_error(kind: str, tmp_path: Path):
    folder = written(kind, tmp_path)
    for file in ("model.onnx", "model.mlir"):
        for command in ("verify", "run", "inspect", "explain"):
            assert run_gradc(command, folder / file).code in (0, 4), (command, file)
        assert run_gradc("verify", folder / file).code == 0
        assert run_gradc("verify", "--report", folder / file).code in (0, 3)
        assert run_gradc("report", folder / file, "-o", folder / "page.html").code == 0
        assert run_gradc("reduce", folder / file, "-o", folder / "small.mlir").code == 4
        assert run_gradc("run", "--json", folder / file).code in (0, 4)


def test_what_a_run_gives(tmp_path: Path):
    found = run_gradc("run", written("a sequence comes out", tmp_path) / "model.onnx")
    assert found.out == "s: sequence of 2, the first float32 1x4\n"
    found = run_gradc("run", tmp_path / "model.onnx", "-o", tmp_path / "out.npz")
    assert found.code == 4
    assert "s in an .npz file: given a sequence, expected a tensor" in found.err
    assert not (tmp_path / "out.npz").exists()

    written("strings", tmp_path)
    found = run_gradc("run", tmp_path / "model.onnx", "-o", tmp_path / "out.npz")
    assert found.out.startswith("t: string 3")
    with np.load(tmp_path / "out.npz", allow_pickle=False) as arrays:
        assert arrays["t"].dtype.kind == "U"
