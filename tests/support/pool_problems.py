"""Random problems of the gradients of pools."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from support import forward
from support.conv_problems import Axis
from support.generator import SPATIAL, Generator, in_layout
from support.problems import Node, Value

from dialects.grad.avg_pool import AvgPoolBackwardOp
from dialects.grad.max_pool import MaxPoolBackwardOp
from dialects.support import layouts


@dataclass(frozen=True)
class TakenAtLargest:
    """What stands at the first largest of each window of another tensor: linear in what it is taken from."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begin: tuple[int, ...]
    counts: tuple[int, ...]
    layout: str

    def __call__(self, values: np.ndarray, src: np.ndarray) -> np.ndarray:
        there = layouts.permutation(self.layout, "NCX", len(self.kernel))
        data, taken = src.transpose(there), values.transpose(there)
        result = np.zeros((*data.shape[:2], *self.counts))
        for index in np.ndindex(*result.shape):
            places = [self._place(index[2:], tap) for tap in itertools.product(*map(range, self.kernel))]
            best, value = -np.inf, 0.0
            for place in places:
                if all(0 <= at < size for at, size in zip(place, data.shape[2:], strict=True)):
                    at = (*index[:2], *place)
                    if data[at] > best:
                        best, value = data[at], taken[at]
            result[index] = value
        return result.transpose(layouts.permutation("NCX", self.layout, len(self.kernel)))

    def _place(self, window: tuple[int, ...], tap: tuple[int, ...]) -> list[int]:
        rows = zip(window, tap, self.strides, self.dilations, self.begin, strict=True)
        return [y * s + k * d - b for y, k, s, d, b in rows]


@dataclass(frozen=True)
class MeanOfWindows:
    """A convolution of each channel alone, by weights that are all alike."""

    kernel: tuple[int, ...]
    convolution: forward.Convolution

    def __call__(self, src: np.ndarray) -> np.ndarray:
        shape = (self.convolution.groups, 1, *self.kernel)
        return self.convolution(src, np.full(shape, 1 / math.prod(self.kernel)))


class PoolGenerator(Generator):
    def avg_pool_gradient(self, _: Value | None = None) -> Value:
        """Tiles, windows one place apart, and others, of which some begin before the image."""
        draw, runs = self.draw, self.problem.runs
        data, n, channels = draw.choice(("NCX", "NXC")), draw.choice((2, 1, 3)), draw.choice((1, 2, 3))
        form = draw.choice(("tile", "dense", "sliding"))
        axes = [self._tile() if form == "tile" else self._sliding() for _ in range(n)]
        if form == "dense":
            axes = [Axis(axis.kernel, 1, axis.dilation) for axis in axes]
        ys = [self._spatial(i, 4 if n < 3 else 2) for i in range(n)]
        pads = [
            tuple(self.ints(2, 0, min(a.extent - 1, (a.full(min(y)) - 1) // 2)))
            for a, (_, y) in zip(axes, ys, strict=True)
        ]
        rests = [draw.integer(0, a.stride - 1) for a in axes]
        shapes = [
            in_layout((self.batches[run], channels, *(sizes[run] for _, sizes in ys)), data)
            for run in range(runs)
        ]
        declared = in_layout((self.declared_batch(), channels, *(known for known, _ in ys)), data)
        dst = self.problem.add_input("dy", self.dtype, declared, shapes)
        lists = {
            "strides": [a.stride for a in axes],
            "dilations": [a.dilation for a in axes],
            "pads_begin": [begin for begin, _ in pads],
        }
        kernel = [a.kernel for a in axes]
        forwards, sizes, known = [], [], [None if k is None else 0 for k, _ in ys]
        for run in range(runs):
            counts = tuple(own[run] for _, own in ys)
            convolution = forward.Convolution(*lists.values(), channels, counts, data, "OIX")
            forwards.append(MeanOfWindows(tuple(kernel), convolution))
            rows = zip(axes, counts, pads, rests, strict=True)
            sizes.append(
                in_layout(
                    (self.batches[run], channels, *(a.full(y) - sum(p) + r for a, y, p, r in rows)), data
                )
            )
        rows = zip(axes, known, pads, rests, ys, strict=True)
        xs = [None if k is None else a.full(own[0]) - sum(p) + r for a, k, p, r, (_, own) in rows]
        result = self.problem.result(
            "dx", self.dtype, in_layout((self.declared_batch(), channels, *xs), data), sizes
        )
        attributes = lists | {
            "kernel": kernel,
            "pads_end": [end for _, end in pads],
            "residue": rests,
            "layout": data,
        }
        self.problem.nodes.append(Node(AvgPoolBackwardOp, (dst,), attributes, result, None, tuple(forwards)))
        return result

    def max_pool_gradient(self, _: Value | None = None) -> Value:
        """Some windows begin before src, some end behind it, and some places are in none."""
        draw, runs = self.draw, self.problem.runs
        data, n, channels = draw.choice(("NCX", "NXC")), draw.choice((2, 1, 3)), draw.choice((1, 2, 3))
        tiled = not self.flag()
        axes = [self._tile() if tiled else self._sliding() for _ in range(n)]
        ys = [self._spatial(i, 4 if n < 3 else 2) for i in range(n)]
        begin = [0 if tiled else draw.integer(0, a.extent - 1) for a in axes]
        beyond = [draw.integer(0 if tiled else 1 - a.extent, a.stride) for a in axes]
        xs = [
            [max(1, a.full(y) - b + r) for y in sizes]
            for a, b, r, (_, sizes) in zip(axes, begin, beyond, ys, strict=True)
        ]
        batch, is_open = self.declared_batch(), self.dynamic == SPATIAL

        def tensor(name: str, known: list, sizes: list) -> Value:
            shapes = [
                in_layout((self.batches[run], channels, *(size[run] for size in sizes)), data)
                for run in range(runs)
            ]
            declared = in_layout((batch, channels, *known), data)
            return self.problem.add_input(name, self.dtype, declared, shapes)

        src = tensor("x", [None if is_open else x[0] for x in xs], xs)
        dst = tensor("dy", [known for known, _ in ys], [sizes for _, sizes in ys])
        lists = {
            "kernel": [a.kernel for a in axes],
            "strides": [a.stride for a in axes],
            "dilations": [a.dilation for a in axes],
            "pads_begin": begin,
        }
        given = [tuple(values) for values in lists.values()]
        forwards = tuple(
            TakenAtLargest(*given, tuple(sizes[run] for _, sizes in ys), data) for run in range(runs)
        )
        result = self.problem.result("dx", self.dtype, src.declared, src.sizes)
        attributes = lists | {"layout": data}
        node = Node(MaxPoolBackwardOp, (src, dst), attributes, result, None, forwards, diff_dst=1, weights=0)
        self.problem.nodes.append(node)
        return result

    def _sliding(self) -> Axis:
        return Axis(*(self.draw.integer(1, most) for most in (3, 3, 2)))

    def _tile(self) -> Axis:
        size = self.draw.integer(1, 3)
        return Axis(size, size, 1)
