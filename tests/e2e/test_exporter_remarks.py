"""Remarks on what exporters write for something else."""

from __future__ import annotations

import onnx.parser
import pytest

import gradc

TEXT = """<ir_version: 8, opset_import: ["": 18]>
    g (float[3, 2] x, float[4, 2] t, int64[3] i) => (float[4, 2] y)
    <int64[2] rows = {3, 1}, int64[2] all = {3, 2}, int64[1] last = {1}, float zero = {0},
     int64[2] whole = {4, 2},
     int64[3, 2] same = {0, 0, 0, 0, 1, 1}, int64[3, 2] apart = {0, 0, 2, 2, 1, 1}> {
        z = Expand (zero, whole)
        u = Unsqueeze (i, last)
        e = Expand (u, all)
        s = ScatterElements <axis = 0REDUCTION> (z, INDEX, x)
        y = Add (t, s)
    }"""


@pytest.mark.parametrize(
    ("index", "reduction", "count"),
    [("e", "", 1), ("same", "", 1), ("apart", "", 0), ("e", ', reduction = "add"', 0)],
)
def test_an_index_add_without_a_sum(index: str, reduction: str, count: int):
    text = TEXT.replace("INDEX", index).replace("REDUCTION", reduction)
    found = gradc.grad(onnx.parser.parse_model(text), wrt="x", reduce="sum", check=False).remarks
    reported = [
        remark for remark in found if "keeps only the last of rows with equal indices" in remark.message
    ]
    assert len(reported) == count
    assert all(remark.severity == "remark" for remark in reported)


SLICES = """<ir_version: 8, opset_import: ["": 18]>
    g (float[3, 2] x, float[4, 2] t, int64[3, 1] i) => (float[4, 2] y)
    <int64[2] whole = {4, 2}, int64[3, 1] same = {0, 0, 1}, int64[3, 1] apart = {0, 2, 1}> {
        z = ConstantOfShape (whole)
        s = ScatterND <REDUCTION> (z, INDEX, x)
        y = Add (t, s)
    }"""


@pytest.mark.parametrize(
    ("index", "reduction", "count"),
    [("i", "", 1), ("same", "", 1), ("apart", "", 0), ("i", 'reduction = "add"', 0)],
)
def test_an_index_put_without_a_sum(index: str, reduction: str, count: int):
    text = SLICES.replace("INDEX", index).replace("REDUCTION", reduction).replace(" <> ", " ")
    found = gradc.grad(onnx.parser.parse_model(text), wrt="x", reduce="sum", check=False).remarks
    reported = [remark for remark in found if "TorchScript exports index_put" in remark.message]
    assert len(reported) == count
