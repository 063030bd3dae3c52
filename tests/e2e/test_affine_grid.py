"""The gradient of AffineGrid, below the opset that brought the op, too: sums of cotangents times points."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest

import gradc

pytest.importorskip("onnxruntime")

SIZES = [2, 3, 4, 5, 6]


def points(sizes: list[int], corners: int) -> np.ndarray:
    """Rows (x, y, 1) or (x, y, z, 1), as ONNX defines them."""
    places = (np.linspace(-1, 1, n) if corners else (2 * np.arange(n) + 1) / n - 1 for n in sizes)
    axes = np.meshgrid(*places, indexing="ij")
    return np.stack([*axes[::-1], np.ones(sizes)], -1).reshape(-1, len(sizes) + 1)


@pytest.mark.parametrize("opset", [13, 20])
@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("is_constant", [False, True])
def test_gradient(count: int, corners: int, is_constant: bool, opset: int):
    shape, rank = SIZES[: count + 2], count + 2
    theta, grid = f"float[2,{count},{count + 1}] theta", f"float[{','.join('?' * rank)}] y"
    size = f"int64[{rank}] s"
    ports = f"({theta}) => ({grid}) <{size} = {{{', '.join(map(str, shape))}}}>"
    ports = ports if is_constant else f"({theta}, {size}) => ({grid})"
    body = f"y = AffineGrid<align_corners={corners}>(theta, s)"
    text = f'<ir_version: 9, opset_import: ["" : 20]> g {ports} {{ {body} }}'
    model = onnx.parser.parse_model(text)
    gradient = gradc.vjp(model, wrt="theta", opset=opset, check=False)
    draw = np.random.default_rng(0)
    cotangent = draw.standard_normal((2, *shape[2:], count)).astype(np.float32)
    given = {"theta": draw.standard_normal((2, count, count + 1)).astype(np.float32), "s": np.array(shape)}
    given["cotangent_y"] = cotangent
    found = gradient.run({info.name: given[info.name] for info in gradient.inputs})["grad_theta"]
    want = np.einsum("bpi,pj->bij", cotangent.reshape(2, -1, count), points(shape[2:], corners))
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4)
