"""The node models that onnx ships for its backend tests: compiled, each gives what onnxruntime makes of it.

pytest -m heavy -s tests/unit/gradc/importers/test_onnx_backend_cases.py      all of them, with their count
"""

from __future__ import annotations

import warnings
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper
from support.onnx_models import edge, is_same, run
from support.tiers import some

import gradc
from dialects.support.diagnostics import UnsupportedError

Case = Any
"""onnx's TestCase."""

SAMPLE = 12
"""Every so many cases are in the default run."""

REFUSED: dict[str, str] = {}
"""Case -> what is said of it."""

ROUNDED_LESS = ("fp16_expanded", "softmax_precision_expanded", "flexattention_fp16")
"""Parts of the names of cases of many ops on f16, of which the model rounds where it leaves f32 alone."""


@cache
def cases() -> list[Case]:
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = collect_testcases(None)  # pyright: ignore[reportArgumentType]
    return [case for case in found if case.model is not None]


def feeds(case: Case) -> dict[str, Any]:
    given = (numpy_helper.to_array(x) if isinstance(x, onnx.TensorProto) else x for x in case.data_sets[0][0])
    return dict(zip((value.name for value in case.model.graph.input), given, strict=True))


def verdict(case: Case) -> str:
    """`skipped` where onnxruntime does not run the case, `same`, `close`, `refused`, or what is wrong."""
    given = feeds(case)
    try:
        expected = run(case.model, given)
    except (NotImplementedError, *RUNTIME_ERRORS):
        return "skipped"
    try:
        found = gradc.compile(case.model).model
    except UnsupportedError as error:
        known = REFUSED.get(case.name)
        return "refused" if known is not None and known in str(error) else f"wrongly refused: {error}"
    if edge(found) != edge(case.model):
        return f"another edge: {edge(found)}"
    results = run(found, given)
    if all(map(is_same, expected, results)):
        return "same"
    is_rounded = any(part in case.name for part in ROUNDED_LESS)
    return "close" if is_rounded and all(map(is_close, expected, results)) else "another result"


_STATE = onnxruntime.capi.onnxruntime_pybind11_state  # pyright: ignore[reportAttributeAccessIssue]
RUNTIME_ERRORS = (_STATE.NotImplemented, _STATE.Fail, _STATE.InvalidGraph, _STATE.RuntimeException)


def is_close(a: Any, b: Any) -> bool:
    """Within a few units of a half type."""
    wide = [np.asarray(x).astype(np.float64) for x in (a, b)]
    return bool(np.allclose(*wide, rtol=4e-3, atol=2e-3))


def verdicts(of: list[Case]) -> dict[str, str]:
    return {case.name: verdict(case) for case in of}


def wrong(found: dict[str, str]) -> dict[str, str]:
    return {
        name: message
        for name, message in found.items()
        if message not in ("same", "close", "skipped", "refused")
    }


@pytest.mark.sweep
def test_a_sample():
    sample = cases()[::SAMPLE]
    assert len(sample) >= 150
    taken = some(sample, 6)
    found = verdicts(taken)
    assert not wrong(found)
    assert len(found) == len(taken)
    assert Counter(found.values())["same"] >= 0.7 * len(taken)


@pytest.mark.heavy
def test_all():
    found = verdicts(cases())
    count = Counter(message.partition(":")[0] for message in found.values())
    print("\n" + ", ".join(f"{number} {message}" for message, number in count.most_common()))
    assert not wrong(found)
    assert {name for name, message in found.items() if message == "refused"} == set(REFUSED)
