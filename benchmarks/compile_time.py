"""How long gradc itself takes: milliseconds for chains of 1, 100 and 1,000 ops, and per op.

    python benchmarks/compile_time.py [--ops 1,100,1000] [--profile N]

A chain repeats: a convolution gradient with constant weights, one with weights that are an input, a
transposed convolution's, a bilinear resize's down and one back up. `build` is the Python builder,
`compile` the way from that graph to the checked model.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

import gradc
from gradc.builder import Value
from gradc.tables import table

CHANNELS, SIZE = 8, 16
SHAPE = (1, CHANNELS, SIZE, SIZE)
WEIGHTS = (CHANNELS, CHANNELS, 3, 3)
WINDOW: dict[str, Any] = {
    "strides": (1, 1),
    "pads_begin": (1, 1),
    "pads_end": (1, 1),
    "dilations": (1, 1),
    "data_format": "NCX",
}


@dataclass(frozen=True)
class Chain:
    """A graph under construction, and a step for each kind of op."""

    graph: gradc.Graph
    weights: Value
    random: np.random.Generator

    def fixed(self) -> Value:
        return self.graph.constant(self.random.standard_normal(WEIGHTS, np.float32))

    def convolution(self, x: Value, weights: Value) -> Value:
        return self.graph.convolution_backward_data(x, weights, SHAPE, **WINDOW, weights_format="OIX")

    def conv_transpose(self, x: Value) -> Value:
        return self.graph.conv_transpose_backward_data(x, self.fixed(), **WINDOW, weights_format="IOX")

    def resize(self, x: Value, size: int) -> Value:
        source = self.graph.constant(np.zeros((1, CHANNELS, size, size), np.float32))
        sizes = [dim for dim in x.shape[2:] if isinstance(dim, int)]
        return self.graph.interpolate_backward(source, x, mode="bilinear", sizes=sizes, data_format="NCX")

    def steps(self) -> tuple[Callable[[Value], Value], ...]:
        return (
            lambda x: self.convolution(x, self.fixed()),
            lambda x: self.convolution(x, self.weights),
            self.conv_transpose,
            lambda x: self.resize(x, SIZE // 2),
            lambda x: self.resize(x, SIZE),
        )


def chain(count: int) -> gradc.Graph:
    """A graph of `count` source ops, one after the other."""
    graph = gradc.Graph("chain")
    value = graph.input("dy", "f32", SHAPE)
    steps = Chain(graph, graph.input("weights", "f32", WEIGHTS), np.random.default_rng(0)).steps()
    for index in range(count):
        value = steps[index % len(steps)](value)
    graph.output(value, "dx")
    return graph


def timed(work: Callable[[], Any]) -> float:
    """Milliseconds."""
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1e3


def row(count: int) -> list[str]:
    graph = chain(count)
    build = median(timed(lambda: chain(count)) for _ in range(3))
    compile_ = median(timed(lambda: gradc.compile(graph)) for _ in range(9 if count <= 10 else 3))
    return [f"{count:,}", *(f"{ms:.1f}" for ms in (build, compile_)), f"{compile_ / count:.3f}"]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--ops", default="1,100,1000", help="lengths of the chains")
    parser.add_argument("--profile", type=int, metavar="N", help="profile a chain of N ops instead")
    options = parser.parse_args(arguments)
    gradc.compile(chain(5))  # imports and tables
    if options.profile is None:
        rows = [row(int(count)) for count in options.ops.split(",")]
        print(table(["ops", "build ms", "compile ms", "ms per op"], rows, range(4)))
        return
    graph = chain(options.profile)
    profile = cProfile.Profile()
    profile.runcall(gradc.compile, graph)
    pstats.Stats(profile).sort_stats("cumulative").print_stats(70)


if __name__ == "__main__":
    main()
