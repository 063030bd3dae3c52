"""Every op that a newer opset brought or extended, at older opsets: right on onnxruntime, or refused.

The table of ops is the registry, their forms are the cases that onnx ships, the opsets are those before each
revision of the op. A refusal names the opsets that have the form; `NO_OLDER_FORM` has its reason, so that a
form that could be written is not refused by accident.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from onnx import ModelProto, numpy_helper
from onnxruntime.capi.onnxruntime_pybind11_state import (
    Fail,
    InvalidArgument,
    InvalidGraph,
    NotImplemented,
    RuntimeException,
)
from support.onnx_node_cases import Case, array_of, cases

import gradc
from dialects.onnx.ops import op_class
from dialects.onnx.opsets import OLDEST
from dialects.support.diagnostics import GradcError, UnsupportedError
from gradc.compiler.compiled import Compiled
from gradc.runtime.session import newest_released_opset

Feeds = Mapping[str, np.ndarray]

NO_OLDER_FORM: Mapping[str, str] = {
    "Attention": "tensors of bf16: older products have none",
    "BitCast": "no older op reads the bits of a float",
    "BitShift": "signed integers: no decomposition is written",
    "Cast": "dtypes that older opsets lack",
    "CastLike": "dtypes that older opsets lack",
    "Col2Im": "sizes of run time: they are attributes of the convolution that replaces it",
    "Compress": "tensors of bf16",
    "Constant": "dtypes that older opsets lack",
    "CumProd": "a run-time axis, along which no Scan goes",
    "DFT": "a run-time axis or length, of which there is no constant matrix",
    "DequantizeLinear": "dtypes that older opsets lack, and blocks",
    "Equal": "strings: no older op compares them",
    "ImageDecoder": "no older op reads images",
    "MelWeightMatrix": "sizes of run time",
    "OptionalGetElement": "an element in place of an optional",
    "OptionalHasElement": "an element in place of an optional, and no operand",
    "QLinearMatMul": "scales of f16, codes of 8-bit floats",
    "QuantizeLinear": "dtypes that older opsets lack, and blocks",
    "RegexFullMatch": "no older op reads strings",
    "Resize": "a matrix of run-time sizes: antialias, half_pixel_symmetric, axes with a policy",
    "ReverseSequence": "tensors of bf16",
    "STFT": "a run-time length, of which there is no constant matrix",
    "StringConcat": "no older op reads strings",
    "StringSplit": "no older op reads strings",
    "TensorScatter": "no decomposition is written",
}
"""Op -> its form that no older opset says, with the reason."""

NO_KERNEL = ("has no kernel", " kernel on ", "is avoided on ")
"""Refusals of the target: the opset has the form."""

OUTSIDE = ("from outside a model", "out of a model")
"""Errors of dtypes that onnxruntime has within a model alone."""

RANDOM = frozenset(("Bernoulli", "Dropout"))
"""Ops of whose results only the shapes are compared."""

OPS = sorted(op for op in cases() if op_class(op).REVISIONS[-1] > OLDEST)

BATCH = 12
"""Cases of an op that one test takes."""

BATCHES = [(op, first) for op in OPS for first in range(0, len(cases()[op]), BATCH)]


def opsets_of(op: str) -> list[int]:
    """The oldest opset, those before a revision of the op, and the newest, of those that onnxruntime has."""
    revisions = [since for since in op_class(op).REVISIONS if since > OLDEST]
    found = {OLDEST, 17, *(since - 1 for since in revisions), max(revisions)}
    return sorted(opset for opset in found if opset <= newest_released_opset())


def forms_of(case: Case) -> Iterator[tuple[ModelProto, Feeds]]:
    """The model of a case with its inputs, and with all inputs but the first as constants."""
    arrays, _ = case.data_sets[0]
    names = [info.name for info in case.model.graph.input]
    feeds = {name: array_of(array) for name, array in zip(names, arrays, strict=True)}
    yield case.model, feeds
    if len(feeds) < 2:
        return
    model, first = copy.deepcopy(case.model), names[0]
    del model.graph.input[1:]
    model.graph.initializer.extend(numpy_helper.from_array(feeds[name], name) for name in names[1:])
    yield model, {first: feeds[first]}


def assert_right(found: list[Any], expected: list[Any], what: str) -> None:
    for one, array in zip(found, expected, strict=True):
        assert_close(np.asarray(one), np.asarray(array), what)


def assert_close(found: np.ndarray, expected: np.ndarray, what: str) -> None:
    """Equal up to roundings; what a mask hides is -inf, or the lowest number."""
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape), what
    if expected.dtype.kind in "OSUc":
        assert (found == expected).all(), what
        return
    lowest = -float(np.finfo(np.float32).max)
    a, b = (np.maximum(array.astype(np.float64), lowest) for array in (found, expected))
    finite = np.abs(b[np.isfinite(b) & (b > lowest)])
    tolerance = 1e-2 if expected.dtype.itemsize < 4 else 1e-4
    np.testing.assert_allclose(a, b, tolerance, tolerance * max(1, finite.max(initial=0)), err_msg=what)


def compile_or_none(model: ModelProto, op: str, target: str, opset: int) -> Compiled | None:
    try:
        return gradc.compile(model, target=target, opset=opset)
    except UnsupportedError as error:
        said = str(error)
        if not any(words in said for words in NO_KERNEL):
            assert "in this form: given opset" in said, said
            assert op in NO_OLDER_FORM, said
        return None


def check(op: str, case: Case, target: str) -> None:
    expected = [array_of(array) for array in case.data_sets[0][1]]
    names = [info.name for info in case.model.graph.output]
    for model, feeds in forms_of(case):
        before: Any = None
        for opset in opsets_of(op):
            compiled = compile_or_none(model, op, target, opset)
            written = None if compiled is None else graph_of(compiled.model, opset)
            if compiled is None or written == before:
                continue
            before = written
            try:
                found = compiled.run(feeds, ep="cpu")
            except GradcError as error:
                if any(words in str(error) for words in OUTSIDE) or own_results(case) is None:
                    return
                raise
            got = [found[name] for name in names]
            assert_right_or_own(op, got, expected, case, f"{case.name} on {target} at opset {opset}")


def assert_right_or_own(op: str, got: list[Any], expected: list[Any], case: Case, what: str) -> None:
    """Compare with the numbers of onnx, or with those of onnxruntime, where it differs from onnx."""
    if op in RANDOM:
        assert [np.shape(array) for array in got] == [array.shape for array in expected], what
        return
    try:
        assert_right(got, expected, what)
    except AssertionError:
        own = own_results(case)
        if own is None:
            raise
        assert_right(got, own, what)


def own_results(case: Case) -> list[Any] | None:
    """Return the results of onnxruntime for the model as it is; None if it does not run."""
    names = [info.name for info in case.model.graph.input]
    try:
        session = ort.InferenceSession(case.model.SerializeToString(), providers=["CPUExecutionProvider"])
        return list(session.run(None, dict(zip(names, map(array_of, case.data_sets[0][0]), strict=True))))
    except (Fail, InvalidArgument, InvalidGraph, NotImplemented, RuntimeException):
        return None


def graph_of(model: ModelProto, opset: int) -> tuple[bytes, list[int]]:
    """Return the nodes of a model and the revisions of their ops, by which runtimes choose kernels."""
    nodes = [node for node in model.graph.node if not node.domain]
    revisions = [max(s for s in op_class(n.op_type).REVISIONS if s <= opset) for n in nodes]
    return b"".join(node.SerializeToString() for node in nodes), revisions


@pytest.mark.sweep(parts=24)
@pytest.mark.parametrize("target", ["cpu", "portable"])
@pytest.mark.parametrize(("op", "first"), BATCHES)
def test_older_opsets(op: str, first: int, target: str):
    for case in cases()[op][first : first + BATCH]:
        check(op, case, target)


def test_refusals_are_of_ops_in_the_table():
    assert set(OPS) >= set(NO_OLDER_FORM)
