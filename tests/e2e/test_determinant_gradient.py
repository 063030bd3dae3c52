"""The gradient of Det is the matrix of cofactors: also where no inverse exists, and once more."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest

import gradc

RNG = np.random.default_rng(0)


def model(sizes: str, opset: int = 18) -> onnx.ModelProto:
    made = ",".join(sizes.split(",")[:-2])
    text = f"g (float[{sizes}] x) => (float[{made}] y) {{ y = Det (x) }}"
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]> {text}')


def of_rank(count: int, size: int, rank: int) -> np.ndarray:
    left, right = RNG.normal(size=(count, size, rank)), RNG.normal(size=(count, rank, size))
    return (left @ right).astype(np.float32)


def cofactors(x: np.ndarray) -> np.ndarray:
    size = x.shape[-1]
    found = np.empty(x.shape)
    for i, j in np.ndindex(size, size):
        minor = np.delete(np.delete(x.astype(np.float64), i, -2), j, -1)
        found[..., i, j] = (-1) ** (i + j) * np.linalg.det(minor)
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("batch", ["2", "N"])
def test_matrices_of_every_rank(size: int, batch: str):
    """Of the rank n, n - 1, whose cofactors are of rank 1, and n - 2, whose cofactors are 0."""
    found = gradc.vjp(model(f"{batch},{size},{size}"), check=False)
    for rank in range(max(size - 2, 0), size + 1):
        x, cotangent = of_rank(2, size, rank), RNG.normal(size=2).astype(np.float32)
        got = found.run({"x": x, "cotangent_y": cotangent})["grad_x"]
        want = cofactors(x) * cotangent[:, None, None]
        np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-5 * (1 + np.abs(x).max() ** (size - 1)))


@pytest.mark.parametrize("shape", [(3, 3), (0, 3, 3), (2, 1, 3, 3)], ids=str)
def test_batches_of_any_rank(shape: tuple[int, ...]):
    x = RNG.normal(size=shape).astype(np.float32)
    found = gradc.grad(model(",".join("NM"[: len(shape) - 2]) + ",3,3" if shape[2:] else "3,3"), reduce="sum")
    np.testing.assert_allclose(found.run({"x": x})["grad_x"], cofactors(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_the_second_derivative_of_a_singular_matrix(size: int):
    """Cofactors are polynomials of the elements, which a difference of them follows along a direction."""
    found = gradc.hvp(model(f"N,{size},{size}"), reduce="sum")
    x, tangent = of_rank(2, size, size - 1), RNG.normal(size=(2, size, size)).astype(np.float32)
    got = found.run({"x": x, "tangent_x": tangent})["hvp_x"]
    step = 1e-4 * tangent.astype(np.float64)
    np.testing.assert_allclose(got, (cofactors(x + step) - cofactors(x - step)) / 2e-4, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("sizes", "text"),
    [("9,9", "given 9, expected at most 8"), ("N,N", "given unknown"), ("N,3", "given unknown")],
)
def test_other_sizes_are_refused(sizes: str, text: str):
    with pytest.raises(gradc.UnsupportedError, match=rf"no derivative: size of the matrices: {text}"):
        gradc.grad(model(sizes), reduce="sum")
