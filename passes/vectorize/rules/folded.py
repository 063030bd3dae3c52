"""Batching rules of ops with a batch axis: the new axis is folded into it, or into the groups of a
convolution whose weights are batched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from dialects.onnx import ops as onnx
from dialects.onnx import traits
from dialects.onnx.dims import TO_THE_END
from passes.builder.values import Value
from passes.vectorize.batch import Batch, BatchingRule, OpCall, Operand, Result
from passes.vectorize.rules.axes import along_axes

_OF_FIRST: Mapping[int, int] = MappingProxyType({0: 0})

_FOLDED: Mapping[str, Mapping[int, int]] = MappingProxyType(
    {
        **dict.fromkeys(traits.GLOBAL_POOLS | traits.POOLS, _OF_FIRST),
        **dict.fromkeys(("GroupNormalization", "InstanceNormalization", "LRN", "STFT"), _OF_FIRST),
        **dict.fromkeys(("BatchNormalization", "Col2Im", "DepthToSpace", "SpaceToDepth"), _OF_FIRST),
        **dict.fromkeys(("Conv", "ConvTranspose", "grad.conv_backward_data"), _OF_FIRST),
        **dict.fromkeys(("grad.avg_pool_backward", "grad.conv_transpose_backward_data"), _OF_FIRST),
        **dict.fromkeys(("grad.resize_backward", "grad.resize_backward_dynamic"), _OF_FIRST),
        "DeformConv": {0: 0, 2: 0, 4: 0},
        "GridSample": {0: 0, 1: 0},
    }
)
"""Op -> axis of the batch in each operand that has one; it is the first axis of all results."""


def fold_batch(f: OpCall, b: Batch) -> Sequence[Result] | None:
    return fold_at(f, b, _FOLDED[f.name])


def fold_at(
    f: OpCall, b: Batch, axes: Mapping[int, int], results: Sequence[int] = (), **changes: Any
) -> Sequence[Result] | None:
    """Fold the new axis into that of the batch in each operand, and unfold it in each result, where the batch
    is the first axis unless `results` has it."""
    if not f.only_batched(*axes) or not all(x.has_rank for x in f.present):
        return None
    given = {i: x for i, x in enumerate(f.operands) if x is not None}
    count = next(b.sizes(x.value)[1 + axes[i]] for i, x in given.items() if x.batched)
    folded = {i: b.fold(b.expand(x), axes[i]) if i in axes else x.value for i, x in given.items()}
    made = f.again(b, [folded.get(i) for i in range(len(f.operands))], **changes)
    positions = results or (0,) * len(made)
    return [
        b.move(b.unfold(x, count, axis), axis, 0) if old.first_use else x
        for x, old, axis in zip(made, f.op.results, positions, strict=False)
    ]


def normalization(f: OpCall, b: Batch) -> Sequence[Result] | None:
    """Fold; batch statistics would be those of all rows."""
    if f.value("training_mode", 0) or any(result.first_use for result in f.op.results[1:]):
        return None
    return fold_batch(f, b)


def recurrent(f: OpCall, b: Batch) -> Sequence[Result] | None:
    """Fold; the batch is the second axis of the data and the states, or the first of all."""
    first = 0 if f.value("layout", 0) else 1
    axes = {_DATA: first, _LENGTHS: 0, _FIRST_H: first, _FIRST_C: first}
    known = {i: axis for i, axis in axes.items() if f.operand(i) is not None}
    return fold_at(f, b, known, (0 if first == 0 else 2, first, first))


_DATA, _LENGTHS, _FIRST_H, _FIRST_C = 0, 4, 5, 6
"""Indices of operands of LSTM, GRU and RNN that have a batch."""


def attention(f: OpCall, b: Batch) -> Sequence[Result] | None:
    """Fold, with a mask that all samples share and without states."""
    mask = f.operand(3)
    if any(f.operand(i) is not None for i in (4, 5, 6)) or (mask is not None and mask.rank > 2):
        return None
    return fold_at(f, b, {0: 0, 1: 0, 2: 0})


def rotary_embedding(f: OpCall, b: Batch) -> Sequence[Result] | None:
    """Fold; without positions the tables have a batch."""
    return fold_at(f, b, {0: 0, 1: 0, 2: 0} if f.operand(3) is None else {0: 0, 3: 0})


def affine_grid(f: OpCall, b: Batch) -> Sequence[Result] | None:
    """Fold; the size of the batch is also an entry of the second operand."""
    theta, sizes = f.present
    if not f.only_batched(0) or not theta.has_rank:
        return None
    count = b.sizes(theta.value)[1]
    others = sizes.value.apply(onnx.SliceOp, b.e.ints([1]), b.e.ints([TO_THE_END]))
    whole = b.vector([b.product([b.size, count]), others.value])
    return [b.unfold(f.again(b, [b.fold(theta.value), whole])[0], count)]


def resize_gradient(f: OpCall, b: Batch) -> Sequence[Result] | None:
    return along_axes(f, b) if 0 in f.value("axes", []) else fold_batch(f, b)


_GROUPS: Mapping[str, str] = MappingProxyType(
    {
        "Conv": "group",
        "ConvTranspose": "group",
        "grad.conv_backward_data": "groups",
        "grad.conv_transpose_backward_data": "groups",
    }
)
"""Convolution -> its attribute with the number of groups."""


def convolution(f: OpCall, b: Batch) -> Sequence[Result] | None:
    """Fold the new axis into the batch, or into the groups if the weights are batched."""
    if f.only_batched(0):
        return fold_batch(f, b)
    data, weights, bias = (*f.operands, None)[:3]
    assert data is not None
    assert weights is not None
    if f.value("layout", "NCX") != "NCX" or not data.has_rank or not weights.has_rank:
        return None
    groups, rank = f.value(_GROUPS[f.name], 1), data.rank
    if not weights.batched:
        found = fold_batch(OpCall(f.op, [data, weights]), b) if data.batched else None
        whole = f.again(b, [data.value, weights.value])[0] if found is None else found[0]
    elif f.name == "Conv" and not data.batched:
        whole = _by_all_weights(f, b, data, weights, groups)
    elif not isinstance(b.size, int):
        return None
    elif f.name == "grad.conv_backward_data" and not data.batched:
        whole = _back_by_all_weights(f, b, data, weights, groups)
    else:
        images, kernels = to_channels(b, b.expand(data)), b.fold(weights.value)
        made = f.again(b, [images, kernels], **{_GROUPS[f.name]: groups * b.size})[0]
        whole = _from_channels(b, made)
    if bias is None:
        return [whole]
    assert isinstance(whole, Value)
    column = bias.value.unsqueeze([bias.batched, *range(-(rank - 2), 0)])
    return [whole + column]


def _by_all_weights(f: OpCall, b: Batch, data: Operand, weights: Operand, groups: int) -> Value:
    """Return the convolutions of the same data with all weights as one with more channels in each group."""
    channels, *others = b.sizes(weights.value)[1:]
    assert isinstance(channels, int)
    inner = channels // groups
    apart = b.reshape(weights.value, [b.size, groups, inner, *others])
    joined = b.reshape(b.move(apart, 0, 1), [b.product([b.size, channels]), *others])
    made = f.again(b, [data.value, joined])[0]
    batch, _, *positions = b.sizes(made)
    rows = b.move(b.reshape(made, [batch, groups, b.size, inner, *positions]), 2, 0)
    return b.reshape(rows, [b.size, batch, channels, *positions])


def _back_by_all_weights(f: OpCall, b: Batch, data: Operand, weights: Operand, groups: int) -> Value:
    """Return the gradients by the data for all weights as one with more channels in each group."""
    outputs, inner, *others = b.sizes(weights.value)[1:]
    assert isinstance(inner, int)
    joined = b.reshape(b.move(weights.value, 0, 1), [outputs, b.product([b.size, inner]), *others])
    made = f.again(b, [data.value, joined])[0]
    batch, _, *positions = b.sizes(made)
    rows = b.move(b.reshape(made, [batch, groups, b.size, inner, *positions]), 2, 0)
    return b.reshape(rows, [b.size, batch, groups * inner, *positions])


def to_channels(b: Batch, value: Value) -> Value:
    """Return (K, N, C, ...) as (N, K * C, ...)."""
    count, batch, channels, *others = b.sizes(value)
    moved = b.reshape(value, [1, count, channels, *others]) if batch == 1 else b.move(value, 0, 1)
    return b.reshape(moved, [batch, b.product([count, channels]), *others])


def _from_channels(b: Batch, value: Value) -> Value:
    """Return (N, K * C, ...) as (K, N, C, ...)."""
    batch, channels, *others = b.sizes(value)
    assert isinstance(b.size, int)
    assert isinstance(channels, int)
    inner = channels // b.size if b.size else channels
    if batch == 1:
        return b.reshape(value, [b.size, 1, inner, *others])
    return b.move(b.reshape(value, [batch, b.size, inner, *others]), 1, 0)


RULES: Mapping[str, BatchingRule] = MappingProxyType(
    {
        **dict.fromkeys(_FOLDED, fold_batch),
        **dict.fromkeys(_GROUPS, convolution),
        **dict.fromkeys(("grad.resize_backward", "grad.resize_backward_dynamic"), resize_gradient),
        "BatchNormalization": normalization,
        **dict.fromkeys(traits.RECURRENT, recurrent),
        "AffineGrid": affine_grid,
        "Attention": attention,
        "RotaryEmbedding": rotary_embedding,
    }
)
