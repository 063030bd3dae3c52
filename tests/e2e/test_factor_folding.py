"""Factors beside products of constant weights: a gradient has none of them, and its numbers are the same."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from support.onnx_models import model_of

import gradc

SHAPES = {
    "w": (6, 4, 3, 3),
    "u": (4, 6, 2, 2),
    "g": (4, 2, 3, 3),
    "thin": (1, 4, 3),
    "m": (4, 6),
    "m2": (4, 6),
}
SHAPES |= {
    "n": (6, 5),
    "k": (6, 4),
    "b5": (5,),
    "c6": (6, 1, 1),
    "c4": (4, 1, 1),
    "r4": (1, 4, 1),
    "col": (3, 1),
}
SHAPES |= dict.fromkeys(("s6", "b6", "a6", "v6"), (6,)) | dict.fromkeys(("s4", "b4", "a4", "v4"), (4,))
NUMBERS = {"root": 1.4142135, "half": 0.5, "unit": 1.0, "zero": 0.0, "six": 6.0}
SIZES = {"halves": [1, 2], "rows": [-1, 4]}

IMAGE, ROWS = "float[N, 4, 7, 7] x", "float[N, 3, 4] x"
BN6 = "BatchNormalization(h, s6, b6, a6, v6)"
WIDE = "h = MatMul(x, m) a = Add(h, b6)"
NARROW = "z = MatMul(p, n) y = Add(z, b5)"

FOLDED = {
    "conv_bn": (IMAGE, f"h = Conv(x, w) p = {BN6} y = Tanh(p)", {"BatchNormalization": 0, "Mul": 2}),
    "conv_bias_bn": (IMAGE, f"h = Conv(x, w, b6) p = {BN6} y = Tanh(p)", {"BatchNormalization": 0}),
    "conv_transpose_bn": (IMAGE, f"h = ConvTranspose(x, u) p = {BN6} y = Tanh(p)", {"BatchNormalization": 0}),
    "grouped_conv_bn": (
        IMAGE,
        "h = Conv <group = 2> (x, g) p = BatchNormalization(h, s4, b4, a4, v4) y = Tanh(p)",
        {"BatchNormalization": 0},
    ),
    "conv_add_mul": (IMAGE, "h = Conv(x, w) q = Add(h, c6) p = Mul(c6, q) y = Tanh(p)", {"Add": 0}),
    "conv_difference": (IMAGE, "h = Conv(x, w) q = Sub(c6, h) p = Div(q, root) y = Tanh(p)", {"Div": 0}),
    "transposed": (
        ROWS,
        f"{WIDE} r = Transpose <perm = [0, 2, 1]> (a) p = Mul(r, r6) y = Tanh(p)",
        {"Mul": 2},
    ),
    "conv_ahead": (
        IMAGE,
        "t = Tanh(x) q = Mul(t, c4) r = Add(q, c4) h = Conv(r, w) y = Tanh(h)",
        {"Add": 0},
    ),
    "grouped_conv_ahead": (
        IMAGE,
        "t = Tanh(x) q = Div(t, c4) h = Conv <group = 2> (q, g) y = Tanh(h)",
        {"Div": 0},
    ),
    "conv_transpose_ahead": (
        IMAGE,
        "t = Tanh(x) q = Div(t, c4) h = ConvTranspose <strides = [2, 2]> (q, u) y = Tanh(h)",
        {"Div": 0},
    ),
    "layer_norm": (
        ROWS,
        "t = LayerNormalization(x, s4, b4) h = MatMul(t, m) a = Add(h, b6) y = Tanh(a)",
        {"ReduceMean": 1, "Sub": 2},
    ),
    "layer_norm_without_bias": (
        ROWS,
        "t = LayerNormalization(x, s4, b4) h = MatMul(t, m) y = Tanh(h)",
        {"ReduceMean": 1, "Sub": 2, "Add": 1},
    ),
    "layer_norm_of_windows": (
        ROWS,
        "t = LayerNormalization(x, s4, b4) r = Transpose <perm = [1, 0, 2]> (t) "
        "e, f = Split <axis = 0> (r, halves) o = Concat <axis = 0> (f, e) z = Reshape(o, rows) "
        "q = Gemm(z, m, b6) y = Tanh(q)",
        {"ReduceMean": 1, "Sub": 2},
    ),
    "layer_norm_of_images": (
        "float[N, 7, 7, 4] x",
        "t = LayerNormalization(x, s4) r = Transpose <perm = [0, 3, 1, 2]> (t) "
        "h = Conv <pads = [1, 1, 1, 1]> (r, w) y = Tanh(h)",
        {"ReduceMean": 1},
    ),
    "layer_norm_before_conv_transpose": (
        "float[N, 5, 5, 4] x",
        "t = LayerNormalization(x, s4) r = Transpose <perm = [0, 3, 1, 2]> (t) "
        "h = ConvTranspose <strides = [2, 2], pads = [1, 1, 1, 1]> (r, u) y = Tanh(h)",
        {"ReduceMean": 1},
    ),
    "two_readers": (
        ROWS,
        "t = Tanh(x) s = Div(t, s4) h = MatMul(s, m) q = Add(h, b6) "
        "i = MatMul(s, m2) j = Add(i, b6) y = Mul(q, j)",
        {"Div": 0},
    ),
    "gemm": (
        "float[N, 4] x",
        "t = Tanh(x) s = Div(t, s4) h = Gemm <transB = 1, alpha = 0.5> (s, k, b6) r = Div(h, b6) y = Tanh(r)",
        {"Div": 0},
    ),
    "gelu": (
        ROWS,
        f"{WIDE} i = Div(a, root) e = Erf(i) o = Add(e, unit) f = Mul(a, o) p = Mul(f, half) {NARROW}",
        {"Div": 0, "Mul": 4},
    ),
    "gelu_half_first": (
        ROWS,
        f"{WIDE} i = Div(a, root) e = Erf(i) o = Add(e, unit) f = Mul(a, half) p = Mul(f, o) {NARROW}",
        {"Div": 0, "Mul": 4},
    ),
    "gelu_op": (ROWS, f"{WIDE} p = Gelu(a) {NARROW}", {"Gelu": 0, "Mul": 4, "Clip": 0}),
    "relu6": (
        IMAGE,
        "h = Conv(x, w, b6) p = Clip(h, zero, six) r = GlobalAveragePool(p) q = Flatten(r) "
        "z = Gemm(q, n) y = Tanh(z)",
        {"Clip": 1},
    ),
    "quick_gelu": (ROWS, f"{WIDE} i = Mul(a, root) e = Sigmoid(i) p = Mul(a, e) {NARROW}", {"Sigmoid": 1}),
}
"""The input, the nodes, and how many there are of some ops in the model of value and gradient."""

KEPT = {
    "offset_before_pads": (
        IMAGE,
        "t = Tanh(x) r = Add(t, c4) h = Conv <pads = [1, 1, 1, 1]> (r, w) y = Tanh(h)",
        {"Add": 1},
    ),
    "read_elsewhere": (
        ROWS,
        "t = Tanh(x) s = Mul(t, s4) h = MatMul(s, m) i = MatMul(s, m2) "
        "q = Mul(h, i) o = ReduceSum(s) y = Add(q, o)",
        {},
    ),
    "along_another_axis": (ROWS, "h = MatMul(x, m) p = Div(h, col) y = Tanh(p)", {"Div": 2}),
    "one_channel_becomes_four": (
        "float[N, 4, 9] x",
        "h = Conv(x, thin) p = Div(h, r4) y = Tanh(p)",
        {"Div": 2},
    ),
    "two_sums_more": (
        ROWS,
        "t = LayerNormalization(x, s4, b4) h = MatMul(t, m) i = MatMul(t, m2) y = Mul(h, i)",
        {},
    ),
    "layer_norm_of_groups": (
        "float[N, 7, 7, 4] x",
        "t = LayerNormalization(x, s4) r = Transpose <perm = [0, 3, 1, 2]> (t) "
        "h = Conv <group = 2> (r, g) y = Tanh(h)",
        {"ReduceMean": 2},
    ),
    "training": (
        IMAGE,
        "h = Conv(x, w) p, i, j = BatchNormalization <training_mode = 1> (h, s6, b6, a6, v6) y = Tanh(p)",
        {"BatchNormalization": 0},
    ),
    "bias_times_beta": (
        "float[N, 4] x",
        "h = Gemm <transB = 1, beta = 0.5> (x, k, b6) r = Add(h, a6) p = Mul(r, s6) y = Tanh(p)",
        {},
    ),
    "offset_before_alpha": (
        "float[N, 4] x",
        "t = Tanh(x) r = Add(t, s4) h = Gemm <transB = 1, alpha = 0.5> (r, k, b6) y = Tanh(h)",
        {},
    ),
    "joined_with_its_transpose": (
        "float[N, 4, 4] x",
        "t = Tanh(x) s = Mul(t, s4) r = Transpose <perm = [0, 2, 1]> (s) c = Concat <axis = 0> (s, r) "
        "h = MatMul(c, m) y = Tanh(h)",
        {},
    ),
    "too_small": (ROWS, "h = MatMul(x, m) p = Mul(h, tiny) y = Tanh(p)", {}),
}


def model(given: str, nodes: str) -> onnx.ModelProto:
    rng = np.random.default_rng(0)
    built = model_of(f"g ({given}) => (float[N] y) {{ {nodes} }}", 20)
    built.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None))
    arrays = {
        name: rng.uniform(0.5, 1.5, shape) * rng.choice([-1, 1], shape) for name, shape in SHAPES.items()
    }
    arrays |= {name: abs(arrays[name]) for name in ("v4", "v6")} | {"r6": arrays["s6"].reshape(6, 1)}
    arrays |= {name: np.array(number) for name, number in {**NUMBERS, "tiny": 1e-30}.items()}
    read = {name for node in built.graph.node for name in node.input}
    constants = {name: array.astype(np.float32) for name, array in arrays.items()}
    constants |= {name: np.array(value, np.int64) for name, value in SIZES.items()}
    built.graph.initializer.extend(
        numpy_helper.from_array(array, name) for name, array in constants.items() if name in read
    )
    return built


def shape_of(built: onnx.ModelProto) -> list[int]:
    return [dim.dim_value or 2 for dim in built.graph.input[0].type.tensor_type.shape.dim]


def results(compiled: gradc.Compiled, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: np.asarray(value) for name, value in compiled.run(feeds).items()}


def compare(built: onnx.ModelProto, counts: dict[str, int], **given) -> None:
    """With the model that folds nothing, as none of strict IEEE numbers does."""
    folded = gradc.value_and_grad(built, cotangents=True, check=True, **given)
    plain = gradc.value_and_grad(built, cotangents=True, check=False, strict_ieee=True, **given)
    assert not folded.remarks
    rng = np.random.default_rng(1)
    x = rng.normal(size=shape_of(built)).astype(np.float32)
    y = gradc.compile(built).run({"x": x})["y"]
    feeds = {"x": x, "cotangent_y": rng.normal(size=y.shape).astype(np.float32)}
    got, expected = results(folded, feeds), results(plain, feeds)
    for name, value in expected.items():
        np.testing.assert_allclose(got[name], value, rtol=1e-5, atol=2e-6 * abs(value).max(), err_msg=name)
    found = Counter(node.op_type for node in folded.model.graph.node)
    assert {name: found[name] for name in counts} == counts


@pytest.mark.sweep
@pytest.mark.parametrize("name", FOLDED)
def test_factors_and_offsets_become_part_of_the_weights(name: str):
    given, nodes, counts = FOLDED[name]
    compare(model(given, nodes), counts)


@pytest.mark.sweep
@pytest.mark.parametrize("name", FOLDED)
def test_second_derivatives_are_those_of_the_model(name: str):
    given, nodes, _ = FOLDED[name]
    built = model(given, nodes)
    folded = gradc.hvp(built, reduce="sum", check=True)
    plain = gradc.hvp(built, reduce="sum", check=False, strict_ieee=True)
    assert not folded.remarks
    rng, shape = np.random.default_rng(1), shape_of(built)
    feeds = {name: rng.normal(size=shape).astype(np.float32) for name in ("x", "tangent_x")}
    got, expected = results(folded, feeds)["hvp_x"], results(plain, feeds)["hvp_x"]
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=2e-5 * abs(expected).max())


def test_a_written_gradient_of_centred_rows_is_differentiated_right():
    """Others read the rows then: their cotangents have other means."""
    given, nodes, _ = FOLDED["layer_norm"]
    first = gradc.grad(model(given, nodes), reduce="sum").model
    gradc.grad(first, reduce="sum", check=True)


@pytest.mark.parametrize("name", KEPT)
def test_what_cannot_be_folded_stays(name: str):
    given, nodes, counts = KEPT[name]
    compare(model(given, nodes), counts)


@pytest.mark.parametrize("wrt", ["h", "p", "a", "z"])
def test_the_gradient_by_a_value_beside_a_factor_is_that_value_s(wrt: str):
    given, nodes, _ = FOLDED["gelu"]
    compare(model(given, nodes), {}, wrt=wrt)


@pytest.mark.parametrize("keep", ["a", "i", "f", "p", "m", "all"])
def test_what_is_a_result_keeps_its_numbers(keep: str):
    given, nodes, _ = FOLDED["gelu"]
    compare(model(given, nodes), {}, keep_outputs=keep if keep == "all" else ["y", keep])


@pytest.mark.parametrize("wrt", ["m", "b6", "n", "half"])
def test_the_gradient_by_weights_is_that_of_the_weights_as_they_are(wrt: str):
    given, nodes, _ = FOLDED["gelu"]
    compare(model(given, nodes), {}, wrt=["x", wrt])


def test_weights_that_are_read_twice_stay_as_they_are():
    built = model(
        ROWS, "t = Tanh(x) h = MatMul(x, m) p = Mul(h, s6) i = MatMul(t, m) q = Mul(p, i) y = Tanh(q)"
    )
    weights = next(numpy_helper.to_array(array) for array in built.graph.initializer if array.name == "m")
    arrays = [numpy_helper.to_array(array) for array in gradc.vjp(built).model.graph.initializer]
    assert all(np.array_equal(array, weights) for array in arrays if array.shape == weights.shape)
