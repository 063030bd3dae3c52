"""Random inputs: whatever a graph leaves open gets sizes that its ops admit."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples
from support.outputs import verify_outputs

import gradc
from dialects.evaluate import evaluate
from gradc.graph.tensors import TensorInfo
from gradc.verification.samples import UNKNOWN_BATCH, random_inputs, random_model_inputs

ATTRIBUTE, RUN_TIME, DECLARED = "attribute", "input", "declared"


def open_dim(draw: Callable, size: int, name: str):
    """The size itself, nothing, or a name."""
    return draw(st.sampled_from([size, None, name]))


def per_axis(draw: Callable, rank: int, *choices: int) -> list[int]:
    return [draw(st.sampled_from(choices)) for _ in range(rank)]


def laid_out(draw: Callable) -> Callable:
    layout = draw(st.sampled_from(["NCX", "NXC"]))
    return lambda n, c, spatial: [n, c, *spatial] if layout == "NCX" else [n, *spatial, c], layout


@st.composite
def convolutions(draw) -> gradc.Graph:
    """ConvolutionBackwardData with any of its sizes open, its result's size from any source."""
    rank = draw(st.integers(1, 3))
    place, layout = laid_out(draw)
    strides, dilations = per_axis(draw, rank, 1, 2, 3), per_axis(draw, rank, 1, 2)
    kernel, begin, end = (per_axis(draw, rank, *c) for c in ((1, 2, 3), (0, 1), (0, 1)))
    auto_pad = draw(st.sampled_from(["none", "same_upper", "valid"]))
    y = per_axis(draw, rank, 3, 4, 5)
    n = open_dim(draw, 2, "N")
    g = gradc.Graph()
    dy = g.input("dy", "f32", place(n, 4, [open_dim(draw, size, f"Y{i}") for i, size in enumerate(y)]))
    w = g.input("w", "f32", [4, 3, *kernel])
    pads = [0] * rank if auto_pad == "valid" else [b + e for b, e in zip(begin, end, strict=True)]
    if auto_pad == "same_upper":
        x = [s * size for s, size in zip(strides, y, strict=True)]
    else:
        windows = zip(strides, y, kernel, dilations, pads, strict=True)
        x = [max(s * (size - 1) + (k - 1) * d + 1 - p, 1) for s, size, k, d, p in windows]
    source = draw(st.sampled_from([ATTRIBUTE, RUN_TIME, DECLARED]))
    sizes = {
        RUN_TIME: lambda: (g.input("size", "s32", [rank + 2]), None),
        ATTRIBUTE: lambda: (place(n if isinstance(n, int) else None, 3, x), None),
        DECLARED: lambda: (None, place(n, 3, x)),
    }
    wanted, declared = sizes[source]()
    dx = g.convolution_backward_data(
        dy,
        w,
        wanted,
        strides=strides,
        pads_begin=begin,
        pads_end=end,
        dilations=dilations,
        auto_pad=auto_pad,
        auto_pad_rule=draw(st.sampled_from(["documented", "library"])),
        data_format=layout,
        weights_format="OIX",
        result_shape=declared,
    )
    g.output(dx, "dx")
    return g


@st.composite
def transposed(draw) -> gradc.Graph:
    rank = draw(st.integers(1, 3))
    place, layout = laid_out(draw)
    g = gradc.Graph()
    open_sizes = [open_dim(draw, 5, f"Y{i}") for i in range(rank)]
    dy = g.input("dy", "f32", place(open_dim(draw, 2, "N"), 4, open_sizes))
    w = g.input("w", "f32", [3, 4, *per_axis(draw, rank, 1, 2, 3)])
    dx = g.conv_transpose_backward_data(
        dy,
        w,
        strides=per_axis(draw, rank, 1, 2, 3),
        pads_begin=per_axis(draw, rank, 0, 1),
        pads_end=per_axis(draw, rank, 0, 1),
        dilations=per_axis(draw, rank, 1, 2),
        auto_pad=draw(st.sampled_from(["none", "same_lower", "valid"])),
        data_format=layout,
        weights_format="IOX",
    )
    g.output(dx, "dx")
    return g


@st.composite
def interpolations(draw) -> gradc.Graph:
    rank = draw(st.integers(1, 3))
    place, layout = laid_out(draw)
    y, n = per_axis(draw, rank, 3, 4, 6), open_dim(draw, 2, "N")
    g = gradc.Graph()
    src = g.input("src", "f32", place(n, 3, [open_dim(draw, 2, f"X{i}") for i in range(rank)]))
    dy = g.input("dy", "f32", place(n, 3, [open_dim(draw, size, f"Y{i}") for i, size in enumerate(y)]))
    runtime = draw(st.booleans())
    dx = g.interpolate_backward(
        src,
        dy,
        g.input("sizes", "s32", [rank]) if runtime else y,
        mode=draw(st.sampled_from(["nearest", "linear"])),
        coordinate_transformation_mode=draw(st.sampled_from(["half_pixel", "align_corners"])),
        data_format=layout,
    )
    g.output(dx, "dx")
    return g


@st.composite
def scaled(draw) -> gradc.Graph:
    """Interpolations of which only one side is known."""
    place, layout = laid_out(draw)
    scale = draw(st.sampled_from([0.5, 1.7, 3.0]))
    known_src = draw(st.booleans())
    g = gradc.Graph()
    src = g.input("src", "f32", place("N", 3, [4 if known_src else None]))
    dy = g.input("dy", "f32", place("N", 3, ["Y" if known_src else int(6 * scale)]))
    g.output(g.interpolate_backward(src, dy, scales=[scale], mode="linear", data_format=layout), "dx")
    return g


@st.composite
def resizes(draw) -> gradc.Graph:
    n, nchw = open_dim(draw, 2, "N"), draw(st.booleans())

    def shape(*spatial):
        return [n, 3, *spatial] if nchw else [n, *spatial, 3]

    g = gradc.Graph()
    grads = g.input("grads", "f32", shape(open_dim(draw, 5, "H"), open_dim(draw, 6, "W")))
    image = g.input("image", "f32", shape(open_dim(draw, 3, "h"), open_dim(draw, 2, "w")))
    dx = g.resize_bilinear_v2_grad(
        grads, image, half_pixel_centers=draw(st.booleans()), format="NCHW" if nchw else "NHWC"
    )
    g.output(dx, "dx")
    return g


@st.composite
def upsamples(draw) -> gradc.Graph:
    n = open_dim(draw, 2, "N")
    g = gradc.Graph()
    grad = g.input("grad", "f32", [n, 3, open_dim(draw, 5, "H"), open_dim(draw, 6, "W")])
    sizes = [n if isinstance(n, int) else None, 3, 3, 2]
    g.output(g.upsample_bilinear2d_backward(grad, outputSize=[5, 6], inputSize=sizes), "dx")
    return g


@pytest.mark.sweep(parts=1)
@pytest.mark.parametrize(
    "graphs",
    [convolutions, transposed, interpolations, scaled, resizes, upsamples],
    ids=lambda graphs: graphs.__name__,
)
def test_samples_satisfy_every_op(graphs):
    @examples(25)
    @given(graphs(), st.integers(0, 3))
    def check(graph, seed):
        compiled = gradc.compile(graph)
        fed = random_inputs(compiled.source, seed)
        assert all(row.ok for row in verify_outputs(compiled.source, compiled.inputs, fed, compiled.run(fed)))

    check()


def dynamic_resize() -> gradc.Graph:
    g = gradc.Graph()
    src = g.input("src", "bf16", ["N", 2, "X", None])
    dy, sizes = g.input("dy", "bf16", ["N", 2, None, "Y"]), g.input("sizes", "s32", [2])
    g.output(g.interpolate_backward(src, dy, sizes, mode="linear", data_format="NCX"), "dx")
    return g


class TestValues:
    def test_a_seed_decides(self):
        module = dynamic_resize().module()
        first, again, other = (random_inputs(module, seed) for seed in (1, 1, 2))
        for name, array in first.items():
            np.testing.assert_array_equal(array, again[name])
        assert not np.array_equal(first["dy"], other["dy"])

    def test_dtypes_names_and_equal_names(self):
        drawn = random_inputs(dynamic_resize().module(), 0)
        assert list(drawn) == ["src", "dy", "sizes"]
        assert [a.dtype.name for a in drawn.values()] == ["bfloat16", "bfloat16", "int32"]
        assert drawn["src"].shape[0] == drawn["dy"].shape[0] == UNKNOWN_BATCH
        np.testing.assert_array_equal(drawn["sizes"], drawn["dy"].shape[2:])

    def test_an_empty_batch_stays_empty(self):
        g = gradc.Graph()
        dy, w = g.input("dy", "f32", [0, 4, 3, 3]), g.input("w", "f32", [4, 2, 3, 3])
        window = {"strides": [2, 2], "pads_begin": [1, 1], "pads_end": [1, 1], "dilations": [1, 1]}
        formats = {"data_format": "NCX", "weights_format": "OIX"}
        g.output(g.convolution_backward_data(dy, w, [0, 2, 5, 5], **window | formats), "dx")
        assert random_inputs(g.module(), 0)["dy"].shape == (0, 4, 3, 3)

    def test_channels_that_only_the_weights_know(self):
        g = gradc.Graph()
        dy, w = g.input("dy", "f32", ["N", "C", 7]), g.input("w", "f32", [6, 2, 3])
        window = {"strides": [2], "pads_begin": [1], "pads_end": [1], "dilations": [1], "groups": 2}
        formats = {"data_format": "NCX", "weights_format": "IOX"}
        g.output(g.conv_transpose_backward_data(dy, w, **window | formats), "dx")
        assert random_inputs(g.module(), 0)["dy"].shape == (UNKNOWN_BATCH, 4, 7)

    def test_an_unknown_resize_is_no_identity(self):
        drawn = random_inputs(dynamic_resize().module(), 0)
        assert drawn["src"].shape[2:] != drawn["dy"].shape[2:]

    def test_a_model_alone(self):
        infos = gradc.compile(dynamic_resize()).inputs
        drawn = random_model_inputs(infos, 0, {"dy": (3, 2, 4, 5)})
        assert drawn["src"].shape[0] == 3
        with pytest.raises(gradc.GradcError, match="input x: given 99"):
            random_model_inputs([TensorInfo("x", "99", (2,))], 0)
        words = random_model_inputs([TensorInfo("x", "string", (2,))], 0)["x"]
        assert all(isinstance(word, str) for word in words)


class TestMagnitude:
    @pytest.mark.parametrize("groups", [1, 4])
    @pytest.mark.parametrize("layout", ["OIX", "XIO"])
    def test_a_convolution_keeps_it(self, groups, layout):
        weights = (64, 32 // groups, 3, 3) if layout == "OIX" else (3, 3, 32 // groups, 64)
        ones = [1, 1]
        g = gradc.Graph()
        dx = g.convolution_backward_data(
            g.input("dy", "f16", [1, 64, 16, 16]),
            g.input("w", "f16", weights),
            [1, 32, 16, 16],
            strides=ones,
            pads_begin=ones,
            pads_end=ones,
            dilations=ones,
            groups=groups,
            data_format="NCX",
            weights_format=layout,
        )
        g.output(dx, "dx")
        module = g.module()
        (result,) = evaluate(module, list(random_inputs(module, 0).values()))
        assert 0.8 < result.astype(float).std() < 1.2


class TestGivenShapes:
    def test_they_are_taken_and_names_follow(self):
        drawn = random_inputs(dynamic_resize().module(), 0, {"dy": (5, 2, 9, 8)})
        assert drawn["dy"].shape == (5, 2, 9, 8)
        assert drawn["src"].shape[0] == 5
        np.testing.assert_array_equal(drawn["sizes"], [9, 8])

    @pytest.mark.parametrize(
        ("shapes", "message"),
        [
            ({"dz": (1, 2, 3, 4)}, r"shapes: given dz, expected one of src, dy, sizes"),
            ({"dy": (1, 2, 3)}, r"shapes of dy: given \[1, 2, 3\], expected \[N, 2, \?, Y\]"),
            ({"dy": (1, 3, 3, 3)}, r"shapes of dy: given \[1, 3, 3, 3\], expected \[N, 2, \?, Y\]"),
            ({"dy": (1, 2, 3, 3), "src": (2, 2, 3, 3)}, r"shapes of dy, dim N: given 1, expected 2"),
        ],
    )
    def test_errors(self, shapes, message):
        with pytest.raises(gradc.GradcError, match=message):
            random_inputs(dynamic_resize().module(), 0, shapes)
