"""Gradients straight through rounding: held against fake quantisation written out in numpy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.cli import run_gradc

import gradc
from dialects.support.diagnostics import UnsupportedError
from gradc.verification.gradient_spec import CheckError
from passes.autodiff.rules import quantize

SHAPE = (2, 6, 5)
RNG = np.random.default_rng(0)
X, G = (RNG.normal(size=SHAPE).astype(np.float32) for _ in range(2))
X.reshape(-1)[:4] = 0, 40, -40, 2.5


@dataclass(frozen=True)
class Form:
    """A type, its bounds, and a scale (and zero point) in the shape in which the op has them."""

    number: int
    low: float
    high: float
    scale: Any
    zero: Any = None
    axis: int = 1
    block: int = 0

    def spread(self, given: np.ndarray) -> np.ndarray:
        """For each element, as the definition of the op has it."""
        if given.ndim == 0:
            return given
        if given.ndim == 1:
            return given.reshape([-1 if i == self.axis else 1 for i in range(len(SHAPE))])
        return np.repeat(given, self.block, self.axis).take(range(SHAPE[self.axis]), self.axis)

    @property
    def is_float(self) -> bool:
        return self.number == TensorProto.FLOAT8E4M3FN

    def fake_quantized(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """torch's fake_quantize: what x becomes, the codes over the zero point, and where x is in range."""
        scale, zero = self.spread(self.scale), 0 if self.zero is None else self.spread(self.zero)
        if self.is_float:
            real = x / scale
            codes = np.clip(real, self.low, self.high).astype(ml_dtypes.float8_e4m3fn).astype(np.float32)
        else:
            real = np.rint(x / scale) + zero
            codes = np.clip(real, self.low, self.high) - zero
        return codes * scale, codes, (real >= self.low) & (real <= self.high)

    def sum_axes(self, terms: np.ndarray) -> np.ndarray:
        """Those that one scale belongs to, together."""
        total = np.zeros(self.scale.shape)
        places = self.spread(np.arange(self.scale.size).reshape(self.scale.shape))
        np.add.at(total.reshape(-1), np.broadcast_to(places, terms.shape), terms)
        return total


_INT8, _UINT8 = TensorProto.INT8, TensorProto.UINT8
COLUMNS = np.array([0.02, 0.3, 0.01, 0.05, 0.02, 0.1], np.float32)
BLOCKS = RNG.uniform(0.005, 0.05, (2, 2, 5)).astype(np.float32)
FORMS = {
    "int8": Form(_INT8, -128, 127, np.float32(0.02), np.int8(-7)),
    "uint8 without a zero point": Form(_UINT8, 0, 255, np.float32(0.01)),
    "int16": Form(TensorProto.INT16, -32768, 32767, np.float32(1e-4), np.int16(5)),
    "int8 along an axis": Form(_INT8, -128, 127, COLUMNS, np.array([0, 3, -5, 9, 100, -128], np.int8)),
    "int4 along the last axis": Form(
        TensorProto.INT4, -8, 7, np.float32([0.3, 0.2, 0.5, 0.1, 0.4]), np.zeros(5, ml_dtypes.int4), axis=2
    ),
    "uint8 in blocks": Form(_UINT8, 0, 255, BLOCKS, np.full((2, 2, 5), 100, np.uint8), block=4),
    "float8": Form(
        TensorProto.FLOAT8E4M3FN, -448, 448, np.float32(0.005), np.array(0, ml_dtypes.float8_e4m3fn)
    ),
}  # fmt: skip


def model(form: Form, type_: int = TensorProto.FLOAT, shape: Any = SHAPE) -> onnx.ModelProto:
    """y = q(x)^2, whose derivative is taken at what is rounded."""
    where = {"axis": form.axis} | ({"block_size": form.block} if form.block else {})
    names = ["s", "z"] if form.zero is not None else ["s"]
    graph = helper.make_graph(
        [
            helper.make_node("QuantizeLinear", ["x", *names], ["q"], **where),
            helper.make_node("DequantizeLinear", ["q", *names], ["d"], **where),
            helper.make_node("Mul", ["d", "d"], ["y"]),
        ],
        "quantised",
        [helper.make_tensor_value_info("x", type_, shape)],
        [helper.make_tensor_value_info("y", type_, shape)],
        [
            numpy_helper.from_array(array.astype(dtype), name)
            for name, array, dtype in (
                ("s", form.scale, helper.tensor_dtype_to_np_dtype(type_)),
                *([("z", form.zero, form.zero.dtype)] if form.zero is not None else []),
            )
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.sweep
@pytest.mark.parametrize("shape", [SHAPE, ["n", 6, None], ["a", "b", "c"]], ids=["static", "some", "open"])
@pytest.mark.parametrize("name", FORMS)
def test_the_cotangent_passes_within_the_range(name: str, shape: Any):
    form = FORMS[name]
    check = shape == SHAPE
    source = model(form, shape=shape)
    found = gradc.vjp(source, wrt=["x", "s"], straight_through=True, check=check)
    assert not found.remarks or not check, [str(remark) for remark in found.remarks]
    got = found.run({"x": X, "cotangent_y": G})
    y, codes, inside = form.fake_quantized(X)
    assert 0 < inside.mean() < 1
    np.testing.assert_allclose(got["grad_x"], 2 * y * G * inside, rtol=1e-5, atol=1e-5)
    want = form.sum_axes((2 * y * G * codes).astype(np.float64))
    np.testing.assert_allclose(got["grad_s"], want, rtol=1e-4, atol=1e-3 * np.abs(want).max())


@pytest.mark.parametrize("type_", ["FLOAT16", "BFLOAT16"])
def test_half_types(type_: str):
    form = FORMS["int8"]
    number = getattr(TensorProto, type_)
    dtype = helper.tensor_dtype_to_np_dtype(number)
    found = gradc.vjp(model(form, number), wrt="x", straight_through=True)
    x, g = X.astype(dtype), G.astype(dtype)
    got = found.run({"x": x, "cotangent_y": g})["grad_x"].astype(np.float32)
    rounded = Form(**{**form.__dict__, "scale": form.scale.astype(dtype).astype(np.float32)})
    y, _, inside = rounded.fake_quantized(x.astype(np.float32))
    want = 2 * y * g.astype(np.float32) * inside
    near = np.abs(got - want) <= 2e-2 * (np.abs(want) + 0.1)
    assert near.mean() > 0.97, (
        "one code off, where a quotient of half precision is rounded, is no more than rare"
    )


def test_second_derivatives():
    """Of d^2 with d of slope 1 within the range: twice the tangent there, 0 outside."""
    form = FORMS["int8"]
    found = gradc.hvp(model(form), wrt="x", reduce="sum", straight_through=True)
    got = found.run({"x": X, "tangent_x": G})["hvp_x"]
    np.testing.assert_allclose(got, 2 * G * form.fake_quantized(X)[2], rtol=1e-6)


def dynamic() -> onnx.ModelProto:
    text = """<ir_version: 8, opset_import: ["": 17]>
    g (float[2, 6, 5] x) => (float[2, 6, 5] y) {
        q, s, z = DynamicQuantizeLinear (x)
        y = DequantizeLinear (q, s, z)
    }"""
    return onnx.parser.parse_model(text)


@pytest.mark.parametrize("straight", [True, False])
def test_a_range_that_is_measured_moves_the_scale(straight: bool):
    """But not where a cotangent passes as if nothing were rounded: the scale would not count then."""
    x = np.clip(X, -3, 4)
    found = gradc.vjp(dynamic(), wrt="x", straight_through=straight, check=True, allow_unused=True)
    message = [str(remark) for remark in found.remarks]
    assert any("part of the gradient" in text for text in message) != straight, message
    assert any("straight_through=True passes it on as if nothing" in text for text in message) != straight, (
        message
    )
    got = found.run({"x": x, "cotangent_y": G})["grad_x"]
    scale = np.float32((x.max() - x.min()) / np.float32(255))
    zero = np.rint(-x.min() / scale)
    real = np.rint(x / scale) + zero
    codes = np.clip(real, 0, 255) - zero
    by_scale = (G.astype(np.float64) * codes).sum() / 255
    want = G * ((real >= 0) & (real <= 255)) if straight else np.zeros(SHAPE)
    top, low = x == x.max(), x == x.min()
    want = want + (0 if straight else by_scale) * (top / top.sum() - low / low.sum())
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def test_codes_of_zero_at_a_kink_are_no_error():
    """Differences across a kink lie between its slopes; where these are a small part of all, steps agree."""
    text = """<ir_version: 8, opset_import: ["": 17]>
    g (float[64] x) => (float[64] y) <float s = {0.7}, float small = {0.008}, int8 z = {0}> {
        q = QuantizeLinear (x, s, z)
        d = DequantizeLinear (q, s, z)
        bent = Relu (d)
        part = Mul (bent, small)
        y = Add (part, d)
    }"""
    found = gradc.vjp(onnx.parser.parse_model(text), wrt="x", straight_through=True, check=True)
    assert not found.remarks


def test_scales_that_differ_give_their_ratio():
    text = """<ir_version: 8, opset_import: ["": 17]>
    g (float[2, 6, 5] x, float s, float t) => (float[2, 6, 5] y) {
        q = QuantizeLinear (x, s)
        y = DequantizeLinear (q, t)
    }"""
    found = gradc.vjp(
        onnx.parser.parse_model(text), wrt=["x", "s", "t"], straight_through=True, allow_unused=True
    )
    s, t = np.float32(0.01), np.float32(0.03)
    got = found.run({"x": X, "s": s, "t": t, "cotangent_y": G})
    real = np.rint(X / s)
    inside = (real >= 0) & (real <= 255)
    np.testing.assert_allclose(got["grad_x"], G * inside * 3, rtol=1e-6)
    np.testing.assert_allclose(got["grad_t"], (G * np.clip(real, 0, 255)).sum(), rtol=1e-4)
    assert got["grad_s"] == 0


def test_a_pair_within_a_branch():
    text = """<ir_version: 8, opset_import: ["": 17]>
    g (float[2, 6, 5] x, bool b) => (float[2, 6, 5] y) <float s = {0.02}> {
        y = If (b) <
            then_branch = t () => (float[2, 6, 5] d) {
                q = QuantizeLinear (x, s)
                d = DequantizeLinear (q, s)
            },
            else_branch = f () => (float[2, 6, 5] e) { e = Neg (x) }
        >
    }"""
    found = gradc.vjp(onnx.parser.parse_model(text), wrt="x", straight_through=True)
    real = np.rint(X / np.float32(0.02))
    inside = (real >= 0) & (real <= 255)
    for condition, want in ((True, G * inside), (False, -G)):
        got = found.run({"x": X, "b": np.array(condition), "cotangent_y": G})["grad_x"]
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_without_the_request_it_is_zero_by_rule():
    with pytest.raises(UnsupportedError, match=r"is zero.*QuantizeLinear.*straight_through=True"):
        gradc.vjp(model(FORMS["int8"]), wrt="x")


def test_the_command(tmp_path: Path):
    onnx.save(model(FORMS["int8"]), tmp_path / "m.onnx")
    given = ["grad", tmp_path / "m.onnx", "--wrt", "x", "--cotangents", "-o", tmp_path / "g.onnx"]
    refused = run_gradc(*given)
    assert refused.code == 3
    assert "--straight-through passes it on" in refused.err
    assert run_gradc(*given, "--straight-through").code == 0


def test_a_wrong_bound_is_found(monkeypatch: pytest.MonkeyPatch):
    """The check holds the gradient against differences of a function that moves within the bounds."""
    monkeypatch.setattr(quantize, "limits_of", lambda dtype: (-100.0, 100.0))
    form = Form(_INT8, -128, 127, np.float32(0.005), np.int8(0))
    with pytest.raises(CheckError, match=r"onnx.DequantizeLinear .* this op is to blame"):
        gradc.vjp(model(form), wrt="x", straight_through=True, check=True)
