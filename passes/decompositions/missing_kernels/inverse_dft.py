"""Inverse DFTs: see the quirks inverse-dft-in-f64 and half-spectrum-of-another-size."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f64

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.call import axis_of
from dialects.onnx.values import constant_of
from dialects.support.shapes import element_type_of, has_rank, shape_of
from passes.autodiff.common.primal import Primal
from passes.autodiff.common.slice_adjoint import pad_zeros
from passes.builder.values import Builder, Value
from passes.decompositions.registry import Results


def is_inverse_in_f64(op: OnnxOp) -> bool:
    """Return whether a DFT is a two-sided f64 inverse; the one-sided has a separate kernel."""
    assert isinstance(op, onnx.DFTOp)
    call = op.call()
    is_inverse = call.attribute("inverse", 0) and not call.attribute("onesided", 0)
    return bool(is_inverse) and element_type_of(op.input) == f64


def has_other_bins(op: OnnxOp) -> bool:
    """Return whether the inverse of half a spectrum has more or fewer bins than its length needs."""
    return _missing_bins(op) not in (None, 0)


def _missing_bins(op: OnnxOp) -> int | None:
    """Return the number of bins to append to half a spectrum, or None for other ops and unknown sizes."""
    assert isinstance(op, onnx.DFTOp)
    call, axis = op.call(), _static_axis(op)
    is_half = call.attribute("inverse", 0) and call.attribute("onesided", 0)
    length = None if op.dft_length is None else constant_of(op.dft_length)
    if not is_half or length is None or axis is None:
        return None
    bins = shape_of(op.input)[axis]
    return int(length.reshape(())) // 2 + 1 - bins if isinstance(bins, int) else None


def _static_axis(op: onnx.DFTOp) -> int | None:
    """Return the axis, counted from the front, or None for a run-time axis or an unknown rank."""
    axis = None if op.axis is None else constant_of(op.axis)
    if not has_rank(op.input) or (op.axis is not None and axis is None):
        return None
    return axis_of(-2 if axis is None else int(axis.reshape(())), len(shape_of(op.input)))


def inverse_dft(f: Primal, e: Builder) -> Results | None:
    """Return the inverse DFT in a form that onnxruntime computes correctly."""
    op = f.op_as(onnx.DFTOp)
    if has_other_bins(op):
        return _of_the_bins_needed(f, e)
    return _by_forward_dft(f, e) if is_inverse_in_f64(op) else None


def _of_the_bins_needed(f: Primal, e: Builder) -> Results:
    """Return the inverse of half a spectrum that is cropped or zero-padded to the size of its length."""
    op = f.op_as(onnx.DFTOp)
    axis, missing = _static_axis(op), _missing_bins(op)
    assert axis is not None
    assert missing is not None
    ends = [missing if i == axis else 0 for i in range(f.x.rank)]
    whole = pad_zeros(f.x, [0] * f.x.rank, ends)
    along = e(e.emit.constant(np.array(axis, np.int64)))
    return [whole.apply(onnx.DFTOp, f.operand(1), along, inverse=1, onesided=1)]


def _by_forward_dft(f: Primal, e: Builder) -> Results | None:
    """Return the forward DFT over n, real and imaginary parts swapped before and after it."""
    op, emit = f.op_as(onnx.DFTOp), e.emit
    along = _static_axis(op)
    if along is None or (parts := shape_of(op.input)[-1]) not in (1, 2):
        return None
    place = emit.constant(np.array(along, np.int64))
    given = None if op.dft_length is None else e(op.dft_length)
    size = e(emit.sizes(op.input, [along])) if given is None else given
    x = e(op.input)
    turned = _swap_parts(x) if parts == 2 else _behind_zeros(x)
    found = turned.apply(onnx.DFTOp, given, e(place))
    return [(_swap_parts(found) / size.apply(onnx.ReshapeOp, e.ints([])).cast(x.dtype)).value]


def _swap_parts(x: Value) -> Value:
    return x.apply(onnx.GatherOp, x.e.ints([1, 0]), axis=x.rank - 1)


def _behind_zeros(x: Value) -> Value:
    """Turn a real part into an imaginary one."""
    before, behind = [0] * (x.rank - 1), [0] * x.rank
    return x.apply(onnx.PadOp, x.e.ints([*before, 1, *behind]))
