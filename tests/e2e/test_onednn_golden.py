"""The answers of the real oneDNN library, for its own test driver's documents.

The documents are data of another project and are not in the repository: they are looked for in
$GRADC_SHARED, by default the folder `shared` beside the repository.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from support.compare import TOLERANCES, ulp
from support.pipeline import apply

from dialects.evaluate import evaluate
from dialects.onednn import SPEC_KINDS
from dialects.support.entry import entry_function, input_names, output_names
from gradc.importers.onednn.reader import import_json
from gradc.model.exporter import export
from gradc.runtime.session import Session
from passes import pipelines
from passes.targets.target import Target

SHARED = Path(os.environ.get("GRADC_SHARED") or Path(__file__).resolve().parents[3] / "shared")
CASES = SHARED / "cases" / "onednn"
KINDS = {"InterpolateBackward", "ConvolutionBackwardData", "ConvTransposeBackwardData", *SPEC_KINDS}
WITHOUT_CASES = {
    *("AvgPool", "AvgPoolBackward", "MaxPool", "MaxPoolBackward"),
    *("Clamp", "ClampBackward", "HardSigmoid", "HardSigmoidBackward", "Pow", "Reciprocal"),
    *("SoftPlus", "SquaredDifference", "Concat", "LayerNorm"),
    *("StaticReshape", "StaticTranspose", "Dropout", "SoftMax", "SoftMaxBackward"),
    *("LogSoftmax", "LogSoftmaxBackward", "SoftPlusBackward", "LayerNormBackward", "RMSNorm"),
    *("GroupNorm", "BatchNormInference", "BatchNormTrainingBackward", "BiasAddBackward"),
    "DynamicQuantize",
}
"""Kinds without a document; test_onednn_answers.py and tests/property/test_op_specs.py have them."""


YOUNG = ('"f8_e4m3"', '"f8_e5m2"', '"u4"', '"s4"')
"""Data types that ONNX has since opset 19 or 21."""


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def oracle() -> ModuleType:
    return _module(SHARED / "tools" / "onednn_oracle.py")


@cache
def projections() -> ModuleType:
    return _module(SHARED / "cases" / "compare.py")


def cases() -> dict[str, Any]:
    path = CASES / "golden.json"
    if not path.exists():
        return {}
    golden = json.loads(path.read_text())
    return {name: entry for name, entry in golden.items() if set(entry["ops"]) <= KINDS}


GOLDEN = cases()

pytestmark = pytest.mark.skipif(not GOLDEN, reason=f"no cases in {CASES}")


def known_bugs(document: dict[str, Any]) -> Iterator[str]:
    """The library's own mistakes that a document of one op meets, worked out from its numbers."""
    for op in document["graph"]:
        attrs = {name: spec["value"] for name, spec in op.get("attrs", {}).items()}
        if op["kind"] == "ConvTransposeBackwardData" and _is_dilated(op, attrs):
            yield "a dilated ConvTransposeBackwardData is computed with dilation 1"
        if op["kind"] == "ReduceL2" and op["inputs"][0]["dtype"] == "f32" and _squares(op) > 2**20:
            yield "a ReduceL2 of so many squares adds them one after the other in f32"


def _squares(op: dict[str, Any]) -> int:
    """How many are added for one result."""
    return int(np.prod(op["inputs"][0]["shape"]) // max(np.prod(op["outputs"][0]["shape"]), 1))


def _is_dilated(op: dict[str, Any], attrs: dict[str, Any]) -> bool:
    shape = op["inputs"][1]["shape"]
    kernel = shape[2:] if attrs.get("weights_format", "XOI") == "IOX" else shape[:-2]
    dilations = attrs.get("dilations", [1] * len(kernel))
    return any(k > 1 and d > 1 for k, d in zip(kernel, dilations, strict=False))


def library_sources(x: int, y: int) -> list[int]:
    """The index that each output of `nearest` goes to in the library: ranges of float32 bounds."""
    ratio, half = np.float32(y) / np.float32(x), np.float32(0.5)
    bounds = [int(np.ceil(np.float32(i) * ratio - half)) for i in range(x + 1)]
    found = [-1] * y
    for i, (begin, end) in enumerate(pairwise(bounds)):
        for output in range(max(begin, 0), min(end, y)):
            found[output] = i
    return found


def has_inexact_tie(x: int, y: int) -> bool:
    """Whether float32 puts an exact tie one lower; the exact rule rounds (i + 1/2) X / Y - 1/2 up."""
    return library_sources(x, y) != [(2 * i + 1) * x // (2 * y) for i in range(y)]


def inexact_ties(document: dict[str, Any]) -> list[tuple[int, int]]:
    """The (X, Y) of a document's nearest axes on which the library is not exact."""
    found = []
    for op in document["graph"]:
        attrs = {name: spec["value"] for name, spec in op.get("attrs", {}).items()}
        if attrs.get("mode") != "nearest":
            continue
        dst, *_ = [*op["inputs"][1:], *op["outputs"]]
        sizes = zip(op["inputs"][0]["shape"], dst["shape"], strict=True)
        found += [(x, y) for x, y in sizes if x != y and has_inexact_tie(x, y)]
    return found


@pytest.mark.parametrize(
    "sizes", [(22, 29), (26, 7), (28, 2), (30, 9), (36, 10), (38, 15), (40, 12), (1738, 485)]
)
def test_measured_inexact_ties_are_predicted(sizes: tuple[int, int]):
    assert has_inexact_tie(*sizes)


@cache
def reference(name: str) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Inputs by public name, and the numpy reference's outputs by tensor id."""
    text = (CASES / name).read_text()
    drawn = oracle().random_inputs(json.loads(text), seed=0)
    module = import_json(text, name)
    function = entry_function(module)
    feeds = {key: drawn[int(key[1:])] for key in input_names(function)}
    values = evaluate(module, list(feeds.values()))
    return feeds, dict(zip(_ids(module), values, strict=True))


def _ids(module) -> list[str]:
    return [name.removeprefix("t") for name in output_names(entry_function(module))]


def _complaints(name: str, outputs: dict[str, np.ndarray]) -> list[str]:
    document = json.loads((CASES / name).read_text())
    assert not inexact_ties(document), "no case is among those in which the library is not exact"
    found = projections().compare(GOLDEN[name], outputs)
    if not list(known_bugs(document)):
        return found
    assert found, "the library no longer computes this case wrongly"
    return []


@pytest.mark.sweep
@pytest.mark.parametrize("name", GOLDEN)
def test_reference_agrees_with_the_library(name: str):
    assert _complaints(name, reference(name)[1]) == []


@pytest.mark.sweep
@pytest.mark.parametrize("name", GOLDEN)
def test_compiled_model_agrees_with_the_library(name: str):
    feeds, want = reference(name)
    text = (CASES / name).read_text()
    target = Target(opset=21) if any(dtype in text for dtype in YOUNG) else Target()
    module = apply(import_json(text, name), pipelines.lower(target))
    ids = _ids(module)
    got = Session(export(module, opset=target.opset, metadata={}), threads=1).run(feeds)
    outputs = dict(zip(ids, got.values(), strict=True))
    assert _complaints(name, outputs) == []
    for key, array in outputs.items():
        _check_dtype_tolerance(array, want[key])


def _check_dtype_tolerance(got: np.ndarray, want: np.ndarray) -> None:
    """f32 within its accumulation error of the norm, half types within one unit in the last place."""
    assert got.dtype == want.dtype
    exact, wide = want.astype(np.float64), got.astype(np.float64)
    if want.dtype.itemsize == 1:
        np.testing.assert_array_equal(wide, exact)
        return
    allowed = 1e-5 * np.abs(exact).max(initial=0)
    if want.dtype != np.float32:
        allowed += ulp(exact, TOLERANCES["f16" if want.dtype == np.float16 else "bf16"])
    assert np.all(np.abs(wide - exact) <= allowed)


def test_every_kind_has_cases():
    answered = {kind for entry in GOLDEN.values() for kind in entry["ops"]}
    assert KINDS - answered == WITHOUT_CASES
