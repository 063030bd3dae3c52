"""Exact directional derivatives in linear operands, by running the kernel on tangents."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradc.verification.tangents.tangent import Run, Tangent, exact, is_float


@dataclass(frozen=True)
class Linear:
    """Operands, as schema indices, in which an op is jointly linear if the others are fixed.

    `results` are the results that depend on them; `affine` if a constant is added.
    """

    operands: Collection[int]
    results: Collection[int] | None = None
    affine: bool = False


Attributes = Mapping[str, Any]
Rule = Callable[[Attributes, int], Sequence[Linear]]
"""(attributes, number of operands) -> groups of linear operands."""


def _groups(*groups: Collection[int], results: Collection[int] | None = None, affine: bool = False) -> Rule:
    found = [Linear(group, results, affine) for group in groups]
    return lambda attributes, count: found


def _jointly(attributes: Attributes, count: int) -> Sequence[Linear]:
    return [Linear(range(count))]


def _each(attributes: Attributes, count: int) -> Sequence[Linear]:
    return [Linear((index,)) for index in range(count)]


def _scatter(attributes: Attributes, count: int) -> Sequence[Linear]:
    match attributes.get("reduction", "none"):
        case "none" | "add":
            return [Linear((0, 2))]
        case "mul":
            return [Linear((0,))]
        case _:
            return []


def _batch_normalization(attributes: Attributes, count: int) -> Sequence[Linear]:
    if attributes.get("training_mode", 0):
        return [Linear((1, 2), (0,))]
    return [Linear((0, 2, 3), (0, 1)), Linear((1, 2), (0,))]


def _causal_conv(attributes: Attributes, count: int) -> Sequence[Linear]:
    is_linear = attributes.get("activation", "none") == "none"
    return [Linear((0, 2, 3)), Linear((1, 2), (0,))] if is_linear else []


def _resize(attributes: Attributes, count: int) -> Sequence[Linear]:
    crops = attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize"
    return [Linear((0,), affine=crops)]


def _roi_align(attributes: Attributes, count: int) -> Sequence[Linear]:
    return [] if attributes.get("mode", "avg") == "max" else [Linear((0,))]


def _rotary_embedding(attributes: Attributes, count: int) -> Sequence[Linear]:
    """Return the groups of RotaryEmbedding, affine in the angles: a part of the data is not rotated."""
    return [Linear((0,)), Linear((1, 2), affine=True)]


_DATA = _groups((0,))
_EITHER = _groups((0,), (1,))
_PRODUCT = _groups((0, 2), (1, 2))

RULES: Mapping[str, Rule] = {
    **dict.fromkeys(
        (
            *("AffineGrid", "AveragePool", "Cast", "CastLike", "CenterCropPad", "Col2Im", "Compress"),
            *("ConcatFromSequence", "CumSum", "DFT", "DepthToSpace", "Div", "Dropout", "Expand", "Flatten"),
            *("Gather", "GatherElements", "GatherND", "GlobalAveragePool", "GridSample", "Identity"),
            *("MaxUnpool", "Neg", "NegativeLogLikelihoodLoss", "Optional", "OptionalGetElement"),
            *("ReduceMean", "ReduceSum", "Reshape", "ReverseSequence", "SequenceAt", "SequenceErase"),
            *("Slice", "SpaceToDepth", "Split", "SplitToSequence", "Squeeze", "Tile", "Transpose", "Trilu"),
            *("Unsqueeze", "grad.avg_pool_backward", "grad.resize_backward"),
            *("grad.resize_backward_dynamic", "grad.take_window"),
        ),
        _DATA,
    ),
    **dict.fromkeys(
        (
            *("MatMul", "Mul", "grad.conv_backward_data", "grad.conv_backward_weights"),
            *("grad.conv_transpose_backward_data",),
        ),
        _EITHER,
    ),
    **dict.fromkeys(("Add", "Concat", "Mean", "SequenceConstruct", "Sub", "Sum"), _jointly),
    **dict.fromkeys(("Conv", "ConvTranspose", "Gemm"), _PRODUCT),
    **dict.fromkeys(("ScatterElements", "ScatterND"), _scatter),
    **dict.fromkeys(("SequenceInsert", "TensorScatter"), _groups((0, 1))),
    **dict.fromkeys(("GroupNormalization", "InstanceNormalization"), _groups((1, 2))),
    **dict.fromkeys(
        ("RMSNormalization", "SwiGLU", "grad.max_pool_backward"),
        _groups((1,)),
    ),
    "Attention": _groups((2, 5), results=(0, 2)),
    "BatchNormalization": _batch_normalization,
    "CausalConvWithState": _causal_conv,
    "DeformConv": _groups((0, 3), (1, 3), (4, 3)),
    "DequantizeLinear": _groups((0, 2), (1,)),
    "Einsum": _each,
    "LayerNormalization": _groups((1, 2), results=(0,)),
    "OneHot": _groups((2,)),
    "PRelu": _groups((1,), affine=True),
    "Pad": _groups((0, 2)),
    "Resize": _resize,
    "RoiAlign": _roi_align,
    "RotaryEmbedding": _rotary_embedding,
    "STFT": _groups((0,), (2,)),
    "Where": _groups((1, 2)),
}
"""Op -> its groups of linear operands."""


def groups_of(name: str, attributes: Attributes, count: int) -> Sequence[Linear]:
    rule = RULES.get(name)
    return () if rule is None else rule(attributes, count)


def along(
    run: Run, operands: Sequence[Any], tangents: Sequence[Any], chosen: Collection[int], group: Linear
) -> list[Any]:
    """Return the directional derivative with respect to the operands `chosen` of a group, all by index."""
    moved = list(operands)
    for index in group.operands:
        moved[index] = _tangent_or_zeros(tangents[index] if index in chosen else None, operands[index])
    found = run(moved)
    if group.affine:
        for index in group.operands:
            moved[index] = _tangent_or_zeros(None, operands[index])
        found = [a - b for a, b in zip(found, run(moved), strict=True)]
    return [
        None if not is_float(each) else _exact(each, depends=group.results is None or i in group.results)
        for i, each in enumerate(found)
    ]


def _exact(found: Any, depends: bool) -> Any:
    if isinstance(found, list):
        return [_exact(each, depends) if is_float(each) else None for each in found]
    return exact(found) if depends else Tangent(np.zeros_like(found))


def _tangent_or_zeros(tangent: Any, operand: Any) -> Any:
    """Return the tangent, zeros for a missing one; an operand without floats is returned itself."""
    if isinstance(operand, list):
        parts = [None] * len(operand) if tangent is None else tangent
        return [_tangent_or_zeros(*each) for each in zip(parts, operand, strict=True)]
    if tangent is not None or not is_float(operand):
        return operand if tangent is None else tangent
    return np.zeros_like(operand)
