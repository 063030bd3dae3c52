"""Graphs that reports are made of in tests: hostile names, any length, any layout."""

from __future__ import annotations

import gradc

HOSTILE = '<script>alert("1")</script>&\'"\u202e\x1b[31m'
"""What no page and no picture may take for markup, nor a terminal for a command."""


def chain(
    length: int,
    branches: int = 1,
    dtype: str = "f32",
    spatial: int = 2,
    layout: str = "NCX",
    named: bool = True,
) -> gradc.Graph:
    """`branches` rows of `length` convolutions, each with weights of its own, called `w<row>_<index>`."""
    g = gradc.Graph()
    sizes, window = [6] * spatial, [3] * spatial
    full = [1, 2, *sizes] if layout == "NCX" else [1, *sizes, 2]
    for branch in range(branches):
        value = g.input(f"dy{branch}", dtype, full)
        for index in range(length):
            w = g.input(f"w{branch}_{index}", dtype, [2, 2, *window])
            name = f"op{branch}_{index}" if named else None
            value = conv(g, value, w, full, spatial, layout, name)
        g.output(value, f"dx{branch}")
    return g


def conv(g: gradc.Graph, value, w, shape, spatial: int, layout: str, name: str | None):
    ones = [1] * spatial
    return g.convolution_backward_data(
        value,
        w,
        shape,
        strides=ones,
        pads_begin=ones,
        pads_end=ones,
        dilations=ones,
        data_format=layout,
        weights_format="OIX",
        name=name,
    )


def hostile() -> gradc.Graph:
    """One gradient whose names are all HOSTILE."""
    g = gradc.Graph()
    dy = g.input(f"dy{HOSTILE}", "f32", [1, 2, 6, 6])
    w = g.input(f"w{HOSTILE}", "f32", [2, 2, 3, 3])
    g.output(conv(g, dy, w, [1, 2, 6, 6], 2, "NCX", HOSTILE), f"dx{HOSTILE}")
    return g
