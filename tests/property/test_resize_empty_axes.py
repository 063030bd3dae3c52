"""Resizes of any axis by sizes that only run time knows, beside axes that are empty in a run."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import gradc
from dialects.evaluate import evaluate
from gradc.importers.mlir.parser import import_mlir

TEXT = """func.func @main(%dy: DATA, %x: SIZES, %n: SIZES, %d: SIZES) -> DATA {
  %dx = grad.resize_backward_dynamic %dy, %x, %n, %d {axes = AXES, interpolation = "linear",
    coordinates = "half_pixel"} : (DATA, SIZES, SIZES, SIZES) -> DATA
  func.return %dx : DATA
}"""


def text(axes: tuple[int, ...], rank: int) -> str:
    words = {
        "DATA": f"tensor<{'?x' * rank}f32>",
        "SIZES": f"tensor<{len(axes)}xi64>",
        "AXES": str(list(axes)),
    }
    found = TEXT
    for word, meaning in words.items():
        found = found.replace(word, meaning)
    return found


@pytest.mark.sweep
@pytest.mark.parametrize("strict", [False, True], ids=["products", "strict"])
@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 1), (0, 2), (0, 1, 2)], ids=str)
@pytest.mark.parametrize("rank", [3, 4])
def test_other_axes_may_be_empty(axes: tuple[int, ...], rank: int, strict: bool):
    """But those between the first and a resized one: onnxruntime 1.31 repeats no factor over such an axis."""
    compiled = gradc.compile(import_mlir(text(axes, rank), "empty.mlir"), strict_ieee=strict)
    rng = np.random.default_rng(0)
    for shape in itertools.product((0, 1, 3), repeat=rank):
        if any(shape[axis] == 0 for axis in axes) or 0 in shape[1 : max(axes)]:
            continue
        wide = [2] * len(axes)
        steps = (wide, [shape[axis] for axis in axes], wide)
        feeds = [rng.normal(size=shape).astype(np.float32), *(np.array(given, np.int64) for given in steps)]
        (want,) = evaluate(compiled.source, feeds)
        (got,) = compiled.run(dict(zip(("dy", "x", "n", "d"), feeds, strict=True))).values()
        assert got.shape == want.shape, shape
        np.testing.assert_allclose(got, want, atol=1e-5)
