"""`gradc.jacobian` and several cotangents in one run, against numpy and single runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest

import gradc
from gradc.verification.gradient_spec import CheckError
from passes.vectorize import jacobian_pass
from tests.support.cli import run_gradc

Arrays = Mapping[str, np.ndarray]
Oracle = Callable[[onnx.ModelProto, str, str, Arrays], np.ndarray]

DYNAMIC = """<ir_version: 10, opset_import: ["": 18]>
two (float[N,4] x, float[4,3] w) => (float[N,3] y, float[3] z) <int64[1] first = {0}> {
    h = MatMul(x, w)
    y = Tanh(h)
    z = ReduceSum <keepdims = 0> (y, first)
}"""
DOUBLE = DYNAMIC.replace("float", "double").replace("N,", "2,")
GATES = """<ir_version: 10, opset_import: ["": 18]>
gates (float[1,3,4,4] x, float[2,3,3,3] k) => (float[1,2] y) {
    c = Conv <pads = [1,1,1,1]> (x, k)
    m = MaxPool <kernel_shape = [2,2], strides = [2,2]> (c)
    s = Softmax <axis = 1> (m)
    p = GlobalAveragePool (s)
    y = Flatten (p)
}"""
SCALAR = '<ir_version: 10, opset_import: ["": 18]> s (double x) => (double y) { y = Exp(x) }'


def model(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(text)


def drawn(compiled: gradc.Compiled, n: int = 2) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = {one.name: [n if isinstance(d, str) else d for d in one.shape or ()] for one in compiled.inputs}
    dtypes = {one.name: np.float64 if one.dtype == "f64" else np.float32 for one in compiled.inputs}
    return {name: np.asarray(rng.normal(size=shape), dtypes[name]) for name, shape in shapes.items()}


def differences(source: onnx.ModelProto, of: str, wrt: str, inputs: Arrays) -> np.ndarray:
    """The Jacobian by central differences, in float64."""
    function = gradc.compile(source)
    x = inputs[wrt]
    columns = []
    for index in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[index] = 1e-5
        up, down = (function.run({**inputs, wrt: x + sign * step})[of] for sign in (1, -1))
        columns.append((up - down) / 2e-5)
    return np.moveaxis(np.array(columns), 0, -1).reshape((*columns[0].shape, *x.shape))


def rows(source: onnx.ModelProto, of: str, wrt: str, inputs: Arrays) -> np.ndarray:
    """The Jacobian by a run for each row."""
    vjp, shape = gradc.vjp(source, of=of, wrt=wrt), gradc.compile(source).run(inputs)[of].shape
    units = np.eye(int(np.prod(shape)), dtype=inputs[wrt].dtype).reshape(-1, *shape)
    found = [vjp.run({**inputs, f"cotangent_{of}": unit})[f"grad_{wrt}"] for unit in units]
    return np.array(found).reshape((*shape, *inputs[wrt].shape))


@pytest.mark.parametrize(
    ("text", "oracle"),
    [(DOUBLE, differences), (SCALAR, differences), (GATES, rows)],
    ids=["two results", "scalars", "a network"],
)
@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_against_differences_and_single_rows(text: str, oracle: Oracle, mode: str):
    source = model(text)
    of = [one.name for one in source.graph.output]
    found = gradc.jacobian(source, of=of, mode=mode, check=True)
    assert found.proof is not None
    assert found.proof.status == "proved"
    inputs = drawn(found)
    results = found.run(inputs)
    assert {(one.of, one.wrt) for one in found.derivatives} == {
        ((y,), (x.name,)) for y in of for x in source.graph.input
    }
    for one in found.derivatives:
        expected = oracle(source, *one.of, *one.wrt, inputs)
        np.testing.assert_allclose(results[one.result], expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("batch", [0, 1, 3])
def test_dynamic_sizes(batch: int, mode: str):
    found = gradc.jacobian(model(DYNAMIC), of=["y", "z"], wrt="x", mode=mode)
    inputs = drawn(found, batch)
    results = found.run(inputs)
    y = np.tanh(inputs["x"] @ inputs["w"])
    slope = np.einsum("nj,ij,nm->njmi", 1 - y**2, inputs["w"], np.eye(batch))
    np.testing.assert_allclose(results["jacobian_y_x"], slope, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(results["jacobian_z_x"], slope.sum(0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_an_element_and_an_inner_value(mode: str):
    found = gradc.jacobian(model(DYNAMIC), of="y[:,1]", wrt="h", keep_outputs="of", mode=mode)
    assert [one.name for one in found.outputs] == ["y", "jacobian_y[:,1]_h"]
    inputs = drawn(found)
    results = found.run(inputs)
    expected = np.zeros((2, 2, 3))
    expected[[0, 1], [0, 1], 1] = 1 - results["y"][:, 1] ** 2
    np.testing.assert_allclose(results["jacobian_y[:,1]_h"], expected, rtol=1e-5, atol=1e-6)


def test_names_scales_and_weights():
    source = model(GATES)
    kernel = onnx.numpy_helper.from_array(np.random.default_rng(1).normal(size=(2, 3, 3, 3)).astype("f"), "k")
    del source.graph.input[1]
    source.graph.initializer.append(kernel)
    found = gradc.jacobian(
        source, wrt="k", rename={"jacobian_y_k": "J"}, scale={"J": -2.0}, weights="required", check=True
    )
    assert [one.name for one in found.inputs] == ["x", "k"]
    assert [one.result for one in found.derivatives] == ["J"]
    assert found.gradients == {"k": "J"}
    plain = gradc.jacobian(source, wrt="k")
    x = drawn(plain)
    expected = plain.run(x)["jacobian_y_k"]
    np.testing.assert_allclose(found.run({**x, **found.weights})["J"], -2 * expected)


@pytest.mark.parametrize(("rows", "mode"), [(1, "reverse"), (9, "forward")])
def test_the_smaller_side_is_computed(rows: int, mode: str):
    source = model(
        DOUBLE.replace("double[2,3] y", f"double[{rows},3] y").replace("double[2,4]", f"double[{rows},4]")
    )
    found = gradc.jacobian(source, of="y", wrt="w")
    assert found.proto == gradc.jacobian(source, of="y", wrt="w", mode=mode).proto


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_a_value_without_influence_is_zero(mode: str):
    found = gradc.jacobian(model(DOUBLE), of="h", wrt=["x", "z"], allow_unused=True, mode=mode, check=True)
    inputs = drawn(found)
    results = found.run(inputs)
    assert results["jacobian_h_z"].shape == (2, 3, 3)
    assert not results["jacobian_h_z"].any()
    assert results["jacobian_h_x"].any()


def test_names_that_collide():
    text = DYNAMIC.replace("float[4,3] w", "float[4,3] jacobian_y_x").replace("(x, w)", "(x, jacobian_y_x)")
    with pytest.raises(gradc.UsageError, match="jacobian_y_x"):
        gradc.jacobian(model(text), of="y", wrt="x")


def test_a_wrong_block_is_found(monkeypatch: pytest.MonkeyPatch):
    right = jacobian_pass._identity_rows
    monkeypatch.setattr(jacobian_pass, "_identity_rows", lambda *given: 2 * right(*given))
    with pytest.raises(CheckError, match="jacobian_y_x of the compiled model is wrong"):
        gradc.jacobian(model(DOUBLE), of="y", wrt="x")


@pytest.mark.parametrize("rows", [1, 3, "K"])
def test_several_cotangents(rows: int | str):
    source = model(DYNAMIC)
    found = gradc.vjp(source, of=["y", "z"], num_cotangents=rows, keep_outputs="all", check=True)
    assert found.proof is not None
    assert found.proof.status == "proved"
    single = gradc.vjp(source, of=["y", "z"])
    count = rows if isinstance(rows, int) else 4
    inputs = drawn(single)
    rng = np.random.default_rng(3)
    stacks = {
        name: rng.normal(size=(count, *array.shape)).astype(np.float32)
        for name, array in inputs.items()
        if name.startswith("cotangent")
    }
    results = found.run({**inputs, **stacks})
    assert results["y"].shape == (2, 3)
    for row in range(count):
        expected = single.run({**inputs, **{name: stack[row] for name, stack in stacks.items()}})
        for name, array in expected.items():
            np.testing.assert_allclose(results[name][row], array, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("rows", [1, 3, "K"])
def test_several_tangents(rows: int | str):
    source = model(DYNAMIC)
    found = gradc.jvp(source, of=["y", "z"], wrt="x", num_tangents=rows, check=True)
    assert found.proof is not None
    assert found.proof.status == "proved"
    single = gradc.jvp(source, of=["y", "z"], wrt="x")
    inputs = drawn(single)
    stack = np.random.default_rng(3).normal(size=(rows if isinstance(rows, int) else 4, 2, 4))
    results = found.run({**inputs, "tangent_x": stack.astype(np.float32)})
    for row, tangent in enumerate(stack):
        expected = single.run({**inputs, "tangent_x": tangent.astype(np.float32)})
        for name, array in expected.items():
            np.testing.assert_allclose(results[name][row], array, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("rows", "remedy"), [(0, "a number >= 1"), (True, "a number >= 1"), ("N", "no other dim")]
)
def test_wrong_numbers_of_cotangents(rows: int | str, remedy: str):
    with pytest.raises(gradc.UsageError, match=remedy):
        gradc.vjp(model(DYNAMIC), of="y", num_cotangents=rows)


def test_a_wrong_row_is_found(monkeypatch: pytest.MonkeyPatch):
    from passes.vectorize.batch import Batch

    right = Batch.align
    monkeypatch.setattr(Batch, "align", lambda *given: right(*given) * 2)
    with pytest.raises(CheckError, match="of the compiled model is wrong"):
        gradc.vjp(model(DYNAMIC), of="y", num_cotangents=2)


def test_the_command(tmp_path: Path):
    path, out = tmp_path / "m.onnx", tmp_path / "jacobian.onnx"
    onnx.save(model(DYNAMIC), path)
    assert run_gradc("jacobian", path, "--of", "y", "--wrt", "x", "-o", out).code == 0
    assert onnx.load(out) == gradc.jacobian(str(path), of="y", wrt="x").proto
    assert run_gradc("grad", path, "--of", "y", "--num-cotangents", "K", "-o", out).code == 0
    assert onnx.load(out) == gradc.vjp(str(path), of="y", num_cotangents="K").proto
    assert "jacobian_rows" in run_gradc("jacobian", path, "--of", "y", "--stop-after", "jacobian").out
    assert "'sideways' is not one of" in run_gradc("jacobian", path, "--mode", "sideways", "-o", out).err


HALVES = ("float16", "bfloat16")


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("derivative", ["rows", "tangents", "forward", "samples"])
def test_half_types_are_proved(dtype: str, derivative: str):
    """Rows of the check are exact in a half type, so that no rounding of theirs looks like a fault."""
    source = model(DYNAMIC.replace("float", dtype))
    found = {
        "rows": lambda: gradc.vjp(source, of="y", num_cotangents="K", check=True),
        "tangents": lambda: gradc.jvp(source, of="y", num_tangents=4, check=True),
        "forward": lambda: gradc.jacobian(source, of="y", wrt="x", mode="forward", check=True),
        "samples": lambda: gradc.vjp(source, of="y", wrt="w", per_sample=True, check=True),
    }[derivative]()
    assert found.proof is not None
    assert found.proof.whole


@pytest.mark.parametrize("target", ["cpu", "cuda", "portable", "openvino", "tract"])
@pytest.mark.parametrize("opset", [13, 18, 21])
def test_every_target_has_the_ops_of_dynamic_rows(target: str, opset: int):
    for mode in ("forward", "reverse"):
        found = gradc.jacobian(
            model(DYNAMIC), of=["y", "z"], wrt="x", mode=mode, target=target, opset=opset, check=False
        )
        assert [one.name for one in found.outputs] == ["jacobian_y_x", "jacobian_z_x"]
