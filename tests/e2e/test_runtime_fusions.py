"""What onnxruntime fuses in a model it fuses in the compiled model, too."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

import gradc

pytest.importorskip("onnxruntime")

from support.fused_ops import ALL, EXTENDED, lost_fusions, optimized_ops

f32, i64 = np.float32, np.int64
RANDOM = np.random.default_rng(0)


def _random(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape, np.float32)


def _codes(*shape: int) -> np.ndarray:
    return RANDOM.integers(-127, 127, shape).astype(np.int8)


WEIGHTS: Mapping[str, np.ndarray] = {
    **{f"vector{i}": _random(16) for i in range(4)},
    **{f"matrix{i}": _random(16, 16) for i in range(4)},
    **{name: np.array(value, f32) for name, value in {"zero": 0, "half": 0.5, "one": 1, "two": 2}.items()},
    **{name: np.array(value, f32) for name, value in {"three": 3, "six": 6, "low": -1e4}.items()},
    **{name: np.array(value, f32) for name, value in {"eps": 1e-5, "root": 2**0.5}.items()},
    **{name: np.array(value, f32) for name, value in {"quick": 1.702}.items()},
    "ones": np.ones(16, f32),
    "zeros": np.zeros(16, f32),
    "variance": np.abs(_random(16)) + f32(0.5),
    "kernel": _random(16, 16, 3, 3),
    "pointwise": _random(16, 16, 1, 1),
    "depthwise": _random(16, 1, 3, 3),
    "channels": _random(16, 1, 1),
    "factors": _random(1, 16, 1, 1),
    "offsets": _random(1, 16, 1, 1),
    "border": np.array([0, 0, 1, 1, 0, 0, 1, 1], i64),
    "heads": np.array([0, 0, 4, 4], i64),
    "joined": np.array([0, 0, 16], i64),
    "first": np.array([1], i64),
    "second": np.array([2], i64),
    **{f"index{i}": np.array(i, i64) for i in range(3)},
    "positions": np.arange(4, dtype=i64)[None],
    "scale": np.array(0.02, f32),
    "point": np.array(128, np.uint8),
    "code_scale": np.array(0.01, f32),
    "code_point": np.array(0, np.int8),
    "matrix_codes": _codes(16, 16),
    "kernel_codes": _codes(16, 16, 3, 3),
}
"""The constants of all models."""


@dataclass(frozen=True)
class Case:
    """The body of a model, and a fused op that it becomes."""

    fused: str
    body: str
    inputs: Mapping[str, str] = field(default_factory=lambda: {"x": "float[2,4,16]"})
    opset: int = 17

    def model(self) -> onnx.ModelProto:
        inputs = ", ".join(f"{type_} {name}" for name, type_ in self.inputs.items())
        head = f'<ir_version: 8, opset_import: ["" : {self.opset}]>'
        model = parser.parse_model(f"{head} g ({inputs}) => (float y) {{ {self.body} }}")
        model.graph.output[0].type.tensor_type.ClearField("shape")
        words = set(re.findall(r"\w+", self.body))
        weights = [numpy_helper.from_array(array, name) for name, array in WEIGHTS.items() if name in words]
        model.graph.initializer.extend(weights)
        return model


MATRIX = {"x": "float[4,16]"}
IMAGE = {"x": "float[1,16,12,12]"}
TOKENS = {"ids": "int64[2,4]", "types": "int64[2,4]", "mask": "int64[2,4]"}
TWO = {"x": "float[2,4,16]", "z": "float[2,4,16]"}

CENTRED = "m = ReduceMean<axes=[-1]>(x) d = Sub(x, m) q = Pow(d, two) v = ReduceMean<axes=[-1]>(q)"
ROOT = "e = Add(v, eps) r = Sqrt(e)"
LAYER = f"{CENTRED} {ROOT} n = Div(d, r) t = Mul(n, vector0) y = Add(t, vector1)"
RMS = f"q = Pow(x, two) v = ReduceMean<axes=[-1]>(q) {ROOT} n = Div(x, r) y = Mul(n, vector0)"
RMS_INVERSE = RMS.replace("n = Div(x, r)", "i = Div(one, r) n = Mul(x, i)").replace(
    "n, vector0", "vector0, n"
)
GELU = "s = Div(x, root) e = Erf(s) a = Add(e, one) m = Mul(x, a) y = Mul(m, half)"
LINEAR = "p0 = MatMul(u, matrix0) x = Add(p0, vector0)"

CHANNELS_LAST = "x = Transpose<perm=[0,2,3,1]>(u)"
CHANNELS_FIRST = "y0 = Transpose<perm=[0,3,1,2]>(y1) y2 = Mul(y0, channels) y = Add(y2, u)"
SAME = "Conv<kernel_shape=[3,3],pads=[1,1,1,1]>"
BATCH = "BatchNormalization({}, vector0, vector1, vector2, variance)"

PARTS = " ".join(
    f"{p}0 = MatMul(x, matrix{i}) {p}1 = Add({p}0, vector{i}) {p}2 = Reshape({p}1, heads)"
    f" {p} = Transpose<perm={'[0,2,3,1]' if p == 'k' else '[0,2,1,3]'}>({p}2)"
    for i, p in enumerate("qkv")
)
MASK = "m1 = Unsqueeze(f, first) m2 = Unsqueeze(m1, second) m3 = Sub(one, m2) m4 = Mul(m3, low)"
HEADS = (
    f"{MASK} {PARTS} s0 = MatMul(q, k) s1 = Div(s0, two) s2 = Add(s1, m4) s3 = Softmax<axis=-1>(s2)"
    " c0 = MatMul(s3, v) c1 = Transpose<perm=[0,2,1,3]>(c0) c2 = Reshape(c1, joined) c3 = MatMul(c2, matrix3)"
    " c4 = Add(c3, vector3) c5 = Add(c4, x) y = LayerNormalization(c5, vector0, vector1)"
)
QUANTIZED = "c = QuantizeLinear(x, scale, point) d = DequantizeLinear(c, scale, point)"
AGAIN = "b = QuantizeLinear(a, scale, point) y = DequantizeLinear(b, scale, point)"


def _channels_last(body: str) -> str:
    """A body for images: on u, channels first, instead of x."""
    renamed = re.sub(r"\by\b", "y1", body)
    return f"{CHANNELS_LAST} {renamed} {CHANNELS_FIRST}"


def _block(norm: str) -> str:
    """A pointwise and a depthwise convolution, a normalisation and a bound behind each, and the sum."""
    return (
        f"a = Conv(x, pointwise) {norm.format('a', 'b')} c = Clip(b, zero, six) d = Pad(c, border, zero)"
        f" e = Conv<group=16>(d, depthwise) {norm.format('e', 'f')} g = Clip(f, zero, six)"
        f" h = Conv(g, pointwise) {norm.format('h', 'k')} y = Add(k, x)"
    )


CASES: Mapping[str, Case] = {
    "layer norm": Case("LayerNormalization", LAYER),
    "layer norm of ones": Case("LayerNormalization", LAYER.replace("vector0", "ones")),
    "layer norm, plain": Case(
        "LayerNormalization", LAYER.replace("vector0", "ones").replace("vector1", "zeros")
    ),
    "layer norm, channels last": Case("LayerNormalization", _channels_last(LAYER), {"u": IMAGE["x"]}),
    "rms norm": Case("SimplifiedLayerNormalization", RMS),
    "rms norm of ones": Case("SimplifiedLayerNormalization", RMS.replace("vector0", "ones")),
    "rms norm, inverse": Case("SimplifiedLayerNormalization", RMS_INVERSE),
    "rms norm, inverse of ones": Case("SimplifiedLayerNormalization", RMS_INVERSE.replace("vector0", "ones")),
    "sum and layer norm": Case(
        "com.microsoft.SkipLayerNormalization",
        "a = Add(x, z) y = LayerNormalization(a, vector0, vector1)",
        TWO,
    ),
    "gelu": Case("com.microsoft.Gelu", GELU),
    "gelu, channels last": Case("com.microsoft.Gelu", _channels_last(GELU), {"u": IMAGE["x"]}),
    "product, bias and gelu": Case("com.microsoft.Gelu", f"{LINEAR} {GELU}", {"u": "float[2,4,16]"}),
    "gelu by sigmoid": Case("com.microsoft.QuickGelu", "a = Mul(x, quick) b = Sigmoid(a) y = Mul(x, b)"),
    "silu": Case("com.microsoft.QuickGelu", "b = Sigmoid(x) y = Mul(x, b)"),
    "product and bias": Case("Gemm", LINEAR.replace("x =", "y ="), {"u": "float[4,16]"}),
    "product and bias, channels last": Case(
        "Gemm", _channels_last(LINEAR.replace("x =", "y =").replace("(u", "(x")), {"u": "float[1,16,2,2]"}
    ),
    "gemm and activation": Case(
        "com.microsoft.FusedGemm", "a = Gemm(x, matrix0, vector0) y = Relu(a)", MATRIX
    ),
    "product of a transpose": Case(
        "com.microsoft.FusedMatMul", "t = Transpose<perm=[0,2,1]>(z) a = MatMul(x, t) y = Mul(a, half)", TWO
    ),
    **{
        f"convolution and {word.partition('<')[0]}": Case(
            "com.microsoft.FusedConv", f"a = {SAME}(x, kernel, vector0) y = {word}", IMAGE
        )
        for word in ("Relu(a)", "Sigmoid(a)", "Tanh(a)", "LeakyRelu<alpha=0.2>(a)", "Clip(a, zero, six)")
    },
    "convolution, sum, activation": Case(
        "com.microsoft.nchwc.Conv", f"a = {SAME}(x, kernel, vector0) b = Add(a, x) y = Relu(b)", IMAGE
    ),
    "convolution and normalisation": Case(
        "com.microsoft.FusedConv", f"a = {SAME}(x, kernel) b = {BATCH.format('a')} y = Relu(b)", IMAGE
    ),
    "convolution, activation, channels last": Case(
        "com.microsoft.FusedConv",
        f"a = {SAME}(x, kernel) b = Relu(a) c = Transpose<perm=[0,2,3,1]>(b) d = Mul(c, vector0)"
        " y = MatMul(d, matrix0)",
        IMAGE,
    ),
    "mobile block, normalisations": Case(
        "com.microsoft.FusedConv", _block(f"{{1}} = {BATCH.replace('{}', '{0}')}"), {"x": "float[1,16,24,24]"}
    ),
    "mobile block, factors and offsets": Case(
        "com.microsoft.FusedConv",
        _block("{1}_ = Mul({0}, factors) {1} = Add({1}_, offsets)"),
        {"x": "float[1,16,24,24]"},
    ),
    "attention": Case(
        "com.microsoft.FusedMatMul",
        f"w = Add(u, vector3) x = LayerNormalization(w, vector0, vector1) {HEADS}",
        {"u": "float[2,4,16]", "f": "float[2,4]"},
    ),
    "embedding": Case(
        "com.microsoft.SkipLayerNormalization",
        "i = Gather(matrix0, ids) j = Gather(matrix1, types) g = Add(i, j) h = Gather(matrix2, positions)"
        f" w = Add(g, h) x = LayerNormalization(w, vector0, vector1) f = Cast<to=1>(mask) {HEADS}",
        TOKENS,
    ),
    "gathers": Case(
        "Split",
        "a = Gather(x, index0) b = Gather(x, index1) c = Gather(x, index2) d = Mul(a, b) y = Add(d, c)",
        {"x": "float[3,4,16]"},
    ),
    "quantized product": Case(
        "QLinearMatMul",
        f"{QUANTIZED} w = DequantizeLinear(matrix_codes, code_scale, code_point) a = MatMul(d, w) {AGAIN}",
    ),
    "quantized gemm": Case(
        "com.microsoft.QGemm",
        f"{QUANTIZED} w = DequantizeLinear(matrix_codes, code_scale, code_point) a = Gemm(d, w) {AGAIN}",
        MATRIX,
    ),
    "quantized convolution": Case(
        "QLinearConv",
        f"{QUANTIZED} w = DequantizeLinear(kernel_codes, code_scale, code_point) a = {SAME}(d, w) {AGAIN}",
        IMAGE,
    ),
    "quantized sum": Case(
        "com.microsoft.QLinearAdd",
        f"{QUANTIZED} e = QuantizeLinear(z, scale, point) g = DequantizeLinear(e, scale, point) a = Add(d, g)"
        f" {AGAIN}",
        TWO,
    ),
    "dynamic quantization": Case(
        "com.microsoft.DynamicQuantizeMatMul",
        "c, s, p = DynamicQuantizeLinear(x) i = MatMulInteger(c, matrix_codes, p, code_point)"
        " j = Cast<to=1>(i) k = Mul(s, code_scale) a = Mul(j, k) y = Add(a, vector0)",
    ),
}


@pytest.mark.sweep
@pytest.mark.parametrize("name", CASES)
def test_the_runtime_fuses_no_less(name: str) -> None:
    case = CASES[name]
    model = case.model()
    compiled = gradc.compile(model, threads=1).model
    before, after = ([optimized_ops(m, level) for level in (EXTENDED, ALL)] for m in (model, compiled))
    if not any(counts[case.fused] for counts in before):
        pytest.skip(f"this onnxruntime makes no {case.fused} of it")
    assert not any(map(lost_fusions, before, after))
    assert after[-1].total() <= before[-1].total()
