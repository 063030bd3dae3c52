"""What is decided although a size that would decide is unknown: never without a remark, never against a
size that run time brings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradc

pytest.importorskip("onnxruntime")

WINDOW: dict[str, Any] = {"strides": [2], "pads_begin": [1], "pads_end": [1], "dilations": [1]}


def transposed(weights: list[int], *, channels: int | None = None, src: int | None = None, **given: Any):
    """A grouped ConvTransposeBackwardData on 7 positions, whose channels may be left open."""
    g = gradc.Graph()
    dy, w = g.input("dy", "f32", [1, channels, 7]), g.input("w", "f32", weights)
    shape = None if src is None else [1, src, 4]
    more = {"groups": 2, "data_format": "NCX", "weights_format": "IOX"} | given
    g.output(g.conv_transpose_backward_data(dy, w, **WINDOW, **more, result_shape=shape), "dx")
    return gradc.compile(g)


def feeds(channels: int, weights: list[int]) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = {"dy": [1, channels, 7], "w": weights}
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def messages(compiled: gradc.Compiled) -> str:
    return "\n".join(map(str, compiled.remarks))


class TestGroupedWeights:
    def test_only_the_page_s_layout_is_possible(self):
        """3 is no multiple of the groups, so it is C / groups."""
        compiled = transposed([3, 4, 3])
        assert "are in the page's layout" in messages(compiled)
        assert [info.shape for info in compiled.inputs] == [(1, 4, 7), (3, 4, 3)]
        fed = feeds(4, [3, 4, 3])
        expected = transposed([3, 4, 3], channels=4).reference(fed)["dx"]
        np.testing.assert_allclose(compiled.run(fed)["dx"], expected, rtol=1e-5, atol=1e-5)
        assert expected.shape == (1, 6, 4)

    def test_only_the_library_s_layout_is_possible(self):
        compiled = transposed([4, 3, 3])
        assert not compiled.remarks
        assert compiled.run(feeds(6, [4, 3, 3]))["dx"].shape == (1, 4, 4)

    def test_both_are_possible(self):
        compiled = transposed([4, 4, 3])
        assert "are read in the library's layout (C, O/groups, ...), C = 4, O = 8" in messages(compiled)
        assert compiled.run(feeds(8, [4, 4, 3]))["dx"].shape == (1, 4, 4)
        for action in (compiled.run, compiled.reference):
            with pytest.raises(gradc.GradcError, match=r"expected the page's layout .*, by the 4 channels"):
                action(feeds(4, [4, 4, 3]))

    def test_neither_is_possible(self):
        with pytest.raises(
            gradc.GradcError, match=r"groups: given 2, expected a divisor of 3, the C .* or of 5"
        ):
            transposed([3, 5, 3])

    @pytest.mark.parametrize(("src", "layout"), [(4, "library"), (8, "page")])
    def test_the_result_tells(self, src: int, layout: str):
        compiled = transposed([4, 4, 3], src=src)
        assert "are read in" not in messages(compiled)
        assert ("the page's layout" in messages(compiled)) == (layout == "page")
        assert compiled.run(feeds(8 if layout == "library" else 4, [4, 4, 3]))["dx"].shape == (1, src, 4)

    def test_one_group_is_no_question(self):
        assert not transposed([4, 4, 3], groups=1).remarks

    @pytest.mark.parametrize("layout", ["IOX", "XOI"])
    def test_channels_of_an_earlier_result(self, layout: str):
        """The channels of what an op makes of an image of unknown channels."""
        g = gradc.Graph()
        image, dy = g.input("image", "f32", [1, "C", 7]), g.input("dy", "f32", [1, "C", 5])
        weights = [3, 4, 3] if layout == "IOX" else [3, 4, 3][::-1]
        w = g.input("w", "f32", weights)
        up = g.interpolate_backward(image, dy, [5], mode="linear", data_format="NCX")
        more: dict[str, Any] = {"groups": 2, "data_format": "NCX", "weights_format": layout}
        g.output(g.conv_transpose_backward_data(up, w, **WINDOW, **more), "dx")
        compiled = gradc.compile(g)
        fed = {
            "image": np.ones((1, 4, 7), np.float32),
            "dy": np.ones((1, 4, 5), np.float32),
            "w": np.ones(weights, np.float32),
        }
        assert compiled.run(fed)["dx"].shape == (1, 6, 4)


def test_shares_of_rows_of_minus_infinity():
    """The page's reading on any axis; where the elements of a row lie apart, the library has another."""
    shares = {}
    for name, axis in (("last", 2), ("middle", 1)):
        g = gradc.Graph()
        g.output(g.softmax(g.input("x", "f32", [2, 3, 3]), axis=axis, mode="inf_as_zero")[0], name)
        compiled = gradc.compile(g)
        assert ("the library gives NaN" in messages(compiled)) == (name == "middle")
        x = np.zeros((2, 3, 3), np.float32)
        x[0, 0] = -np.inf
        shares[name] = compiled.run({"x": x if name == "last" else x.swapaxes(1, 2)})[name]
    np.testing.assert_array_equal(shares["last"], shares["middle"].swapaxes(1, 2))
    assert not shares["last"][0, 0].any()


@pytest.mark.parametrize(("shape", "mode"), [([2, 3, 1], "inf_as_zero"), ([2, 3, 4], "none")])
def test_shares_about_which_page_and_library_agree(shape: list[int], mode: str):
    g = gradc.Graph()
    g.output(g.softmax(g.input("x", "f32", shape), axis=1, mode=mode)[0])
    assert not gradc.compile(g).remarks


@pytest.mark.parametrize("kind", ["quantize", "dequantize", "dynamic_quantize", "dynamic_dequantize"])
def test_scales_along_an_axis_counted_from_the_last(kind: str):
    """The page's reading; the library's, where the op stands alone, has one scale."""
    found = {}
    for axis in (1, -2, -1):
        g = gradc.Graph()
        data = g.input("x", "s8" if "dequantize" in kind else "f32", [2, 3, 3])
        more: dict[str, Any] = {"qtype": "per_channel", "axis": axis}
        if not kind.endswith("dequantize"):
            more["result_dtype"] = "u8"
        scales = [0.5, 0.25, 2.0]
        if kind.startswith("dynamic"):
            g.output(getattr(g, kind)(data, g.constant(np.array(scales, np.float32)), **more), "y")
        else:
            g.output(getattr(g, kind)(data, scales=scales, **more), "y")
        compiled = gradc.compile(g)
        assert ("uses the first scale for all elements" in messages(compiled)) == (axis == -2)
        x = np.arange(18).reshape(2, 3, 3).astype(np.int8 if "dequantize" in kind else np.float32)
        found[axis] = compiled.run({"x": x})["y"]
    np.testing.assert_array_equal(found[1], found[-2])
    assert not np.array_equal(found[1], found[-1])


class TestPads:
    """Whether the two rules of `same_*` differ is a matter of parity, and run time knows the size."""

    @pytest.mark.parametrize(
        ("stride", "kernel", "differ"),
        [(1, 3, False), (1, 4, True), (2, 3, True), (3, 2, True), (4, 1, False)],
    )
    def test_of_conv_transpose(self, stride: int, kernel: int, differ: bool):
        g = gradc.Graph()
        dy, w = g.input("dy", "f32", [1, 4, None]), g.input("w", "f32", [2, 4, kernel])
        same: dict[str, Any] = WINDOW | {"strides": [stride], "pads_begin": [0], "pads_end": [0]}
        same |= {"auto_pad": "same_upper", "data_format": "NCX", "weights_format": "IOX"}
        g.output(g.conv_transpose_backward_data(dy, w, **same), "dx")
        found = messages(gradc.compile(g))
        assert ("the pads follow at run time from the documented rule" in found) == differ
        results = []
        for rule in ("documented", "library"):
            compiled = gradc.compile(g, auto_pad_rule=rule)
            rng = np.random.default_rng(1)
            weights = rng.standard_normal((2, 4, kernel)).astype(np.float32)
            data = [rng.standard_normal((1, 4, y)).astype(np.float32) for y in range(5, 5 + 2 * stride)]
            results.append([compiled.run({"dy": array, "w": weights})["dx"] for array in data])
        same_numbers = all(np.allclose(a, b, atol=1e-5) for a, b in zip(*results, strict=True))
        assert same_numbers != differ

    @pytest.mark.parametrize(("kernel", "differ"), [(3, False), (4, True)])
    def test_of_convolution(self, kernel: int, differ: bool):
        g = gradc.Graph()
        dy, w = g.input("dy", "f32", [1, 4, None]), g.input("w", "f32", [4, 2, kernel])
        same: dict[str, Any] = WINDOW | {"strides": [1], "pads_begin": [0], "pads_end": [0]}
        same |= {"auto_pad": "same_lower", "data_format": "NCX", "weights_format": "OIX"}
        g.output(g.convolution_backward_data(dy, w, g.input("shape", "s32", [3]), **same), "dx")
        found = messages(gradc.compile(g))
        assert ("the pads follow at run time from the documented rule" in found) == differ


def test_an_output_padding_that_the_size_overrules():
    g = gradc.Graph()
    dy, w = g.input("dy", "f32", [1, 4, 5]), g.input("w", "f32", [4, 2, 3])
    more: dict[str, Any] = {"output_padding": [1], "data_format": "NCX", "weights_format": "OIX"}
    g.output(g.convolution_backward_data(dy, w, g.input("shape", "s32", [3]), **WINDOW, **more), "dx")
    assert "output_padding axis W: given 1; the dynamic size of diff_src" in messages(gradc.compile(g))


def test_a_scale_whose_ratio_is_unknown():
    g = gradc.Graph()
    grads, image = g.input("grads", "f32", [1, 2, None, 4]), g.input("image", "f32", [1, 2, 3, 2])
    g.output(g.resize_bilinear_v2_grad(grads, image, scales=[2.0, 2.0]), "y")
    found = messages(gradc.compile(g))
    assert "scales H: coordinates follow the given 2; the ratio of the sizes is not checked" in found
    assert "scales W" not in found


def test_a_batch_of_minus_one():
    """It was taken, as nothing said otherwise, and no run could have it."""
    g = gradc.Graph()
    dy, w = g.input("dy", "f32", ["N", 4, 5]), g.input("w", "f32", [4, 2, 3])
    more: dict[str, Any] = {"data_format": "NCX", "weights_format": "OIX"}
    with pytest.raises(
        gradc.GradcError, match=r"batch of the dst_shape attribute: given -1, expected 0 or more"
    ):
        g.convolution_backward_data(dy, w, [-1, 2, 9], **WINDOW, **more)
    g.output(g.convolution_backward_data(dy, w, [None, 2, 9], **WINDOW, **more), "dx")
    compiled = gradc.compile(g)
    assert compiled.run(feeds(4, [4, 2, 3]) | {"dy": np.ones((3, 4, 5), np.float32)})["dx"].shape == (3, 2, 9)
