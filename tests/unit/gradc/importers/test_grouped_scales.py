"""Quantised weights of a ConvTranspose with groups: a scale for each of its output channels, as the library
has it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from support.documents import attrs, changed, document, op, tensor

import gradc

pytest.importorskip("onnxruntime")

GROUPS, IN_GROUP, OUT_GROUP, KERNEL, SIZE = 2, 3, 2, 3, 4
SCALES = [0.5, 0.25, 2.0, 1.0]


def transposed(layout: str, **more: Any) -> dict[str, Any]:
    c, o = GROUPS * IN_GROUP, GROUPS * OUT_GROUP
    weights = [c, OUT_GROUP, KERNEL] if layout == "IOX" else [KERNEL, OUT_GROUP, c]
    window = {"strides": [1], "dilations": [1], "pads_begin": [0], "pads_end": [0]}
    conv = window | {"groups": GROUPS, "data_format": "NCX", "weights_format": layout}
    quantised = {"qtype": "per_channel", "axis": 1, "scales": SCALES} | more
    return document(
        op(0, "Dequantize", quantised, [tensor(0, weights, "s8")], [tensor(1, weights)]),
        op(
            1,
            "ConvTranspose",
            conv,
            [tensor(2, [1, c, SIZE]), tensor(1, weights)],
            [tensor(3, [1, o, SIZE + KERNEL - 1])],
        ),
    )


def expected(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """By the definition; weights are (C, O / groups, K)."""
    dst = np.zeros((1, GROUPS * OUT_GROUP, SIZE + KERNEL - 1))
    axes = (range(GROUPS), range(IN_GROUP), range(OUT_GROUP), range(KERNEL), range(SIZE))
    for q, i, j, k, at in itertools.product(*axes):
        c, o = q * IN_GROUP + i, q * OUT_GROUP + j
        dst[0, o, at + k] += x[0, c, at] * weights[c, j, k] * SCALES[o]
    return dst


@pytest.mark.parametrize("layout", ["IOX", "XOI"])
def test_each_output_channel_has_its_scale(layout: str):
    rng = np.random.default_rng(0)
    weights = rng.integers(-9, 10, (GROUPS * IN_GROUP, OUT_GROUP, KERNEL)).astype(np.int8)
    x = rng.standard_normal((1, GROUPS * IN_GROUP, SIZE)).astype(np.float32)
    given = weights if layout == "IOX" else np.ascontiguousarray(weights.transpose(2, 1, 0))
    compiled = gradc.compile(transposed(layout))
    for found in (compiled.run({"t0": given, "t2": x}), compiled.reference({"t0": given, "t2": x})):
        np.testing.assert_allclose(found["t3"], expected(x, weights), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"scales": SCALES[:3]},
        {"axis": 0, "scales": SCALES},
        {"scales": SCALES, "zps": [1, 1, 1, 1]},
        {"scales": "many"},
    ],
)
def test_what_does_not_fit_is_refused_in_the_words_of_the_op(wrong: dict[str, Any]):
    with pytest.raises(gradc.GradcError, match=r"\[Dequantize .*scales"):
        gradc.compile(changed(transposed("IOX"), attrs(**wrong)))
