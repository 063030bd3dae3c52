"""What is kept from one compilation for the next is bounded, also where no two graphs are alike."""

from __future__ import annotations

import gc
import random
from pathlib import Path
from typing import Any

import pytest

import gradc
from dialects.support import limits
from dialects.support.limits import Limits
from gradc.problems import parse_problem
from passes.strategies import base, choice

COMPILATIONS, TOTAL = 200, 2_000

MEGABYTES = 32
"""What the second thousand may take beyond the first, which takes some 100."""


def resident() -> float:
    """Megabytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def graph(number: int) -> gradc.Graph:
    """A convolution, a transposed one and a resize, of sizes that no other number has."""
    chance = random.Random(number)
    made = gradc.Graph(f"graph{number}")
    channels, rows, columns = chance.randint(1, 48), chance.randint(4, 60), chance.randint(4, 60)
    window: dict[str, Any] = {
        "strides": [1, 1],
        "pads_begin": [1, 1],
        "pads_end": [1, 1],
        "dilations": [1, 1],
    }
    value = made.input("dy", "f32", (1, channels, rows, columns))
    weights = made.input("w", "f32", (channels, chance.randint(1, 48), 3, 3))
    size = (1, weights.shape[1], rows, columns)
    value = made.convolution_backward_data(
        value, weights, size, **window, data_format="NCX", weights_format="OIX"
    )
    source = made.input("x", "f32", (1, size[1], rows - chance.randint(1, 3), columns // 2))
    value = made.interpolate_backward(
        source, value, mode="bilinear", sizes=[rows, columns], data_format="NCX"
    )
    made.output(value, "dx")
    return made


@pytest.mark.heavy
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell")
def test_memory_stops_growing():
    """2,000 graphs that all differ; three minutes."""
    taken = []
    for number in range(TOTAL):
        gradc.compile(graph(number), threads=1 + number % 2)
        if number % COMPILATIONS == COMPILATIONS - 1:
            gc.collect()
            taken.append(resident())
    print(taken)
    assert taken[-1] - taken[len(taken) // 2 - 1] < MEGABYTES, taken


def test_what_is_kept_is_not_kept_for_each_target_and_limit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(base._written, "most", 4)
    monkeypatch.setattr(choice._seen, "most", 4)
    text = "conv_backward_data,f32,NCX,diff_dst=1x4x7x5,weights=4x4x3x3,pads=1x1:1x1"
    for number in range(6):
        with limits.using(Limits(nodes=10_000 + number)):
            gradc.compile(parse_problem(text).module(), threads=1 + number)
    assert len(base._written._kept) <= 4
    assert len(choice._seen._kept) <= 4
