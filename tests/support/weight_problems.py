"""Random problems of `grad.conv_backward_weights`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from support import forward
from support.conv_problems import Axis
from support.generator import SPATIAL, Generator, in_layout
from support.problems import Node, Value

from dialects.grad.conv_weights import ConvBackwardWeightsOp


@dataclass(frozen=True)
class OfWeights:
    """A convolution as a function of its weights."""

    convolution: forward.Convolution

    def __call__(self, weights: np.ndarray, src: np.ndarray) -> np.ndarray:
        return self.convolution(src, weights)


class WeightsGenerator(Generator):
    def weights_gradient(self, _: Value | None = None) -> Value:
        draw, runs = self.draw, self.problem.runs
        data = draw.choice(("NCX", "NXC"))
        n = draw.choice((2, 1, 3))
        groups = draw.choice((1, 1, 2, 3))
        per_group, out = draw.choice((1, 2)), groups * draw.choice((1, 2))
        single, padded = self.flag(3), not self.flag(3)
        axes = [
            Axis(1 if single else draw.integer(1, 3), draw.integer(1, 3), draw.integer(1, 2))
            for _ in range(n)
        ]
        ys = [self._spatial(i, 4 if n < 3 else 2) for i in range(n)]
        pads = [
            tuple(self.ints(2, 0, min(a.extent, (a.full(min(y)) - 1) // 2))) if padded else (0, 0)
            for a, (_, y) in zip(axes, ys, strict=True)
        ]
        rests = [draw.integer(0, a.stride - 1) for a in axes]
        xs = [
            [a.full(y) - sum(p) + r for y in sizes]
            for a, p, r, (_, sizes) in zip(axes, pads, rests, ys, strict=True)
        ]
        batch = self.declared_batch()

        def tensor(name: str, channels: int, known: list, sizes: list) -> Value:
            shapes = [
                in_layout((self.batches[run], channels, *(size[run] for size in sizes)), data)
                for run in range(runs)
            ]
            return self.problem.add_input(
                name, self.dtype, in_layout((batch, channels, *known), data), shapes
            )

        is_open = self.dynamic == SPATIAL
        src = tensor("x", groups * per_group, [None if is_open else x[0] for x in xs], xs)
        dst = tensor("dy", out, [known for known, _ in ys], [sizes for _, sizes in ys])
        kernel = [a.kernel for a in axes]
        attributes = {
            "kernel": kernel,
            "strides": [a.stride for a in axes],
            "dilations": [a.dilation for a in axes],
            "pads_begin": [p for p, _ in pads],
            "pads_end": [p for _, p in pads],
            "groups": groups,
            "layout": data,
        }
        forwards = tuple(
            OfWeights(
                forward.Convolution(
                    attributes["strides"],
                    attributes["dilations"],
                    attributes["pads_begin"],
                    groups,
                    tuple(sizes[run] for _, sizes in ys),
                    data,
                    "OIX",
                )
            )
            for run in range(runs)
        )
        shape = (out, per_group, *kernel)
        result = self.problem.result("dw", self.dtype, shape, [shape] * runs)
        node = Node(
            ConvBackwardWeightsOp, (src, dst), attributes, result, None, forwards, diff_dst=1, weights=0
        )
        self.problem.nodes.append(node)
        return result
