"""What is counted along an axis, positions or taps of windows, is never listed beyond the limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import gradc
import passes.autodiff.common.gather_adjoint as places
import passes.autodiff.rules.pool as pool
import passes.conv.weights as weights
import passes.lower_onednn.structure as structure
from dialects.grad.geometry import ConvAxis, Window
from dialects.onednn.pool import _may_be_empty
from gradc.model import validity
from passes.builder import rewrite_cache
from passes.builder.budget import FREE_CONSTANTS
from passes.conv.phases import axis_phases
from passes.conv.weights import MOST_GATHERED

MILLION, BILLION = 10**6, 10**9


def index(size: int) -> gradc.Graph:
    g = gradc.Graph()
    g.output(g.gen_index(g.input("x", "f32", [size, 2]), axis=0), "y")
    return g


def mean_backward(
    sizes: Sequence[int | None], kernel: int, pads: int, exclude_pad: bool = True
) -> gradc.Graph:
    """Windows of stride 1."""
    g, n = gradc.Graph(), len(sizes)
    shape = g.input("shape", "s32", [n + 2])
    window: dict[str, Any] = {"kernel": [kernel] * n, "strides": [1] * n, "exclude_pad": exclude_pad}
    window |= {"pads_begin": [pads] * n, "pads_end": [pads] * n, "data_format": "NCX"}
    given = shape if None in sizes else [1, 1, *map(int, filter(None, sizes))]
    windows = [None if x is None else x + 2 * pads - kernel + 1 for x in sizes]
    dy = g.input("dy", "f32", [1, 1, *windows])
    g.output(g.avg_pool_backward(dy, given, **window), "dx")
    return g


def convolution(kernel: Sequence[int], strides: Sequence[int]) -> gradc.Graph:
    """The gradient of two windows an axis, of two channels."""
    g, n = gradc.Graph(), len(kernel)
    dy, taps = g.input("dy", "f32", [1, 2, *[2] * n]), g.input("w", "f32", [2, 2, *kernel])
    sizes = [s + k for k, s in zip(kernel, strides, strict=True)]
    window: dict[str, Any] = {"strides": strides, "pads_begin": [0] * n, "pads_end": [0] * n}
    window |= {"dilations": [1] * n, "data_format": "NCX", "weights_format": "OIX"}
    g.output(g.convolution_backward_data(dy, taps, dst_shape=[1, 2, *sizes], **window), "dx")
    return g


def elements(compiled: gradc.Compiled) -> int:
    """Of the largest constant."""
    graph = compiled.model.graph
    held = [attribute.t for node in graph.node for attribute in node.attribute if attribute.name == "value"]
    return max((math.prod(tensor.dims) for tensor in (*graph.initializer, *held)), default=0)


@pytest.mark.parametrize(
    "graph",
    [
        index(FREE_CONSTANTS * 2),
        index(BILLION),
        mean_backward([2000, 2000], 3, 1),
        mean_backward([BILLION], 3, 1),
        mean_backward([None], BILLION, BILLION // 2),
    ],
    ids=["positions", "many positions", "two axes", "many windows", "many taps"],
)
def test_a_model_lists_little(graph: gradc.Graph):
    assert elements(gradc.compile(graph)) <= 2000


@pytest.mark.parametrize(
    ("strategy", "kernel", "stride"),
    [
        ("conv-to-conv", [600, 700], 1),
        ("conv-to-conv2d", [4 * MOST_GATHERED], 1),
        ("conv-to-phase-convs", [4 * MOST_GATHERED], 2),
    ],
)
def test_a_model_lists_no_taps_of_a_large_kernel(strategy: str, kernel: Sequence[int], stride: int):
    graph = convolution(kernel, [stride] * len(kernel))
    assert elements(gradc.compile(graph, strategy=strategy)) <= 2000


@pytest.mark.parametrize(
    ("strategy", "kernel", "stride"),
    [
        ("conv-to-conv", [4], 1),
        ("conv-to-conv", [3, 2], 1),
        ("conv-to-conv", [2, 1, 3], 1),
        ("conv-to-conv2d", [4], 1),
        ("conv-to-phase-convs", [7], 3),
        ("conv-to-phase-convs", [3, 2], 2),
    ],
)
def test_taps_that_are_sliced_are_those_that_are_gathered(
    strategy: str, kernel: Sequence[int], stride: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(weights, "MOST_GATHERED", 0)
    monkeypatch.setattr("passes.strategies.base._written", rewrite_cache.templates())
    compiled = gradc.compile(convolution(kernel, [stride] * len(kernel)), strategy=strategy)
    assert "Slice" in {node.op_type for node in compiled.model.graph.node}
    shapes = {"dy": [1, 2, *[2] * len(kernel)], "w": [2, 2, *kernel]}
    random = np.random.default_rng(0)
    fed = {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    np.testing.assert_allclose(compiled.run(fed)["dx"], compiled.reference(fed)["dx"], rtol=1e-5, atol=1e-6)


def test_phases_of_many_taps_are_ranges():
    found = axis_phases(ConvAxis(Window(BILLION, 3, 2), 1, 0), 2, BILLION).phases
    few = axis_phases(ConvAxis(Window(10, 3, 2), 1, 0), 2, 10).phases
    for taps, phase in zip(([0, 3, 6, 9], [2, 5, 8], [1, 4, 7]), (few[2], few[0], few[1]), strict=True):
        assert phase is not None
        assert sorted(phase.taps) == taps
    assert sum(len(phase.taps) for phase in found if phase) == BILLION


@pytest.mark.parametrize("target", ["cpu", "cuda", "portable"])
def test_counting_at_run_time_gives_the_same(target: str, monkeypatch: pytest.MonkeyPatch):
    for module in (structure, places, pool):
        monkeypatch.setattr(module, "FREE_CONSTANTS", 4)
    fed: dict[str, np.ndarray] = {"x": np.zeros((9, 2), np.float32)}
    graphs = [(index(9), fed)]
    for sizes, kernel, pads in (([5, 6], 3, 1), ([9], 4, 3), ([None], 6, 3)):
        graph = mean_backward(sizes, kernel, pads)
        known = [x or 9 for x in sizes]
        dy = np.random.default_rng(0).standard_normal([1, 1, *(x + 2 * pads - kernel + 1 for x in known)])
        shape = np.array([1, 1, *known], np.int32)
        graphs.append((graph, {"dy": dy.astype(np.float32), "shape": shape}))
    for graph, given in graphs:
        compiled = gradc.compile(graph, target=target)
        want = compiled.reference(given)
        for name, got in compiled.run(given, ep="cpu").items():
            np.testing.assert_allclose(got, want[name], rtol=1e-5, atol=1e-6)


def windows(count: int):
    random = np.random.default_rng(0)
    for _ in range(count):
        kernel, stride, dilation, size, begin, end = (int(i) for i in random.integers([1, 1, 1, 1, 0, 0], 7))
        yield Window(kernel, stride, dilation), size, (begin, end)


def test_taps_within_a_range():
    for window, size, (begin, end) in windows(300):
        starts = np.arange(begin + size + end) * window.stride - begin
        taps = starts[:, None] + np.arange(window.kernel) * window.dilation
        inside = (taps >= 0) & (taps < size)
        np.testing.assert_array_equal(window.taps_within(starts, size), inside.sum(1))


def test_windows_of_padding_alone():
    for window, size, pads in windows(300):
        count = window.output_size(size, *pads)
        if count < 1:
            continue
        taps = (
            np.arange(count)[:, None] * window.stride - pads[0] + np.arange(window.kernel) * window.dilation
        )
        empty = not ((taps >= 0) & (taps < size)).any(1).all()
        assert _may_be_empty(window, size, pads, ceil=False) == empty


def test_windows_of_padding_alone_are_not_looked_for_one_by_one():
    assert not _may_be_empty(Window(3, 1, 1), BILLION, (1, 1), ceil=False)
    assert _may_be_empty(Window(2, 1, BILLION), 9, (BILLION, BILLION), ceil=False)


def test_elements_of_long_vectors_are_not_followed(monkeypatch: pytest.MonkeyPatch):
    """onnx would take 140 bytes for each of a billion."""
    followed: list[bool] = []
    monkeypatch.setattr(
        validity.onnx.shape_inference, "infer_shapes", lambda _, **o: followed.append(o["data_prop"])
    )
    for size in (5, BILLION):
        g = gradc.Graph()
        g.output(g.gen_index(g.input("x", "f32", [size]), axis=0), "y")
        gradc.compile(g)
    for size in (5, MILLION):
        g = gradc.Graph()
        g.output(g.concat([g.input("x", "f32", [size])] * 3, axis=0), "y")
        gradc.compile(g)
    assert followed == [True, False, True, False]
