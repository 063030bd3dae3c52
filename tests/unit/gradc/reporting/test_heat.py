"""Heat maps of gradients: which values they show, in which colours, and when there is none."""

from __future__ import annotations

import base64
import sys
from io import BytesIO

import ml_dtypes
import numpy as np
import pytest

from dialects.support.diagnostics import UsageError
from gradc.reporting.heat import LARGEST, NOT_FINITE, HeatMap, NoMap, check_available, error_map, heat_map

MAGENTA = tuple(bytes.fromhex(NOT_FINITE[1:]))


@pytest.fixture(autouse=True)
def _needs_pillow():
    pytest.importorskip("PIL")


def mapped(found: HeatMap | NoMap) -> HeatMap:
    assert isinstance(found, HeatMap), found
    return found


def pixels(found: HeatMap | NoMap) -> np.ndarray:
    """Rows, columns and colours."""
    from PIL import Image

    head, _, data = mapped(found).image.partition(",")
    assert head == "data:image/png;base64"
    image = np.asarray(Image.open(BytesIO(base64.b64decode(data))).convert("RGB"))
    assert image.shape == (mapped(found).height, mapped(found).width, 3)
    return image


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def test_one_channel_has_signs_and_nothing_is_in_the_middle():
    array = np.zeros((1, 1, 4, 5), np.float32)
    array[0, 0, 1, 2], array[0, 0, 3, 4] = 2, -2
    found = mapped(heat_map(array))
    assert (found.low, found.high, found.largest) == (-2, 2, 2)
    assert found.caption == "1 channel"
    image = pixels(found)
    red, blue, nothing = image[1, 2].astype(int), image[3, 4].astype(int), image[0, 0].astype(int)
    assert red[0] > red[2]
    assert blue[2] > blue[0]
    assert nothing.min() > 240
    assert found.colours.startswith("linear-gradient(to right, #")


def test_several_channels_are_the_largest_magnitude():
    array = np.zeros((1, 3, 4, 4), np.float32)
    array[0, 1, 2, 3], array[0, 2, 2, 3] = 1, -3
    found = mapped(heat_map(array))
    assert (found.low, found.high) == (0, 3)
    assert found.caption == "largest magnitude of 3 channels"
    image = pixels(found).reshape(-1, 3)
    assert len(np.unique(image, axis=0)) == 2
    assert (image[11] != image[0]).any()


def test_channels_last_is_the_same_map():
    array = drawn(2, 3, 6, 8)
    assert heat_map(np.transpose(array, (0, 2, 3, 1)), "NXC") == heat_map(array)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64])
def test_other_dtypes(dtype: type):
    array = (drawn(1, 1, 8, 8) * 8).round() / 8
    assert heat_map(array.astype(dtype)) == heat_map(array)


def test_the_first_of_a_batch():
    array = drawn(3, 1, 5, 5)
    found = mapped(heat_map(array))
    assert found.caption == "item 1 of 3, 1 channel"
    assert found.image == mapped(heat_map(array[:1])).image


def test_the_middle_of_a_volume():
    array = drawn(1, 2, 7, 5, 6)
    found = mapped(heat_map(array))
    assert found.caption == "slice 4 of 7, largest magnitude of 2 channels"
    assert found.image == mapped(heat_map(array[:, :, 3])).image


def test_the_channels_of_a_signal_are_rows():
    found = mapped(heat_map(drawn(1, 6, 40)))
    assert (found.width, found.height) == (40, 6)
    assert found.caption == "6 channels, a row each"
    assert found.low == -found.high


@pytest.mark.parametrize(
    ("channels", "caption"), [(1, "1 channel"), (65, "largest magnitude of 65 channels")]
)
def test_other_signals_are_strips(channels: int, caption: str):
    found = mapped(heat_map(drawn(1, channels, 160)))
    assert (found.width, found.height, found.caption) == (160, 10, caption)
    image = pixels(found)
    assert (image == image[:1]).all()


def test_a_few_outliers_do_not_make_the_rest_dark():
    array = np.linspace(0, 1, 10_000, dtype=np.float32).reshape(1, 1, 100, 100).copy()
    array[0, 0, 50, 50] = 1e6
    found = mapped(heat_map(array))
    assert 0.99 < found.high <= 1
    assert found.largest == 1e6
    assert (pixels(found)[50, 50] == pixels(found)[99, 99]).all()


def test_one_value_among_zeros_is_seen():
    array = np.zeros((1, 2, 100, 100), np.float32)
    array[0, 0, 7, 7] = 5
    found = mapped(heat_map(array))
    assert found.high == 5
    assert len(np.unique(pixels(found).reshape(-1, 3), axis=0)) == 2


def test_zeros():
    found = mapped(heat_map(np.zeros((1, 1, 8, 8), np.float32)))
    assert (found.low, found.high, found.largest, found.note) == (0, 0, 0, "")
    assert len(np.unique(pixels(found).reshape(-1, 3), axis=0)) == 1


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_marked(channels: int, value: float):
    array = drawn(1, channels, 8, 8)
    array[0, 0, 2, 5] = value
    found = mapped(heat_map(array))
    assert np.isfinite([found.low, found.high, found.largest]).all()
    assert found.note == f"1 of {array.size} values are not finite, shown in magenta"
    magenta = (pixels(found) == MAGENTA).all(axis=-1)
    assert np.argwhere(magenta).tolist() == [[2, 5]]


def test_nothing_finite():
    found = mapped(heat_map(np.full((1, 1, 8, 8), np.nan, np.float32)))
    assert (found.low, found.high) == (0, 0)
    assert (pixels(found) == MAGENTA).all()


def test_a_large_image_keeps_its_peaks():
    array = np.zeros((1, 1, 3 * LARGEST - 1, 2 * LARGEST), np.float32)
    array[0, 0, 700, 801], array[0, 0, 900, 3] = -4, np.nan
    found = mapped(heat_map(array))
    assert (found.width, found.height, found.low) == (LARGEST, LARGEST, -4)
    assert found.caption == "1 channel, each pixel the largest of 3×2 values"
    image = pixels(found)
    assert (image[300, 1] == MAGENTA).all()
    assert len(np.unique(image.reshape(-1, 3), axis=0)) == 3
    assert (image[700 // 3, 801 // 2] != image[0, 0]).any()


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (np.zeros((4, 5)), "not an image: 2 axes"),
        (np.zeros((1,) * 6), "not an image: 6 axes"),
        (np.zeros((1, 0, 8, 8)), "no elements"),
        (np.zeros((1, 2, 3, 8)), "too small for an image: 3×8"),
        (np.zeros((1, 2, 3)), "too small for an image: 3, expected 4"),
    ],
)
def test_what_is_no_image(array: np.ndarray, reason: str):
    found = heat_map(array)
    assert isinstance(found, NoMap)
    assert reason in found.reason


def test_a_thin_volume_is_an_image():
    assert mapped(heat_map(drawn(1, 1, 2, 8, 8))).caption == "slice 2 of 2, 1 channel"


def test_errors():
    reference = drawn(1, 1, 8, 8)
    got = reference.copy()
    got[0, 0, 3, 3] -= np.float32(0.5)
    found = mapped(error_map(got, reference))
    assert (found.low, found.high) == (0, 0.5)
    assert np.argwhere((pixels(found) != pixels(found)[0, 0]).any(axis=-1)).tolist() == [[3, 3]]


def test_an_error_of_half_types_is_not_rounded():
    got = np.full((1, 1, 4, 4), 1.0078125, ml_dtypes.bfloat16)
    reference = np.full((1, 1, 4, 4), 1.001, np.float64)
    assert mapped(error_map(got, reference)).largest == pytest.approx(0.0068125)


def test_what_is_not_finite_in_both_is_no_error():
    got, reference = drawn(1, 1, 4, 4), drawn(1, 1, 4, 4)
    for array in (got, reference):
        array[0, 0, 0] = [np.inf, -np.inf, np.nan, 1]
    assert mapped(error_map(got, reference)).largest == 0
    assert mapped(error_map(got, reference)).note == ""
    reference[0, 0, 0, 0] = -np.inf
    assert mapped(error_map(got, reference)).note.startswith("1 of 16 values")


def test_errors_of_other_shapes():
    found = error_map(drawn(1, 1, 4, 4), drawn(1, 1, 4, 5))
    assert found == NoMap("the shapes differ: 1×1×4×4 and 1×1×4×5")


def test_the_colours_of_magnitudes_get_lighter():
    ramp = np.linspace(0, 1, 4 * 64, dtype=np.float32).reshape(1, 1, 4, 64)
    image = pixels(heat_map(np.concatenate([ramp, ramp], axis=1)))
    lightness = image.reshape(-1, 3) @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(lightness) >= -1).all()
    assert lightness[-1] - lightness[0] > 150


def test_without_pillow_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(UsageError, match=r'pip install "jinja2>=.*" "pillow>=.*" "pygraphviz>=.*"'):
        heat_map(drawn(1, 1, 4, 4))
    with pytest.raises(UsageError, match="Pillow"):
        check_available()
