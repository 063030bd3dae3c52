"""Batching rules of ops with a batch axis: the new axis is folded into it, or into the groups of a
convolution whose weights are batched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from dialects.onnx import ops as onnx
from dialects.onnx import traits
from passes.builder.tensors import Size
from passes.builder.values import Value
from passes.vectorize.batch import Batch, BatchingRule, OpCall, Operand, Result
from passes.vectorize.rules.axes import along_axes

_FOLDED: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        **dict.fromkeys(traits.GLOBAL_POOLS | traits.POOLS, (0,)),
        **dict.fromkeys(("GroupNormalization", "InstanceNormalization", "LRN"), (0,)),
        **dict.fromkeys(("BatchNormalization", "Col2Im", "DepthToSpace", "SpaceToDepth"), (0,)),
        **dict.fromkeys(("Conv", "ConvTranspose", "grad.conv_backward_data"), (0,)),
        **dict.fromkeys(("grad.avg_pool_backward", "grad.conv_transpose_backward_data"), (0,)),
        "DeformConv": (0, 2, 4),
        "GridSample": (0, 1),
        "grad.max_pool_backward": (0, 1),
        "grad.resize_backward": (0,),
        "grad.resize_backward_dynamic": (0,),
    }
)
"""Op -> operands whose first axis is the batch, which is the first of all results."""


def fold_batch(f: OpCall, b: Batch) -> Sequence[Result] | None:
    positions = _FOLDED[f.name]
    if not f.only_batched(*positions) or not all(x.has_rank for x in f.present):
        return None
    operands, count = _fold_operands(f, b, positions)
    made = zip(f.again(b, operands), f.op.results, strict=True)
    return [b.unfold(x, count) if old.first_use else x for x, old in made]


def _fold_operands(f: OpCall, b: Batch, positions: Sequence[int]) -> tuple[list[Value | None], Size]:
    """Return the operands with the new axis folded into the batch, and the size of the batch in a row."""
    whole = {i: b.expand(x) for i, x in enumerate(f.operands) if x is not None and i in positions}
    count = next(b.sizes(whole[i])[1] for i, x in enumerate(f.operands) if x is not None and x.batched)
    operands = [
        b.fold(whole[i]) if i in whole else None if x is None else x.value for i, x in enumerate(f.operands)
    ]
    return operands, count


def normalization(f: OpCall, b: Batch) -> Sequence[Result] | None:
    """Fold; batch statistics would be those of all rows."""
    if f.value("training_mode", 0) or any(result.first_use for result in f.op.results[1:]):
        return None
    return fold_batch(f, b)


def max_pool(f: OpCall, b: Batch) -> Sequence[Result] | None:
    """Fold; the second result has indices into the whole tensor, which would be others."""
    return None if any(result.first_use for result in f.op.results[1:]) else fold_batch(f, b)


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
    if not isinstance(b.size, int) or f.value("layout", "NCX") != "NCX":
        return None
    if not data.has_rank or not weights.has_rank:
        return None
    groups, rank = f.value(_GROUPS[f.name], 1), data.rank
    if not weights.batched:
        found = fold_batch(OpCall(f.op, [data, weights]), b) if data.batched else None
        whole = f.again(b, [data.value, weights.value])[0] if found is None else found[0]
    elif f.name == "Conv" and not data.batched and groups == 1:
        whole = _by_all_weights(f, b, data, weights)
    else:
        images, kernels = _to_channels(b, b.expand(data)), b.fold(weights.value)
        made = f.again(b, [images, kernels], **{_GROUPS[f.name]: groups * b.size})[0]
        whole = _from_channels(b, made)
    if bias is None:
        return [whole]
    assert isinstance(whole, Value)
    column = bias.value.apply(onnx.UnsqueezeOp, b.e.ints([bias.batched, *range(-(rank - 2), 0)]))
    return [whole + column]


def _by_all_weights(f: OpCall, b: Batch, data: Operand, weights: Operand) -> Value:
    """Return the convolutions of the same data with all weights as one with more channels."""
    return _from_channels(b, f.again(b, [data.value, b.fold(weights.value)])[0])


def _to_channels(b: Batch, value: Value) -> Value:
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


def weights_gradient(f: OpCall, b: Batch) -> Sequence[Result] | None:
    """The new axis is folded into the channels of diff_dst, and into the groups if it is also one of src."""
    src, dst = f.present
    if not isinstance(b.size, int) or f.value("layout", "NCX") != "NCX":
        return None
    groups = f.value("groups", 1)
    shared = not src.batched and groups == 1
    images = src.value if shared else _to_channels(b, b.expand(src))
    changes = {} if shared else {"groups": groups * b.size}
    made = f.again(b, [images, _to_channels(b, b.expand(dst))], **changes)[0]
    channels = dst.shape[1]
    assert isinstance(channels, int)
    return [b.unfold(made, channels)]


RULES: Mapping[str, BatchingRule] = MappingProxyType(
    {
        **dict.fromkeys(_FOLDED, fold_batch),
        **dict.fromkeys(_GROUPS, convolution),
        **dict.fromkeys(("grad.resize_backward", "grad.resize_backward_dynamic"), resize_gradient),
        "BatchNormalization": normalization,
        "MaxPool": max_pool,
        "grad.conv_backward_weights": weights_gradient,
    }
)
