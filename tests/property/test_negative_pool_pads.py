"""AvgPool whose `pads_end` cuts elements off, which the library takes as long as pads_end + stride >= 0."""

from __future__ import annotations

import numpy as np
import pytest

import gradc
from dialects.support.diagnostics import GradcError
from gradc.compiler.compiled import Compiled


def compiled(end: int, stride: int, exclude: bool, rounding: str) -> Compiled:
    graph = gradc.Graph()
    x = graph.input("x", "f32", [1, 1, 6, 4])
    y = graph.avg_pool(
        x,
        kernel=[3, 2],
        strides=[stride, 1],
        pads_begin=[1, 0],
        pads_end=[end, 0],
        exclude_pad=exclude,
        rounding_type=rounding,
        data_format="NCX",
    )
    graph.output(y)
    return gradc.compile(graph)


@pytest.mark.parametrize("rounding", ["floor", "ceil"])
@pytest.mark.parametrize("exclude", [False, True])
@pytest.mark.parametrize(("end", "stride"), [(-1, 1), (-1, 2), (-2, 2)])
def test_windows_over_less_data(end: int, stride: int, exclude: bool, rounding: str):
    model, x = compiled(end, stride, exclude, rounding), np.random.default_rng(0).random((1, 1, 6, 4))
    feeds = {"x": x.astype(np.float32)}
    (found,), (expected,) = (list(run(feeds).values()) for run in (model.run, model.reference))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    divided = (6 + 1 + end - 3) / stride
    assert found.shape[2] == int(np.ceil(divided) if rounding == "ceil" else divided) + 1


def test_no_more_than_a_stride_is_cut():
    with pytest.raises(GradcError, match="pads_end axis H: given -3, expected -2 or more"):
        compiled(-3, 2, False, "floor")
