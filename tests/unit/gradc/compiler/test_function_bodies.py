"""Ops that are replaced by the function bodies of ONNX."""

from __future__ import annotations

import onnx
import pytest

import gradc

RANGE = """<ir_version: 13, opset_import: ["": 27]>
g (bfloat16 start, bfloat16 delta) => (bfloat16[2] output) { output = Range(start, start, delta) }"""


@pytest.mark.parametrize("opset", [13, 25, 26])
def test_a_refusal_after_a_body_whose_results_have_no_known_rank(opset: int):
    with pytest.raises(gradc.UnsupportedError, match="bf16 is avoided on tract"):
        gradc.compile(onnx.parser.parse_model(RANGE), target="tract", opset=opset)
