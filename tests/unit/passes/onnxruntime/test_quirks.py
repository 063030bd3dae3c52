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
from passes.onnxruntime.quirks import QUIRKS

ROOT = Path(__file__).resolve().parents[4]
RUNTIME = Isolated(OnnxruntimeCpu())
"""Some models end the process."""

OF_GRADIENTS = ("einsum-of-an-empty-batch",)
"""Forms that gradc avoids in gradients, and passes on if they are in the source model."""


def is_right(given: Reproducer, outputs: list[np.ndarray]) -> bool:
    rtol = 1e-12 if given.want.dtype == np.float64 else 1e-5
    return outputs[0].shape == given.want.shape and np.allclose(outputs[0], given.want, rtol=rtol, atol=1e-14)


@pytest.mark.parametrize("name", QUIRKS)
class TestEntry:
    def test_onnxruntime_still_has_it(self, name: str):
        """If this fails, onnxruntime has corrected the form, and older versions alone need the remedy."""
        given = REPRODUCERS[name]
        try:
            (outputs,) = RUNTIME.run(given.model, [given.feeds])
        except RuntimeError:
            return
        assert not is_right(given, outputs), f"gone in onnxruntime {onnxruntime.__version__}: {QUIRKS[name]}"

    def test_the_reproducer_is_right_as_compiled(self, name: str):
        if name in OF_GRADIENTS:
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
        assert (ROOT / quirk.remedy).is_file()
        types = {op.onnx_name() for op in quirk.ops}
        assert types & {node.op_type for node in REPRODUCERS[name].nodes}


def test_every_reproducer_is_of_an_entry():
    assert set(REPRODUCERS) == set(QUIRKS)
