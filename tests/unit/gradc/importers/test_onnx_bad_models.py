"""Models that are wrong, or from strangers: a line that names the node, and no traceback."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidGraph
from support.cli import run_gradc
from support.onnx_models import is_same, model_of, run, session_of

import gradc
from dialects.onnx.ops import ConstantOp
from dialects.support.diagnostics import GradcError
from gradc.importers.onnx import import_onnx

REFUSED = (Fail, InvalidGraph)

GRAPH = "g (float[2,3] x) => (float[2,3] y) { t = Exp(x)  y = Softmax <axis = 1> (t) }"


def _cycle(model: onnx.ModelProto) -> None:
    model.graph.node[0].input[0] = "y"


def _twice(model: onnx.ModelProto) -> None:
    model.graph.node[1].output[0] = "t"


def _missing(model: onnx.ModelProto) -> None:
    model.graph.node[0].input[0] = "z"


def _kind(model: onnx.ModelProto) -> None:
    model.graph.node[1].attribute[0].CopyFrom(helper.make_attribute("axis", 1.0))


def _attribute(model: onnx.ModelProto) -> None:
    model.graph.node[1].attribute[0].name = "axes"


def _attribute_twice(model: onnx.ModelProto) -> None:
    model.graph.node[1].attribute.append(model.graph.node[1].attribute[0])


def _axis(model: onnx.ModelProto) -> None:
    model.graph.node[1].attribute[0].i = 7


def _op(model: onnx.ModelProto) -> None:
    model.graph.node[0].op_type = "Upsample"


def _younger_op(model: onnx.ModelProto) -> None:
    model.graph.node[0].op_type = "Gelu"


def _inputs(model: onnx.ModelProto) -> None:
    model.graph.node[0].input.append("x")


def _outputs(model: onnx.ModelProto) -> None:
    model.graph.node[0].output.append("u")


def _domain(model: onnx.ModelProto) -> None:
    model.graph.node[0].domain = "nobody"


def _output(model: onnx.ModelProto) -> None:
    model.graph.output[0].name = "z"


def _no_output(model: onnx.ModelProto) -> None:
    del model.graph.output[:]


def _no_opset(model: onnx.ModelProto) -> None:
    del model.opset_import[:]


def _no_type(model: onnx.ModelProto) -> None:
    model.graph.input[0].ClearField("type")


def _dtype(model: onnx.ModelProto) -> None:
    model.graph.input[0].type.tensor_type.elem_type = 77


def _wrong_dtype(model: onnx.ModelProto) -> None:
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.BOOL


def _short(model: onnx.ModelProto) -> None:
    model.graph.initializer.append(TensorProto(name="w", data_type=1, dims=[3], raw_data=b"1234"))
    model.graph.node[0].input[0] = "w"


def _listed(model: onnx.ModelProto) -> None:
    model.graph.initializer.append(TensorProto(name="w", data_type=1, dims=[3], float_data=[1.0]))
    model.graph.node[0].input[0] = "w"


def _negative(model: onnx.ModelProto) -> None:
    model.graph.initializer.append(TensorProto(name="w", data_type=1, dims=[-3]))
    model.graph.node[0].input[0] = "w"


def _huge(model: onnx.ModelProto) -> None:
    model.graph.initializer.append(TensorProto(name="w", data_type=1, dims=[2**40, 2**40], raw_data=b""))
    model.graph.node[0].input[0] = "w"


def _nameless(model: onnx.ModelProto) -> None:
    model.graph.node[0].op_type = ""


def _graph_lists(model: onnx.ModelProto) -> None:
    model.graph.node[0].attribute.append(
        helper.make_attribute("bodies", [helper.make_graph([], "e", [], [])])
    )


def _branches(model: onnx.ModelProto) -> None:
    model.graph.node[0].op_type = "If"


def _recursion(model: onnx.ModelProto) -> None:
    call = helper.make_node("f", ["a"], ["b"], domain="own")
    imports = [helper.make_opsetid("own", 1), helper.make_opsetid("", 18)]
    model.functions.append(helper.make_function("own", "f", ["a"], ["b"], [call], imports))
    model.opset_import.append(helper.make_opsetid("own", 1))
    model.graph.node[0].op_type, model.graph.node[0].domain = "f", "own"


def _chain(model: onnx.ModelProto) -> None:
    """A function that calls one that calls another, 2,000 times."""
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)]
    for i in range(2000):
        called = helper.make_node(f"f{i + 1}", ["x"], ["y"], domain="local")
        node = called if i < 1999 else helper.make_node("Exp", ["x"], ["y"])
        model.functions.append(helper.make_function("local", f"f{i}", ["x"], ["y"], [node], opsets))
    model.opset_import.append(opsets[1])
    model.graph.node[0].CopyFrom(helper.make_node("f0", ["x"], ["t"], domain="local"))


WRONG: list[tuple[Callable[[onnx.ModelProto], None], str]] = [
    (_cycle, 'nodes form a cycle: Softmax "y" (node 1) and Exp "t" (node 0)'),
    (_twice, '[Softmax "t", node 1] the name "t" is given twice'),
    (_missing, '[Exp "t", node 0] no input, initializer or earlier node defines "z"'),
    (_kind, '[Softmax "y", node 1] kind of attribute axis: given FLOAT, expected INT'),
    (_attribute, '[Softmax "y", node 1] Softmax has no attribute axes; did you mean axis?'),
    (_attribute_twice, '[Softmax "y", node 1] attribute axis is given twice'),
    (_axis, '[Softmax "y", node 1]'),
    (_op, '[Upsample "t", node 0] Upsample is not in opset 18: it was removed in 10'),
    (_younger_op, '[Gelu "t", node 0] Gelu is not in opset 18: it was added in 20'),
    (_inputs, '[Exp "t", node 0] inputs of Exp: given 2, expected at most 1'),
    (_outputs, '[Exp "t", node 0] outputs of Exp: given 2, expected at most 1'),
    (_domain, '[Exp "t", node 0] the model imports no opset of the domain "nobody"'),
    (_output, '[output "z"] no input, initializer or earlier node defines "z"'),
    (_no_output, "the graph has no outputs"),
    (_no_opset, '[Exp "t", node 0] the model imports no opset'),
    (_no_type, '[input "x"] type: given none'),
    (_dtype, '[input "x"] element type: given 77'),
    (_wrong_dtype, '[Exp "t", node 0] dtype of input: given boolean'),
    (_short, '[initializer "w"] bytes of a tensor: given 4, expected 12'),
    (_listed, '[initializer "w"] elements of a tensor of [3]'),
    (_negative, '[initializer "w"] dims: given [-3], expected no negative one'),
    (_huge, '[initializer "w"]'),
    (_nameless, "node 0] the node has no op_type"),
    (_graph_lists, '[Exp "t", node 0] attribute bodies: given a list of graphs'),
    (_branches, '[If "t", node 0] graphs of If'),
    (_recursion, "the function f calls itself"),
    (_chain, "graphs and functions in each other: given 51, expected at most 50"),
]


@pytest.mark.parametrize(("change", "message"), WRONG, ids=lambda x: getattr(x, "__name__", None))
def test_what_is_wrong_is_said_in_a_line(change: Callable[[onnx.ModelProto], None], message: str):
    model = model_of(GRAPH)
    change(model)
    with pytest.raises(GradcError) as caught:
        gradc.compile(model)
    assert message in str(caught.value)


def test_all_wrong_nodes_are_told_at_once():
    model = model_of("""g (float[2] x) => (float[2] y) {
        a = Exp <p = 1> (x)
        b = Neg <q = 1> (x)
        y = Add(a, b)
    }""")
    with pytest.raises(GradcError) as caught:
        gradc.compile(model)
    places = [line.partition("]")[0] for line in str(caught.value).splitlines()]
    assert places == ['error: [Exp "a", node 0', 'error: [Neg "b", node 1']


INVALID = {
    "inputs-that-an-old-form-has-not": (
        """<ir_version: 8, opset_import: ["" : 9]>
        g (float[2] x) => (float[2] y) { y = Dropout(x, x) }""",
        '[Dropout "y", node 0] inputs of Dropout: given 2, expected at most 1',
    ),
    "rank-of-a-condition": (
        """<ir_version: 8, opset_import: ["" : 18]>
        g (float[2] x, int64 n, bool[k] b) => (float[2] y) {
            y = Loop (n, b, x) <body = l (int64 i, bool go, float[2] v) => (bool on, float[2] w) {
                on = Identity (go)  w = Exp (v) }>
        }""",
        '[Loop "y"] the model is not valid: ',
    ),
}


@pytest.mark.parametrize(("text", "message"), INVALID.values(), ids=INVALID)
def test_what_no_runtime_takes(text: str, message: str):
    model = onnx.parser.parse_model(text)
    with pytest.raises(REFUSED):
        session_of(model)
    with pytest.raises(GradcError) as caught:
        gradc.compile(model)
    assert message in str(caught.value)


@pytest.mark.parametrize("op", ["SequenceAt (s, i)", "SequenceErase (s, i)", "SequenceInsert (s, x, i)"])
def test_a_position_of_no_element(op: str):
    """Of which a runtime reads memory that is not its own."""
    model = model_of(f"""g (float[2] x) => (y) {{
        s = SequenceConstruct (x, x)
        i = Constant <value_ints: ints = []> ()
        y = {op}
    }}""")
    with pytest.raises(GradcError, match=r'"y", node 2\] position in a sequence: given none'):
        gradc.compile(model)


def test_a_constant_is_of_the_kind_of_its_attribute():
    """As runtimes read it; names that are none are a slip of the pen."""
    model = model_of(
        "g (float[2] x) => (int64[1] y, float[2] z) { y = Constant <value_int: ints = [3]> () z = Exp(x) }"
    )
    x = np.ones(2, np.float32)
    assert is_same(gradc.compile(model).run({"x": x})["y"], run(model, {"x": x})[0])
    model.graph.node[0].attribute[0].name = "value_nit"
    with pytest.raises(GradcError, match="Constant has no attribute value_nit; did you mean"):
        gradc.compile(model)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("y, last, c = LSTM <hidden_size = 4> (x, x, s)", "recurrent weights of LSTM: given []"),
        (
            """y = Scan <num_scan_inputs = 2147483647, body = b (float[2, 3] v) => (float[2, 3] w) {
                w = Exp (v) }> (x)""",
            "num_scan_inputs: given 2147483647, expected 1 to 1",
        ),
    ],
)
def test_what_numbers_and_ranks_cannot_be(body: str, message: str):
    model = model_of(f"g (float[T,2,3] x, float s) => (float[T,2,3] y) {{ {body} }}")
    with pytest.raises(GradcError) as caught:
        gradc.compile(model)
    assert message in str(caught.value)


def test_sizes_of_what_has_no_rank():
    """Which a pass of fast forms takes from Shape at once."""
    model = model_of("""g (float[2] x) => (int64[1] y) {
        s = Shape (x)
        i = Constant <value_ints = [1]> ()
        y = Gather (s, i)
    }""")
    model.graph.input[0].type.tensor_type.ClearField("shape")
    assert gradc.compile(model).run({"x": np.zeros((2, 3), np.float32)})["y"].tolist() == [3]


@pytest.mark.parametrize("op", ["DequantizeLinear", "QuantizeLinear"])
@pytest.mark.parametrize(("scale", "axis"), [("float[1,1]", 0), ("float[3]", 0), ("float[2]", 1)])
def test_scales_that_are_not_for_each_element(op: str, scale: str, axis: int):
    x, zero, y = ("int8", "int8", "float") if op[0] == "D" else ("float", "int8", "int8")
    model = model_of(f"""g ({x}[2,3] x, {scale} s, {zero} z) => ({y}[2,3] y) {{
        y = {op} <axis = {axis}> (x, s, z)
    }}""")
    with pytest.raises(GradcError, match=f"node 0\\] scale of {op}: given"):
        gradc.compile(model)


def test_outside_of_functions_attributes_refer_to_nothing():
    model = model_of(
        """g (float[2,3] x) => (float[2] y) {
            a = Constant <value_ints = [1]> ()
            y = ReduceSum <keepdims = 0> (x, a)
        }"""
    )
    model.graph.node[1].attribute[0].ref_attr_name = "nothing"
    x = np.ones((2, 3), np.float32)
    assert is_same(gradc.compile(model).run({"x": x})["y"], np.full(2, 3, np.float32))


def test_results_that_are_declared_as_they_are_not():
    """A runtime warns, and goes on."""
    model = model_of("""g (float[n,4] x) => (float[3,64] y, seq(float[4,3]) s) {
        s = SequenceConstruct (x, x)
        i = Constant <value_int = 1> ()
        y = SequenceAt (s, i)
    }""")
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    found = gradc.compile(model).run({"x": x})
    assert is_same([found["y"], found["s"]], [x, [x, x]])
    assert is_same(run(model, {"x": x}), [x, [x, x]])


def test_the_ratio_of_a_dropout_that_drops_nothing():
    model = model_of("g (float[2] x) => (float[2] y) { y = Dropout <ratio = 7.0> (x) }", opset=9)
    x = np.ones(2, np.float32)
    assert is_same([gradc.compile(model).run({"x": x})["y"]], run(model, {"x": x}))


@pytest.mark.parametrize(
    ("word", "message"),
    [
        (b"graphs_name", r"[graph] name: given b'graphs_nam\xff', expected UTF-8 text"),
        (b"weight", r"[initializer 0] name: given b'weigh\xff'"),
        (b"input", "[input \"b'inpu\\xff'\"] name: given"),
        (b"output", "[output \"b'outpu\\xff'\"]"),
    ],
)
def test_names_that_are_no_text(word: bytes, message: str):
    model = model_of("graphs_name (float[2] input) => (float[2] output) { t = Mul (input, weight) }")
    model.graph.initializer.append(TensorProto(name="weight", data_type=1, dims=[1], float_data=[1.0]))
    data = model.SerializeToString().replace(word, word[:-1] + b"\xff")
    with pytest.raises(GradcError) as caught:
        gradc.compile(onnx.ModelProto.FromString(data))
    assert message in str(caught.value)


def test_a_result_of_no_type_of_onnx():
    model = model_of(GRAPH)
    model.graph.output[0].type.tensor_type.elem_type = 77
    with pytest.raises(GradcError, match=r"node 1] element type: given 77"):
        gradc.compile(model)
    model.graph.output[0].name = "x"
    with pytest.raises(GradcError, match=r'\[output "x"\] element type: given 77'):
        gradc.compile(model)


@pytest.mark.parametrize("command", ["compile", "inspect", "explain"])
def test_no_model(command: str, tmp_path: Path):
    path = tmp_path / "m.onnx"
    whole = model_of(GRAPH).SerializeToString()
    for content, message in (
        (b"hello", "not an ONNX model"),
        (whole[: len(whole) // 2], "not an ONNX model"),
    ):
        path.write_bytes(content)
        more = ["-o", str(tmp_path / "out.onnx")] if command == "compile" else []
        result = run_gradc(command, str(path), *more)
        assert (result.code, result.out) == (4, "")
        assert message in result.line


def test_every_cut_is_said_or_is_a_model(tmp_path: Path):
    """A message may end early and still be one, of which something is missing."""
    whole = model_of(GRAPH).SerializeToString()
    path = tmp_path / "m.onnx"
    for end in range(len(whole)):
        path.write_bytes(whole[:end])
        with pytest.raises(GradcError):
            gradc.compile(path)


def external(folder: Path, **where: str) -> Path:
    model = model_of("g (float[4,3] x) => (float[4,3] y) { y = Mul(x, w) }")
    tensor = TensorProto(name="w", data_type=1, dims=[4, 3], data_location=TensorProto.EXTERNAL)
    for key, value in where.items():
        tensor.external_data.add(key=key, value=value)
    model.graph.initializer.append(tensor)
    path = folder / "m.onnx"
    path.write_bytes(model.SerializeToString())
    return path


WEIGHTS = np.arange(12, dtype=np.float32).reshape(4, 3)


def test_external_data(tmp_path: Path):
    (tmp_path / "w.data").write_bytes(b"1234" + WEIGHTS.tobytes())
    path = external(tmp_path, location="w.data", offset="4", length="48")
    (constant,) = [op for op in import_onnx(path).walk() if isinstance(op, ConstantOp)]
    assert constant.value.data.data == WEIGHTS.tobytes()
    found = gradc.compile(path).model
    feeds = {"x": WEIGHTS + 1}
    assert is_same(run(found, feeds), [(WEIGHTS + 1) * WEIGHTS])
    assert numpy_helper.to_array(found.graph.initializer[0]).tolist() == WEIGHTS.tolist()


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"location": "../w.data"}, "expected a file in the model's folder"),
        ({"location": "/etc/passwd"}, "expected a file in the model's folder"),
        ({"location": "none"}, "cannot read external data 'none'"),
        ({"location": "w.data", "offset": "4"}, "bytes of a tensor: given 44, expected 48"),
        ({"location": "w.data", "length": "44"}, "length of external data: given 44, expected 48"),
    ],
)
def test_external_data_that_is_not_read(where: dict[str, str], message: str, tmp_path: Path):
    (tmp_path / "models").mkdir()
    for folder in (tmp_path, tmp_path / "models"):
        (folder / "w.data").write_bytes(WEIGHTS.tobytes())
    path = external(tmp_path / "models", **where)
    with pytest.raises(GradcError) as caught:
        gradc.compile(path)
    assert '[initializer "w"]' in str(caught.value)
    assert message in str(caught.value)


def test_external_data_of_a_proto():
    model = model_of("g (float[4,3] x) => (float[4,3] y) { y = Mul(x, w) }")
    tensor = TensorProto(name="w", data_type=1, dims=[4, 3], data_location=TensorProto.EXTERNAL)
    model.graph.initializer.append(tensor)
    with pytest.raises(GradcError, match="external data of a model that is no file; give the path"):
        gradc.compile(model)
