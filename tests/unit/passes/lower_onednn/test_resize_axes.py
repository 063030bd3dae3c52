"""Resizes of any axes: the canonical ops know no batch, so the first axis may be among them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from support.outputs import verify_outputs

import gradc

SHAPE, SIZES = (4, 6, 5), {4: 2, 6: 3, 5: 3}


def text(rank: int, axes: Sequence[int], known: bool) -> str:
    n = len(axes)
    data = "x".join("?" if axis in axes and not known else str(SHAPE[axis]) for axis in range(rank))
    result = "x".join("?" if axis in axes else str(SHAPE[axis]) for axis in range(rank))
    types = f"tensor<{data}xf32>, tensor<{n}xi64>, tensor<{n}xi64>, tensor<{n}xi64>"
    names = ("%dy", "%x", "%p", "%q")
    declared = ", ".join(f"{name}: {type_}" for name, type_ in zip(names, types.split(", "), strict=True))
    return f"""func.func @main({declared}) -> tensor<{result}xf32> {{
  %r = grad.resize_backward_dynamic %dy, %x, %p, %q {{
    axes = {list(axes)}, interpolation = "linear", coordinates = "half_pixel"
  }} : ({types}) -> tensor<{result}xf32>
  return %r : tensor<{result}xf32>
}}"""


@pytest.mark.sweep
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1), (0, 2), (2, 0), (0, 1, 2)])
@pytest.mark.parametrize("strict", [False, True])
def test_run_time_sizes(tmp_path: Path, axes: Sequence[int], known: bool, strict: bool):
    for rank in range(max(axes) + 1, 4):
        path = tmp_path / "graph.mlir"
        path.write_text(text(rank, axes, known))
        compiled = gradc.compile(path, strict_ieee=strict)
        sizes = np.array([SIZES[SHAPE[axis]] for axis in axes])
        steps = {"p": np.array([SHAPE[axis] for axis in axes]), "q": sizes}
        data = np.random.default_rng(rank).standard_normal(SHAPE[:rank]).astype(np.float32)
        inputs = {"dy": data, "x": sizes, **steps}
        assert all(
            row.ok for row in verify_outputs(compiled.source, compiled.inputs, inputs, compiled.run(inputs))
        )
