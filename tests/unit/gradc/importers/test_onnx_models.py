"""ONNX models as sources: what is read of them, and that nothing changes which nobody asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.onnx_models import edge, is_same, model_of, run

import gradc
from dialects.onnx.domains import MICROSOFT
from dialects.onnx.node import NodeOp
from dialects.onnx.ops import ConstantOp
from dialects.support.dense import to_numpy
from dialects.support.diagnostics import GradcError
from dialects.support.names import hint_of, name_of_hint, name_of_value
from gradc.importers.onnx import contrib_types, import_onnx

X = np.arange(-6, 6, dtype=np.float32).reshape(4, 3)
FEEDS = {"x": X, "c": np.array(True), "n": np.array(3)}


def compiled(model: onnx.ModelProto) -> onnx.ModelProto:
    """The compiled model, which has the same edge and gives the same results."""
    found = gradc.compile(model).model
    assert edge(found) == edge(model)
    assert all(map(is_same, run(model, FEEDS), run(found, FEEDS)))
    return found


def kinds(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


NAMES = ["x0", "/layer/0/Conv_output_0", "onnx::Conv_193", "457", "x:0", "a b", "é", "$2f", "_1", "a_1_2"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_survives(name: str):
    hint = hint_of(name)
    assert hint is not None
    assert name_of_hint(hint) == name
    model = model_of("g (float[4,3] x) => (float[4,3] y) { t = Exp(x)  y = Neg(t) }")
    first, second = model.graph.node
    first.output[0] = second.input[0] = first.name = name
    found = compiled(model)
    assert [node.name for node in found.graph.node] == [name, "y"]
    assert list(found.graph.node[1].input) == [name]
    names = [name_of_value(value) for op in import_onnx(model).walk() for value in op.results]
    assert names == [name, "y"]


MODELS = {
    "absent operand": "g (float[4,3] x) => (float[4,3] y) <float lo = {0}> { y = Clip(x, , lo) }",
    "unknown dims": "g (float[N,?] x) => (float[N,M] y) { y = Abs(x) }",
    "a shadowless branch": """g (bool c, float[4,3] x) => (float[A,B] y) {
        t = Neg(x)
        y = If (c) <
            then_branch = a () => (float[4,3] u) { u = Add(t, x) },
            else_branch = b () => (float[4,3] v) { v = Identity(t) }>
    }""",
    "a loop": """g (int64 n, float[4,3] x) => (float[4,3] y, float[K,4,3] z) {
        go = Constant <value = bool {1}> ()
        y, z = Loop (n, go, x) <body = b (int64 i, bool on, float[4,3] s)
            => (bool keep, float[4,3] t, float[4,3] u) {
                keep = Identity(on)
                t = Add(s, x)
                u = Neg(s)
            }>
    }""",
    "a scan": """g (float[4,3] x) => (float[3] y, float[4,3] z) {
        s = Constant <value = float[3] {1, 2, 3}> ()
        y, z = Scan (s, x) <num_scan_inputs = 1, body = b (float[3] a, float[3] e)
            => (float[3] t, float[3] u) {
                t = Mul(a, e)
                u = Sub(a, e)
            }>
    }""",
    "a sequence": """g (float[4,3] x) => (seq(float[4,3]) y) { t = Neg(x)  y = SequenceConstruct(x, t) }""",
    "an optional": """g (float[4,3] x) => (optional(float[4,3]) y) { y = Optional(x) }""",
    "a result that is an input": """g (float[4,3] x) => (float[4,3] y, float[4,3] z) {
        y = Neg(x)
        z = Identity(x)
    }""",
    "a result that is the input itself": "g (float[4,3] x) => (float[4,3] y, float[4,3] x) { y = Neg(x) }",
    "an input as a result twice": """g (float[4,3] x) => (float[4,3] y, float[4,3] v, float[4,3] v) {
        y = Neg(x)
        v = Identity(x)
    }""",
    "a result twice": "g (float[4,3] x) => (float[4,3] y, float[4,3] y) { y = Neg(x) }",
    "nodes in any order": "g (float[4,3] x) => (float[4,3] y) { y = Neg(t)  t = Exp(x) }",
    "an unused weight": "g (float[4,3] x) => (float[4,3] y) <float w = {1}, int8 v = {1}> { y = Mul(x, w) }",
    "numbers as constants": """g (float[4,3] x) => (float[4,3] y) {
        a = Constant <value_float = 2.5> ()
        b = Constant <value_floats = [1.0, 2.0, 3.0]> ()
        i = Constant <value_ints = [4, 3]> ()
        e = Expand(b, i)
        t = Mul(x, a)
        y = Add(t, e)
    }""",
    "bounds that are vectors": """g (float[4,3] x) => (float[4,3] y)
        <float[1] a = {-1}, float[1] b = {2}> { y = Clip(x, a, b) }""",
    "a shape that is a number": """g (float[4,3] x) => (float[4,3] y) <int64 s = {3}, float[1] o = {2}> {
        e = Expand(o, s)
        y = Mul(x, e)
    }""",
    "strings": """g (float[4,3] x) => (string[1] y, float[4,3] z) {
        y = Constant <value_strings = ["é"]> ()
        z = Neg(x)
    }""",
    "of another domain": """g (float[4,3] x) => (float[4,3] y) {
        t = com.microsoft.Gelu(x)
        y = Neg(t)
    }""",
    "of another domain, behind it all": """g (float[4,3] x) => (float[4,3] y) {
        t = com.microsoft.FastGelu(x)
        s = Shape(t)
        r = Reshape(t, s)
        y = Add(r, x)
    }""",
}


@pytest.mark.parametrize("text", MODELS.values(), ids=MODELS)
def test_the_result_is_that_of_the_model(text: str):
    model = model_of(text, **({"com.microsoft": 1} if "microsoft" in text else {}))
    compiled(model)


def test_a_result_that_is_left_out():
    model = model_of("""g (float[4,3] x) => (float[1,4,2] y) <int64[1] a = {0}, float[1] one = {1}> {
        s = Constant <value_ints = [1, 2, 3]> ()
        r = Constant <value_ints = [1, 2, 2]> ()
        v = Expand(one, s)
        w = Expand(one, r)
        u = Unsqueeze(x, a)
        t, y = RNN <hidden_size = 2> (u, v, w)
    }""")
    model.graph.node[-1].output[0] = ""
    assert list(compiled(model).graph.node[-1].output) == ["", "y"]


def test_results_that_share_a_name_are_run_by_it():
    model = model_of("g (float[N,3] x) => (float[N,3] x, float[N,3] y, float[N,3] y) { y = Neg(x) }")
    found = gradc.compile(model, rename={"y": "z"})
    assert [name for name, *_ in edge(found.model)] == ["x", "x", "z", "z"]
    assert [node.op_type for node in found.model.graph.node] == ["Neg"]
    session = found.session()
    for results in (session.run({"x": X}), session.bound({"x": X}).results()):
        assert list(results) == ["x", "z"]
        np.testing.assert_array_equal(results["x"], -results["z"])


def test_an_unknown_rank_stays_unknown():
    model = model_of("g (float[N] x) => (float[N] y) { y = Neg(x) }")
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.ClearField("shape")
    found = compiled(model)
    assert [value.type.tensor_type.HasField("shape") for value in found.graph.input] == [False]


def test_types_of_other_domains_are_unknown_and_no_result_is_lost():
    text = MODELS["of another domain, behind it all"].replace("com.microsoft.FastGelu", "foo.Bar")
    model = model_of(text, foo=1)
    module = import_onnx(model)
    nodes = [op.title for op in module.walk() if isinstance(op, NodeOp)]
    assert nodes == ["foo.Bar", "Shape", "Reshape", "Add"]


FUNCTIONS = """g (float[4,3] x) => (float[4,3] y) {
    t = own.twice <factor = 3.0> (x)
    y = own.twice (t)
}
<domain: "own", opset_import: ["" : 18, "own" : 1]>
twice <factor: float = 2.0> (a) => (b) {
    f = Constant <value_float: float = @factor> ()
    s = own.scaled(a, f)
    b = Add(s, s)
}
<domain: "own", opset_import: ["" : 18]>
scaled (a, f) => (b) { b = Mul(a, f) }
"""


def test_functions_are_written_where_they_are_called():
    model = model_of(FUNCTIONS, own=1)
    assert kinds(compiled(model)) == ["Mul", "Add", "Mul", "Add"]
    assert not compiled(model).functions


def test_weights_are_held_once_and_equal_ones_merge():
    model = model_of("g (float[4,3] x) => (float[4,3] y) { t = Mul(x, w)  y = Add(t, v) }")
    for name in "wv":
        model.graph.initializer.append(numpy_helper.from_array(X, name))
    constants = [op for op in import_onnx(model).walk() if isinstance(op, ConstantOp)]
    assert all(isinstance(op.value.data.data, bytes) for op in constants)
    assert len(compiled(model).graph.initializer) == 1


def test_an_initializer_that_is_an_input_is_a_weight():
    """As it is for a runtime, which need not be given it."""
    weight = "<float[3] w = {1, 2, 3}>"
    model = model_of(f"g (float[4,3] x, float[3] w) => (float[4,3] y) {weight} {{ y = Mul(x, w) }}")
    assert [value.name for value in compiled(model).graph.input] == ["x"]


def test_a_sparse_initializer():
    model = model_of("g (float[4,3] x) => (float[4,3] y) { y = Mul(x, w) }")
    values = numpy_helper.from_array(np.array([1, 2], np.float32), "w")
    for indices in (np.array([0, 11]), np.array([[0, 0], [3, 2]])):
        del model.graph.sparse_initializer[:]
        places = numpy_helper.from_array(indices, "places")
        model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [4, 3]))
        (tensor,) = compiled(model).graph.initializer
        assert np.flatnonzero(numpy_helper.to_array(tensor)).tolist() == [0, 11]


DTYPES = [
    TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE, TensorProto.INT8, TensorProto.UINT16,
    TensorProto.UINT64, TensorProto.BOOL, TensorProto.COMPLEX64, TensorProto.FLOAT8E4M3FN, TensorProto.INT4,
    TensorProto.UINT4, TensorProto.FLOAT4E2M1, TensorProto.INT32,
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=TensorProto.DataType.Name)
@pytest.mark.parametrize("raw", [True, False], ids=["raw", "listed"])
def test_weights_of_every_type(dtype: Any, raw: bool):
    """Of an odd number of elements, as some types have two in a byte."""
    numbers = np.array([0, 1, 1], helper.tensor_dtype_to_np_dtype(dtype))
    array = numpy_helper.from_array(numbers) if raw else helper.make_tensor("w", dtype, [3], [0, 1, 1])
    array.name = "w"
    value = helper.make_tensor_value_info("y", dtype, [3])
    graph = helper.make_graph([helper.make_node("Identity", ["w"], ["y"])], "g", [], [value], [array])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)])
    (constant,) = [op for op in import_onnx(model).walk() if isinstance(op, ConstantOp)]
    assert to_numpy(constant.value).tobytes() == numbers.tobytes()


def test_what_a_model_says_of_itself_stays():
    model = model_of("g (float[4,3] x) => (float[4,3] y) { y = Neg(x) }")
    helper.set_model_props(model, {"author": "me", "gradc.graph": "of another compilation"})
    found = {entry.key: entry.value for entry in compiled(model).metadata_props}
    assert found["author"] == "me"
    assert "gradc.graph" not in found


def test_what_a_model_says_in_fields_of_its_own_stays():
    model = model_of("g (float[N,3] x) => (float[N,3] y) { y = Exp(x) }")
    model.doc_string, model.domain, model.model_version = 'of "me"\n', "com.example", 7
    model.graph.doc_string, model.graph.input[0].doc_string = "é", "an image"
    for found in (compiled(model), gradc.grad(model, reduce="sum").model):
        assert (found.doc_string, found.domain, found.model_version) == ('of "me"\n', "com.example", 7)
        assert (found.graph.doc_string, found.graph.input[0].doc_string) == ("é", "an image")
        assert not found.graph.output[0].doc_string


def test_what_nodes_say_of_themselves_stays():
    text = """g (float[N,3] x, bool c) => (float[N,3] y, float[N,3] z) {
        a = Exp(x)
        b = Abs(a)
        y = If (c) <then_branch = t () => (float[N,3] p) { p = Exp(b) },
                    else_branch = e () => (float[N,3] q) { q = Neg(b) }>
        z = foo.Bar(a)
    }"""
    model = model_of(text, foo=1)
    branch = model.graph.node[2].attribute[0].g.node[0]
    for node in (*model.graph.node, branch):
        node.doc_string = f"{node.op_type} made of {node.input[0]}"
    model.graph.node[0].name = "/first/Exp"
    for target in ("cpu", "portable"):
        found = gradc.compile(model, target=target).model
        first, _, condition, other = found.graph.node
        assert (first.name, first.doc_string) == ("/first/Exp", "Exp made of x")
        assert condition.doc_string == "If made of c"
        assert other.doc_string == "Bar made of a"
        message = {n.op_type: n.doc_string for a in condition.attribute for n in a.g.node}
        assert message == {"Exp": "Exp made of b", "Neg": ""}
    assert (
        not compiled(model_of("g (float[N,3] x) => (float[N,3] y) { y = Exp(x) }")).graph.node[0].doc_string
    )


def test_the_opset_is_the_models_where_a_node_of_unknown_types_has_its_form():
    """What foo.Bar gives nobody knows; at the default opset ReduceProd has no attribute axes any more."""
    text = """<ir_version: 8, opset_import: ["": 15, "foo": 1]> g (float[n,4] x) => (float[n] y)
        { a = foo.Bar(x) b = ReduceProd<axes = [1], keepdims = 0>(a) y = Tanh(b) }"""
    assert gradc.compile(onnx.parser.parse_model(text)).model.opset_import[0].version == 15


def test_the_opset_is_the_models_or_the_default_one():
    model = model_of("g (float[4,3] x) => (float[4,3] y) { y = Neg(x) }", opset=21)
    assert compiled(model).opset_import[0].version == 21
    assert gradc.compile(model, opset=19).model.opset_import[0].version == 19
    old = model_of("g (float[4,3] x) => (float[4,3] y) { y = Neg(x) }", opset=11)
    assert compiled(old).opset_import[0].version == 18


def test_types_of_machine_learning_that_the_model_does_not_say():
    """ReduceProd of opset 15 has another form than that of 18: only a known type tells how to write it."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 1])
    columns = numpy_helper.from_array(np.array([0, 2]), "columns")
    nodes = [
        helper.make_node("ArrayFeatureExtractor", ["x", "columns"], ["two"], domain="ai.onnx.ml"),
        helper.make_node("ReduceProd", ["two"], ["y"], axes=[1]),
    ]
    opsets = [helper.make_opsetid("", 15), helper.make_opsetid("ai.onnx.ml", 1)]
    graph = helper.make_graph(nodes, "g", [x], [y], [columns])
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    given = np.arange(6, dtype=np.float32).reshape(2, 3)
    (found,), (expected,) = run(compiled(model), {"x": given}), run(model, {"x": given})
    np.testing.assert_array_equal(found, expected)


QUANTIZED = """
    s = Constant <value = float {0.1}> () z = Constant <value = uint8 {3}> ()
    q = com.microsoft.QuantizeLinear (x, s, z) p = com.microsoft.QLinearSigmoid (q, s, z, s, z)
    d = com.microsoft.DequantizeLinear (p, s, z)"""


def test_types_of_ops_of_onnxruntime_are_those_of_its_schemas():
    state = pytest.importorskip("onnxruntime.capi.onnxruntime_pybind11_state")
    schemas = {s.name: s for s in state.get_all_operator_schema() if s.domain == MICROSOFT}
    for name, (operand, _) in contrib_types.RESULTS.items():
        assert schemas[name].inputs[operand].typeStr == schemas[name].outputs[0].typeStr, name


@pytest.mark.parametrize("opset", [13, 18, 21])
@pytest.mark.parametrize("nodes", ["d = com.microsoft.Gelu (x)", QUANTIZED])
def test_a_model_with_ops_of_onnxruntime_in_it_is_written_in_another_opset(nodes: str, opset: int):
    """Softmax of opset 12 has another form, which depends on the rank of what it reads."""
    text = f"""<ir_version: 7, opset_import: ["": 12, "com.microsoft": 1]>
        g (float[N,2,3] x) => (float[N,2,3] y) {{ {nodes} y = Softmax <axis = 1> (d) }}"""
    model = onnx.parser.parse_model(text)
    given = {"x": np.linspace(-3, 3, 12, dtype=np.float32).reshape(2, 2, 3)}
    (found,), (expected,) = run(gradc.compile(model, opset=opset).model, given), run(model, given)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "nodes",
    [
        "a = ai.onnx.ml.Imputer <imputed_value_floats = [9.0]> (x)",
        "b = ai.onnx.ml.Scaler <offset = [1.0], scale = [2.0]> (x) a = ai.onnx.ml.Binarizer (b)",
        "a = ai.onnx.ml.FeatureVectorizer <inputdimensions = [2, 2]> (x, x)",
        "a = ai.onnx.ml.LabelEncoder <keys_floats = [1.0], values_floats = [2.0]> (x)",
    ],
)
def test_a_model_of_an_old_opset_with_machine_learning_in_it_is_lifted(nodes: str):
    """No opset before 13 is written, and what reads a result of an unknown type cannot be lifted."""
    text = f"""<ir_version: 7, opset_import: ["": 12, "ai.onnx.ml": 2]> g (float[N,2] x) => (float[N,1] y)
        {{ {nodes} c = Cast<to = 1>(a) y = ReduceSum<axes = [1]>(c) }}"""
    model = onnx.parser.parse_model(text)
    given = {"x": np.array([[1, -1], [9, 3]], np.float32)}
    (found,), (expected,) = run(gradc.compile(model).model, given), run(model, given)
    np.testing.assert_array_equal(found, expected)


def test_a_result_of_another_shape_than_declared_is_what_it_is():
    model = model_of("f (float[3] x) => (seq(float[9, 9]) s) { s = SequenceConstruct (x, x) }")
    (info,) = gradc.compile(model).outputs
    assert str(info) == "s: seq(f32)"


@pytest.mark.parametrize("declared", ["float[3]", "optional(float[3])", "seq(double[3])"])
def test_a_result_of_another_type_than_declared_is_refused(declared: str):
    """As by onnxruntime."""
    model = model_of(f"f (float[3] x) => ({declared} s) {{ s = SequenceConstruct (x, x) }}")
    with pytest.raises(GradcError, match=r'\[output "s"\] type: given declared as .*, expected seq\(f32\)'):
        gradc.compile(model)


def test_metadata_denotations_and_quantization_stay():
    """torch writes namespaces into the metadata of nodes; `gradc.op` stands beside them."""
    model = model_of("g (float[4,3] x) => (float[4,3] y) { a = Exp(x) \n y = Mul(a, w) }")
    graph = model.graph
    graph.initializer.append(numpy_helper.from_array(np.full(3, 2, np.float32), "w"))
    graph.initializer[0].doc_string = "a scale"
    for node in graph.node:
        node.name = f"/{node.op_type}"
    owners = {
        "graph": graph,
        "node": graph.node[0],
        "input": graph.input[0],
        "output": graph.output[0],
        "initializer": graph.initializer[0],
    }
    for what, owner in owners.items():
        owner.metadata_props.add(key="namespace", value=f"of the {what}")
        owner.metadata_props.add(key="gradc.op", value="of another compilation")
    graph.input[0].type.denotation = "IMAGE"
    graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    annotation = graph.quantization_annotation.add(tensor_name="a")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="w")
    found = gradc.compile(model, rename={"x": "image"}).model.graph
    (first, *_), value, weight = found.node, found.input[0], found.initializer[0]
    reported = {p.key: p.value for p in first.metadata_props}
    assert (reported["namespace"], reported["gradc.op"]) == ("of the node", "/Exp")
    kept = {"graph": found, "input": value, "output": found.output[0], "initializer": weight}
    for what, owner in kept.items():
        assert {p.key: p.value for p in owner.metadata_props} == {"namespace": f"of the {what}"}
    assert (weight.doc_string, value.type.denotation) == ("a scale", "IMAGE")
    assert value.type.tensor_type.shape.dim[0].denotation == "DATA_BATCH"
    assert found.quantization_annotation == graph.quantization_annotation
    by_x = gradc.grad(model, reduce="sum").model.graph
    assert any(p.value == "of the node" for node in by_x.node for p in node.metadata_props)
    assert by_x.input[0].type.denotation == "IMAGE"
