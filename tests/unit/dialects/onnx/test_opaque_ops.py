"""`onnx.Node`: what no class of the dialect holds is read, written, carried by all passes, and exported."""

from __future__ import annotations

import json
import textwrap
from io import StringIO

import numpy as np
import onnx
import pytest
from onnx import AttributeProto
from support.pipeline import apply
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.printer import Printer

import dialects
import gradc
from dialects.evaluate import evaluate
from dialects.onnx.node import NodeOp
from dialects.support.diagnostics import GradcError, UnsupportedError
from gradc.inspection.inspection import as_json, inspect
from gradc.model import exporter
from gradc.runtime.session import Session
from passes import pipelines
from passes.targets.target import Target

TARGET = Target("cpu", 18, threads=1)

B = np.ones(1, np.int64)


def parse(text: str) -> ModuleOp:
    module = Parser(dialects.context(), textwrap.dedent(text)).parse_module()
    module.verify()
    return module


def text_of(module: ModuleOp, generic: bool = False) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=generic).print_op(module)
    return stream.getvalue()


def model_of(text: str) -> onnx.ModelProto:
    """The exported model, after all passes."""
    return exporter.export(apply(parse(text), pipelines.lower(TARGET)), opset=18, metadata={})


def function(body: str, result: str = "tensor<*xf32>") -> str:
    return f"""
        func.func @main(%a: tensor<2x3xf32>, %b: tensor<?xi64>) -> ({result}) {{
          {body}
        }}
    """


KINDS = function("""
  %c = onnx.Constant dense<1.0> : tensor<f32>
  %y, %z, %v = onnx.Node "com.example" "Fused" version 3 %a, _, %b {number = 2, real = 1.5 : f32,
      numbers = [1, 2], no_numbers = array<i64>, reals = array<f32: 1.0, 2.5>, no_reals = array<f32>,
      word = "ä", bytes = "\\FF\\00", words = ["a", ""], no_words = [], tensor = dense<[1, 2]> : tensor<2xi8>,
      strings = #onnx.strings<["a", "ä"], tensor<1x2x!onnx.string>>,
      type = !onnx.opt<!onnx.seq<tensor<?x4xf32>>>,
      sparse = #onnx.sparse<dense<[1.0, 2.0]> : tensor<2xf32>, dense<[0, 5]> : tensor<2xi64>,
        tensor<2x3xf32>>,
      tensors = [dense<1.0> : tensor<f32>], types = [tensor<*xf16>], version = 7}
    regions ("body" {
      ^bb0(%p: tensor<2x3xf32>):
      %q = onnx.Add %p, %c : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
      %r = onnx.Node "com.example" "Inner" version 3 %q, %a
        : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      onnx.Yield %r : tensor<2x3xf32>
    }) attributes {gradc.mark = "kept"}
    : (tensor<2x3xf32>, tensor<?xi64>) -> (tensor<*xf32>, none, tensor<f32>)
  func.return %y : tensor<*xf32>
""")  # fmt: skip


@pytest.mark.parametrize("generic", [False, True])
def test_text(generic: bool) -> None:
    module = parse(KINDS)
    again = parse(text_of(module, generic))
    assert again.is_structurally_equivalent(module)
    assert text_of(again, generic) == text_of(module, generic)


@pytest.mark.parametrize("values", ["0x7f800000 : f32", "0.1 : f32, 16777216.0 : f32, 0xff800000 : f32"])
def test_lists_of_any_floats_read_back(values: str) -> None:
    text = function(f"""
      %y = onnx.Node "d" "Op" %a {{f = [{values}]}} : (tensor<2x3xf32>) -> tensor<*xf32>
      func.return %y : tensor<*xf32>""")
    module = parse(text)
    assert parse(text_of(module)).is_structurally_equivalent(module)


def test_export() -> None:
    model = model_of(KINDS)
    assert {(e.domain, e.version) for e in model.opset_import} == {("", 18), ("com.example", 3)}
    (node,) = model.graph.node
    assert (node.domain, node.op_type) == ("com.example", "Fused")
    assert (list(node.input), list(node.output)) == (["a", "", "b"], ["y", "", "v"])
    found = {a.name: a for a in node.attribute}
    kinds = {name: AttributeProto.AttributeType.Name(a.type) for name, a in found.items()}
    assert kinds == {
        "number": "INT", "real": "FLOAT", "numbers": "INTS", "no_numbers": "INTS", "reals": "FLOATS",
        "no_reals": "FLOATS", "word": "STRING", "bytes": "STRING", "words": "STRINGS", "no_words": "STRINGS",
        "tensor": "TENSOR", "strings": "TENSOR", "type": "TYPE_PROTO", "sparse": "SPARSE_TENSOR",
        "tensors": "TENSORS", "types": "TYPE_PROTOS", "version": "INT", "body": "GRAPH",
    }  # fmt: skip
    assert (found["word"].s, found["bytes"].s) == ("ä".encode(), b"\xff\x00")
    assert list(found["words"].strings) == [b"a", b""]
    assert (list(found["strings"].t.dims), list(found["strings"].t.string_data)) == (
        [1, 2],
        [b"a", "ä".encode()],
    )
    assert list(found["sparse"].sparse_tensor.dims) == [2, 3]
    assert onnx.numpy_helper.to_array(found["sparse"].sparse_tensor.values).tolist() == [1, 2]
    assert found["type"].tp.optional_type.elem_type.sequence_type.elem_type.tensor_type.elem_type == 1
    body = found["body"].g
    assert [n.op_type for n in body.node] == ["Add", "Inner"]
    assert body.node[1].input[1] == "a"


def test_what_is_equal_stays_apart_and_what_is_unread_goes() -> None:
    body = "\n".join(
        f"""%{name} = onnx.Node "d" "Op" %c : (tensor<2xf32>) -> tensor<2xf32>""" for name in "xyz"
    )
    text = function(
        f"""%c = onnx.Constant dense<[1.0, 2.0]> : tensor<2xf32>
        {body}
        %s = onnx.Add %x, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
        func.return %s : tensor<2xf32>""",
        "tensor<2xf32>",
    )
    module = apply(parse(text), pipelines.lower(TARGET))
    assert sum(isinstance(op, NodeOp) for op in module.walk()) == 2


SPARSE = function(
    """%c = onnx.Node "" "Constant" {sparse_value = #onnx.sparse<dense<[1.0, 2.0]> : tensor<2xf32>,
        dense<[1, 5]> : tensor<2xi64>, tensor<2x3xf32>>} : () -> tensor<2x3xf32>
      %s = onnx.Add %c, %a : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      func.return %s : tensor<2x3xf32>""",
    "tensor<2x3xf32>",
)  # fmt: skip

STRINGS = function(
    """%c = onnx.Node "" "Constant" {value = #onnx.strings<["a", "ä"], tensor<2x!onnx.string>>}
        : () -> tensor<2x!onnx.string>
      %d = onnx.StringConcat %c, %c
        : (tensor<2x!onnx.string>, tensor<2x!onnx.string>) -> tensor<2x!onnx.string>
      func.return %d : tensor<2x!onnx.string>""",
    "tensor<2x!onnx.string>",
)  # fmt: skip


def test_sparse_constants_run() -> None:
    x = np.ones((2, 3), np.float32)
    (found,) = Session(model_of(SPARSE)).run({"a": x, "b": B}).values()
    np.testing.assert_array_equal(found, [[1, 2, 1], [1, 1, 3]])


def test_constants_of_strings_run() -> None:
    model = exporter.export(parse(STRINGS), opset=20, metadata={})
    session = Session(model)
    (found,) = session.run({"a": np.ones((2, 3), np.float32), "b": B}).values()
    assert found.tolist() == ["aa", "ää"]


def test_an_unknown_op_of_the_standard_domain() -> None:
    model = model_of(function("""
      %y = onnx.Node "" "NotYetThere" %a : (tensor<2x3xf32>) -> tensor<*xf32>
      func.return %y : tensor<*xf32>"""))  # fmt: skip
    assert [(n.domain, n.op_type) for n in model.graph.node] == [("", "NotYetThere")]
    assert [(e.domain, e.version) for e in model.opset_import] == [("", 18)]


def test_the_form_of_another_opset() -> None:
    text = function("""
      %y = onnx.Node "" "Relu" version 15 %a : (tensor<2x3xf32>) -> tensor<*xf32>
      func.return %y : tensor<*xf32>""")  # fmt: skip
    assert [n.op_type for n in model_of(text).graph.node] == ["Relu"]
    assert [n.op_type for n in model_of(text.replace("15", "6")).graph.node] == ["Relu"]
    with pytest.raises(UnsupportedError, match="Softmax in the form of opset 11"):
        model_of(text.replace("15", "11").replace("Relu", "Softmax"))


def test_one_version_of_a_domain() -> None:
    with pytest.raises(UnsupportedError, match="version of the domain d"):
        model_of(function("""
          %x = onnx.Node "d" "A" version 1 %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
          %y = onnx.Node "d" "B" version 2 %x : (tensor<2x3xf32>) -> tensor<*xf32>
          func.return %y : tensor<*xf32>"""))  # fmt: skip


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ('"" "Relu" %a : (tensor<2x3xf32>) -> tensor<*xf32>', "Relu is an op of the dialect"),
        ('"d" "" %a : (tensor<2x3xf32>) -> tensor<*xf32>', "op_type of the node"),
        ('"d" "A" %a {x = 1 : i8} : (tensor<2x3xf32>) -> tensor<*xf32>', "attribute x of d.A"),
        ('"d" "A" %a {x = [1.0 : f32, "a"]} : (tensor<2x3xf32>) -> tensor<*xf32>', "attribute x of d.A"),
        ('"d" "A" %a : (tensor<2x3xf32>) -> i32', "type of an operand or result of d.A"),
    ],
)
def test_what_is_refused(node: str, message: str) -> None:
    with pytest.raises(GradcError, match=message):
        parse(function(f"%y = onnx.Node {node}\n func.return %a : tensor<2x3xf32>", "tensor<2x3xf32>"))


def test_it_has_no_meaning_here() -> None:
    with pytest.raises(UnsupportedError, match="only its runtime implements it"):
        evaluate(parse(KINDS), [np.ones((2, 3), np.float32), B])


CONTRIB = function(
    """%t = onnx.Transpose %a {perm = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
      %y = onnx.Node "com.microsoft" "FusedMatMul" %a, %t {alpha = 2.0 : f32}
        : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
      %z = onnx.Relu %y : (tensor<2x2xf32>) -> tensor<2x2xf32>
      func.return %z : tensor<2x2xf32>""",
    "tensor<2x2xf32>",
)  # fmt: skip


def test_an_op_of_the_runtime_runs() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    (found,) = Session(model_of(CONTRIB)).run({"a": x, "b": B}).values()
    np.testing.assert_array_equal(found, 2 * x @ x.T)


def test_the_names_of_types() -> None:
    text = function("""
      %y = onnx.Node "ai.onnx.ml" "ZipMap" version 1 %a {classlabels_int64s = [1, 2, 3]}
        : (tensor<2x3xf32>) -> !onnx.seq<!onnx.map<i64, tensor<f32>>>
      %z = onnx.Node "d" "Op" %y
        : (!onnx.seq<!onnx.map<i64, tensor<f32>>>) -> !onnx.sparse_tensor<tensor<2x3xf32>>
      %w = onnx.Node "d" "Op" %z : (!onnx.sparse_tensor<tensor<2x3xf32>>) -> tensor<*xf32>
      func.return %w : tensor<*xf32>""")  # fmt: skip
    assert parse(text_of(parse(text))).is_structurally_equivalent(parse(text))
    assert [n.op_type for n in model_of(text).graph.node] == ["ZipMap", "Op", "Op"]


OWN = function(
    """%y = onnx.Node "d" "Op" %a {word = "ä", numbers = [1, 2], type = tensor<2xf32>}
        : (tensor<2x3xf32>) -> tensor<2x3xf32>
      func.return %y : tensor<2x3xf32>""",
    "tensor<2x3xf32>",
)  # fmt: skip


def test_a_node_that_the_runtime_does_not_know_is_no_fault_of_gradc() -> None:
    compiled = gradc.compile(parse(OWN))
    with pytest.raises(UnsupportedError, match="a model with nodes that gradc does not know is refused"):
        compiled.run({"a": np.ones((2, 3), np.float32)})


def test_inspection_shows_its_attributes() -> None:
    (op,) = json.loads(as_json(inspect(parse(OWN))))["ops"]
    given = {attribute["name"]: attribute["value"] for attribute in op["attributes"]}
    assert op["kind"] == "d.Op"
    assert given == {"word": "ä", "numbers": [1, 2], "type": "tensor<2xf32>"}
