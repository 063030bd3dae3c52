"""Inverse DFT in f64: see the quirk inverse-dft-in-f64."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f64

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.call import axis_of
from dialects.onnx.values import constant_of
from dialects.support.shapes import element_type_of, has_rank, shape_of
from passes.autodiff.common.primal import Primal
from passes.builder.values import Value, ValueBuilder
from passes.decompositions.registry import Results


def is_inverse_in_f64(op: OnnxOp) -> bool:
    """Return whether a DFT is a two-sided f64 inverse; the one-sided has a separate kernel."""
    assert isinstance(op, onnx.DFTOp)
    call = op.call()
    is_inverse = call.attribute("inverse", 0) and not call.attribute("onesided", 0)
    return bool(is_inverse) and element_type_of(op.input) == f64


def inverse_dft(f: Primal, e: ValueBuilder) -> Results | None:
    """Return the forward DFT over n, real and imaginary parts swapped before and after it."""
    op, emit = f.op_as(onnx.DFTOp), e.emit
    if not is_inverse_in_f64(op):
        return None
    axis = None if op.axis is None else constant_of(op.axis)
    if not has_rank(op.input) or (op.axis is not None and axis is None):
        return None
    rank = len(shape_of(op.input))
    along, parts = axis_of(-2 if axis is None else int(axis.reshape(())), rank), shape_of(op.input)[-1]
    if parts not in (1, 2):
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
