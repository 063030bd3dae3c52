"""Models written in an opset older than their own, where forms of ops are others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.onnx_models import edge, is_same, model_of, run

import gradc
from dialects.support.diagnostics import UnsupportedError
from gradc.runtime.session import newest_opset

X = np.arange(24, dtype=np.float32).reshape(4, 6)

LOWERED: dict[str, str] = {
    "BatchNormalization that says it does not train": """g (float[4,6] x) => (float[4,6] y)
        <float[6] s = {1, 2, 3, 1, 2, 3}, float[6] b = {0, 1, 2, 0, 1, 2}> {
        y = BatchNormalization <training_mode = 0> (x, s, b, b, s)
    }""",
    "GridSample with the word of 20": """g (float[4,6] x) => (float[1,1,1,2] y)
        <int64[4] s = {1, 1, 4, 6}, float[1,1,2,2] p = {0.1, 0.2, -0.5, 0.9}> {
        i = Reshape <allowzero = 0> (x, s)
        y = GridSample <mode = "linear"> (i, p)
    }""",
    "GridSample with another word of 20": """g (float[4,6] x) => (float[1,1,1,2] y)
        <int64[4] s = {1, 1, 4, 6}, float[1,1,2,2] p = {0.1, 0.2, -0.5, 0.9}> {
        i = Reshape <allowzero = 0> (x, s)
        y = GridSample <mode = "cubic"> (i, p)
    }""",
    "Resize that says what it does not do": """g (float[N,M] x) => (float[A,B] y) <float[2] s = {2, 1.5}> {
        y = Resize <antialias = 0, keep_aspect_ratio_policy = "stretch"> (x, , s)
    }""",
    "Reshape that copies no sizes": """g (float[N,6] x) => (float[A,2,3] y, float[3,N,B] z) {
        s = Shape <start = 0, end = 1> (x)
        a = Constant <value_ints = [2, 3]> ()
        b = Concat <axis = 0> (s, a)
        y = Reshape <allowzero = 1> (x, b)
        c = Constant <value_ints = [3, 4, -1]> ()
        z = Reshape <allowzero = 1> (x, c)
    }""",
    "Shape of some axes": """g (float[N,M] x) => (int64[1] y, int64[1] z) {
        y = Shape <start = -1> (x)
        z = Shape <start = -5, end = 1> (x)
    }""",
    "Shape of no axes": "g (float[N,M] x) => (int64[0] y) { y = Shape <start = 1, end = 0> (x) }",
    "Split in parts": """g (float[N,M] x) => (float[N,A] y, float[N,B] z) {
        y, z = Split <axis = -1, num_outputs = 2> (x)
    }""",
    "Split in unequal parts": """g (float[N,6] x) => (float[N,2] w, float[N,2] y, float[N,1] z)
        <int64[1] a = {0}, int64[1] b = {5}, int64[1] c = {1}> {
        s = Slice (x, a, b, c)
        w, y, z = Split <axis = 1, num_outputs = 3> (s)
    }""",
    "Mod of 28": """g (float[N,M] x) => (float[N,M] y, float[N,M] z) <float a = {10.5}, float b = {-4}> {
        s = Sub (x, a)
        y = Mod (s, b)
        z = Mod (b, s)
    }""",
    "SpaceToDepth of 28": """g (float[4,6] x) => (float[A,B,C,D] y) <int64[4] s = {1, 2, 2, 6}> {
        i = Reshape (x, s)
        y = SpaceToDepth <blocksize = 2, mode = "CRD"> (i)
    }""",
    "Trilu": """g (float[N,M] x) => (float[N,M] y, float[N,M] z, bool[N,M] b) <int64 k = {-1}> {
        y = Trilu (x)
        z = Trilu <upper = 0> (x, k)
        t = Cast <to = 9> (x)
        b = Trilu (t)
    }""",
    "Pad of some axes": """g (float[N,M] x, int64[2] p) => (float[N,B] y) <int64[1] a = {-1}, float v = {7}> {
        y = Pad (x, p, v, a)
    }""",
    "Pad of axes in another order": """g (float[N,M] x) => (float[A,B] y)
        <int64[2] a = {1, -2}, int64[4] p = {1, 2, 3, -1}> {
        y = Pad <mode = "edge"> (x, p, , a)
    }""",
}


@pytest.mark.parametrize("target", ["cpu", "portable"])
@pytest.mark.parametrize("name", LOWERED)
def test_the_result_is_that_of_the_model(name: str, target: str):
    own = 28 if "of 28" in name else 20
    if newest_opset() < own:
        pytest.skip(f"the installed onnxruntime does not have opset {own}")
    model = model_of(LOWERED[name], opset=own)
    older = 16 if "GridSample" in name else 13
    found = gradc.compile(model, target=target, opset=older).model
    assert found.opset_import[0].version == older
    assert edge(found) == edge(model)
    feeds: dict[str, Any] = {"x": X, "p": np.array([2, 1])}
    assert all(map(is_same, run(found, feeds), run(model, feeds)))


def test_a_size_that_may_be_0():
    """Before opset 14 a 0 among sizes is the size of the axis there."""
    text = """g (float[N,M] x) => (float[M,N] y) <int64[2] i = {1, 0}> {
        s = Shape (x)
        b = Gather (s, i)
        y = Reshape <allowzero = 1> (x, b)
    }"""
    found = gradc.compile(model_of(text, opset=18), opset=13)
    for shape in ((2, 3), (0, 3), (2, 0)):
        assert found.run({"x": np.zeros(shape, np.float32)})["y"].shape == shape[::-1]


@pytest.mark.parametrize("kind", ["seq(float[N])", "optional(float[N])"])
def test_a_copy_of_a_container_that_the_opset_does_not_have(kind: str):
    model = model_of(f"g ({kind} x) => ({kind} y) {{ y = Identity(x) }}", opset=20)
    with pytest.raises(UnsupportedError, match=r'as the output "y": given opset=13, expected opset 1[46]'):
        gradc.compile(model, opset=13)


POOLED = {
    "MaxPool": ("2,2,6", "2,1,3", "kernel_shape = [1, 2], strides = [2, 2], pads = [0, 0, 0, 1]"),
    "AveragePool": ("1,4,6", "1,2,2", "kernel_shape = [3, 3], strides = [2, 3], pads = [0, 0, 2, 1]"),
}


@pytest.mark.parametrize("opset", [13, 18, 21])
@pytest.mark.parametrize("op", POOLED)
def test_a_last_window_that_would_start_in_the_padding(op: str, opset: int):
    """Before opset 22 the formula of ceil_mode counts it, and no runtime has it."""
    shape, pooled, attributes = POOLED[op]
    text = f"g (float[1,{shape}] x) => (float[1,{pooled}] y) {{ y = {op} <ceil_mode = 1, {attributes}> (x) }}"
    model, x = (
        model_of(text, opset=22),
        np.arange(24, dtype=np.float32).reshape([1, *map(int, shape.split(","))]),
    )
    found = gradc.compile(model, opset=opset).model
    assert edge(found) == edge(model)
    assert all(map(is_same, run(found, {"x": x}), run(model, {"x": x})))


@pytest.mark.parametrize("opset", [13, 18, 21])
@pytest.mark.parametrize(
    ("attributes", "sizes"),
    [
        ("kernel_shape = [2, 2], strides = [2, 2], pads = [0, 0, 1, 0]", (4, 5)),
        ("kernel_shape = [3, 1], strides = [2, 3]", (6, 6)),
        ("kernel_shape = [3, 2], strides = [2, 4], pads = [0, 1, 0, 1]", (6, 7)),
    ],
)
def test_a_mean_does_not_count_padding_that_is_none_of_the_model(
    attributes: str, sizes: tuple[int, int], opset: int
):
    node = f"y = AveragePool <count_include_pad = 1, ceil_mode = 1, {attributes}> (x)"
    model = model_of(f"g (float[1,1,{sizes[0]},{sizes[1]}] x) => (float[1,1,p,q] y) {{ {node} }}", opset=22)
    found = gradc.compile(model, opset=opset).model
    x = np.arange(np.prod(sizes), dtype=np.float32).reshape(1, 1, *sizes)
    assert all(map(is_same, run(found, {"x": x}), run(model, {"x": x})))
