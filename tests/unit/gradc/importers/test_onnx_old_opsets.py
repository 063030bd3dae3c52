"""Old forms of ops: what onnxruntime makes of the model as it is, it makes of the compiled one.

It runs opsets from 7 on. Of older forms what is expected is written here.
"""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from support.onnx_models import is_same, model_of, run

import gradc
from dialects.support.diagnostics import UnsupportedError

X = np.arange(-12, 12, dtype=np.float32).reshape(1, 2, 3, 4)

EDGE = "g (float[1,2,3,4] x) => (float[A,B,C,D] y)"

RUN: dict[str, tuple[int, str]] = {
    "BatchNormalization": (
        7,
        f"{EDGE} <float[2] s = {{1, 2}}, float[2] b = {{0, 1}}, float[2] m = {{1, 1}}, float[2] v = {{2, 3}}>"
        " { y = BatchNormalization <epsilon = 0.1> (x, s, b, m, v) }",
    ),
    "BatchNormalization that trains": (
        13,
        "g (float[1,2,3,4] x) => (float[A,B,C,D] y, float[E] n, float[F] w)"
        " <float[2] s = {1, 2}, float[2] b = {0, 1}, float[2] m = {1, 1}, float[2] v = {2, 3}>"
        " { y, n, w, saved_mean, saved_var = BatchNormalization <momentum = 0.8> (x, s, b, m, v) }",
    ),
    "BatchNormalization that trains, of which nobody reads statistics": (
        7,
        f"{EDGE} <float[2] s = {{1, 2}}, float[2] b = {{0, 1}}, float[2] m = {{1, 1}}, float[2] v = {{2, 3}}>"
        " { y, n, w, saved_mean, saved_var = BatchNormalization (x, s, b, m, v) }",
    ),
    "Clip": (7, f"{EDGE} {{ y = Clip <min = -1.0, max = 3.0> (x) }}"),
    "Clip without an end": (7, f"{EDGE} {{ y = Clip <max = 3.0> (x) }}"),
    "Clip by vectors of one element": (
        17,
        f"{EDGE} <float[1] a = {{-1}}, float[1] b = {{3}}> {{ y = Clip (x, a, b) }}",
    ),
    "Expand to one size": (17, f"{EDGE} <int64 n = {{4}}> {{ y = Expand (x, n) }}"),
    "Dropout": (7, f"{EDGE} {{ y = Dropout <ratio = 0.3> (x) }}"),
    "Dropout with a mask": (
        10,
        "g (float[1,2,3,4] x) => (float[A,B,C,D] y, bool[A,B,C,D] m) { y, m = Dropout (x) }",
    ),
    "Dropout with a mask of floats": (
        7,
        "g (float[1,2,3,4] x) => (float[A,B,C,D] y, float[A,B,C,D] m) { y, m = Dropout <ratio = 0.3> (x) }",
    ),
    "GridSample": (
        16,
        "g (float[1,2,3,4] x) => (float[A,B,C,D] y) <float[1,1,2,2] p = {0.1, 0.2, -0.5, 0.9}>"
        ' { y = GridSample <mode = "bicubic"> (x, p) }',
    ),
    "LogSoftmax": (11, f"{EDGE} {{ y = LogSoftmax <axis = 2> (x) }}"),
    "Pad": (7, f"{EDGE} {{ y = Pad <pads = [0, 0, 1, 0, 0, 0, 0, 2], value = 7.0> (x) }}"),
    "ReduceMean": (11, f"{EDGE} {{ y = ReduceMean <axes = [1, -1]> (x) }}"),
    "ReduceMean over all": (11, f"{EDGE} {{ y = ReduceMean (x) }}"),
    "ReduceSum": (11, f"{EDGE} {{ y = ReduceSum <axes = [2]> (x) }}"),
    "Resize": (10, f'{EDGE} <float[4] s = {{1, 1, 2, 1.5}}> {{ y = Resize <mode = "linear"> (x, s) }}'),
    "Resize to the nearest": (10, f"{EDGE} <float[4] s = {{1, 1, 2, 2}}> {{ y = Resize (x, s) }}"),
    "Resize to the nearest as TensorFlow does": (
        11,
        f"{EDGE} <float[1] r = {{0}}, float[4] s = {{1, 1, 0.7, 1.5}}> {{ y = Resize"
        ' <coordinate_transformation_mode = "tf_half_pixel_for_nn", nearest_mode = "floor"> (x, r, s) }',
    ),
    "Resize with a mode of before": (
        18,
        f"{EDGE} <float[4] s = {{1, 1, 2, 0.5}}> {{ y = Resize"
        ' <coordinate_transformation_mode = "tf_half_pixel_for_nn", nearest_mode = "floor"> (x, , s) }',
    ),
    "Scatter": (
        10,
        f"{EDGE} <int64[1,2,1,1] i = {{2, 1}}, float[1,2,1,1] u = {{9, 8}}>"
        " { y = Scatter <axis = 2> (x, i, u) }",
    ),
    "Slice": (9, f"{EDGE} {{ y = Slice <axes = [1, 3], starts = [0, -3], ends = [1, 9]> (x) }}"),
    "Slice of the first axes": (9, f"{EDGE} {{ y = Slice <starts = [0, 1], ends = [1, 2]> (x) }}"),
    "Softmax": (11, f"{EDGE} {{ y = Softmax (x) }}"),
    "Softmax along the last": (11, f"{EDGE} {{ y = Softmax <axis = -1> (x) }}"),
    "Hardmax": (11, f"{EDGE} {{ y = Hardmax <axis = 1> (x) }}"),
    "Split": (11, f"{EDGE} {{ a, b = Split <axis = 3, split = [1, 3]> (x)  y = Mul(b, a) }}"),
    "Split in equal parts": (11, f"{EDGE} {{ a, b = Split <axis = 3> (x)  y = Mul(b, a) }}"),
    "Split in the form of 13": (13, f"{EDGE} {{ a, b = Split <axis = 3> (x)  y = Mul(b, a) }}"),
    "Squeeze and Unsqueeze": (
        11,
        f"{EDGE} {{ a = Squeeze <axes = [0]> (x)  y = Unsqueeze <axes = [3]> (a) }}",
    ),
    "TopK": (9, f"{EDGE} {{ y, i = TopK <axis = 2, k = 2> (x) }}"),
    "Clip without bounds": (
        9,
        f"{EDGE} <float z = {{0}}> {{ i = Div (x, z)  y = Clip (i) }}",
    ),
    "Upsample": (7, f'{EDGE} {{ y = Upsample <mode = "linear", scales = [1.0, 1.0, 2.0, 2.0]> (x) }}'),
    "Upsample by an operand": (9, f"{EDGE} <float[4] s = {{1, 1, 2, 3}}> {{ y = Upsample (x, s) }}"),
    "GroupNormalization": (
        18,
        f"{EDGE} <float[2] s = {{1, 2}}, float[2] b = {{0, 1}}>"
        " { y = GroupNormalization <num_groups = 2> (x, s, b) }",
    ),
}


OTHER_ORDER = ("GroupNormalization", "LogSoftmax", "BatchNormalization that trains, of which")
"""Those that are written with another order of the same sums."""


@pytest.mark.parametrize("name", RUN)
def test_the_result_is_that_of_the_model(name: str):
    opset, text = RUN[name]
    model = model_of(text, opset=opset)
    found = gradc.compile(model).model
    assert found.opset_import[0].version >= 18
    expected, result = (run(m, {"x": X}) for m in (model, found))
    close = name.startswith(OTHER_ORDER)
    same = np.allclose(*expected, *result, rtol=1e-5, atol=1e-6) if close else is_same(expected, result)
    assert same


def of_text(text: str, opset: int) -> onnx.ModelProto:
    """Before opset 5 a model says less of itself."""
    return model_of(text, opset=opset, ir_version=3)


OLDER: dict[str, tuple[int, str, np.ndarray]] = {
    "Add from an axis on": (
        6,
        f"{EDGE} <float[2,3] w = {{1, 2, 3, 4, 5, 6}}> {{ y = Add <broadcast = 1, axis = 1> (x, w) }}",
        X + np.arange(1, 7, dtype=np.float32).reshape(2, 3, 1),
    ),
    "Mul of the last axes": (
        6,
        f"{EDGE} <float[4] w = {{1, 2, 3, 4}}> {{ y = Mul <broadcast = 1> (x, w) }}",
        X * np.arange(1, 5, dtype=np.float32),
    ),
    "Relu": (1, f"{EDGE} {{ y = Relu <consumed_inputs = [0]> (x) }}", np.maximum(X, 0)),
    "PRelu": (
        6,
        f"{EDGE} <float[2] w = {{0.5, 2}}> {{ y = PRelu(x, w) }}",
        np.where(X < 0, X * np.array([0.5, 2], np.float32).reshape(2, 1, 1), X),
    ),
    "Reshape": (1, f"{EDGE} {{ y = Reshape <shape = [3, 2, 4, 1]> (x) }}", X.reshape(3, 2, 4, 1)),
    "Cast": (1, f'{EDGE} {{ a = Cast <to = "INT32"> (x)  y = Cast <to = "FLOAT"> (a) }}', X),
    "Concat": (1, f"{EDGE} {{ y = Concat(x, x) }}", np.concatenate([X, X], 1)),
    "Pad": (
        1,
        f"{EDGE} {{ y = Pad <paddings = [0, 0, 0, 1, 0, 0, 0, 0]> (x) }}",
        np.pad(X, [(0, 0), (0, 0), (0, 0), (1, 0)]),
    ),
    "Tile": (
        1,
        f"{EDGE} <int64[1] n = {{2}}, int64[1] a = {{1}}> {{ y = Tile(x, n, a) }}",
        np.tile(X, (1, 2, 1, 1)),
    ),
    "Upsample": (
        1,
        f"{EDGE} {{ y = Upsample <height_scale = 2.0, width_scale = 1.0> (x) }}",
        X.repeat(2, axis=2),
    ),
}


@pytest.mark.parametrize("name", OLDER)
def test_the_result_is_what_the_form_means(name: str):
    opset, text, expected = OLDER[name]
    (result,) = run(gradc.compile(of_text(text, opset)).model, {"x": X})
    np.testing.assert_array_equal(result, expected)


def test_every_initializer_may_be_an_input():
    """As the first IR versions wanted it."""
    model = of_text("g (float[2] x, float[2] w) => (float[2] y) { y = Add(x, w) }", 7)
    model.graph.initializer.append(numpy_helper.from_array(np.ones(2, np.float32), "w"))
    (result,) = run(gradc.compile(model).model, {"x": np.zeros(2, np.float32)})
    assert result.tolist() == [1, 1]


REFUSED = {
    "BatchNormalization": (
        7,
        f"{EDGE} <float[2] s = {{1, 2}}> {{ y = BatchNormalization <spatial = 0> (x, s, s, s, s) }}",
        "spatial = 0",
    ),
    "Resize": (
        11,
        f"{EDGE} <float[1] r = {{0}}, float[4] s = {{1, 1, 2, 2}}>"
        ' { y = Resize <coordinate_transformation_mode = "tf_half_pixel_for_nn"> (x, r, s) }',
        "tf_half_pixel_for_nn",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_form_without_a_newer_one_is_refused(name: str):
    opset, text, message = REFUSED[name]
    with pytest.raises(UnsupportedError, match=message):
        gradc.compile(model_of(text, opset=opset))
