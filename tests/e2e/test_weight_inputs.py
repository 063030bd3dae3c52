"""Weights that are given: `--weights`, the file beside the model, and loops that train."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper
from support.cli import run_gradc
from support.runtimes.node import missing_in_node, node
from support.runtimes.runner import require

import gradc
from dialects.support.diagnostics import GradcError
from gradc.files.atomic import Draft
from gradc.files.safetensors import read_safetensors, write_safetensors

NAMES = ["layer/0.weight", "layer/0.bias", "head"]


def classifier(dtype: type = np.float32) -> onnx.ModelProto:
    """Two products with a Tanh between, whose loss is the mean of the squared difference from `y`."""
    rng = np.random.default_rng(0)
    shapes = {"layer/0.weight": (4, 8), "layer/0.bias": (8,), "head": (8, 1)}
    weights = {name: rng.standard_normal(shape).astype(dtype) / 2 for name, shape in shapes.items()}
    nodes = [
        helper.make_node("MatMul", ["x", NAMES[0]], ["a"], name="first"),
        helper.make_node("Add", ["a", NAMES[1]], ["b"], name="shift"),
        helper.make_node("Tanh", ["b"], ["h"]),
        helper.make_node("MatMul", ["h", NAMES[2]], ["p"], name="second"),
        helper.make_node("Sub", ["p", "y"], ["d"]),
        helper.make_node("Mul", ["d", "d"], ["s"]),
        helper.make_node("ReduceMean", ["s"], ["loss"], keepdims=0),
    ]
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "classifier",
        [info("x", kind, ["N", 4]), info("y", kind, ["N", 1])],
        [info("loss", kind, [])],
        [numpy_helper.from_array(array.astype(dtype), name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


DATA = {
    "x": np.random.default_rng(1).standard_normal((16, 4)).astype(np.float32),
    "y": np.random.default_rng(2).standard_normal((16, 1)).astype(np.float32),
}


def step(weights: str, **given: object) -> gradc.Compiled:
    return gradc.value_and_grad(classifier(), wrt=NAMES, weights=weights, **given)


class TestModes:
    def test_required_weights_are_inputs_without_a_value(self):
        required, default, constant = (step(mode) for mode in ("required", "default", "constant"))
        assert [info.name for info in required.inputs] == ["x", "y", *NAMES]
        assert not required.optional_inputs
        assert [info.name for info in default.inputs] == [info.name for info in constant.inputs] == ["x", "y"]
        assert [info.name for info in default.optional_inputs] == NAMES
        assert not constant.optional_inputs
        assert list(required.weights) == NAMES
        assert not {*NAMES} & {tensor.name for tensor in required.model.graph.initializer}
        want = default.run(DATA)
        for found in (required.run({**DATA, **required.weights}), constant.run(DATA)):
            for name, array in want.items():
                np.testing.assert_allclose(found[name], array, rtol=1e-6)
        with pytest.raises(GradcError, match="missing inputs: expected layer/0"):
            required.run(DATA)
        with pytest.raises(ValueError, match="read-only"):
            required.weights["head"][:] = 0

    def test_the_file_beside_the_model(self, tmp_path: Path):
        path, beside = tmp_path / "m.onnx", tmp_path / "m.onnx.weights.safetensors"
        step("required").save(path)
        first = path.read_bytes(), beside.read_bytes()
        for name, array in read_safetensors(beside).items():
            want = next(tensor for tensor in classifier().graph.initializer if tensor.name == name)
            np.testing.assert_array_equal(array, numpy_helper.to_array(want))
        assert "layer/0.weight" in [info.name for info in gradc.compile(path).inputs]
        step("required", check=False).save(path)
        assert (path.read_bytes(), beside.read_bytes()) == first
        with pytest.warns(UserWarning, match="of an earlier model"):
            step("default").save(path)
        assert beside.is_file()

    @pytest.mark.parametrize("external", [False, True])
    def test_a_save_that_fails_leaves_both_as_they_were(self, tmp_path: Path, monkeypatch, external: bool):
        path, beside = tmp_path / "m.onnx", tmp_path / "m.onnx.weights.safetensors"
        compiled = step("required", check=False)
        for former in (None, b"former"):
            if former:
                path.write_bytes(former)
                beside.write_bytes(former)
            with monkeypatch.context() as patched:
                patched.setattr(Draft, "publish", failing(Draft.publish))
                with pytest.raises(GradcError, match="no space"):
                    compiled.save(path, external_data=external)
            kept = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
            assert kept == ({} if former is None else {path.name: former, beside.name: former})

    def test_half_types_and_external_data(self, tmp_path: Path):
        model = classifier(np.float16)
        compiled = gradc.grad(model, wrt=NAMES, weights="required", cotangents=True, keep_outputs="all")
        compiled.save(tmp_path / "m.onnx", external_data=True)
        beside = read_safetensors(tmp_path / "m.onnx.weights.safetensors")
        assert [array.dtype for array in beside.values()] == [np.dtype(np.float16)] * 3

    def test_second_derivatives_and_vectors(self):
        hvp = gradc.hvp(classifier(), wrt="head", weights="required")
        assert "head" in [info.name for info in hvp.inputs]
        assert list(hvp.weights) == ["head"]


class TestAliases:
    @pytest.mark.parametrize(("as_inputs", "mode"), [(True, "default"), (False, "constant")])
    def test_the_deprecated_flag(self, as_inputs: bool, mode: str):
        with pytest.warns(DeprecationWarning, match="use weights"):
            found = gradc.grad(classifier(), wrt="head", weights_as_inputs=as_inputs, check=False)
        want = gradc.grad(classifier(), wrt="head", weights=mode, check=False)
        assert found.model == want.model

    def test_both_at_once(self):
        both = pytest.raises(gradc.GradcError, match="one of the two")
        with pytest.warns(DeprecationWarning, match="use weights"), both:
            gradc.grad(classifier(), weights="default", weights_as_inputs=True)

    def test_another_word(self):
        with pytest.raises(gradc.GradcError, match=r"weights: given 'defaults', .*did you mean default"):
            gradc.grad(classifier(), weights="defaults")


def failing(publish: Callable[[Draft, Path], None]) -> Callable[[Draft, Path], None]:
    """`Draft.publish`, which fails at the model."""

    def fail(self: Draft, target: Path) -> None:
        if target.name == "m.onnx":
            raise OSError(28, "no space")
        publish(self, target)

    return fail


def test_the_command_line(tmp_path: Path):
    source, output = tmp_path / "c.onnx", tmp_path / "m.onnx"
    onnx.save(classifier(), source)
    requested = ("grad", source, "--wrt", "*weight", "--wrt", "head", "--weights", "required")
    assert run_gradc(*map(str, requested), "-o", str(output)).code == 0
    beside = f"{output}.weights.safetensors"
    np.savez(tmp_path / "x.npz", **DATA)
    inputs = ("--inputs", str(tmp_path / "x.npz"), "--inputs", beside)
    for command in ("run", "verify"):
        done = run_gradc(command, str(output), *inputs)
        assert done.code == 0, done.err
        assert run_gradc(command, str(output), "--constants", beside).code == 0
    done = run_gradc(*map(str, requested), "-o", "-")
    assert (done.code, "two files" in done.err) == (2, True)
    again = (
        "grad",
        str(output),
        "--constants",
        beside,
        "--of",
        "grad_head",
        "--reduce",
        "sum",
        "--wrt",
        "head",
    )
    done = run_gradc(*again, "--weights", "required", "-o", str(tmp_path / "again.onnx"))
    assert done.code == 0, done.err
    assert (tmp_path / "again.onnx.weights.safetensors").is_file()
    for command in (("grad", "--of", "grad_head", "--reduce", "sum", "--wrt", "x"), ("compile",)):
        later = tmp_path / "later.onnx"
        assert run_gradc(*command, str(output), "-o", str(later)).code == 0
        listed = json.loads(run_gradc("weights", str(later), "--json").out)
        read = {info.name for info in onnx.load(later).graph.input} - set(DATA)
        assert {one["name"] for one in listed if one["role"] == "required"} == read > {"head"}
    for alias in ("--weights-as-inputs", "--no-weights-as-inputs"):
        done = run_gradc(*map(str, requested), alias, "-o", str(tmp_path / "both.onnx"))
        assert (done.code, f"--weights required and its deprecated alias {alias}" in done.err) == (2, True)
    Path(beside).write_bytes(b"\xff" * 20)
    done = run_gradc("run", str(output), *inputs)
    assert (done.code, done.err.count("\n")) == (4, 1)


RATE, STEPS = 0.1, 20


def written(tmp_path: Path, mode: str) -> tuple[Path, Path]:
    """The model, and a training step of it whose weights are stored in one of the modes."""
    source, output = tmp_path / "c.onnx", tmp_path / f"{mode}.onnx"
    onnx.save(classifier(), source)
    step(mode, of="loss", check=False).save(output)
    return source, output


def check_trained(source: Path, losses: list[float], trained: Path) -> None:
    """The losses fall as those of numpy's loop do, and the model with the trained weights has the last."""
    np.testing.assert_allclose(losses, expected_losses(), rtol=1e-4)
    assert losses[-1] < losses[0] / 2
    tuned = source.with_name("tuned.onnx")
    done = run_gradc("weights", source, "--set", trained, "-o", tuned)
    assert done.code == 0, done.err
    loss = gradc.compile(tuned).run(DATA)["loss"]
    np.testing.assert_allclose(loss, expected_losses(1)[-1], rtol=1e-4)


@functools.cache
def expected_losses(more: int = 0) -> list[float]:
    """The losses of gradient descent, written out in float64."""
    weights = {t.name: numpy_helper.to_array(t).astype(np.float64) for t in classifier().graph.initializer}
    first, shift, head = (weights[name] for name in NAMES)
    losses = []
    for _ in range(STEPS + more):
        hidden = np.tanh(DATA["x"] @ first + shift)
        difference = hidden @ head - DATA["y"]
        losses.append(float((difference**2).mean()))
        given = 2 * difference / len(difference)
        inner = given @ head.T * (1 - hidden**2)
        head = head - RATE * hidden.T @ given
        first, shift = first - RATE * DATA["x"].T @ inner, shift - RATE * inner.sum(0)
    return losses


@pytest.mark.parametrize("mode", ["required", "default"])
def test_a_loop_in_python(tmp_path: Path, mode: str):
    source, output = written(tmp_path, mode)
    session = onnxruntime.InferenceSession(output, providers=["CPUExecutionProvider"])
    compiled = gradc.compile(source)
    weights = dict(step(mode, check=False).weights)
    losses = []
    for _ in range(STEPS):
        loss, *gradients = session.run(["loss", *(f"grad_{name}" for name in NAMES)], {**DATA, **weights})
        losses.append(float(loss))
        weights = {
            name: weights[name] - np.float32(RATE) * g for name, g in zip(NAMES, gradients, strict=True)
        }
    write_safetensors(tmp_path / "trained.safetensors", weights)
    check_trained(source, losses, tmp_path / "trained.safetensors")
    assert compiled.weights == {}


class TestJavascript:
    """Loops in Node on onnxruntime-node and onnxruntime-web, and what these make of a given default."""

    RUNTIMES = ("onnxruntime-node", "onnxruntime-web")
    GIVEN = """
        import { readFile } from "node:fs/promises";
        const [runtime, model] = process.argv.slice(1);
        const ort = await import(runtime);
        if (runtime === "onnxruntime-web") ort.env.wasm.numThreads = 1;
        const zeros = (...dims) =>
          new ort.Tensor("float32", new Float32Array(dims.reduce((a, b) => a * b)), dims);
        const session = await ort.InferenceSession.create(await readFile(model));
        const feeds = { x: zeros(16, 4), y: zeros(16, 1), head: zeros(8, 1) };
        try {
          console.log((await session.run(feeds)).loss.data[0]);
        } catch (error) {
          console.log(String(error.message));
        }
    """

    @pytest.fixture(params=RUNTIMES)
    def runtime(self, request: pytest.FixtureRequest) -> str:
        require(missing_in_node(request.param))
        return request.param

    def test_a_loop(self, tmp_path: Path, runtime: str):
        source, output = written(tmp_path, "required")
        write_safetensors(tmp_path / "data.safetensors", DATA)
        trained = tmp_path / "trained.safetensors"
        out = node("train.mjs", runtime, output, tmp_path / "data.safetensors", trained)
        check_trained(source, json.loads(out), trained)

    def test_a_default_that_is_given(self, tmp_path: Path, runtime: str):
        """With zeros as `head` and `y` the loss is 0. docs/weights.md says which runtime accepts defaults."""
        _, output = written(tmp_path, "default")
        out = node("--input-type=module", "-e", self.GIVEN, runtime, output)
        if runtime == "onnxruntime-node":
            assert float(out) > 0, "onnxruntime-node takes the default"
        else:
            assert "head" in out


def test_inputs_with_defaults_that_compile_makes_constants(tmp_path: Path):
    text = '<ir_version: 8, opset_import: ["": 18]> g (float[2, 3] x) => (float[2, 2] y) '
    source = onnx.parser.parse_model(text + "<float[3, 2] w = {1, 2, 3, 4, 5, 6}> { y = MatMul (x, w) }")
    gradient = gradc.grad(source, wrt=["w"], reduce="sum", weights="default")
    assert [info.name for info in gradient.optional_inputs] == ["w"]
    expected_message = "w: inputs with defaults in the source, constants here"
    assert any(expected_message in remark.message for remark in gradc.compile(gradient.model).remarks)
    assert not any(
        "defaults" in remark.message for remark in (*gradient.remarks, *gradc.compile(source).remarks)
    )


@pytest.mark.parametrize("weights", ["required", "default"])
def test_weights_of_a_gradient_are_selected_again(weights: str, tmp_path: Path):
    _, output = written(tmp_path, weights)
    found = gradc.grad(output, of="grad_head", wrt=":weights", reduce="sum", check=False)
    assert set(found.gradients) == set(NAMES)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--wrt", ":weights"], NAMES),
        (["--wrt", ":weights", "--wrt", "x"], [*NAMES, "x"]),
        (["--wrt", ":weights", "--frozen", "layer/*", "--untie"], ["head"]),
        (["--wrt", ":weights", "--frozen", "head", "--frozen", "*.bias"], ["layer/0.weight"]),
        (["--frozen", "y"], ["x"]),
        (["--wrt", ":inputs"], ["x", "y"]),
    ],
)
def test_words_and_frozen_names_on_the_command_line(options: list[str], names: list[str], tmp_path: Path):
    source, out = tmp_path / "m.onnx", tmp_path / "g.onnx"
    onnx.save(classifier(), source)
    done = run_gradc("grad", source, "--of", "loss", *options, "-o", out, "--no-check", "--json")
    assert done.code == 0, done.err
    assert [one.name for one in onnx.load(out).graph.output] == [f"grad_{name}" for name in names]


def test_mistakes_in_frozen_names_on_the_command_line(tmp_path: Path):
    source = tmp_path / "m.onnx"
    onnx.save(classifier(), source)
    out = ("-o", tmp_path / "g.onnx")
    done = run_gradc("grad", source, "--of", "loss", "--wrt", ":weights", "--frozen", "haed", *out)
    assert done.code == 2
    assert "error: --frozen: no value matches haed; did you mean head" in done.err
    done = run_gradc("grad", source, "--of", "loss", "--wrt", "head", "--frozen", "he*", *out)
    assert "--wrt and --frozen: given head in --wrt and in --frozen, expected each name in one" in done.err
