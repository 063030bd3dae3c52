"""The decomposition of STFT into frames and a DFT."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dialects.onnx import ops as onnx
from dialects.onnx.values import constant_of
from passes.autodiff.common.gather_adjoint import iota
from passes.autodiff.common.primal import Primal
from passes.autodiff.common.slice_adjoint import size_of, size_vector
from passes.builder.values import Builder, Value

Size = int | Value
"""A static size, or a vector of one element."""


def scalar_of(f: Primal, index: int) -> Size | None:
    """Return an integer operand of one element."""
    given = f.operand(index)
    if given is None:
        return None
    known = constant_of(given.value)
    if known is not None:
        return int(known.reshape(()))
    return given.as_int64().apply(onnx.ReshapeOp, f.e.ints([1]))


def transform(x: Value, axis: int, e: Builder, **attributes: int) -> Value:
    place = e(e.emit.constant(np.array(axis, np.int64)))
    return x.apply(onnx.DFTOp, None, place, **attributes)


def stft(f: Primal, e: Builder) -> Sequence[Value]:
    """Transform frames of the signal, multiplied by the window."""
    step, window, length = scalar_of(f, 1), f.operand(2), scalar_of(f, 3)
    assert step is not None
    x = f.x if f.x.rank == 3 else f.x.unsqueeze([2])
    if length is None:
        length = size_of(f.x if window is None else window, 1 if window is None else 0)
    signal = size_of(f.x, 1)
    if isinstance(signal, int) and isinstance(length, int) and isinstance(step, int):
        count: Size = (signal - length) // step + 1
    else:
        rest = size_vector(signal, e) - size_vector(length, e)
        count = rest.apply(onnx.DivOp, size_vector(step, e)) + e.ints([1])
    starts = (iota(count, f.x) * size_vector(step, e)).unsqueeze([1])
    frames = x.apply(onnx.GatherOp, starts + iota(length, x), axis=1)
    if window is not None:
        frames = frames * window.unsqueeze([1])
    return [transform(frames, 2, e, onesided=f.value("onesided", 1))]
