"""Each entry of `passes/onnxruntime/quirks.py` against the installed onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from support.onnxruntime_quirks import REPRODUCERS, Reproducer
from support.runtimes.isolated import Isolated
from support.runtimes.onnxruntime_cpu import OnnxruntimeCpu

import gradc
from passes.onnxruntime.quirks import QUIRKS, TESTED, Quirk

ROOT = Path(__file__).resolve().parents[4]
RUNTIME = Isolated(OnnxruntimeCpu())
"""Some models end the process."""

PASSED_ON = (
    "einsum-of-an-empty-batch",
    "inf-in-f8-e5m2",
    "pad-before-average-pool",
    "pads-as-wide-as-the-kernel",
    "product-of-an-empty-batch",
    "recurrent-of-an-empty-batch",
    "resize-of-unchanged-sizes",
    "signs-of-low-halves",
    "small-sigmoids",
    "sum-of-squares-in-one-pass",
    "sum-over-first-axes",
    "transposed-factor-of-an-empty-batch",
)
"""Forms that gradc does not write, and passes on if they are in the source model."""


def is_right(given: Reproducer, outputs: list[np.ndarray]) -> bool:
    rtol = 1e-12 if given.want.dtype == np.float64 else 1e-5
    return outputs[0].shape == given.want.shape and np.allclose(outputs[0], given.want, rtol=rtol, atol=1e-14)


def is_expected(quirk: Quirk) -> bool:
    """Return whether the installed version has the fact, or the last tested one if it is newer."""
    version = ".".join(onnxruntime.__version__.split(".")[:2])
    return (version if version in TESTED else TESTED[-1]) in quirk.seen


@pytest.mark.parametrize("name", QUIRKS)
class TestEntry:
    def test_onnxruntime_has_it_in_the_versions_seen(self, name: str):
        """If this fails, onnxruntime has corrected the form, and older versions alone need the remedy."""
        given, quirk = REPRODUCERS[name], QUIRKS[name]
        try:
            (outputs,) = RUNTIME.run(given.model, [given.feeds])
        except (RuntimeError, gradc.GradcError):
            shows = True
        else:
            shows = not is_right(given, outputs)
        assert shows == is_expected(quirk), f"onnxruntime {onnxruntime.__version__}: {quirk}"

    def test_the_reproducer_is_right_as_compiled(self, name: str):
        if name in PASSED_ON:
            return
        given = REPRODUCERS[name]
        compiled = gradc.compile(given.model)
        (outputs,) = RUNTIME.run(compiled.model, [given.feeds])
        assert is_right(given, outputs)

    def test_the_entry_is_complete(self, name: str):
        quirk = QUIRKS[name]
        assert quirk.ops
        assert quirk.what
        assert quirk.behavior
        assert quirk.seen
        assert set(quirk.seen) <= set(TESTED)
        assert name in (ROOT / quirk.remedy).read_text(encoding="utf-8"), "the remedy names the entry"
        types = {op.onnx_name() for op in quirk.ops}
        assert types & {node.op_type for node in REPRODUCERS[name].nodes}


def test_every_reproducer_is_of_an_entry():
    assert set(REPRODUCERS) == set(QUIRKS)
