"""How long gradc itself takes: milliseconds for chains of 1, 100 and 1,000 ops, and per op.

    python benchmarks/compile_time.py [--ops 1,100,1000] [--profile N]

A chain repeats: a convolution's gradient with constant weights, one with weights that are an input, a
transposed convolution's, and a bilinear resize's to another size. `build` is the Python builder,
`compile` the way from that graph to the checked model. Networks repeat their layers: after `--shapes`
sizes the chain comes back to the first.
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

CHANNELS, SMALLEST, SHAPES = 8, 8, 50
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
        return self.graph.convolution_backward_data(x, weights, x.shape, **WINDOW, weights_format="OIX")

    def conv_transpose(self, x: Value) -> Value:
        return self.graph.conv_transpose_backward_data(x, self.fixed(), **WINDOW, weights_format="IOX")

    def resize(self, x: Value, sizes: Sequence[int]) -> Value:
        source = self.graph.constant(np.zeros((1, CHANNELS, *sizes), np.float32))
        given = [dim for dim in x.shape[2:] if isinstance(dim, int)]
        return self.graph.interpolate_backward(source, x, mode="bilinear", sizes=given, data_format="NCX")


def chain(count: int, shapes: int = SHAPES) -> gradc.Graph:
    """A graph of `count` source ops, one after the other, on maps of so many shapes."""
    graph = gradc.Graph("chain")
    value = graph.input("dy", "f32", (1, CHANNELS, SMALLEST, SMALLEST))
    steps = Chain(graph, graph.input("weights", "f32", WEIGHTS), np.random.default_rng(0))
    for index in range(count):
        rows, columns = divmod((index + 1) % shapes, 32)
        if index % 4 == 0:
            value = steps.convolution(value, steps.fixed())
        elif index % 4 == 1:
            value = steps.convolution(value, steps.weights)
        elif index % 4 == 2:
            value = steps.conv_transpose(value)
        else:
            value = steps.resize(value, (SMALLEST + rows, SMALLEST + columns))
    graph.output(value, "dx")
    return graph


def timed(work: Callable[[], Any]) -> float:
    """Milliseconds."""
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1e3


def row(count: int, shapes: int) -> list[str]:
    graph = chain(count, shapes)
    build = median(timed(lambda: chain(count, shapes)) for _ in range(3))
    compile_ = median(timed(lambda: gradc.compile(graph)) for _ in range(9 if count <= 10 else 3))
    return [f"{count:,}", *(f"{ms:.1f}" for ms in (build, compile_)), f"{compile_ / count:.3f}"]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--ops", default="1,100,1000", help="lengths of the chains")
    parser.add_argument("--shapes", type=int, default=SHAPES, help="different maps in a chain")
    parser.add_argument("--profile", type=int, metavar="N", help="profile a chain of N ops instead")
    options = parser.parse_args(arguments)
    gradc.compile(chain(5))  # imports and tables
    if options.profile is None:
        rows = [row(int(count), options.shapes) for count in options.ops.split(",")]
        print(table(["ops", "build ms", "compile ms", "ms per op"], rows, range(4)))
        return
    graph = chain(options.profile, options.shapes)
    profile = cProfile.Profile()
    profile.runcall(gradc.compile, graph)
    pstats.Stats(profile).sort_stats("cumulative").print_stats(70)


if __name__ == "__main__":
    main()
