"""How long gradc itself takes: milliseconds for chains of 1, 100 and 1,000 ops, and per op.

    python benchmarks/compile_time.py [--ops 1,100,1000] [--json FILE] [--profile N]

A chain repeats: a convolution's gradient with constant weights, one with weights that are an input, a
transposed convolution's, and a bilinear resize's to another size. Networks repeat their layers: after
`--shapes` sizes the chain comes back to the first.

`build` is the Python builder. `first` is the way from that graph to the checked model for ops that the
process has not seen before, `again` for those that it has.
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
from gradc import progress
from gradc.bench.report import about
from gradc.builder import Value
from gradc.files import write_whole
from gradc.tables import look, table

SMALLEST, SHAPES = 8, 50
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
    channels: int
    random: np.random.Generator

    @cached_property
    def weights(self) -> Value:
        return self.graph.input("weights", "f32", (self.channels, self.channels, 3, 3))

    def fixed(self) -> Value:
        return self.graph.constant(self.random.standard_normal(self.weights.shape, np.float32))  # pyright: ignore

    def convolution(self, x: Value, weights: Value) -> Value:
        return self.graph.convolution_backward_data(x, weights, x.shape, **WINDOW, weights_format="OIX")

    def conv_transpose(self, x: Value) -> Value:
        return self.graph.conv_transpose_backward_data(x, self.fixed(), **WINDOW, weights_format="IOX")

    def resize(self, x: Value, sizes: Sequence[int]) -> Value:
        source = self.graph.constant(np.zeros((1, self.channels, *sizes), np.float32))
        given = [dim for dim in x.shape[2:] if isinstance(dim, int)]
        return self.graph.interpolate_backward(source, x, mode="bilinear", sizes=given, data_format="NCX")


def chain(count: int, shapes: int = SHAPES, channels: int = 8) -> gradc.Graph:
    """A graph of `count` source ops, one after the other, on maps of so many shapes."""
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


def timed(work: Callable[[], Any]) -> float:
    """Milliseconds."""
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1e3


@dataclass(frozen=True)
class Row:
    """Medians for chains of so many ops."""

    ops: int
    build_ms: float
    first_ms: float
    again_ms: float

    @property
    def cells(self) -> list[str]:
        whole = (self.build_ms, self.first_ms, self.again_ms)
        per_op = (self.first_ms / self.ops, self.again_ms / self.ops)
        return [f"{self.ops:,}", *(f"{ms:.1f}" for ms in whole), *(f"{ms:.2f}" for ms in per_op)]


def measured(count: int, shapes: int, unseen: Iterator[int]) -> Row:
    samples = [sample(count, shapes, next(unseen)) for _ in range(9 if count <= 10 else 3)]
    return Row(count, *(median(times) for times in zip(*samples, strict=True)))


def as_json(rows: Sequence[Row]) -> str:
    """What `gradc bench --json` says of machine and day, and the rows."""
    found = about() | {"rows": [asdict(row) for row in rows]}
    return json.dumps(found, indent=1) + "\n"


def sample(count: int, shapes: int, channels: int) -> tuple[float, float, float]:
    build = timed(lambda: chain(count, shapes, channels))
    graph = chain(count, shapes, channels)
    return build, timed(lambda: gradc.compile(graph)), timed(lambda: gradc.compile(graph))


def _rows(counts: Sequence[int], shapes: int, unseen: Iterator[int]) -> list[Row]:
    rows = []
    with progress.bar(patience=0):
        for index, count in enumerate(counts):
            progress.show(index, len(counts), f"a chain of {count:,} ops")
            rows.append(measured(count, shapes, unseen))
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--ops", default="1,100,1000", help="lengths of the chains")
    parser.add_argument("--shapes", type=int, default=SHAPES, help="different maps in a chain")
    parser.add_argument("--json", metavar="FILE", help="write what was measured")
    parser.add_argument("--profile", type=int, metavar="N", help="profile a chain of N ops instead")
    options = parser.parse_args(arguments)
    gradc.compile(chain(5))  # imports and tables
    if options.profile is None:
        unseen = itertools.count(9)
        rows = _rows([int(count) for count in options.ops.split(",")], options.shapes, unseen)
        header = ["ops", "build ms", "first ms", "again ms", "first ms/op", "again ms/op"]
        print(table(header, [row.cells for row in rows], range(len(header)), look(sys.stdout)))
        if options.json:
            write_whole(options.json, as_json(rows).encode())
        return
    graph = chain(options.profile, options.shapes, 9)
    profile = cProfile.Profile()
    profile.runcall(gradc.compile, graph)
    pstats.Stats(profile).sort_stats("cumulative").print_stats(70)


if __name__ == "__main__":
    main()
