"""Accuracy of onnxruntime's Fourier transforms of lengths that are no powers of two.

They are convolutions with a chirp whose angles, in f32, grow with the square of the length: the relative
error is 6e-5 at 400 points, 3e-4 at 1600, 4e-3 at 16000.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from dialects.evaluate import evaluate
from dialects.onnx import ops as onnx

PER_POINT = 6e-7
"""Relative error per point: three times the measured one."""


def lost_in_transforms(module: ModuleOp, inputs: Sequence[np.ndarray]) -> float:
    """Return the total relative error of all transforms in a run."""
    if not any(isinstance(op, onnx.DFTOp | onnx.STFTOp) for op in module.walk()):
        return 0.0
    lengths: list[int] = []

    def watch(op: Operation, args: Sequence[Any], results: Sequence[Any]) -> None:
        if isinstance(op, onnx.DFTOp | onnx.STFTOp) and results[0].dtype == np.float32:
            lengths.append(_length(op, args, results[0]))

    with np.errstate(all="ignore"):
        evaluate(module, inputs, watch=watch)
    return PER_POINT * sum(length for length in lengths if length & (length - 1))


def _length(op: onnx.DFTOp | onnx.STFTOp, args: Sequence[Any], result: np.ndarray) -> int:
    """Return the number of points of each transform."""
    known = dict(zip(op.operands, args, strict=True))
    if isinstance(op, onnx.STFTOp):
        given, frames = op.frame_length or op.window, known[op.signal].shape[1]
        return frames if given is None else _number(known[given])
    if op.dft_length is not None:
        return _number(known[op.dft_length])
    axis = -2 if op.axis is None else int(known[op.axis].reshape(()))
    points = known[op.input].shape[axis]
    return points if result.shape[axis] <= points else 2 * points - 1


def _number(given: np.ndarray) -> int:
    """Return a length, or the length of a window."""
    return int(given.reshape(())) if given.dtype.kind in "iu" else len(given)
