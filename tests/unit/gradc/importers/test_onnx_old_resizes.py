"""Nearest resizes of before opset 11: rounded down along axes that grow, up along those that shrink."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
from onnx.numpy_helper import from_array
from support.onnx_models import run

import gradc

SCALES = [
    (0.6, 0.6),
    (1.25, 1.25),
    (2, 2),
    (1, 1),
    (1.4, 0.6),
    (0.3, 1.7),
    (1.3, 1),
    (0.8, 1.3, 1.1),
    (0.75, 0.5, 0.4),
    (1.1, 1.2, 1.7),
]
"""Of some the smallest sizes do not change, which onnxruntime copies where none does."""


@pytest.mark.sweep
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("scales", SCALES)
@pytest.mark.parametrize("op", ["Resize", "Upsample"])
def test_the_nearest_elements_are_those_of_the_kernel(op: str, scales: tuple[float, ...], known: bool):
    if op == "Upsample" and min(scales) < 1:
        pytest.skip("it only enlarges")
    whole = np.array((1, 1, *scales), np.float32)
    rank, rng = len(whole), np.random.default_rng(3)
    unknown = [None] * rank
    inputs = [make_tensor_value_info("x", 1, unknown), make_tensor_value_info("s", 1, [rank])]
    graph = make_graph(
        [make_node(op, ["x", "s"], ["y"])],
        "g",
        inputs[:1] if known else inputs,
        [make_tensor_value_info("y", 1, unknown)],
        [from_array(whole, "s")] if known else [],
    )
    model = make_model(graph, opset_imports=[make_opsetid("", 10 if op == "Resize" else 9)], ir_version=5)
    onnx.checker.check_model(model)
    compiled = gradc.compile(model).proto
    for sizes in rng.integers(2, 9, (4, rank - 2)):
        feeds = {"x": rng.standard_normal((1, 2, *sizes)).astype(np.float32), "s": whole}
        np.testing.assert_array_equal(*run(compiled, feeds), *run(model, feeds))


def test_the_report():
    """One to eight by 0.6, as it was reported."""
    text = "g (float[1,1,2,4] x) => (float[1,1,1,2] y) <float[4] s = {1, 1, 0.6, 0.6}> { y = Resize (x, s) }"
    model = onnx.parser.parse_model(f'<ir_version: 5, opset_import: ["" : 10]>\n{text}')
    x = np.arange(1, 9, dtype=np.float32).reshape(1, 1, 2, 4)
    np.testing.assert_array_equal(run(gradc.compile(model).proto, {"x": x})[0].ravel(), [1, 3])
