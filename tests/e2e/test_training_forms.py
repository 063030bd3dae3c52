"""`batchnorm` and `dropout` of derivatives, against PyTorch in training mode."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.cli import run_gradc

import gradc
from passes.pipelines import DIFFERENTIATE

MOMENTUM = 0.25
"""PyTorch's; ONNX's is 0.75, which f32 has exactly."""

RATIO = 0.25
X = np.random.default_rng(0).normal(size=(5, 3, 2, 2))
COTANGENT = np.random.default_rng(1).normal(size=(5, 3, 2, 2))


def weights() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(2)
    found = {"lin.weight": rng.normal(size=(2, 2))}
    for name in ("bn1", "bn2"):
        found |= {f"{name}.{part}": rng.normal(size=3) for part in ("weight", "bias", "running_mean")}
        found[f"{name}.running_var"] = rng.uniform(0.5, 2, size=3)
    return found


@pytest.fixture(scope="module")
def model() -> onnx.ModelProto:
    """MatMul, BatchNormalization, Dropout, BatchNormalization, as exported for inference."""
    parts = ("weight", "bias", "running_mean", "running_var")
    nodes = [
        helper.make_node("MatMul", ["x", "lin.weight"], ["c"]),
        helper.make_node(
            "BatchNormalization", ["c", *(f"bn1.{p}" for p in parts)], ["n"], momentum=1 - MOMENTUM
        ),
        helper.make_node("Dropout", ["n", "ratio"], ["d"], name="drop"),
        helper.make_node(
            "BatchNormalization", ["d", *(f"bn2.{p}" for p in parts)], ["y"], momentum=1 - MOMENTUM
        ),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.DOUBLE, ["N", 3, 2, 2]) for name in ("x", "y"))
    stored = [numpy_helper.from_array(array, name) for name, array in weights().items()]
    stored.append(numpy_helper.from_array(np.array(RATIO), "ratio"))
    graph = helper.make_graph(nodes, "g", [x], [y], stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8)


@pytest.fixture
def path(model: onnx.ModelProto, tmp_path: Path) -> Path:
    onnx.save(model, tmp_path / "model.onnx")
    return tmp_path / "model.onnx"


def in_torch(mask: np.ndarray | float = 1.0, training: bool = True):
    """Return the value, the gradients by name, and the running statistics of one step of PyTorch in f64."""
    torch = pytest.importorskip("torch")
    given = {name: torch.tensor(array) for name, array in weights().items()}
    wrt = [name for name in given if "running" not in name]
    for name in wrt:
        given[name].requires_grad_()
    x = torch.tensor(X, requires_grad=True)

    def norm(name: str, value):
        mean, variance, *affine = (
            given[f"{name}.{part}"] for part in ("running_mean", "running_var", "weight", "bias")
        )
        return torch.nn.functional.batch_norm(value, mean, variance, *affine, training, MOMENTUM)

    z = norm("bn1", x @ given["lin.weight"]) * torch.tensor(mask)
    y = norm("bn2", z)
    y.backward(torch.tensor(COTANGENT))
    gradients = {"grad_x": x.grad.numpy(), **{f"grad_{name}": given[name].grad.numpy() for name in wrt}}
    states = {f"new_{name}": given[name].numpy() for name in given if "running" in name}
    return y.detach().numpy(), gradients, states


WRT = ["x", ":weights"]


def assert_equal(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-8, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("form", ["default", "required", "constant"])
def test_a_step_with_batch_statistics(model: onnx.ModelProto, form: str):
    compiled = gradc.vjp(model, wrt=WRT, batchnorm="train", keep_outputs="of", weights=form, check=True)
    assert compiled.proof.status == "proved"
    y, gradients, states = in_torch()
    given = {"x": X, "cotangent_y": COTANGENT}
    found = compiled.run({**given, **(compiled.required_weights if form == "required" else {})})
    assert list(found) == ["y", *states, *gradients]
    assert_equal(found, {"y": y, **gradients, **states})
    assert ("bn1.running_mean" in compiled.weights) is (form != "constant")
    if form == "default":
        other = {"bn2.running_mean": np.zeros(3), "bn2.running_var": np.zeros(3)}
        again = compiled.run({**given, **other})
        assert_equal(again, {"y": y, **gradients})
        old = weights()["bn2.running_mean"] * (1 - MOMENTUM)
        np.testing.assert_allclose(
            again["new_bn2.running_mean"], states["new_bn2.running_mean"] - old, rtol=1e-9
        )


def test_a_step_with_both(model: onnx.ModelProto):
    """The mask is read from the gradient of the Dropout itself."""
    seed = np.array(11, np.int64)
    alone = gradc.vjp(model, wrt="n", of="d", dropout="hashed")
    (mask,) = alone.run({"x": X, "seed": seed, "cotangent_d": np.ones_like(X)}).values()
    assert set(np.round(np.unique(mask), 6)) == {0, round(1 / (1 - RATIO), 6)}
    y, gradients, states = in_torch(mask)
    compiled = gradc.vjp(model, wrt=WRT, batchnorm="train", dropout="hashed", keep_outputs="of", check=True)
    assert compiled.proof.status == "proved"
    found = compiled.run({"x": X, "cotangent_y": COTANGENT, "seed": seed})
    assert_equal(found, {"y": y, **gradients, **states})
    other = compiled.run({"x": X, "cotangent_y": COTANGENT, "seed": np.array(12, np.int64)})
    assert not np.allclose(other["y"], y)


@pytest.mark.parametrize(
    "options", [{}, {"batchnorm": "eval"}, {"dropout": "keep"}, {"dropout": "off"}], ids=str
)
def test_other_words_leave_inference_as_it_is(model: onnx.ModelProto, options: dict[str, str]):
    y, gradients, _ = in_torch(training=False)
    compiled = gradc.vjp(model, wrt=WRT, keep_outputs="of", check=True, **options)
    found = compiled.run({"x": X, "cotangent_y": COTANGENT})
    assert list(found) == ["y", *gradients]
    assert_equal(found, {"y": y, **gradients})


def test_eval_turns_training_off(model: onnx.ModelProto):
    training = onnx.ModelProto.FromString(model.SerializeToString())
    for node in training.graph.node:
        if node.op_type == "BatchNormalization":
            node.attribute.append(helper.make_attribute("training_mode", 1))
            node.output.extend([f"{node.output[0]}.mean", f"{node.output[0]}.var"])
    y, gradients, _ = in_torch(training=False)
    found = gradc.vjp(training, wrt=WRT, batchnorm="eval", keep_outputs="of").run(
        {"x": X, "cotangent_y": COTANGENT}
    )
    assert_equal(found, {"y": y, **gradients})


def test_second_derivatives_have_the_same_forms(model: onnx.ModelProto):
    of = "y[0,0,0,0]"
    compiled = gradc.hvp(model, wrt="x", of=of, batchnorm="train", dropout="hashed", check=True)
    assert compiled.proof.status == "proved"
    seed, along, step = np.array(3, np.int64), np.random.default_rng(5).normal(size=X.shape), 1e-5
    first = gradc.grad(model, wrt="x", of=of, batchnorm="train", dropout="hashed")
    ends = [first.run({"x": X + side * step * along, "seed": seed})["grad_x"] for side in (1, -1)]
    found = compiled.run({"x": X, "seed": seed, "tangent_x": along})["hvp_x"]
    np.testing.assert_allclose(found, (ends[0] - ends[1]) / (2 * step), rtol=1e-5, atol=1e-7)


def test_the_command_and_its_passes(path: Path):
    out = path.parent / "g.onnx"
    words = ("--batchnorm", "train", "--dropout", "hashed")
    result = run_gradc("grad", path, "--cotangents", *words, "-o", out, "--print-ir-after-all")
    assert result.code == 0
    shown = [line.split()[4] for line in result.err.splitlines() if line.startswith("// -----")]
    at = shown.index("batchnorm-train")
    assert shown[at : at + 3] == ["batchnorm-train", "hash-dropout", DIFFERENTIATE[0]]
    graph = onnx.load(out).graph
    assert [one.name for one in graph.output][-1] == "grad_x"
    assert {"new_bn1.running_mean", "new_bn2.running_var"} <= {one.name for one in graph.output}
    assert "seed" in {one.name for one in graph.input}


@pytest.mark.parametrize("opset", [13, 15, 18, 23])
@pytest.mark.parametrize("target", ["cpu", "portable", "cuda"])
def test_targets_and_opsets(model: onnx.ModelProto, target: str, opset: int):
    compiled = gradc.vjp(
        model, batchnorm="train", dropout="hashed", target=target, opset=opset, check=False, wrt="bn1.weight"
    )
    if target == "cuda":
        return
    given = {"x": X, "cotangent_y": COTANGENT, "seed": np.array(11, np.int64)}
    expected = gradc.vjp(model, batchnorm="train", dropout="hashed", check=False, wrt="bn1.weight").run(given)
    assert_equal(compiled.run(given), expected)


def test_a_file_without_them_gets_remarks():
    header = '<ir_version: 8, opset_import: ["": 18]> m (float[N] x) => (float y)'
    text = f"{header} {{y = ReduceSumSquare<keepdims = 0>(x)}}"
    compiled = gradc.grad(onnx.parser.parse_model(text), batchnorm="train", dropout="hashed")
    assert [str(one) for one in compiled.remarks] == [
        "remark: the file has no BatchNormalization to train; an export in evaluation mode folds them into "
        "products",
        "remark: the file has no Dropout with a ratio above 0; an export in evaluation mode has none",
    ]


@pytest.mark.parametrize(("option", "word"), [("batchnorm", "yes"), ("dropout", "hash")])
def test_an_unknown_word(model: onnx.ModelProto, option: str, word: str):
    with pytest.raises(gradc.GradcError, match=f"{option}: given .{word}., expected"):
        gradc.grad(model, **{option: word})


@pytest.mark.parametrize("name", ["n", "d", "drop", "y"])
def test_names_of_values_and_nodes_stay(model: onnx.ModelProto, name: str):
    """Of the ops of a training form only the one that makes the value has the name of the node."""
    options = {"batchnorm": "train", "dropout": "hashed", "reduce": "mean", "keep_outputs": [name]}
    compiled = gradc.grad(model, wrt=name, of="y", **options)
    given = {"x": X, "seed": np.array(11, np.int64)}
    found = compiled.run(given)
    assert found[name].shape == found[f"grad_{name}"].shape == X.shape
    kept = gradc.grad(model, wrt="x", **{**options, "keep_outputs": ["d"]}).run(given)["d"]
    if name in ("d", "drop"):
        np.testing.assert_array_equal(found[name], kept)
    stopped = gradc.grad(model, wrt="bn2.weight", stop_gradient=name, allow_unused=True, **options)
    assert (stopped.run(given)["grad_bn2.weight"] == 0).all() == (name == "y")
