"""Ops on codes of 8 bits: the ops on floats that stand for them against onnxruntime's own kernels, and their
gradients straight through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

import gradc
from dialects.support.diagnostics import UnsupportedError

RNG = np.random.default_rng(0)
START = RNG.bit_generator.state
SCALE = np.float32(0.02137)
U8, S8 = np.uint8, np.int8
ZEROS = {U8: U8(121), S8: S8(-7)}
X = "codes", "scale", "zero"
"""The operands of what was quantised of x."""

Y = np.float32(0.03071)


@dataclass(frozen=True)
class Case:
    """`operands`: those of X, arrays, or None for one left out. `floats` says that the result are floats."""

    op: str
    shape: Sequence[Any]
    operands: tuple[Any, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    domain: str = "com.microsoft"
    floats: bool = False
    dtype: Any = U8

    def __str__(self) -> str:
        return f"{self.op}-{self.dtype.__name__}-{list(self.shape)}-{self.attributes}"[:70]


def weights(*shape: int, dtype: Any = S8) -> np.ndarray:
    bounds = np.iinfo(dtype)
    return RNG.integers(bounds.min // 2, bounds.max // 2, shape).astype(dtype)


def scales(*shape: int) -> np.ndarray:
    return np.asarray(RNG.random(shape) * 0.01 + 0.005, np.float32)


def ends(dtype: Any) -> tuple[Any, Any]:
    return Y, ZEROS[dtype]


def _of(dtype: Any) -> list[Case]:
    out = ends(dtype)
    other = (weights(4, 1, dtype=dtype), scales(), dtype(3))
    unary: tuple[tuple[str, dict[str, Any]], ...] = (
        ("QLinearSigmoid", {}),
        ("QLinearLeakyRelu", {"alpha": 0.2}),
        ("QLinearSoftmax", {"axis": -1, "opset": 13}),
        ("QLinearSoftmax", {"axis": 1, "opset": 12}),
        ("QLinearSoftmax", {"axis": 1, "opset": 13}),
    )
    pools: tuple[dict[str, Any], ...] = (
        {"kernel_shape": [2, 2], "strides": [2, 2]},
        {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1},
        {"kernel_shape": [3, 2], "pads": [1, 1, 1, 0], "ceil_mode": 1, "strides": [2, 2]},
        {"kernel_shape": [2, 2], "channels_last": 1},
    )
    image = ("b", 3, 6, 5)
    kernel = weights(4, 3, 3, 3, dtype=dtype)
    bias = RNG.integers(-900, 900, 4).astype(np.int32)
    cases = [
        *(
            Case(op, ("b", 4, 5), (*X, Y if op != "QLinearSoftmax" else np.float32(1 / 256), out[1]), own)
            for op, own in unary
        ),
        Case("QLinearAdd", ("b", 4, 5), (*X, *other, *out)),
        Case("QLinearAdd", ("b", 4, 5), (*X, *X, *out)),
        Case("QLinearMul", ("b", 4, 5), (*X, *other, *out)),
        Case(
            "QLinearConcat",
            ("b", 4, 5),
            (*out, *X, *X, weights(2, 4, 5, dtype=dtype), scales(), dtype(3)),
            {"axis": 0},
        ),
        Case("QLinearWhere", (2, 4, 5), (RNG.random((2, 1, 5)) > 0.5, *X, *other, *out)),
        *(Case("QLinearAveragePool", image, (*X, *out), own) for own in pools),
        *(Case("QLinearGlobalAveragePool", image, (*X, *out), {"channels_last": i}) for i in (0, 1)),
        Case("QGemm", ("b", 6), (*X, weights(6, 4, dtype=dtype), scales(), dtype(2), bias, *out)),
        Case(
            "QGemm",
            (6, "b"),
            (*X, weights(4, 6, dtype=dtype), scales(4), np.zeros(4, dtype)),
            {"transA": 1, "transB": 1, "alpha": 0.5},
            floats=True,
        ),
        Case(
            "MatMulIntegerToFloat",
            ("b", 3, 6),
            ("codes", weights(6, 4, dtype=dtype), "scale", scales(1), "zero", dtype(2)),
            floats=True,
        ),
        Case(
            "MatMulIntegerToFloat",
            ("b", 3, 6),
            ("codes", weights(6, 4), "scale", scales(4), "zero", None, np.ones(4, np.float32)),
            floats=True,
        ),
        Case(
            "QLinearConv",
            image,
            (*X, kernel, scales(4), np.zeros(4, dtype), *out, bias),
            {"pads": [1] * 4, "strides": [2, 1]},
            domain="",
        ),
        Case("QLinearConv", image, (*X, kernel, scales(), dtype(3), *out), {"dilations": [2, 1]}, domain=""),
        Case(
            "QLinearMatMul",
            ("b", 3, 6),
            (*X, weights(6, 4, dtype=dtype), scales(4), np.zeros(4, dtype), *out),
            domain="",
        ),
        Case(
            "QLinearMatMul",
            ("b", 3, 6),
            (*X, weights(6, 4, dtype=dtype), scales(), dtype(3), *out),
            domain="",
        ),
    ]
    return [replace(case, dtype=dtype) for case in cases]


HEADS = (weights(6, 12), RNG.normal(size=12).astype(np.float32), "scale", scales())
CASES = [
    *_of(U8),
    *_of(S8),
    Case(
        "QLinearConv",
        ("b", 6, 5, 3),
        (*X, weights(4, 3, 3, 3, dtype=U8), scales(), U8(3), *ends(U8)),
        {"channels_last": 1},
    ),
    Case("QAttention", ("b", 4, 6), ("codes", *HEADS, None, "zero", S8(3)), {"num_heads": 2}, floats=True),
    Case(
        "QAttention",
        (2, 4, 6),
        ("codes", *HEADS, np.array([2, 4], np.int32), "zero", S8(3)),
        {"num_heads": 2, "unidirectional": 1},
        floats=True,
    ),
]


def model_of(case: Case) -> onnx.ModelProto:
    """x is quantised before the op, and dequantised what the op gives."""
    given = {"scale": SCALE, "zero": ZEROS[case.dtype]}
    names = []
    for index, operand in enumerate(case.operands):
        is_name = isinstance(operand, str)
        names.append(operand if is_name else "" if operand is None else f"w{index}")
        given |= {} if is_name or operand is None else {names[-1]: operand}
    result = "y" if case.floats else "made"
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["codes"]),
        helper.make_node(case.op, names, [result], domain=case.domain, **case.attributes),
    ]
    if not case.floats:
        scale = np.float32(1 / 256) if "Softmax" in case.op else Y
        given["end"] = scale
        nodes.append(helper.make_node("DequantizeLinear", ["made", "end", "zero"], ["y"]))
    return helper.make_model(
        helper.make_graph(
            nodes,
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, case.shape)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(np.asarray(array), name) for name, array in given.items()],
        ),
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)],
        ir_version=8,
    )


def session_of(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


@pytest.fixture(autouse=True)
def _the_same_numbers():
    """Whatever tests ran before."""
    RNG.bit_generator.state = START


@pytest.mark.sweep(entries=r"\w+")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_floats_between_codes_are_the_op(case: Case):
    """Within one code, at batches that only run time knows; the gradient is checked by differences."""
    model = model_of(case)
    found = gradc.value_and_grad(model, wrt="x", of="y", cotangents=True, straight_through=True, check=True)
    assert not found.remarks, [str(remark) for remark in found.remarks]
    assert not {node.domain for node in found.model.graph.node} - {""}
    quantum = 1e-4 if case.floats else 1 / 256 if "Softmax" in case.op else float(Y)
    for batch in (1, 3) if "b" in case.shape else (0,):
        sizes: list[int] = [batch if dim == "b" else dim for dim in case.shape]
        x = RNG.standard_normal(sizes).astype(np.float32)
        y = np.asarray(session_of(model).run(["y"], {"x": x})[0])
        got = found.run({"x": x, "cotangent_y": RNG.normal(size=y.shape).astype(np.float32)})
        np.testing.assert_allclose(got["y"], y, atol=1.01 * quantum)
        assert np.isclose(got["y"], y, atol=1e-4).mean() > 0.95
        assert np.abs(got["grad_x"]).max() > 1e-4
    with pytest.raises(UnsupportedError, match=r"is zero.*straight_through=True"):
        gradc.vjp(model, wrt="x", of="y")


DYNAMIC = """
    <ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>
    g (float[%s] x, %s) => (float[%s] y) { %s }
"""
ROUNDED = "codes, s, z = DynamicQuantizeLinear (x)"
TO_FLOATS = "f = Cast <to = 1> (i) both = Mul (s, t) y = Mul (f, both)"
PRODUCT = "int8[6,4] w, float t, int8 p", "b,3,4"
COLUMNS = "int8[6,4] w, float[4] t, int8[4] p", "b,3,4"
FILTERS = "int8[4,3,3,3] w, float t, int8 p", "b,4,5,5"
DYNAMIC_CASES = {
    "DynamicQuantizeMatMul": ("b,3,6", *PRODUCT, "y = com.microsoft.DynamicQuantizeMatMul (x, w, t, p)"),
    "columns": ("b,3,6", *COLUMNS, "y = com.microsoft.DynamicQuantizeMatMul (x, w, t, p, t)"),
    "MatMulInteger": ("b,3,6", *PRODUCT, f"{ROUNDED} i = MatMulInteger (codes, w, z, p) {TO_FLOATS}"),
    "of columns": ("b,3,6", *COLUMNS, f"{ROUNDED} i = MatMulInteger (codes, w, z, p) {TO_FLOATS}"),
    "ConvInteger": (
        "b,3,5,5", *FILTERS, f"{ROUNDED} i = ConvInteger <pads = [1,1,1,1]> (codes, w, z, p) {TO_FLOATS}",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DYNAMIC_CASES)
def test_products_of_what_is_rounded_by_its_range(name: str):
    """The range stands still: the gradient by x is the one of the product with the weights."""
    x, others, y, nodes = DYNAMIC_CASES[name]
    model = parser.parse_model(DYNAMIC % (x, others, y, nodes))
    feeds: dict[str, np.ndarray] = {}
    arrays: dict[str, np.ndarray] = {}
    for value in list(model.graph.input)[1:]:
        dims = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        if value.name in "wt":
            array = weights(*dims) if value.name == "w" else scales(*dims)
        else:
            array = np.full(dims, 3, S8)
        arrays[value.name] = np.asarray(array)
        model.graph.initializer.append(numpy_helper.from_array(arrays[value.name], value.name))
        model.graph.input.remove(value)
    found = gradc.value_and_grad(model, wrt="x", of="y", cotangents=True, straight_through=True, check=True)
    assert not found.remarks, [str(remark) for remark in found.remarks]
    assert not {node.domain for node in found.model.graph.node} - {""}
    for batch in (1, 3):
        feeds["x"] = RNG.standard_normal([int(n.replace("b", str(batch))) for n in x.split(",")]).astype(
            np.float32
        )
        want = np.asarray(session_of(model).run(["y"], feeds)[0])
        cotangent = RNG.standard_normal(want.shape).astype(np.float32)
        got = found.run({**feeds, "cotangent_y": cotangent})
        np.testing.assert_allclose(got["y"], want, rtol=1e-4, atol=1e-4)
        kernel = arrays["w"].astype(np.float32) - arrays["p"].astype(np.float32)
        if "Conv" not in name:
            by_x = (cotangent * arrays["t"]) @ kernel.T
        else:
            padded = np.pad(cotangent * arrays["t"], [(0, 0), (0, 0), (1, 1), (1, 1)])
            windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
            by_x = np.einsum("bohwij,ocij->bchw", windows, kernel[:, :, ::-1, ::-1])
        np.testing.assert_allclose(got["grad_x"], by_x, rtol=1e-4, atol=1e-4)


MOVED = """
    <ir_version: 8, opset_import: ["": 17]>
    g (float[b,4,6,6] x) => (float[m,n] y)
    <float s = {0.02}, uint8 z = {100}, int64[2] flat = {0,-1}, int64[8] pads = {0,0,0,1,0,0,1,0},
     float[4] grown = {1,1.6,1,1}, int64[1] none = {0}, int64[1] one = {1}, int64[1] three = {3}> {
      codes = QuantizeLinear (x, s, z)
      padded = Pad (codes, pads, z)
      most = MaxPool <kernel_shape = [2,2], strides = [2,2]> (padded)
      turned = Transpose <perm = [0,2,3,1]> (most)
      part = Slice (turned, one, three, one)
      wide = Resize <mode = "nearest"> (part, , grown)
      low = Slice (wide, none, one, one)
      capped = Clip (low, z)
      pair = Concat <axis = 1> (part, turned, capped)
      row = Reshape (pair, flat)
      y = DequantizeLinear (row, s, z)
    }
"""


OF_CODES = """
    <ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>
    g (float[b,4,6,3] x) => (float[m,n,o,p] y)
    <float s = {0.02}, uint8 z = {100}, float t = {0.01}, uint8 u = {120}> {
      codes = QuantizeLinear (x, s, z)
      made = com.microsoft.%s
      y = DequantizeLinear (made, %s)
    }
"""
POOLED = "NhwcMaxPool <kernel_shape = [2,2], strides = [2,2]> (codes)", "s, z"
MEAN = "QLinearReduceMean <axes = [1,2], keepdims = 1> (codes, s, z, t, u)", "t, u"


def test_codes_between_which_a_resize_interpolates():
    """What lies between two codes is rounded to one, as onnxruntime's kernel cuts it off to one."""
    model = parser.parse_model("""
    <ir_version: 8, opset_import: ["": 17]> g (float[b,2,4,4] x) => (float[b,2,7,6] y)
    <float s = {0.02}, uint8 z = {100}, float[4] grown = {1,1,1.8,1.6}> {
      codes = QuantizeLinear (x, s, z)
      wide = Resize <mode = "linear"> (codes, , grown)
      y = DequantizeLinear (wide, s, z)
    }""")
    found = gradc.value_and_grad(model, wrt="x", of="y", cotangents=True, straight_through=True, check=True)
    assert not found.remarks
    x = np.clip(RNG.standard_normal((2, 2, 4, 4)), -1.9, 2.5).astype(np.float32)
    want = np.asarray(session_of(model).run(["y"], {"x": x})[0])
    got = found.run({"x": x, "cotangent_y": np.ones_like(want)})
    np.testing.assert_allclose(got["y"], want, atol=0.0201)
    np.testing.assert_allclose(got["grad_x"].sum(), want.size, rtol=1e-4)


@pytest.mark.parametrize("op", [POOLED, MEAN], ids=["NhwcMaxPool", "QLinearReduceMean"])
def test_ops_on_codes_of_images(op: tuple[str, str]):
    """onnxruntime's CPU has no QLinearReduceMean."""
    model = parser.parse_model(OF_CODES % op)
    found = gradc.value_and_grad(model, wrt="x", of="y", cotangents=True, straight_through=True)
    assert not {node.domain for node in found.model.graph.node} - {""}
    x = np.clip(RNG.standard_normal((2, 4, 6, 3)), -1.9, 2.5).astype(np.float32)
    rounded = (np.rint(x / np.float32(0.02)) * 0.02).astype(np.float32)
    if op is MEAN:
        want = rounded.mean((1, 2), keepdims=True)
        grad = np.broadcast_to(np.float32(1 / 24), x.shape)
    else:
        want = np.asarray(session_of(model).run(["y"], {"x": x})[0])
        blocks = rounded.reshape(2, 2, 2, 3, 2, 3).transpose(0, 1, 3, 5, 2, 4).reshape(2, 2, 3, 3, 4)
        first = np.eye(4, dtype=np.float32)[blocks.argmax(-1)].reshape(2, 2, 3, 3, 2, 2)
        grad = first.transpose(0, 1, 4, 2, 5, 3).reshape(x.shape)
    got = found.run({"x": x, "cotangent_y": np.ones_like(want)})
    np.testing.assert_allclose(got["y"], want, atol=0.0101 if op is MEAN else 1e-6)
    np.testing.assert_allclose(got["grad_x"], grad, atol=1e-6)


def test_codes_that_are_moved_before_they_are_floats():
    """The gradient is that of the moves of floats, at what is rounded, within the bounds of the codes."""
    model = parser.parse_model(MOVED)
    found = gradc.value_and_grad(model, wrt="x", of="y", cotangents=True, straight_through=True, check=True)
    rounded = MOVED.replace("QuantizeLinear (x, s, z)", "Identity (x)").replace("pads, z", "pads")
    rounded = rounded.replace("Clip (low, z)", "Relu (low)")
    of_floats = gradc.vjp(
        parser.parse_model(rounded.replace("DequantizeLinear (row, s, z)", "Identity (row)"))
    )
    x = RNG.standard_normal((2, 4, 6, 6)).astype(np.float32) * np.float32(1.5)
    want = np.asarray(session_of(model).run(["y"], {"x": x})[0])
    cotangent = RNG.standard_normal(want.shape).astype(np.float32)
    got = found.run({"x": x, "cotangent_y": cotangent})
    np.testing.assert_allclose(got["y"], want, atol=1e-6)
    codes = np.rint(x / np.float32(0.02)) + 100
    values = ((np.clip(codes, 0, 255) - 100) * 0.02).astype(np.float32)
    grad = of_floats.run({"x": values, "cotangent_y": cotangent})["grad_x"]
    np.testing.assert_allclose(got["grad_x"], np.where((codes >= 0) & (codes <= 255), grad, 0), atol=1e-6)


def test_the_sum_of_embeddings_of_codes():
    """Nothing flows to codes; what comes behind is of a known type."""
    rng = np.random.default_rng(4)
    tables = [rng.integers(0, 255, size, dtype=U8) for size in ((7, 6), (5, 6), (2, 6), (6,), (6,))]
    arrays = dict(zip(("words", "rows", "parts", "gamma", "beta"), tables, strict=True))
    arrays |= {f"{name}_scale": scales() for name in list(arrays)}
    arrays |= {
        f"{name}_zero": U8(9 + i) for i, name in enumerate(("words", "rows", "parts", "gamma", "beta"))
    }
    arrays |= {
        "ids": rng.integers(0, 7, (2, 4)).astype(np.int32),
        "kinds": rng.integers(0, 2, (2, 4)).astype(np.int32),
    }
    parts = ["words", "rows", "parts", "gamma", "beta"]
    names = ["ids", "kinds", *parts, "", *(f"{n}_scale" for n in parts), *(f"{n}_zero" for n in parts)]
    node = helper.make_node(
        "QEmbedLayerNormalization", names, ["sum", "ends"], domain="com.microsoft", epsilon=0.1
    )
    last = helper.make_node("Mul", ["sum", "x"], ["y"])
    initial = [numpy_helper.from_array(np.asarray(array), name) for name, array in arrays.items()]
    floats = TensorProto.FLOAT
    graph = helper.make_graph(
        [node, last], "g", [helper.make_tensor_value_info("x", floats, [6])],
        [helper.make_tensor_value_info("y", floats, None)], initial,
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    x = rng.standard_normal(6).astype(np.float32)
    want = np.asarray(session_of(model).run(["y"], {"x": x})[0])
    for wrt in ("x", "gamma_scale"):
        got = gradc.value_and_grad(model, wrt=wrt, of="y", cotangents=True, check=True)
        assert not got.remarks
        np.testing.assert_allclose(got.run({"x": x, "cotangent_y": want})["y"], want, rtol=1e-4, atol=1e-5)


def test_a_type_of_none_that_onnxruntime_writes():
    text = """<ir_version: 10, opset_import: ["": 21]> g (float[3] x) => (float[3] y)
    <float s = {0.02}, uint8 z = {100}> {
      codes = QuantizeLinear <output_dtype = 0, block_size = 0> (x, s, z)
      y = DequantizeLinear (codes, s, z)
    }"""
    found = gradc.vjp(parser.parse_model(text), wrt="x", straight_through=True)
    got = found.run({"x": np.ones(3, np.float32), "cotangent_y": np.ones(3, np.float32)})
    np.testing.assert_array_equal(got["grad_x"], 1)


def rounded(x: np.ndarray) -> np.ndarray:
    """By its own range, as DynamicQuantizeLinear does."""
    scale = (max(x.max(), 0) - min(x.min(), 0)) / 255
    zero = np.rint(-min(x.min(), 0) / scale)
    return np.asarray((np.clip(np.rint(x / scale) + zero, 0, 255) - zero) * scale, np.float32)


STEPS: dict[str, dict[str, Any]] = {
    "of one scale": {},
    "of columns": {"sizes": (1, 12), "clip": 0.5},
    "both ways": {"sizes": (2,), "direction": "bidirectional"},
    "without a bias": {"sizes": (1,), "bias": False, "direction": "reverse", "input_forget": 1},
}


@pytest.mark.sweep
@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("result", [0, 1, 2])
def test_an_lstm_of_codes_is_that_of_its_weights(name: str, result: int):
    """At what is rounded of x and of the first state; the kernel rounds the state in each step, too."""
    own = dict(STEPS[name])
    sizes, bias = own.pop("sizes", (1,)), own.pop("bias", True)
    ways, hidden, zero = sizes[0], 3, S8(0 if len(sizes) > 1 else 3)
    codes = [weights(ways, n, 12) for n in (4, 3)]
    by = [scales(*sizes) for _ in codes]
    wide = [x.reshape(ways, 1, -1) for x in by]
    floats = [
        ((c.astype(np.float32) - zero) * s).transpose(0, 2, 1).copy()
        for c, s in zip(codes, wide, strict=True)
    ]
    feeds = {
        "x": RNG.normal(size=(5, 2, 4)).astype(np.float32),
        **({"b": RNG.normal(size=(ways, 24)).astype(np.float32) / 2} if bias else {}),
        **{n: RNG.normal(size=(ways, 2, 3)).astype(np.float32) for n in ("h", "c")},
    }
    names = ["x", "w", "r", "b" if bias else "", "", "h", "c"]
    given = dict(zip(("s", "t"), by, strict=True)) | {"z": np.full(sizes, zero)}

    def model(op: str, domain: str, more: list[str], arrays: dict[str, np.ndarray]) -> onnx.ModelProto:
        outputs = ["" if i != result else "y" for i in range(3)]
        node = helper.make_node(op, names + more, outputs, domain=domain, hidden_size=hidden, **own)
        graph = helper.make_graph(
            [node],
            "g",
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, x.shape) for n, x in feeds.items()],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(array, n) for n, array in arrays.items()],
        )
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)

    more = ["", "s", "z", "t", "z"]
    of_codes = model(
        "DynamicQuantizeLSTM", "com.microsoft", more, dict(zip("wr", codes, strict=True)) | given
    )
    of_floats = model("LSTM", "", [], dict(zip("wr", floats, strict=True)))
    kernel = np.asarray(session_of(of_codes).run(["y"], feeds)[0])
    feeds["cotangent_y"] = RNG.normal(size=kernel.shape).astype(np.float32)
    found = gradc.value_and_grad(of_codes, wrt=[*feeds][:-1], of="y", cotangents=True, straight_through=True)
    assert not {node.domain for node in found.model.graph.node} - {""}
    want = gradc.value_and_grad(of_floats, wrt=[*feeds][:-1], of="y", cotangents=True)
    got = found.run(feeds)
    at = {**feeds, "x": rounded(feeds["x"]), "h": rounded(feeds["h"])}
    for key, array in want.run(at).items():
        np.testing.assert_allclose(got[key], array, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(got["y"], kernel, atol=5e-3)
