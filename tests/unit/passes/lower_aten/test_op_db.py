"""All ATen ops in the traces of torch's own op samples, forward and backward, against PyTorch."""

from __future__ import annotations

from functools import cache
from itertools import islice
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")
pytest.importorskip("expecttest")

from dialects.aten.ops import is_known  # noqa: E402
from dialects.support.diagnostics import UnsupportedError  # noqa: E402
from tests.support.aten_samples import Call, calls_of_sample, check, scalar_overload  # noqa: E402

PARTS = 240
"""Number of parts of op_db; a part has two or three functions."""

SAMPLES = 6
"""Number of samples of a function and dtype."""

UNDEFINED = ("empty", "new_empty", "_efficientzerotensor", "_ctc_loss")
"""Prefixes of ops whose result torch does not define, or in a shape of its own: test_ctc.py has that loss."""

TOLERANCES = {"hardsigmoid_backward.default": 1e-7}
"""Tolerances in float64 of ops that torch computes with float32 constants."""

REFUSED: dict[str, str | tuple[str, ...]] = {
    "addr.default": "addr of booleans",
    "as_strided.default": "as_strided of overlapping",
    "cummax.default": "a running extreme of integers",
    "cummin.default": "a running extreme of integers",
    "index.Tensor": "an index by a boolean mask",
    "_unsafe_index.Tensor": "an index by a boolean mask",
    "index_add.default": "index_add of booleans",
    "index_put.default": "index_put of several values by a boolean mask",
    "linalg_lu.default": ("matrices that are not square", "a factorization without pivots"),
    "linalg_lu_factor_ex.default": ("matrices that are not square", "a factorization without pivots"),
    "lu_unpack.default": "matrices that are not square",
    "masked_scatter.default": "masked_scatter",
    "masked_select.default": "masked_select",
    "native_batch_norm.default": "running statistics that change",
    "nonzero.default": "nonzero",
    "scatter_reduce.two": "",
    "searchsorted.Tensor": "searchsorted with a sorter",
}
"""Ops that are refused in some form -> the beginnings of the messages."""


COMPLEX = "no lowering of complex tensors"
"""Beginning of the message for an op that has a rule for real tensors only."""


@cache
def op_db() -> list[Any]:
    from torch.testing._internal.common_methods_invocations import op_db

    return op_db


def calls_of(info: Any, dtype: Any) -> list[Call]:
    """Return the calls of known ops in the traces of a function's samples, equal ones once."""
    backward = info.supports_autograd and dtype in info.backward_dtypes
    torch.manual_seed(0)
    found: dict[str, Call] = {}
    for sample in islice(info.sample_inputs("cpu", dtype, requires_grad=backward), SAMPLES):
        for call in traced(info, sample, backward):
            if is_known(scalar_overload(call.op, call.args)) and is_defined(call):
                found.setdefault(str(call), call)
    return list(found.values())


def traced(info: Any, sample: Any, backward: bool) -> list[Call]:
    """Return the calls of a sample; none of one that cannot be traced, as its sizes depend on values."""
    try:
        return calls_of_sample(info.op, sample, backward=backward)
    except (RuntimeError, NotImplementedError, TypeError, ValueError, KeyError, AssertionError):
        return []


def is_defined(call: Call) -> bool:
    """Return whether torch defines the result, and no tensor is in half precision complex."""
    return not call.op.startswith(UNDEFINED) and "complex32" not in str(call)


def wrong(call: Call) -> str:
    """Return in what a call differs from torch, or why it is refused unexpectedly; empty if it is right."""
    op = scalar_overload(call.op, call.args)
    is_double = any(getattr(value, "dtype", None) == torch.float64 for value in call.args)
    try:
        check(call.op, *call.args, tolerance=TOLERANCES.get(op) if is_double else None, **call.kwargs)
    except UnsupportedError as error:
        expected = error.diagnostic.message.startswith((COMPLEX, *_messages(op)))
        return "" if expected else f"{call}: refused: {error}"
    except Exception as error:  # all differences of a part are reported
        return f"{call}: {type(error).__name__}: {str(error)[:300]}"
    return ""


def _messages(op: str) -> tuple[str, ...]:
    found = REFUSED.get(op, ())
    return (found,) if isinstance(found, str) else found


@pytest.mark.heavy
@pytest.mark.sweep(parts=PARTS)
@pytest.mark.parametrize("part", range(PARTS))
def test_calls_of_torchs_samples(part):
    calls = [
        call
        for info in op_db()[part::PARTS]
        for dtype in (torch.float32, torch.float64, torch.complex64, torch.complex128)
        if dtype in info.dtypes
        for call in calls_of(info, dtype)
    ]
    differences = [found for call in calls if (found := wrong(call))]
    assert not differences, "\n".join(differences)
