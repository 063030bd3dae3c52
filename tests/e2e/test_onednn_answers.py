"""The answers of the real oneDNN library for small documents that are kept here: of the kinds of which its
own test driver has none, and of small patterns.

A file of tests/data/onednn holds a document, and by tensor id the flat values of its inputs and outputs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradc
from dialects.support.dtypes import by_name

DATA = Path(__file__).resolve().parents[1] / "data" / "onednn"
NAMES = sorted(path.name for path in DATA.glob("*.json"))
RELATIVE = {"f32": 1e-5, "bf16": 8e-3}
"""Of the largest value: what the library's order of sums, and one rounding of a half type, may differ by."""


def _records(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    ports = [tensor for op in document["graph"] for tensor in (*op["inputs"], *op["outputs"])]
    return {str(tensor["id"]): tensor for tensor in ports}


def _arrays(saved: dict[str, Any], which: str) -> dict[str, np.ndarray]:
    records, found = _records(saved["document"]), {}
    for key, values in saved[which].items():
        entry = by_name(records[key]["dtype"])
        assert entry is not None
        found[f"t{key}"] = np.array(values).astype(entry.numpy).reshape(records[key]["shape"])
    return found


def _check(got: dict[str, np.ndarray], want: dict[str, np.ndarray]) -> None:
    assert got.keys() == want.keys()
    for name, exact in want.items():
        array = got[name]
        assert (array.dtype, array.shape) == (exact.dtype, exact.shape)
        if exact.dtype.kind in "biu":
            np.testing.assert_array_equal(array, exact)
            continue
        relative = RELATIVE["f32" if exact.dtype == np.float32 else "bf16"]
        wide, precise = array.astype(np.float64), exact.astype(np.float64)
        finite = precise[np.isfinite(precise)]
        allowed = relative * np.abs(finite).max(initial=0) + 1e-7
        np.testing.assert_allclose(wide, precise, rtol=0, atol=allowed)


def _check_answers(name: str, opset: int | None = None) -> None:
    saved = json.loads((DATA / name).read_text())
    compiled = gradc.compile(saved["document"], opset=opset, threads=1)
    feeds, want = _arrays(saved, "inputs"), _arrays(saved, "outputs")
    _check(compiled.run(feeds), want)
    _check(compiled.reference(feeds), want)


@pytest.mark.sweep(entries=r"\w+")
@pytest.mark.parametrize("name", NAMES)
def test_compiled_model_and_reference_give_the_library_s_answers(name: str):
    _check_answers(name)


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("Dequantize")])
def test_onnxruntime_moves_signed_zero_points_at_opset_21(name: str):
    _check_answers(name, opset=21)


def test_there_are_answers():
    assert len(NAMES) > 60
