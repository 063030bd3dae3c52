"""Ops that a target has in no form: the ops by which ONNX defines them stand in their place."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from support.onnx_models import edge, model_of, run

import gradc
from dialects.support.diagnostics import UnsupportedError

X = np.linspace(-2, 2, 48, dtype=np.float32).reshape(1, 4, 3, 4)

EDGE = "g (float[N,4,3,4] x) => (float[N,4,3,4] y)"

YOUNGER = {
    "Gelu": (20, f'{EDGE} {{ y = Gelu <approximate = "tanh"> (x) }}'),
    "GroupNormalization": (
        21,
        f"{EDGE} <float[4] s = {{1, 2, 3, 4}}, float[4] b = {{0, 1, 2, 3}}>"
        " { y = GroupNormalization <num_groups = 2> (x, s, b) }",
    ),
    "HardSwish": (14, f"{EDGE} {{ y = HardSwish (x) }}"),
    "Mish": (18, f"{EDGE} {{ y = Mish (x) }}"),
    "within a branch": (
        20,
        f"""{EDGE} {{
            n = Size(x)
            b = Cast <to = 9> (n)
            y = If (b) <then_branch = t () => (float u) {{ u = Gelu(x) }},
                        else_branch = e () => (float v) {{ v = Neg(x) }}>
        }}""",
    ),
}
"""What it is called -> the opset that it came with, and a model of it."""


@pytest.mark.parametrize("target", ["cpu", "portable"])
@pytest.mark.parametrize("name", YOUNGER)
def test_an_op_younger_than_the_opset(name: str, target: str):
    first, text = YOUNGER[name]
    model = model_of(text, opset=first)
    older = 17 if name == "GroupNormalization" else 13
    found = gradc.compile(model, target=target, opset=older).model
    assert found.opset_import[0].version == older
    assert edge(found) == edge(model)
    np.testing.assert_allclose(*run(found, {"x": X}), *run(model, {"x": X}), rtol=1e-5, atol=1e-6)


def test_an_attribute_of_a_newer_form_that_is_so_by_default():
    text = """g (float[1,2,3,4] q) => (float[1,2,3,4] y) {
        y = Attention <left_window_size = -1> (q, q, q)
    }"""
    model = model_of(text, opset=onnx.defs.onnx_opset_version())
    attention = onnx.defs.get_schema("Attention")
    if "left_window_size" not in attention.attributes:
        pytest.skip("onnx has it from a later version on")
    found = gradc.compile(model, opset=18).model
    feeds = {"q": np.linspace(-1, 1, 24, dtype=np.float32).reshape(1, 2, 3, 4)}
    plain = gradc.compile(model_of(text.replace("<left_window_size = -1>", ""), opset=23), opset=18).model
    np.testing.assert_array_equal(*run(found, feeds), *run(plain, feeds))


@pytest.mark.parametrize("opset", [13, 18])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
def test_a_type_without_a_kernel(dtype: type, opset: int):
    """onnxruntime has PRelu of f32 and f16. The op has a body from 16 on, which means the same before."""
    word = {np.int32: "int32", np.int64: "int64", np.float64: "double"}[dtype]
    text = f"g ({word}[N,4] x, {word}[4] s) => ({word}[N,4] y) {{ y = PRelu(x, s) }}"
    feeds = {"x": np.arange(-6, 6).reshape(3, 4).astype(dtype), "s": np.array([2, 3, 4, 5], dtype)}
    (found,) = run(gradc.compile(model_of(text, opset=18), opset=opset).model, feeds)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, np.where(feeds["x"] < 0, feeds["x"] * feeds["s"], feeds["x"]))


def test_what_the_target_does_not_have_in_the_body_either_is_refused_as_it_was():
    model = model_of("g (uint64[N,4] x, uint64[4] s) => (uint64[N,4] y) { y = PRelu(x, s) }", opset=18)
    with pytest.raises(UnsupportedError, match="PRelu has no kernel for u64"):
        gradc.compile(model)
