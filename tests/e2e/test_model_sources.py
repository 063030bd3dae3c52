"""Models from stdin and from files of any name; names in what is written; errors in words of the user."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from support.cli import run_gradc
from support.onnx_models import model_of

import gradc

TEXT = "g (float[4,3] x) => (float[4,3] y) { y = Exp(x) }"

COMMANDS = {
    "compile": ["-o", "{out}"],
    "grad": ["-o", "{out}", "--reduce", "sum"],
    "run": [],
    "verify": [],
    "inspect": [],
    "explain": [],
    "report": ["--json", "--no-run"],
}


@pytest.mark.parametrize("name", ["-", "model.pb", "model"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_model_from_stdin_or_of_any_name(command, name, tmp_path):
    content = model_of(TEXT).SerializeToString()
    path = "-" if name == "-" else tmp_path / name
    if name != "-":
        path.write_bytes(content)
    options = [option.format(out=tmp_path / "o.onnx") for option in COMMANDS[command]]
    found = run_gradc(command, path, *options, stdin=content if name == "-" else b"")
    assert found.code == 0, found.err


def test_what_is_no_model_stays_what_it_is(tmp_path):
    """A GraphDef of TensorFlow begins with a node, a text with neither."""
    path = tmp_path / "graph.pb"
    path.write_bytes(b"\x0a\x10\x0a\x01x\x12\x0bPlaceholder\0")
    assert "tf2onnx writes a model of TensorFlow as ONNX" in run_gradc("inspect", path).line
    for text in (b"", b"\x08", b"{}"):
        assert run_gradc("inspect", "-", stdin=text).code == 4


def test_names_within_a_decomposition_begin_with_the_nodes():
    model = model_of("g (float[2,3] x, float[3] s) => (float[2,3] y) { y = LayerNormalization(x, s) }", 17)
    model.graph.node[0].name = "norm"
    found = gradc.compile(model, opset=16).model.graph
    edge = {value.name for value in (*found.input, *found.output)}
    made = {name for node in found.node for name in (*node.output, *node.input)} - edge
    assert made
    assert {name for name in made if not name.startswith("norm")} == set()
    assert all(node.name.startswith("norm") for node in found.node)


def test_the_pipeline_is_recorded_on_request():
    keys = [
        {entry.key for entry in gradc.compile(model_of(TEXT), record_pipeline=flag).model.metadata_props}
        for flag in (False, True)
    ]
    assert keys == [set(), {"gradc.pipeline"}]


RULES = {
    "AttributeError: 'Value' object has no attribute 'applyy'; did you mean apply?": lambda f, g, e: [
        g[0].applyy()
    ],
    "TypeError": lambda f, g, e: [g[0] * object()],
    "IndexError": lambda f, g, e: [f.operands[7]],
}


@pytest.mark.parametrize("message", RULES)
def test_an_error_in_a_rule_of_the_user(message):
    with pytest.raises(gradc.UsageError) as raised:
        gradc.grad(model_of(TEXT), reduce="sum", rules={"Exp": RULES[message]})
    text = str(raised.value)
    assert text.startswith("error: the rule of Exp fails in line ")
    assert f" of test_model_sources.py: {message}" in text


def test_a_model_without_the_content_of_its_weights():
    model = model_of("g (float[2,512] x) => (float[2,512] y) { y = Mul(x, w) }")
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.arange(512, dtype=np.float32), "w"))
    hint = "Compiled.model has the weights that Compiled.proto leaves out"
    with pytest.raises(gradc.GradcError, match=rf'initializer "w"\] elements of .*given none, .*; {hint}'):
        gradc.vjp(gradc.compile(model).proto)
