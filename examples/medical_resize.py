"""The gradient of resampling a CT volume to cubic voxels: trilinear, with a different scale on each axis.

    python examples/medical_resize.py [GRAPH.mlir]

compares it with one matrix product per axis.
"""

import sys

import numpy as np

import gradc

SPACING = (2.5, 0.8, 0.8)
"""Millimeters between the voxels of the scan: slices are further apart than pixels."""

SCAN = (12, 40, 30)
CUBIC = tuple(round(size * spacing) for size, spacing in zip(SCAN, SPACING, strict=True))
"""Sizes at one voxel per millimeter."""


def graph() -> gradc.Graph:
    """Backward of: cubic = resize(scan). Data is channels last, as volume readers return it."""
    g = gradc.Graph()
    scan = g.input("scan", "f32", ["N", *SCAN, 1])
    diff_cubic = g.input("diff_cubic", "f32", ["N", *CUBIC, 1])
    diff = g.interpolate_backward(
        scan, diff_cubic, list(CUBIC), mode="trilinear", data_format="NXC", name="resample"
    )
    g.output(diff, "diff_scan")
    return g


def weights(x: int, y: int) -> np.ndarray:
    """Return (y, x): row i has the two interpolation weights of output voxel i."""
    place = np.clip((np.arange(y) + 0.5) * x / y - 0.5, 0, x - 1)
    low = np.minimum(place.astype(int), x - 2)
    matrix = np.zeros((y, x))
    matrix[np.arange(y), low] = 1 - (place - low)
    matrix[np.arange(y), low + 1] = place - low
    return matrix


def main(arguments: list[str]) -> None:
    for path in arguments:
        graph().save(path)
    rng = np.random.default_rng(0)
    diff_cubic = rng.standard_normal((1, *CUBIC, 1)).astype(np.float32)
    compiled = gradc.compile(graph())
    got = compiled.run({"scan": np.zeros((1, *SCAN, 1), np.float32), "diff_cubic": diff_cubic})["diff_scan"]
    d, h, w = map(weights, SCAN, CUBIC)
    want = np.einsum("dD,hH,wW,ndhwc->nDHWc", d, h, w, diff_cubic, optimize=True)
    error = np.abs(got - want).max() / np.abs(want).max()
    assert error < 1e-5, error
    print(f"{diff_cubic.shape} -> {got.shape}, equal to the three matrix products")
    # each row of a matrix sums to 1, so the gradient keeps the sum
    assert np.isclose(got.sum(), diff_cubic.sum(), rtol=1e-3)


if __name__ == "__main__":
    main(sys.argv[1:])
