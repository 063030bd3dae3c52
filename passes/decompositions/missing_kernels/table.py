"""Decompositions of ops for targets without their kernels.

A runtime registers a kernel for one schema version: after a revision of the op, newer models lose the kernel
until the runtime follows. Strategies emit the plain op, and `expand-ops` replaces it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import product

import numpy as np
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.call import axes_of
from dialects.onnx.dims import ints
from dialects.support.dtypes import FLOATS, name_of
from dialects.support.shapes import Dim, element_type_of, shape_of
from passes.builder.builder import Builder
from passes.decompositions.missing_kernels import normalizations, pointwise
from passes.decompositions.missing_kernels.affine_grid import AFFINE_GRID, affine_grid
from passes.decompositions.missing_kernels.inverse_dft import INVERSE_DFT, inverse_dft
from passes.decompositions.missing_kernels.lrn import LRN, lrn
from passes.decompositions.missing_kernels.pointwise import scalar
from passes.decompositions.missing_kernels.recurrent import RECURRENT, recurrent
from passes.decompositions.missing_kernels.scatter_nd_by_matrix import INDEX_OPS, SCATTER, scatter_nd


@dataclass(frozen=True)
class Expansion:
    """A decomposition. `needs`: ops on the dtype of the type variable `data`; `further`: ops on other dtypes.
    `write` returns the results of an op, or None for a variant that it does not cover."""

    data: str
    needs: Sequence[type[OnnxOp]]
    write: Callable[[Builder, OnnxOp], Sequence[SSAValue] | None]
    further: Mapping[type[OnnxOp], str] = field(default_factory=dict[type[OnnxOp], str])

    def required_kernels(self, dtype: str) -> Iterator[tuple[type[OnnxOp], str]]:
        """Yield each op with the dtype of its tensors, for data of one dtype."""
        yield from ((op, dtype) for op in self.needs)
        yield from self.further.items()


def _equal(emit: Builder, op: OnnxOp) -> Sequence[SSAValue]:
    """a = b as a >= b and b >= a, both false for NaN."""
    a, b = op.operands
    above, below = emit(onnx.GreaterOrEqualOp(a, b)), emit(onnx.GreaterOrEqualOp(b, a))
    return [emit(onnx.AndOp(above, below))]


def _constant_of_shape(emit: Builder, op: OnnxOp) -> Sequence[SSAValue]:
    value = op.onnx_attributes().get("value", np.zeros(1, np.float32))
    assert isinstance(value, np.ndarray)
    return [emit(onnx.ExpandOp(emit.constant(value.reshape(())), op.operands[0]))]


@dataclass(frozen=True)
class AxisPad:
    """Padding at one end of an axis: static, or entry `entry` of the pads."""

    axis: int
    known: Dim
    entry: int


def _pad(emit: Builder, op: OnnxOp) -> Sequence[SSAValue] | None:
    """Crop by negative pads, then concatenate constants, axis by axis."""
    assert isinstance(op, onnx.PadOp)
    call = op.call()
    rank, pads = call.operand(0).rank, call.operand(1).dims
    given = call.optional(3)
    axes = list(range(rank)) if given is None else ints(given.dims)
    if call.attribute("mode", "constant") != "constant" or pads is None or axes is None:
        return None
    begins, ends = pads[: len(axes)], pads[len(axes) :]
    rows = list(zip(axes_of(axes, rank), begins, ends, range(len(axes)), strict=True))
    sides = [(AxisPad(axis, begin, i), AxisPad(axis, end, len(axes) + i)) for axis, begin, end, i in rows]
    value: SSAValue = op.data
    fill = op.constant_value or scalar(emit, 0, value)
    for begin, end in sides:
        value = _cut(emit, value, op.pads, begin, end)
        parts = [
            _emit_padding(emit, value, op.pads, begin, fill),
            value,
            _emit_padding(emit, value, op.pads, end, fill),
        ]
        kept = [part for part in parts if part is not None]
        value = emit(onnx.ConcatOp(kept, axis=begin.axis)) if len(kept) > 1 else value
    return [value]


def _cut(emit: Builder, value: SSAValue, pads: SSAValue, begin: AxisPad, end: AxisPad) -> SSAValue:
    """Crop an axis by negative pads; no Slice if none can be negative."""
    if not any(_may_be_negative(pad.known) for pad in (begin, end)):
        return value
    start = emit.sub(emit.ints([0]), emit.min(emit.take(pads, [begin.entry]), 0))
    size = emit.sizes(value, [begin.axis])
    stop = emit.add(size, emit.min(emit.take(pads, [end.entry]), 0))
    return emit(onnx.SliceOp(value, start, stop, emit.ints([begin.axis])))


def _may_be_negative(known: Dim) -> bool:
    return not isinstance(known, int) or known < 0


def _emit_padding(
    emit: Builder, value: SSAValue, pads: SSAValue, pad: AxisPad, fill: SSAValue
) -> SSAValue | None:
    """Return the padding at one end of an axis; None if it is empty."""
    if isinstance(pad.known, int) and pad.known <= 0:
        return None
    sizes = [emit.sizes(value, [axis]) for axis in range(len(shape_of(value)))]
    sizes[pad.axis] = emit.max(emit.take(pads, [pad.entry]), 0)
    return emit(onnx.ExpandOp(fill, emit.concat(sizes)))


def _max_pool(emit: Builder, op: OnnxOp) -> Sequence[SSAValue] | None:
    """Return the maximum over the taps, each a strided Slice of the padded data."""
    assert isinstance(op, onnx.MaxPoolOp)
    call = op.call()
    dtype = name_of(element_type_of(op.X))
    is_plain = call.attribute("auto_pad", "NOTSET") == "NOTSET" and not call.attribute("ceil_mode", 0)
    if not is_plain or dtype not in FLOATS or call.attribute("storage_order", 0):
        return None
    seen = _taps(emit, op, op.X, scalar(emit, -np.inf, op.X))
    if op.Indices.first_use is not None:
        return _first_largest(emit, op, seen)
    return [emit(onnx.MaxOp(seen)) if len(seen) > 1 else seen[0], op.Indices]  # unused


def _taps(emit: Builder, op: onnx.MaxPoolOp, data: SSAValue, fill: SSAValue) -> list[SSAValue]:
    """Return the values at each tap of the window, for data of the spatial sizes of X."""
    call = op.call()
    kernel = call.attribute("kernel_shape")
    rank, one = len(kernel), [1] * len(kernel)
    strides, dilations = (call.attribute(name, one) for name in ("strides", "dilations"))
    begin, end = np.reshape(call.attribute("pads", [0] * 2 * rank), (2, rank)).tolist()
    axes, steps = range(2, 2 + rank), emit.ints(strides)
    if any((*begin, *end)):
        data = emit(onnx.PadOp(data, emit.ints([0, 0, *begin, 0, 0, *end]), fill))
    sizes = emit.sizes(data, axes)
    seen: list[SSAValue] = []
    for tap in product(*map(range, kernel)):
        first = [k * d for k, d in zip(tap, dilations, strict=True)]
        last = [(k - 1) * d - f for k, d, f in zip(kernel, dilations, first, strict=True)]
        stop = emit.sub(sizes, emit.ints(last))
        seen.append(emit(onnx.SliceOp(data, emit.ints(first), stop, emit.ints(axes), steps)))
    return seen


def _first_largest(emit: Builder, op: onnx.MaxPoolOp, seen: Sequence[SSAValue]) -> list[SSAValue]:
    """Return the maximum and the flat index of the first, counted from the channel's start."""
    rank = 2 + len(op.call().attribute("kernel_shape"))
    sizes = [emit.sizes(op.X, [axis]) for axis in range(rank)]
    ones = [emit.ints([1])] * (rank - 2)
    within = _iota(emit, [*ones[:1] * 2, *sizes[2:]])
    begins = _iota(emit, [*sizes[:2], *ones], emit.product(sizes[2:]))
    largest, *others = seen
    place, *places = _taps(emit, op, within, emit.constant(np.array(0, np.int64)))
    for value, where in zip(others, places, strict=True):
        is_larger = emit(onnx.GreaterOp(value, largest))
        largest = emit(onnx.WhereOp(is_larger, value, largest))
        place = emit(onnx.WhereOp(is_larger, where, place))
    return [largest, emit(onnx.AddOp(place, begins))]


def _iota(emit: Builder, sizes: Sequence[SSAValue], step: SSAValue | None = None) -> SSAValue:
    """Return a tensor of these sizes with elements 0, step, 2 step, ..."""
    first, one = (emit.constant(np.array(number, np.int64)) for number in (0, 1))
    count = emit(onnx.ReshapeOp(emit.product(sizes), emit.ints([])))
    line = emit(onnx.RangeOp(first, count, one))
    return emit(onnx.ReshapeOp(line if step is None else emit.mul(line, step), emit.concat(sizes)))


MOST_FACTORS = 64
"""Limit on the factors of an expanded product: each is an op."""


def _reduce_prod(emit: Builder, op: OnnxOp) -> Sequence[SSAValue] | None:
    """Multiply the entries of small static axes; None for other sizes."""
    assert isinstance(op, onnx.ReduceProdOp)
    reduced = _reduced_axes(op) or {}
    sizes = ints([*reduced.values()])
    if sizes is None or not 0 < sum(sizes) <= MOST_FACTORS or 0 in sizes:
        return None
    value: SSAValue = op.data
    for axis, size in zip(reduced, sizes, strict=True):
        entries = [emit(onnx.GatherOp(value, emit.ints([at]), axis=axis)) for at in range(size)]
        value = reduce(lambda a, b: emit(onnx.MulOp(a, b)), entries)
    return [_drop_reduced_axes(emit, op, value, reduced)]


def _drop_reduced_axes(emit: Builder, op: OnnxOp, value: SSAValue, reduced: Iterable[int]) -> SSAValue:
    """Drop the reduced axes unless the op keeps them, by Gather: more targets have it than Squeeze."""
    if op.call().attribute("keepdims", 1):
        return value
    first = emit.constant(np.array(0, np.int64))
    for axis in sorted(reduced, reverse=True):
        value = emit(onnx.GatherOp(value, first, axis=axis))
    return value


Extreme = onnx.ReduceMaxOp | onnx.ReduceMinOp


def _reduce_extreme(emit: Builder, op: OnnxOp) -> Sequence[SSAValue] | None:
    """Reduce axis by axis; None for run-time axes, or for integers of dynamic sizes."""
    assert isinstance(op, Extreme)
    reduced = _reduced_axes(op)
    if reduced is None:
        return None
    is_float = name_of(element_type_of(op.data)) in FLOATS
    value: SSAValue = op.data
    for axis, size in reduced.items():
        if isinstance(size, int) and size > 0:
            value = _by_halves(emit, op, value, axis)
        elif is_float:
            value = _by_place(emit, op, value, axis)
        else:
            return None
    return [_drop_reduced_axes(emit, op, value, reduced)]


def _by_halves(emit: Builder, op: Extreme, value: SSAValue, axis: int) -> SSAValue:
    """Reduce an axis of static size by halving; the halves overlap if it is odd."""
    larger = onnx.MaxOp if isinstance(op, onnx.ReduceMaxOp) else onnx.MinOp
    size = shape_of(value)[axis]
    assert isinstance(size, int)
    while size > 1:
        half = (size + 1) // 2
        ends = ((0, half), (size - half, size))
        first, second = (emit(onnx.SliceOp(value, *map(emit.ints, ([a], [b], [axis])))) for a, b in ends)
        value, size = emit(larger([first, second])), half
    return value


def _by_place(emit: Builder, op: Extreme, value: SSAValue, axis: int) -> SSAValue:
    """Gather at the arg-extreme, with an additional neutral entry for an empty axis."""
    is_largest = isinstance(op, onnx.ReduceMaxOp)
    rank = len(shape_of(value))
    sizes = [emit.sizes(value, [at]) for at in range(rank)]
    sizes[axis] = emit.ints([1])
    least = scalar(emit, -np.inf if is_largest else np.inf, value)
    longer = emit(onnx.ConcatOp([value, emit(onnx.ExpandOp(least, emit.concat(sizes)))], axis=axis))
    place = emit((onnx.ArgMaxOp if is_largest else onnx.ArgMinOp)(longer, axis=axis, keepdims=1))
    return emit(onnx.GatherElementsOp(longer, place, axis=axis))


def _reduced_axes(op: onnx.ReduceMaxOp | onnx.ReduceMinOp | onnx.ReduceProdOp) -> dict[int, Dim] | None:
    """Return the reduced axes with their sizes; None for run-time axes."""
    call = op.call()
    data, given = call.operand(0), call.optional(1)
    listed = [] if given is None else ints(given.dims)
    if listed is None:
        return None
    every = not listed and not call.attribute("noop_with_empty_axes", 0)
    axes = range(data.rank) if every else sorted(axes_of(listed, data.rank))
    return {axis: shape_of(op.data)[axis] for axis in axes}


def _cast(emit: Builder, op: OnnxOp) -> Sequence[SSAValue] | None:
    """Cast 4-bit integers by a DequantizeLinear of scale 1."""
    assert isinstance(op, onnx.CastOp)
    if name_of(element_type_of(op.input)) not in ("s4", "u4"):
        return None
    wide = emit(onnx.DequantizeLinearOp(op.input, emit.constant(np.ones((), np.float32))))
    wanted = element_type_of(op.output)
    return [wide if wanted == element_type_of(wide) else emit(onnx.CastOp(wide, to=wanted))]


def _flatten(emit: Builder, op: OnnxOp) -> Sequence[SSAValue]:
    assert isinstance(op, onnx.FlattenOp)
    call = op.call()
    rank = call.operand(0).rank
    split = slice(call.attribute("axis", 1), None).indices(rank)[0]
    products = [
        emit.product([emit.sizes(op.input, [axis]) for axis in side])
        for side in (range(split), range(split, rank))
    ]
    return [emit(onnx.ReshapeOp(op.input, emit.concat(products), allowzero=1))]


EXPANSIONS: Mapping[type[OnnxOp], Expansion] = {
    onnx.AffineGridOp: Expansion("T1", AFFINE_GRID, affine_grid, {onnx.RangeOp: "s64"}),
    onnx.BatchNormalizationOp: Expansion(
        "T", (*normalizations.STATISTICS, onnx.SqueezeOp), normalizations.batch_normalization
    ),
    onnx.CastOp: Expansion("T1", (onnx.DequantizeLinearOp,), _cast),
    onnx.ConstantOfShapeOp: Expansion("T2", (onnx.ExpandOp,), _constant_of_shape),
    onnx.DFTOp: Expansion("T1", INVERSE_DFT, inverse_dft),
    onnx.DequantizeLinearOp: Expansion("T1", pointwise.DEQUANTIZE, pointwise.dequantize_linear),
    onnx.EluOp: Expansion("T", pointwise.ELU, pointwise.elu),
    onnx.FlattenOp: Expansion("T", (onnx.ReshapeOp,), _flatten, {onnx.MulOp: "s64", onnx.ConcatOp: "s64"}),
    onnx.EqualOp: Expansion("T", (onnx.GreaterOrEqualOp,), _equal, {onnx.AndOp: "boolean"}),
    onnx.HardSwishOp: Expansion("T", (onnx.MulOp, onnx.AddOp, onnx.ClipOp), pointwise.hard_swish),
    onnx.HardSigmoidOp: Expansion("T", (onnx.MulOp, onnx.AddOp, onnx.ClipOp), pointwise.hard_sigmoid),
    **{op: Expansion("T", RECURRENT, recurrent) for op in (onnx.GRUOp, onnx.LSTMOp, onnx.RNNOp)},
    onnx.LRNOp: Expansion("T", LRN, lrn),
    onnx.LayerNormalizationOp: Expansion(
        "T",
        (*normalizations.STATISTICS, onnx.ReciprocalOp),
        normalizations.layer_normalization,
    ),
    onnx.LeakyReluOp: Expansion("T", pointwise.BY_CASES, pointwise.leaky_relu),
    onnx.MaxPoolOp: Expansion("T", (onnx.ConcatOp, onnx.ExpandOp, onnx.SliceOp, onnx.MaxOp), _max_pool),
    onnx.PadOp: Expansion("T", (onnx.ConcatOp, onnx.ExpandOp, onnx.SliceOp), _pad),
    onnx.QuantizeLinearOp: Expansion("T1", pointwise.QUANTIZE, pointwise.quantize_linear),
    onnx.ReduceMaxOp: Expansion("T", (onnx.SliceOp, onnx.MaxOp, onnx.GatherOp), _reduce_extreme),
    onnx.ReduceMinOp: Expansion("T", (onnx.SliceOp, onnx.MinOp, onnx.GatherOp), _reduce_extreme),
    onnx.ReduceProdOp: Expansion("T", (onnx.GatherOp, onnx.MulOp), _reduce_prod),
    onnx.RMSNormalizationOp: Expansion("T", normalizations.STATISTICS, normalizations.rms_normalization),
    onnx.RoundOp: Expansion("T", pointwise.ROUND, pointwise.round_),
    onnx.ScatterNDOp: Expansion("T", SCATTER, scatter_nd, INDEX_OPS),
    onnx.SoftplusOp: Expansion("T", pointwise.SOFTPLUS, pointwise.softplus),
    onnx.SoftsignOp: Expansion("T", (onnx.AbsOp, onnx.AddOp, onnx.DivOp), pointwise.softsign),
    onnx.SwishOp: Expansion("T", (onnx.MulOp, onnx.SigmoidOp), pointwise.swish),
    onnx.ThresholdedReluOp: Expansion("T", pointwise.BY_CASES, pointwise.thresholded_relu),
}
