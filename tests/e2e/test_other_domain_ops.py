"""Gradients through ops of other domains: the ops of ONNX that stand for them give what onnxruntime gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper, parser

import gradc
from dialects.support.diagnostics import UnsupportedError, UsageError
from dialects.support.entry import entry_function
from gradc.compiler.driver import load

OLDER = tuple(map(int, onnxruntime.__version__.split(".")[:2])) < (1, 32)

RNG = np.random.default_rng(0)
START = RNG.bit_generator.state
X = (4, 3)
W, V = (RNG.normal(size=size).astype(np.float32) for size in ((3,), (4, 3)))
PARAMETERS = [0.4, 0.1, 2.0]
SVM = {
    "support_vectors": RNG.normal(size=15).tolist(),
    "coefficients": RNG.normal(size=5).tolist(),
    "rho": [0.3],
}
TWO = {"classlabels_ints": [0, 1], "vectors_per_class": [2, 3], "kernel_params": PARAMETERS}
THREE = {
    "support_vectors": RNG.normal(size=21).tolist(),
    "coefficients": RNG.normal(size=14).tolist(),
    "rho": [0.3, -0.2, 0.1],
    "classlabels_ints": [4, 0, 1],
    "vectors_per_class": [2, 1, 4],
    "kernel_params": PARAMETERS,
    "kernel_type": "RBF",
}
LINE = {"coefficients": RNG.normal(size=6).tolist(), "intercepts": [0.2, -0.4]}
IMAGE = [RNG.normal(size=size).astype(np.float32) for size in ((2, 3, 3, 3), (2,), (1, 2, 5, 5))]

PRESENT = {
    ("Attention", 4): ["present"],
    ("MultiHeadAttention", 7): ["keys", "values"],
    **{("GroupQueryAttention", count): ["keys", "values"] for count in range(6, 12)},
}
"""What onnxruntime needs the results of, if there is a past."""

Case = tuple[str, str, Any, tuple[Any, ...], dict[str, Any], int]
"""Domain, op, shape of the first operand, the others, attributes, the result that is read."""

MAPS = {**LINE, "classlabels_ints": [5, 7]}
MACHINE = {**SVM, "n_supports": 5, "kernel_params": PARAMETERS}
LEAKY = {"activation": "LeakyRelu", "activation_params": [0.2]}
CLIPPED = {"activation": "Clip", "activation_params": [-0.5, 1.0]}
TWICE = np.stack([V, 2 * V])
PACKED = (RNG.normal(size=(6, 12)).astype(np.float32), RNG.normal(size=12).astype(np.float32))
KEYS = tuple(RNG.normal(size=size).astype(np.float32) for size in ((2, 5, 6), (2, 5, 4), (16,)))
ANGLES = tuple(RNG.normal(size=(9, 2)).astype(np.float32) for _ in range(2))
TWO_HEADS, CAUSAL = {"num_heads": 2}, {"num_heads": 2, "unidirectional": 1}
BIASES = RNG.normal(size=(1, 2, 4, 4)).astype(np.float32)
PASTS = [RNG.normal(size=(2, 2, 2, 3, size)).astype(np.float32) for size in (2, 3)]
RMS = "SkipSimplifiedLayerNormalization"


def ints(*numbers: Any) -> np.ndarray:
    return np.array(numbers, np.int32)


GROUPED = {"num_heads": 4, "kv_num_heads": 2}
QUERIES = (2, 4, 64)
NEW = tuple(RNG.normal(size=(2, 4, 32)).astype(np.float32) for _ in range(2))
"""Keys and values."""

WHOLE = (ints(3, 3), ints(4))
SINKS = RNG.normal(size=4).astype(np.float32)
TABLES = tuple(RNG.normal(size=(9, 8)).astype(np.float32) for _ in range(2))
OF_HEADS = RNG.normal(size=(2, 4, 4, 4)).astype(np.float32)
BEFORE = tuple(RNG.normal(size=(2, 2, 3, 16)).astype(np.float32) for _ in range(2))
LAST = tuple(part[:, :2] for part in NEW)


def _grouped(shape: tuple[int, ...], *others: Any, **attributes: Any) -> Any:
    return ("GroupQueryAttention", shape, others, {**GROUPED, **attributes}, 0)


_GROUPED = (
    _grouped(QUERIES, *NEW, None, None, *WHOLE),
    _grouped((2, 4, 128), None, None, None, None, *WHOLE),
    _grouped(QUERIES, *NEW, None, None, *WHOLE, causal=0),
    _grouped(QUERIES, *NEW, None, None, ints(1, 3), ints(4), causal=0),
    *(
        ("GroupQueryAttention", QUERIES, (*NEW, None, None, *WHOLE), {**GROUPED, **own}, 3)
        for own in ({"qk_output": 1, "softcap": 1.5}, {"qk_output": 2, "smooth_softmax": 1})
    ),
    _grouped(QUERIES, *NEW, None, None, *WHOLE, scale=0.3, softcap=1.5),
    _grouped(QUERIES, *NEW, None, None, *WHOLE, local_window_size=2),
    _grouped(QUERIES, *NEW, None, None, *WHOLE, smooth_softmax=1),
    _grouped(QUERIES, *NEW, None, None, *WHOLE, None, None, None, None, SINKS),
    _grouped(QUERIES, *NEW, None, None, *WHOLE, None, None, None, OF_HEADS),
    _grouped(QUERIES, *NEW, None, None, *WHOLE, None, None, None, OF_HEADS[:1, :1]),
    _grouped(QUERIES, *NEW, None, None, *WHOLE, *TABLES, do_rotary=1),
    _grouped((2, 4, 128), None, None, None, None, *WHOLE, *TABLES, do_rotary=1, rotary_interleaved=1),
    _grouped((1, 2, 64), *(x[:1] for x in (*LAST, *BEFORE)), ints(4), ints(5)),
    _grouped((2, 1, 64), *(x[:, :1] for x in LAST), *BEFORE, ints(3, 3), ints(4), *TABLES, do_rotary=1),
    _grouped((2, 1, 64), *(x[:, :1] for x in LAST), *BEFORE, ints(1, 3), ints(4), *TABLES, do_rotary=1),
    _grouped((2, 1, 64), *(x[:, :1] for x in LAST), *BEFORE, ints(1, 2), ints(3), local_window_size=2),
)
_LEARNING = (
    ("Scaler", {"offset": [0.1, 0.2, 0.3], "scale": [2.0, 3.0, 0.5]}, 0),
    ("Scaler", {"offset": [0.5], "scale": [2.0]}, 0),
    *(("Normalizer", {"norm": norm}, 0) for norm in ("L1", "L2", "MAX")),
    ("Imputer", {"imputed_value_floats": [1.0], "replaced_value_float": 0.5}, 0),
    ("LinearRegressor", {**LINE, "targets": 2}, 0),
    *(("LinearClassifier", {**MAPS, "post_transform": how}, 1) for how in ("NONE", "LOGISTIC", "SOFTMAX")),
    *(("SVMRegressor", {**MACHINE, "kernel_type": kind}, 0) for kind in ("LINEAR", "POLY", "RBF", "SIGMOID")),
    ("SVMClassifier", {**SVM, **TWO, "kernel_type": "RBF"}, 1),
    ("SVMClassifier", THREE, 1),
)
SELU = {"transB": 1, "activation": "Selu", "activation_alpha": 1.5, "activation_gamma": 1.25}
_FUSED = (
    ("Gelu", X, (), {}, 0),
    ("QuickGelu", X, (), {"alpha": 1.5}, 0),
    ("BiasGelu", X, (W,), {}, 0),
    ("FastGelu", X, (W,), {}, 0),
    ("FusedConv", (1, 3, 5, 5), tuple(IMAGE), {"pads": [1] * 4, **LEAKY}, 0),
    ("FusedConv", (1, 3, 5, 5), (IMAGE[0],), {"strides": [2, 2], **CLIPPED}, 0),
    ("FusedGemm", X, (V,), {"transB": 1, "activation": "Relu"}, 0),
    ("FusedGemm", X, (V,), SELU, 0),
    ("FusedMatMul", (4, 3), (V,), {"transA": 1, "alpha": 0.5}, 0),
    ("FusedMatMul", (2, 4, 3), (TWICE,), {"transB": 1}, 0),
    ("SkipLayerNormalization", (2, 4, 3), (TWICE, W, W), {"epsilon": 0.1}, 0),
    ("SkipLayerNormalization", (2, 4, 3), (TWICE, W, W, W), {}, 3),
    (RMS, (2, 4, 3), (TWICE, W, W), {}, 0),
    ("Attention", (2, 4, 6), PACKED, TWO_HEADS, 0),
    ("Attention", (2, 4, 6), PACKED, CAUSAL, 0),
    ("Attention", (2, 4, 6), (*PACKED, ints(2, 4)), TWO_HEADS, 0),
    ("Attention", (2, 4, 6), (*PACKED, ints(3, 4, 1, 0)), TWO_HEADS, 0),
    ("Attention", (2, 4, 6), (*PACKED, ints([0, 1, 1, 0], [1, 1, 1, 0])), CAUSAL, 0),
    (
        "Attention",
        (2, 4, 6),
        (*PACKED, ints(*[1 - np.eye(4)] * 2)),
        {"mask_filter_value": -3.0, "num_heads": 2},
        0,
    ),
    ("Attention", (2, 4, 6), (*PACKED, None, None, BIASES), {"scale": 0.7, **CAUSAL}, 0),
    ("Attention", (2, 4, 6), (*PACKED, ints([1] * 6 + [0], [0] + [1] * 6), PASTS[0]), CAUSAL, 0),
    ("Attention", (2, 4, 6), (*PACKED, None, PASTS[0]), TWO_HEADS, 1),
    ("MultiHeadAttention", (2, 4, 6), (*KEYS, ints(2, 5)), TWO_HEADS, 0),
    ("MultiHeadAttention", (2, 4, 6), (*KEYS, ints([0, 1, 1, 0, 1], [1] * 5)), CAUSAL, 0),
    (
        "MultiHeadAttention",
        (2, 4, 6),
        (*KEYS[:2], None, None, RNG.normal(size=(1, 1, 4, 5)).astype(np.float32)),
        TWO_HEADS,
        0,
    ),
    ("MultiHeadAttention", (2, 4, 6), (*PASTS[1],), TWO_HEADS, 0),
    ("MultiHeadAttention", (2, 4, 6), (*[KEYS[0][:, :4]] * 2, *[None] * 3, *PASTS[1]), CAUSAL, 0),
    ("RotaryEmbedding", (2, 4, 12), (np.array([3]), *ANGLES), {}, 0),
    (
        "RotaryEmbedding",
        (2, 3, 4, 4),
        (np.array([[0, 8, 1, 2], [3, 4, 5, 6]]), *ANGLES),
        {"interleaved": 1},
        0,
    ),
    ("RotaryEmbedding", (2, 3, 4, 4), (np.array([5]), *ANGLES), {"scale": 2.0, "is_packed_batching": 1}, 0),
    *_GROUPED,
)
CASES: list[Case] = [
    *(("ai.onnx.ml", op, X, (), attributes, read) for op, attributes, read in _LEARNING),
    ("ai.onnx.ml", "ArrayFeatureExtractor", X, (np.array([[2, 0, 2]]),), {}, 0),
    *(("com.microsoft", *case) for case in _FUSED),
    ("", "SimplifiedLayerNormalization", X, (W,), {"axis": -1, "epsilon": 0.1}, 0),
]


def model_of(case: Case) -> onnx.ModelProto:
    domain, op, shape, others, attributes, read = case
    names = [f"w{i}" for i in range(len(others))]
    results = (
        [*(f"unread{i}" for i in range(read)), "y"]
        if domain == "ai.onnx.ml"
        else ["" for _ in range(read)] + ["y"]
    )
    results[0] = results[0] or "first"
    results += PRESENT.get((op, len(others)), []) if not read else []
    read_names = ["" if other is None else name for name, other in zip(names, others, strict=True)]
    node = helper.make_node(op, ["x", *read_names], results, domain=domain, **attributes)
    floats = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", floats, ["N", *shape[1:]] if len(others) < 1 else shape)],
        [helper.make_tensor_value_info("y", floats, None)],
        [
            numpy_helper.from_array(other, name)
            for name, other in zip(names, others, strict=True)
            if other is not None
        ],
    )
    opsets = [
        helper.make_opsetid("", 17),
        helper.make_opsetid("ai.onnx.ml", 3),
        helper.make_opsetid("com.microsoft", 1),
    ]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def session_of(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


@pytest.fixture(autouse=True)
def _the_same_numbers():
    """Whatever tests ran before."""
    RNG.bit_generator.state = START


@pytest.mark.sweep(entries=r"\w+")
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[1]}-{','.join(map(str, c[4].values()))[:30]}")
def test_what_stands_for_an_op_is_the_op(case: Case):
    """The value, and the gradient against differences of the op itself."""
    model = model_of(case)
    found = gradc.value_and_grad(model, wrt="x", of="y", cotangents=True)
    assert not {node.domain for node in found.model.graph.node} - {""}
    session, rng = session_of(model), np.random.default_rng(1)
    x = rng.normal(size=case[2]).astype(np.float32)
    (y,) = session.run(["y"], {"x": x})
    cotangent, direction = rng.normal(size=y.shape).astype(np.float32), rng.normal(size=x.shape)
    got = found.run({"x": x, "cotangent_y": cotangent})
    np.testing.assert_allclose(got["y"], y, rtol=2e-5, atol=2e-5)
    step = 3e-3
    ends = [session.run(["y"], {"x": (x + s * step * direction).astype(np.float32)})[0] for s in (1, -1)]
    slopes = cotangent * (ends[0].astype(np.float64) - ends[1]) / (2 * step)
    assert abs((got["grad_x"] * direction).sum() - slopes.sum()) <= 1e-2 * (np.abs(slopes).sum() + 0.01)
    kept = gradc.compile(model).model.graph.node
    assert [node.op_type for node in kept] == [case[1]], "without a gradient a node stays as it is"


@pytest.mark.parametrize("packed", ["qkv", "kv"])
@pytest.mark.parametrize("attributes", [{}, {"unidirectional": 1}, {"scale": 0.4}], ids=str)
def test_a_packed_attention_is_that_of_its_parts(packed: str, attributes: dict[str, Any]):
    """onnxruntime's CPU kernel takes the parts alone."""
    rng, length = np.random.default_rng(3), 4 if packed == "qkv" else 5
    q, k, v = (rng.normal(size=(2, n, 6)).astype(np.float32) for n in (4, length, length))
    bias = rng.normal(size=18).astype(np.float32)
    alone = model_of(
        ("com.microsoft", "MultiHeadAttention", q.shape, (k, v, bias), TWO_HEADS | attributes, 0)
    )
    cotangent = rng.normal(size=(2, 4, 6)).astype(np.float32)
    want = gradc.value_and_grad(alone, wrt=["x", "w0", "w1"], of="y", cotangents=True)
    want = want.run({"x": q, "cotangent_y": cotangent})
    np.testing.assert_allclose(want["y"], session_of(alone).run(["y"], {"x": q})[0], atol=1e-5)
    parts = [part.reshape(2, -1, 2, 3) for part in (q, k, v)]
    first = np.stack(parts, 3) if packed == "qkv" else q
    others = (None, None, bias) if packed == "qkv" else (np.stack(parts[1:], 3), None, bias)
    source = model_of(("com.microsoft", "MultiHeadAttention", first.shape, others, TWO_HEADS | attributes, 0))
    wrt = ["x"] if packed == "qkv" else ["x", "w0"]
    got = gradc.value_and_grad(source, wrt=wrt, of="y", cotangents=True).run(
        {"x": first, "cotangent_y": cotangent}
    )
    np.testing.assert_allclose(got["y"], want["y"], atol=1e-5)
    by_parts = [want[f"grad_{name}"] for name in ("x", "w0", "w1")]
    whole = [part.reshape(2, -1, 2, 3) for part in by_parts]
    if packed == "qkv":
        np.testing.assert_allclose(got["grad_x"], np.stack(whole, 3), atol=1e-5)
        return
    np.testing.assert_allclose(got["grad_x"], by_parts[0], atol=1e-5)
    np.testing.assert_allclose(got["grad_w0"], np.stack(whole[1:], 3), atol=1e-5)


EMBEDDED = """
    <ir_version: 8, opset_import: ["" : 17, "com.microsoft": 1]>
    agraph (float[7,6] words) => (float[2,4,6] y, int32[2] ends, float[2,4,6] total)
    <int32[2,4] ids = {6,0,1,1, 2,3,4,6}, int32[2,4] kinds = {0,1,1,0, 1,1,0,0},
     float[5,6] rows = {0.1,0.2,0.3,0.4,0.5,0.6, 0.6,0.5,0.4,0.3,0.2,0.1,
                          1,1,2,2,3,3, 0,1,0,1,0,1, 2,2,2,1,1,1},
     float[2,6] parts = {0.5,0.1,0.2,0.4,0.1,0.2, 1,0,0,1,0,1}, int32[2,4] mask = {1,1,1,0, 1,1,1,1},
     float[6] scale = {1,2,3,1,2,3}, float[6] bias = {0,1,2,0,1,2}>
    {
      y, ends, total = com.microsoft.EmbedLayerNormalization <epsilon = 0.1>
        (ids, kinds, words, rows, parts, scale, bias, mask)
    }
"""


@pytest.mark.parametrize("mask", ["bias, mask)", "bias)"])
@pytest.mark.parametrize("of", ["y", "total"])
def test_the_sum_of_embeddings(of: str, mask: str):
    model = parser.parse_model(EMBEDDED.replace("bias, mask)", mask))
    ends = gradc.grad(model, wrt="words", of=of, reduce="sum", keep_outputs="ends")
    words = RNG.normal(size=(7, 6)).astype(np.float32)
    np.testing.assert_array_equal(
        ends.run({"words": words})["ends"], session_of(model).run(["ends"], {"words": words})[0]
    )
    assert not {node.domain for node in ends.model.graph.node} - {""}
    found, session = gradc.value_and_grad(model, wrt="words", of=of, cotangents=True), session_of(model)
    words, cotangent, direction = (RNG.normal(size=s).astype(np.float32) for s in ((7, 6), (2, 4, 6), (7, 6)))
    got = found.run({"words": words, f"cotangent_{of}": cotangent})
    np.testing.assert_allclose(got[of], session.run([of], {"words": words})[0], rtol=2e-5, atol=2e-5)
    ends = [session.run([of], {"words": words + s * direction})[0] for s in (0.01, -0.01)]
    slope = (cotangent * (np.asarray(ends[0], np.float64) - np.asarray(ends[1]))).sum() / 0.02
    np.testing.assert_allclose((got["grad_words"] * direction).sum(), slope, rtol=1e-2)


def coupled(scores: np.ndarray, slopes: list[float], offsets: list[float]) -> np.ndarray:
    """The probabilities of three classes of which those of pairs are nearest, by Lagrange's equations."""
    first = 1 / (1 + np.exp(scores * slopes + offsets))
    found: list[np.ndarray] = []
    for a, b, c in first:
        r = np.array([[0, a, b], [1 - a, 0, c], [1 - b, 1 - c, 0]])
        matrix = np.ones((4, 4))
        matrix[:3, :3], matrix[3, 3] = np.diag(np.square(r).sum(0)) - r * r.T, 0
        found.append(np.linalg.solve(matrix, [0, 0, 0, 1])[:3])
    return np.array(found)


def test_probabilities_of_three_classes():
    """onnxruntime's steps towards them end early: their gradient is that of the limit."""
    slopes, offsets = [-1.5, -0.7, -2.0], [0.1, 0.2, -0.3]
    scores = session_of(model_of(("ai.onnx.ml", "SVMClassifier", X, (), THREE, 1)))
    model = model_of(
        ("ai.onnx.ml", "SVMClassifier", X, (), {**THREE, "prob_a": slopes, "prob_b": offsets}, 1)
    )
    x, cotangent, direction = (RNG.normal(size=(4, 3)).astype(np.float32) for _ in range(3))

    def want(x: np.ndarray) -> np.ndarray:
        return coupled(np.asarray(scores.run(["y"], {"x": x})[0], np.float64), slopes, offsets)

    found = gradc.value_and_grad(model, wrt="x", of="y", cotangents=True)
    got = found.run({"x": x, "cotangent_y": cotangent})
    np.testing.assert_allclose(got["y"], want(x), rtol=1e-5)
    np.testing.assert_allclose(got["y"], session_of(model).run(["y"], {"x": x})[0], atol=2e-3)
    ends = [want(x + s * direction) for s in (np.float32(0.01), np.float32(-0.01))]
    slope = (cotangent * (ends[0] - ends[1])).sum() / 0.02
    np.testing.assert_allclose((got["grad_x"] * direction).sum(), slope, rtol=5e-3)


OPTIMISED = """
    <ir_version: 8, opset_import: ["" : 17]>
    agraph (float[2,3,6,6] x, float[4,3,3,3] k, float[4] b, float[36,5] w, float[5] c) => (float[N,5] y) {
      conv = Conv <pads = [1,1,1,1], strides = [2,2]> (x, k, b)
      relu = Relu (conv)
      flat = Flatten (relu)
      product = MatMul (flat, w)
      added = Add (product, c)
      root = Constant <value = float {1.41421354}> ()
      one = Constant <value = float {1}> ()
      half = Constant <value = float {0.5}> ()
      ratio = Div (added, root)
      erf = Erf (ratio)
      more = Add (erf, one)
      scaled = Mul (added, more)
      y = Mul (scaled, half)
    }
"""


def test_a_model_that_onnxruntime_optimised(tmp_path: Path):
    """Its fused ops have the gradients of what they were made of."""
    model, options = parser.parse_model(OPTIMISED), onnxruntime.SessionOptions()
    weights = {"k": (4, 3, 3, 3), "b": (4,), "w": (36, 5), "c": (5,)}
    kept = [value for value in model.graph.input if value.name not in weights]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    rng = np.random.default_rng(2)
    for name, size in weights.items():
        array = (rng.normal(size=size) / 3).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    written = {node.op_type for node in onnx.load(tmp_path / "optimised.onnx").graph.node}
    assert {"FusedConv"} <= written, written
    feeds = {"x": rng.normal(size=(2, 3, 6, 6)).astype(np.float32)}
    feeds["cotangent_y"] = rng.normal(size=(2, 5)).astype(np.float32)
    want, got = (
        gradc.vjp(source, wrt="x").run(feeds)["grad_x"] for source in (model, tmp_path / "optimised.onnx")
    )
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def tree() -> onnx.ModelProto:
    ones = {name: [1, 1, 1] for name in ("nodes_truenodeids", "nodes_falsenodeids")}
    given = {
        **ones, "n_targets": 1, "nodes_featureids": [0, 0, 0], "nodes_nodeids": [0, 1, 2],
        "nodes_treeids": [0] * 3,
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "nodes_values": [0.0] * 3, "target_ids": [0, 0],
        "target_nodeids": [1, 2], "target_treeids": [0, 0], "target_weights": [1.0, 2.0],
    }  # fmt: skip
    model = model_of(("ai.onnx.ml", "TreeEnsembleRegressor", X, (), given, 0))
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["N", 1]))
    return model


def test_a_tree_is_zero_by_rule():
    message = r"is zero: ai.onnx.ml.TreeEnsembleRegressor y \(it is constant between"
    with pytest.raises(UnsupportedError, match=message):
        gradc.grad(tree(), wrt="x", of="y", reduce="sum")


def test_probabilities_in_maps_are_named_by_their_tensor():
    model = model_of(("ai.onnx.ml", "LinearClassifier", X, (), {**LINE, "classlabels_ints": [5, 7]}, 1))
    maps = helper.make_sequence_type_proto(
        helper.make_map_type_proto(
            onnx.TensorProto.INT64, helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [])
        )
    )
    zipped = helper.make_node("ZipMap", ["y"], ["maps"], domain="ai.onnx.ml", classlabels_int64s=[5, 7])
    model.graph.node.append(zipped)
    del model.graph.output[:]
    model.graph.output.append(helper.make_value_info("maps", maps))
    with pytest.raises(UsageError, match="maps is a sequence of maps; name the tensor that it is made of, y"):
        gradc.vjp(model, wrt="x")
    assert gradc.vjp(model, wrt="x", of="y").gradients == {"x": "grad_x"}


def test_an_op_that_others_stand_for_reads_nothing_any_more():
    """One that is left counts as a reader: Transposes between the others stay, or an error ends."""
    text = """<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>
    g (float[2, 3, 4] x) => (float[2, 4, 4] y) { y = com.microsoft.FusedMatMul <transA = 1> (x, x) }"""
    module = load(parser.parse_model(text), for_gradients=())
    argument = entry_function(module).args[0]
    assert all(use.operation.parent is not None for use in argument.uses)


@pytest.mark.parametrize(
    ("node", "why"),
    [
        ('FusedConv <activation = "Foo"> (i, k)', "FusedConv has none in this form: activation: given Foo, "),
        (
            "Attention <num_heads = 2> (x, w, b, m)",
            "Attention has none in this form: mask: given 4D, expected",
        ),
        (
            "Attention <num_heads = 2, do_rotary = 1> (x, w, b)",
            "do_rotary: given 1, expected 0; onnxruntime's",
        ),
        (
            "GroupQueryAttention <num_heads = 2, kv_num_heads = 1, kv_cache_bit_width = 4> (x, , , , , p, p)",
            "kv_cache_bit_width: given 4",
        ),
        ("FusedConv (t, k)", "an operand has an unknown type; add a value_info to the model"),
        pytest.param(
            "MoEGroupRouter (x)",
            "its groups are known at run time only",
            marks=pytest.mark.skipif(OLDER, reason="it has no such op"),
        ),
        ("MoE <use_sparse_mixer = 1> (x, c, e, , e)", "use_sparse_mixer: given 1, expected 0"),
    ],
)
def test_a_form_that_is_refused_says_why(node: str, why: str):
    """As all refusals of a gradient do; until then they said that no op of another domain has one."""
    opsets = '<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1, "foo": 1]>'
    inputs = "float[2,4,6] x, float[1,2,5,5] i, float[6,18] w, float[18] b, int32[2,1,4,4] m, int64[1] p"
    names = "float[3,2,3,3] k, float[9,3] c, float[3,6,6] e"
    source = (
        f"{opsets} g ({inputs}, {names}) => (float[a,b,c] y) {{ t = foo.Bar (i) y = com.microsoft.{node} }}"
    )
    with pytest.raises(UnsupportedError, match=why):
        gradc.vjp(parser.parse_model(source), allow_unused=True)


def test_the_op_by_which_types_are_unknown_is_told_first():
    """What follows comes behind: a model that onnxruntime wrote for one machine has dozens of these."""
    opsets = '<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1, "com.microsoft.nchwc": 1]>'
    nodes = "a = com.microsoft.nchwc.Sum (x, k) b = Relu (a) c = com.microsoft.Gelu (b) y = Tanh (c)"
    source = f"{opsets} g (float[1,8,4,4] x, float[8,8,1,1] k) => (float[a,b,c,d] y) {{ {nodes} }}"
    with pytest.raises(UnsupportedError) as caught:
        gradc.vjp(parser.parse_model(source), wrt="x")
    first, *others = str(caught.value).splitlines()
    assert "com.microsoft.nchwc.Sum has none" in first
    assert "ENABLE_EXTENDED" in first
    assert others
    assert all("an operand has an unknown type" in one for one in others)


def test_a_domain_that_onnxruntime_knows_needs_no_import():
    """As tf2onnx writes com.microsoft's ops."""
    node = onnx.helper.make_node("Gelu", ["x"], ["y"], domain="com.microsoft")
    x, y = (onnx.helper.make_tensor_value_info(name, 1, ["N", 2]) for name in "xy")
    opsets = [onnx.helper.make_opsetid("", 18)]
    source = onnx.helper.make_model(onnx.helper.make_graph([node], "g", [x], [y]), opset_imports=opsets)
    source.ir_version = 8
    assert [one.domain for one in gradc.compile(source).model.opset_import] == ["", "com.microsoft"]
    got = gradc.grad(source, reduce="sum", check=True).run({"x": np.zeros((1, 2), np.float32)})["grad_x"]
    assert got.tolist() == [[0.5, 0.5]]


def test_a_node_without_results_behind_an_unknown_domain():
    text = """<ir_version: 8, opset_import: ["": 9, "com.example": 1]>
    g (float[2,3] x) => (float[2,3] y) { h = com.example.Own (x) y = Relu (x) z = Softmax (h) }"""
    model = onnx.parser.parse_model(text)
    del model.graph.node[2].output[:]
    with pytest.raises(gradc.GradcError, match=r"Softmax|Own"):
        gradc.compile(model)
