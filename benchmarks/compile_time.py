"""Compile time of gradc: milliseconds of CPU time for graphs of 1, 100 and 1,000 ops, and per op.

    python benchmarks/compile_time.py [--ops 1,100,1000] [--graphs chain,alike] [--json FILE] [--profile N]

A chain repeats four gradients: a convolution with constant weights, one with input weights, a transposed
convolution, and a bilinear resize. As in networks, layers repeat: after `--shapes` sizes the chain returns to
the first.

`deep`, `hub` and `tree` mix convolution gradients with elementwise ops: in sequence, all reading one tensor,
and reduced in pairs.

The other graphs are independent ops. All of `convolutions`, `strided` and `resizes` have different sizes, so
each op is a new problem; those of `alike` are equal.

`build` is the Python builder; `first` compiles to a checked model with ops that the process has not seen,
`again` with known ones.
"""

from __future__ import annotations

import argparse
import cProfile
import itertools
import json
import pstats
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from statistics import median
from typing import Any

import numpy as np

import gradc
from gradc.bench.report import about
from gradc.builder.base import GraphValue
from gradc.files.writing import write_atomically
from gradc.terminal import progress
from gradc.terminal.tables import look, table

SMALLEST, SHAPES = 8, 50
WINDOW: dict[str, Any] = {
    "strides": (1, 1),
    "pads_begin": (1, 1),
    "pads_end": (1, 1),
    "dilations": (1, 1),
    "data_format": "NCX",
}


Build = Callable[[int, int, int], gradc.Graph]
"""Builds a graph from the numbers of ops, map shapes and channels."""


@dataclass(frozen=True)
class Chain:
    """A graph under construction, and a step for each kind of op."""

    graph: gradc.Graph
    channels: int
    random: np.random.Generator

    @cached_property
    def weights(self) -> GraphValue:
        return self.graph.input("weights", "f32", (self.channels, self.channels, 3, 3))

    def fixed(self) -> GraphValue:
        return self.graph.constant(self.random.standard_normal(self.weights.shape, np.float32))  # pyright: ignore

    def convolution(self, x: GraphValue, weights: GraphValue) -> GraphValue:
        return self.graph.convolution_backward_data(x, weights, x.shape, **WINDOW, weights_format="OIX")

    def conv_transpose(self, x: GraphValue) -> GraphValue:
        return self.graph.conv_transpose_backward_data(x, self.fixed(), **WINDOW, weights_format="IOX")

    def resize(self, x: GraphValue, sizes: Sequence[int]) -> GraphValue:
        source = self.graph.constant(np.zeros((1, self.channels, *sizes), np.float32))
        given = [dim for dim in x.shape[2:] if isinstance(dim, int)]
        return self.graph.interpolate_backward(source, x, mode="bilinear", sizes=given, data_format="NCX")


def chain(count: int, shapes: int = SHAPES, channels: int = 8) -> gradc.Graph:
    """Return a graph of `count` source ops in sequence, on maps of `shapes` shapes."""
    graph = gradc.Graph("chain")
    value = graph.input("dy", "f32", (1, channels, SMALLEST, SMALLEST))
    steps = Chain(graph, channels, np.random.default_rng(0))
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


@dataclass(frozen=True)
class Steps(Chain):
    """Similar ops, every fourth of which is a convolution gradient."""

    @cached_property
    def kernel(self) -> GraphValue:
        return self.fixed()

    def step(self, x: GraphValue, y: GraphValue, index: int) -> GraphValue:
        """Return an op of x, and of y if it has two operands."""
        match index % 4:
            case 0:
                return self.convolution(x, self.kernel)
            case 1:
                return self.graph.add(x, y)
            case 2:
                return self.graph.relu_backward(x, y)
            case _:
                return self.graph.multiply(x, y)


def _steps(name: str, channels: int) -> tuple[Steps, GraphValue]:
    graph = gradc.Graph(name)
    steps = Steps(graph, channels, np.random.default_rng(0))
    return steps, graph.input("dy", "f32", (1, channels, SMALLEST, SMALLEST))


def deep(count: int, shapes: int, channels: int) -> gradc.Graph:
    """Return ops in sequence that also read the first tensor."""
    del shapes
    steps, first = _steps("deep", channels)
    value = first
    for index in range(count):
        value = steps.step(value, first, index)
    steps.graph.output(value, "dx")
    return steps.graph


def hub(count: int, shapes: int, channels: int) -> gradc.Graph:
    """Return ops that all read one tensor and one operand each, and the sum of their results."""
    del shapes
    steps, first = _steps("hub", channels)
    shared, values = steps.graph.exp(first), []
    for index in range(count // 2):
        own = steps.fixed() if index % 4 == 0 else steps.graph.constant(np.full(1, index, np.float32))
        read = steps.convolution if index % 4 == 0 else steps.graph.multiply
        values.append(read(shared, own))
    steps.graph.output(_reduce_pairs(values, steps.graph.add), "dx")
    return steps.graph


def _reduce_pairs(
    values: Sequence[GraphValue], join: Callable[[GraphValue, GraphValue], GraphValue]
) -> GraphValue:
    """Reduce the values in pairs."""
    level = [*values]
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        level = [join(*pair) for pair in pairs] + level[len(level) // 2 * 2 :]
    return level[0]


def tree(count: int, shapes: int, channels: int) -> gradc.Graph:
    """Return tensors reduced in pairs."""
    del shapes
    steps, first = _steps("tree", channels)
    names = [f"x{index}" for index in range(count // 2)]
    level = [first, *(steps.graph.input(name, "f32", (1, channels, SMALLEST, SMALLEST)) for name in names)]
    numbers = itertools.count()
    value = _reduce_pairs(level, lambda x, y: steps.step(x, y, next(numbers)))
    steps.graph.output(value, "dx")
    return steps.graph


def _side_by_side(
    add: Callable[[Chain, GraphValue, int], GraphValue], rate: int, sizes: Callable[[int], int]
) -> Build:
    """Return a builder of independent ops; `sizes` numbers their maps, diff_dst is `rate` times as large."""

    def build(count: int, shapes: int, channels: int) -> gradc.Graph:
        del shapes
        graph = gradc.Graph("side by side")
        steps = Chain(graph, channels, np.random.default_rng(0))
        for index in range(count):
            rows, columns = divmod(sizes(index), 40)
            image = (rate * (SMALLEST + rows), rate * (SMALLEST + columns))
            value = graph.input(f"dy{index}", "f32", (1, channels, *image))
            graph.output(add(steps, value, index), f"dx{index}")
        return graph

    return build


def _convolution(steps: Chain, value: GraphValue, index: int) -> GraphValue:
    del index
    return steps.convolution(value, steps.fixed())


def _strided_convolution(steps: Chain, value: GraphValue, index: int) -> GraphValue:
    del index
    batch, channels, *image = (size for size in value.shape if isinstance(size, int))
    doubled = (batch, channels, *(2 * size for size in image))
    window: dict[str, Any] = WINDOW | {"strides": (2, 2)}
    return steps.graph.convolution_backward_data(
        value, steps.fixed(), doubled, **window, weights_format="OIX"
    )


def _resize_to_half(steps: Chain, value: GraphValue, index: int) -> GraphValue:
    del index
    return steps.resize(value, [size // 2 for size in value.shape[2:] if isinstance(size, int)])


GRAPHS: dict[str, Build] = {
    "chain": chain,
    "deep": deep,
    "hub": hub,
    "tree": tree,
    "convolutions": _side_by_side(_convolution, 1, lambda index: index),
    "alike": _side_by_side(_convolution, 1, lambda _: 0),
    "strided": _side_by_side(_strided_convolution, 1, lambda index: index),
    "resizes": _side_by_side(_resize_to_half, 2, lambda index: index),
}


def cpu_milliseconds(work: Callable[[], Any]) -> float:
    """Return milliseconds of CPU time."""
    begun = time.process_time()
    work()
    return (time.process_time() - begun) * 1e3


@dataclass(frozen=True)
class Row:
    """Medians for graphs of one size."""

    graph: str
    ops: int
    build_ms: float
    first_ms: float
    again_ms: float

    @property
    def cells(self) -> list[str]:
        whole = (self.build_ms, self.first_ms, self.again_ms)
        per_op = (self.first_ms / self.ops, self.again_ms / self.ops)
        return [self.graph, f"{self.ops:,}", *(f"{ms:.1f}" for ms in whole), *(f"{ms:.2f}" for ms in per_op)]


def measure_row(graph: str, count: int, shapes: int, unseen: Iterator[int]) -> Row:
    repeated = 9 if count <= 10 else 3
    samples = [sample(GRAPHS[graph], count, shapes, next(unseen)) for _ in range(repeated)]
    return Row(graph, count, *(median(times) for times in zip(*samples, strict=True)))


def as_json(rows: Sequence[Row]) -> str:
    """Return the rows as JSON, with the machine and date of `gradc bench --json`."""
    found = about() | {"rows": [asdict(row) for row in rows]}
    return json.dumps(found, indent=1) + "\n"


def sample(build: Build, count: int, shapes: int, channels: int) -> tuple[float, float, float]:
    building = cpu_milliseconds(lambda: build(count, shapes, channels))
    graph = build(count, shapes, channels)
    return (
        building,
        cpu_milliseconds(lambda: gradc.compile(graph)),
        cpu_milliseconds(lambda: gradc.compile(graph)),
    )


def _rows(graphs: Sequence[str], counts: Sequence[int], shapes: int, unseen: Iterator[int]) -> list[Row]:
    rows, cases = [], list(itertools.product(graphs, counts))
    with progress.bar(patience=0):
        for index, (graph, count) in enumerate(cases):
            progress.show(index, len(cases), f"{graph} of {count:,} ops")
            rows.append(measure_row(graph, count, shapes, unseen))
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--ops", default="1,100,1000", help="numbers of ops")
    parser.add_argument("--graphs", default=",".join(GRAPHS), help=f"of {', '.join(GRAPHS)}")
    parser.add_argument("--shapes", type=int, default=SHAPES, help="different maps in a chain")
    parser.add_argument("--json", metavar="FILE", help="write the measurements")
    parser.add_argument("--profile", type=int, metavar="N", help="profile the first graph, of N ops, instead")
    options = parser.parse_args(arguments)
    graphs = options.graphs.split(",")
    if unknown := set(graphs) - set(GRAPHS):
        parser.error(f"--graphs {', '.join(sorted(unknown))}: expected some of {', '.join(GRAPHS)}")
    gradc.compile(chain(5))  # imports and tables
    if options.profile is None:
        unseen = itertools.count(9)
        rows = _rows(graphs, [int(count) for count in options.ops.split(",")], options.shapes, unseen)
        header = ["graph", "ops", "build ms", "first ms", "again ms", "first ms/op", "again ms/op"]
        print(table(header, [row.cells for row in rows], range(1, len(header)), look(sys.stdout)))
        if options.json:
            write_atomically(options.json, as_json(rows).encode())
        return
    graph = GRAPHS[graphs[0]](options.profile, options.shapes, 9)
    profile = cProfile.Profile()
    profile.runcall(gradc.compile, graph)
    pstats.Stats(profile).sort_stats("cumulative").print_stats(70)


if __name__ == "__main__":
    main()
