"""`gradc weights`: the list, the values, and models with other values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.cli import Result, run_gradc

import gradc
from gradc.files.npz import write_npz
from gradc.files.safetensors import read_safetensors, write_safetensors

LARGE = np.arange(40 * 40, dtype=np.float32).reshape(40, 40)
INFO = helper.make_tensor_value_info


def branch(name: str, bias: float) -> onnx.GraphProto:
    """A graph that adds its own `b` to x, and the `shared` of the graph around it."""
    nodes = [
        helper.make_node("Add", ["x", "b"], [f"{name}_s"], name=f"{name}_add"),
        helper.make_node("Add", [f"{name}_s", "shared"], [f"{name}_y"]),
    ]
    own = numpy_helper.from_array(np.full((40,), bias, np.float32), "b")
    return helper.make_graph(nodes, name, [], [INFO(f"{name}_y", TensorProto.FLOAT, None)], [own])


def model() -> onnx.ModelProto:
    """Weights of all kinds: scalar, empty, of bf16, i4, strings, of a Constant node, nested, a default."""
    arrays = {
        "w": LARGE,
        "shared": np.ones(40, np.float32),
        "a.b/c": np.array(2, np.float32),
        "empty": np.zeros((0, 3), np.float32),
        "half": np.ones(2, ml_dtypes.bfloat16),
        "axes": np.array([0]),
    }
    stored = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    stored.append(helper.make_tensor("codes", TensorProto.INT4, [3], [1, -2, 3]))
    stored.append(helper.make_tensor("words", TensorProto.STRING, [2], [b"a", "ü".encode()]))
    constant = numpy_helper.from_array(np.full(40, 3, np.float32))
    nodes = [
        helper.make_node("Constant", [], ["k"], value=constant),
        helper.make_node("MatMul", ["in", "w"], ["p"], name="product"),
        helper.make_node("Mul", ["p", "a.b/c"], ["q"]),
        helper.make_node("Add", ["q", "k"], ["x"]),
        helper.make_node(
            "If", ["c"], ["y"], name="choice", then_branch=branch("then", 1), else_branch=branch("else", 2)
        ),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [
            INFO("in", TensorProto.FLOAT, [2, 40]),
            INFO("c", TensorProto.BOOL, []),
            INFO("w", TensorProto.FLOAT, [40, 40]),
        ],
        [INFO("y", TensorProto.FLOAT, [2, 40])],
        stored,
        doc_string="kept",
    )
    opsets = [helper.make_opsetid("", 21)]
    found = helper.make_model(graph, opset_imports=opsets, ir_version=10, producer_name="somebody")
    found.metadata_props.add(key="author", value="me")
    return found


@pytest.fixture
def source(tmp_path: Path) -> Path:
    onnx.save(model(), tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def weights(*args: object, code: int = 0) -> Result:
    done = run_gradc("weights", *args)
    assert done.code == code, done.err
    return done


def test_the_list(source: Path):
    found = {one["name"]: one for one in json.loads(weights(source, "--json").out)}
    names = ["w", "shared", "a.b/c", "empty", "half", "axes", "codes", "words", "k"]
    assert list(found) == [*names, "choice.else_branch/b", "choice.then_branch/b"]
    expected = {
        "w": ("f32", [40, 40], 6400, ["product (MatMul)"], "default"),
        "a.b/c": ("f32", [], 4, ["q (Mul)"], "constant"),
        "empty": ("f32", [0, 3], 0, [], "constant"),
        "half": ("bf16", [2], 4, [], "constant"),
        "codes": ("s4", [3], 2, [], "constant"),
        "shared": ("f32", [40], 160, ["else_y (Add)", "then_y (Add)"], "constant"),
        "choice.then_branch/b": ("f32", [40], 160, ["then_add (Add)"], "constant"),
    }
    for name, want in expected.items():
        assert tuple(found[name][key] for key in ("dtype", "shape", "bytes", "readers", "role")) == want
    assert "11 weights, 7.06 kB, 4 trainable" in weights(source).out
    inspected = json.loads(run_gradc("inspect", source, "--json").out)
    keys = ("name", "dtype", "shape", "bytes", "readers", "role")
    assert inspected["contents"]["weights"]["tensors"] == [
        {key: one[key] for key in keys} for one in found.values()
    ]
    assert inspected["optional_inputs"] == [{"name": "w", "dtype": "f32", "shape": [40, 40]}]
    assert "w: f32 [40, 40]  (has a default)" in run_gradc("inspect", source).out


def test_the_list_tells_what_is_trainable(source: Path):
    found = {one["name"]: one for one in json.loads(weights(source, "--json").out)}
    assert {name: (one["trainable"], one["reason"]) for name, one in found.items()} == {
        "w": (True, "weight of MatMul product"),
        "shared": (True, "added by Add else_y, with the name of a parameter"),
        "a.b/c": (True, "multiplied by Mul q, with the name of a parameter"),
        "empty": (False, "not read"),
        "half": (False, "not read"),
        "axes": (False, "s64, not floats"),
        "codes": (False, "s4, not floats"),
        "words": (False, "string, not floats"),
        "k": (True, "added by Add x, with the name of a parameter"),
        "choice.then_branch/b": (False, "of a nested graph"),
        "choice.else_branch/b": (False, "of a nested graph"),
    }


def test_names_in_the_module_are_listed(tmp_path: Path):
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "onnx::MatMul_3"], ["y"], name="/fc/MatMul")],
        "g",
        [INFO("x", TensorProto.FLOAT, ["N", 2])],
        [INFO("y", TensorProto.FLOAT, ["N", 2])],
        [numpy_helper.from_array(np.eye(2, dtype=np.float32), "onnx::MatMul_3")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), tmp_path / "m.onnx")
    (one,) = json.loads(weights(tmp_path / "m.onnx", "--json").out)
    assert (one["trainable"], one["also"], one["stored"]) == (True, ["fc.weight"], "transposed")
    assert "fc.weight (transposed)" in weights(tmp_path / "m.onnx").out
    write_safetensors(tmp_path / "w.safetensors", {"fc.weight": np.full((2, 2), 3, np.float32)})
    done = weights(
        tmp_path / "m.onnx", "--set", tmp_path / "w.safetensors", "-o", tmp_path / "n.onnx", code=4
    )
    assert 'weight "fc.weight" is "onnx::MatMul_3" in the model, transposed; set that one' in done.err


def test_an_op_that_gradc_does_not_read_leaves_it_open(tmp_path: Path):
    graph = helper.make_graph(
        [helper.make_node("Addd", ["x", "w"], ["y"])],
        "g",
        [INFO("x", TensorProto.FLOAT, [2])],
        [INFO("y", TensorProto.FLOAT, [2])],
        [numpy_helper.from_array(np.ones(2, np.float32), "w")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), tmp_path / "m.onnx")
    (one,) = json.loads(weights(tmp_path / "m.onnx", "--json").out)
    assert one["trainable"] is None
    assert "Addd" in one["reason"]


def test_values_out_and_in(source: Path, tmp_path: Path):
    out, tuned = tmp_path / "w.safetensors", tmp_path / "tuned.onnx"
    reported = weights(source, "-o", out).err
    assert "cannot hold s4: codes" in reported
    assert "cannot hold string: words" in reported
    values = read_safetensors(out)
    np.testing.assert_array_equal(values["w"], LARGE)
    assert values["half"].dtype == ml_dtypes.bfloat16
    weights(source, "--set", out, "-o", tuned)
    assert onnx.load(tuned) == onnx.load(source), "the values that it has"

    some = {"w": LARGE + 1, "choice.else_branch/b": np.full(40, 9, np.float32), "k": np.zeros(40, np.float32)}
    write_safetensors(out, some | {"a.b/c": np.array(5, np.float32), "half": np.zeros(2, ml_dtypes.bfloat16)})
    weights(source, "--set", out, "-o", tuned)
    found, want = onnx.load(tuned), model()
    for tensor in want.graph.initializer:
        new = {"w": LARGE + 1, "a.b/c": np.float32(5), "half": np.zeros(2, ml_dtypes.bfloat16)}.get(
            tensor.name
        )
        if new is not None:
            tensor.CopyFrom(numpy_helper.from_array(np.asarray(new), tensor.name))
    want.graph.node[0].attribute[0].t.CopyFrom(numpy_helper.from_array(some["k"]))
    nested = want.graph.node[-1].attribute[
        [a.name for a in want.graph.node[-1].attribute].index("else_branch")
    ]
    nested.g.initializer[0].CopyFrom(numpy_helper.from_array(np.full(40, 9, np.float32), "b"))
    assert found == want


def test_npz(source: Path, tmp_path: Path):
    out, tuned = tmp_path / "w.npz", tmp_path / "tuned.onnx"
    done = weights(source, "-o", out, code=4)
    assert "cannot hold bf16: half; write a .safetensors file" in done.line
    write_npz(out, {"half": np.zeros(2, ml_dtypes.bfloat16), "words": np.array(["x", "yz"])})
    weights(source, "--set", out, "-o", tuned)
    held = {tensor.name: tensor for tensor in onnx.load(tuned).graph.initializer}
    assert list(held["words"].string_data) == [b"x", b"yz"]
    assert held["half"].raw_data == bytes(4)
    plain = gradc.compile(gradc_model())
    plain.save(tmp_path / "p.onnx")
    weights(tmp_path / "p.onnx", "-o", out)
    np.testing.assert_array_equal(np.load(out)["w"], LARGE)


def gradc_model() -> onnx.ModelProto:
    nodes = [helper.make_node("MatMul", ["in", "w"], ["y"], name="product")]
    edge = [INFO("in", TensorProto.FLOAT, [2, 40])], [INFO("y", TensorProto.FLOAT, [2, 40])]
    graph = helper.make_graph(nodes, "g", *edge, [numpy_helper.from_array(LARGE, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def test_external_data_stays_outside(tmp_path: Path):
    (tmp_path / "a").mkdir()
    onnx.save(
        model(), tmp_path / "a" / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=100
    )
    write_safetensors(tmp_path / "w.safetensors", {"w": LARGE + 1})
    tuned = tmp_path / "tuned.onnx"
    weights(tmp_path / "a" / "m.onnx", "--set", tmp_path / "w.safetensors", "-o", tuned)
    assert len(list(tmp_path.glob("tuned.onnx.*.data"))) == 1
    held = {t.name: numpy_helper.to_array(t) for t in onnx.load(tuned).graph.initializer}
    np.testing.assert_array_equal(held["w"], LARGE + 1)
    np.testing.assert_array_equal(held["shared"], np.ones(40))
    onnxruntime.InferenceSession(tuned, providers=["CPUExecutionProvider"])


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "name": ({"ww": LARGE}, 'weight: given "ww", expected a weight of the model; did you mean w?'),
    "shape": ({"w": LARGE[:3]}, 'weight "w": shape: given [3, 40], expected [40, 40]'),
    "dtype": ({"w": LARGE.astype(np.float64)}, 'weight "w": dtype: given f64, expected f32'),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_cannot_be_set(source: Path, tmp_path: Path, wrong: str):
    arrays, message = WRONG[wrong]
    write_safetensors(tmp_path / "w.safetensors", arrays)
    done = weights(source, "--set", tmp_path / "w.safetensors", "-o", tmp_path / "t.onnx", code=4)
    assert done.line == f"error: {message}"
    assert not (tmp_path / "t.onnx").exists()


def test_usage(source: Path, tmp_path: Path):
    weights(source, "--set", "w.safetensors", code=2)
    weights(source, "-o", "w.bin", code=2)
    for name in ("t.npz", "t.safetensors"):
        done = weights(source, "--set", "w.safetensors", "-o", name, code=2)
        assert f"-o: given {name}, expected a name that ends in .onnx" in done.err
    weights(source, "-o", source, code=2)
    weights(tmp_path / "no.onnx", code=4)
    (tmp_path / "w.safetensors").write_bytes(b"\xff" * 9)
    assert "cut short" in weights(source, "--set", tmp_path / "w.safetensors", "-o", "t.onnx", code=4).line


FOLDED = {
    "transposed": [
        helper.make_node("Transpose", ["w"], ["t"], name="turn", perm=[1, 0]),
        helper.make_node("MatMul", ["in", "t"], ["y"], name="product"),
    ],
    "scaled": [
        helper.make_node("Mul", ["w", "s"], ["t"], name="scale"),
        helper.make_node("MatMul", ["in", "t"], ["y"], name="product"),
    ],
    "read as it is, too": [
        helper.make_node("Transpose", ["w"], ["t"], name="turn", perm=[1, 0]),
        helper.make_node("MatMul", ["in", "t"], ["z"], name="product"),
        helper.make_node("MatMul", ["z", "w"], ["y"], name="other"),
    ],
    "equal to another": [
        helper.make_node("MatMul", ["in", "w"], ["z"], name="product"),
        helper.make_node("MatMul", ["z", "w2"], ["y"], name="other"),
    ],
}


def test_a_weight_of_zeros_with_which_an_op_disappeared(tmp_path: Path):
    """The sum of zeros and a mask is the mask; another node still reads the zeros."""
    source, values = gradc_model(), tmp_path / "w.safetensors"
    nodes = [("Identity", ["b"], "copy"), ("Add", ["copy", "m"], "s"), ("Add", ["in", "s"], "q")]
    made = [helper.make_node(op, reads, [result]) for op, reads, result in nodes]
    del source.graph.node[:]
    source.graph.node.extend([*made, helper.make_node("Concat", ["q", "b"], ["y"], axis=0)])
    source.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 4
    arrays = {"b": np.zeros((2, 40), np.float32), "m": LARGE[:2]}
    source.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in arrays.items())
    compiled = gradc.compile(source)
    assert [node.op_type for node in compiled.model.graph.node] == ["Add", "Concat"]
    compiled.save(tmp_path / "c.onnx")
    write_safetensors(values, {"b": np.ones((2, 40), np.float32)})
    done = weights(tmp_path / "c.onnx", "--set", values, "-o", tmp_path / "t.onnx", code=4)
    assert 'weight "b" was transposed, folded or merged' in done.line


@pytest.mark.parametrize("kind", FOLDED)
def test_weights_that_a_compilation_folded(tmp_path: Path, kind: str):
    """Whatever the compilation makes of it: what is set is what the source with these values gives."""
    source = gradc_model()
    del source.graph.node[:]
    source.graph.node.extend(FOLDED[kind])
    source.graph.initializer.append(numpy_helper.from_array(np.full(40, 2, np.float32), "s"))
    source.graph.initializer.append(numpy_helper.from_array(LARGE, "w2"))
    compiled, tuned, values = (tmp_path / name for name in ("c.onnx", "t.onnx", "w.safetensors"))
    gradc.compile(source).save(compiled)
    new = np.random.default_rng(0).standard_normal((40, 40)).astype(np.float32)
    write_safetensors(values, {"w": new})
    done = run_gradc("weights", compiled, "--set", values, "-o", tuned)
    if done.code == 4:
        assert (
            'weight "w" was transposed, folded or merged when gradc compiled the model; set it in the source'
            in done.line
        )
        return
    next(t for t in source.graph.initializer if t.name == "w").CopyFrom(numpy_helper.from_array(new, "w"))
    fed = {"in": np.ones((2, 40), np.float32)}
    got, want = (
        onnxruntime.InferenceSession(m, providers=["CPUExecutionProvider"]).run(None, fed)
        for m in (tuned.read_bytes(), source.SerializeToString())
    )
    np.testing.assert_allclose(got[0], want[0], rtol=1e-4)


def test_weights_of_gradients(tmp_path: Path):
    """A default can be set, also where lowerings fold other weights; a required one is an input."""
    write_safetensors(tmp_path / "w.safetensors", {"w": LARGE + 1})
    for mode, code in (("default", 0), ("required", 4)):
        path = tmp_path / f"{mode}.onnx"
        gradc.grad(gradc_model(), wrt="w", reduce="sum", weights=mode).save(path)
        found = json.loads(weights(path, "--json").out)
        assert next(one["role"] for one in found if one["name"] == "w") == mode
        done = weights(path, "--set", tmp_path / "w.safetensors", "-o", tmp_path / "t.onnx", code=code)
        if code:
            assert (
                '"w" is an input of the model, without a value; `gradc run --inputs` takes its value'
                in done.line
            )


def test_a_model_from_stdin(source: Path, tmp_path: Path):
    piped = run_gradc("weights", "-", "--json", stdin=source.read_bytes())
    assert (piped.code, piped.out) == (0, weights(source, "--json").out)
    values, tuned = tmp_path / "w.safetensors", tmp_path / "tuned.onnx"
    assert run_gradc("weights", "-", "-o", values, stdin=source.read_bytes()).code == 0
    assert run_gradc("weights", "-", "--set", values, "-o", tuned, stdin=source.read_bytes()).code == 0
    assert weights(tuned, "--json").out == piped.out
