"""Positions along axes that are too long for coordinates in f32, which onnxruntime's Resize has."""

import numpy as np
import pytest

import gradc
from gradc.verification.verify import RTOL
from passes.lower_onednn.interpolate import LONG


def compiled(source: int, size: int, mode: str, rule: str) -> gradc.Compiled:
    g = gradc.Graph()
    x = g.input("x", "f32", [1, 2, 1, source])
    y = g.interpolate(x, mode=mode, sizes=[1, size], coordinate_transformation_mode=rule, data_format="NCX")
    g.output(y, "y")
    return gradc.compile(g, threads=1)


@pytest.mark.parametrize("rule", ["half_pixel", "align_corners"])
@pytest.mark.parametrize(("source", "size"), [(65_537, 131_072), (100_000, 33_333), (30_001, 40_003)])
def test_are_right(source: int, size: int, rule: str):
    model = compiled(source, size, "linear", rule)
    inputs = {"x": np.random.default_rng(0).standard_normal((1, 2, 1, source)).astype(np.float32)}
    got, want = model.run(inputs)["y"], model.reference(inputs)["y"]
    assert np.abs(got - want).max() < RTOL["f32"] / 10 * np.abs(want).max()


@pytest.mark.parametrize(
    ("source", "size", "rule"),
    [
        pytest.param(256, 263, "half_pixel", id="short"),
        pytest.param(65_536, 131_072, "half_pixel", id="twice"),
        pytest.param(65_536, 16_384, "half_pixel", id="a quarter"),
        pytest.param(65_537, 131_073, "align_corners", id="twice but for the corners"),
    ],
)
def test_the_rest_is_a_resize(source: int, size: int, rule: str):
    model = compiled(source, size, "linear", rule)
    assert [node.op_type for node in model.proto.graph.node] == ["Resize"]
    inputs = {"x": np.random.default_rng(0).standard_normal((1, 2, 1, source)).astype(np.float32)}
    got, want = model.run(inputs)["y"], model.reference(inputs)["y"]
    assert np.abs(got - want).max() < RTOL["f32"] * np.abs(want).max()


def test_an_image_is_a_resize():
    """Gathers take 8 times as long, for coordinates that are off by less than a thousandth of a step."""
    model = compiled(LONG, LONG + 7, "linear", "half_pixel")
    assert [node.op_type for node in model.proto.graph.node] == ["Resize"]
