"""Upgrades of nodes to the newest version of their op, which the dialect has.

onnx's own converter does not support sequences, functions or type attributes, and does not enter nested
graphs. Each change of an op is a function here or in `changes`, from the version before it; versions that
differ only by additions need none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import FloatAttr, TensorType, f32, i64
from xdsl.ir import SSAValue

from dialects.onnx import ops
from dialects.onnx.attributes import to_python
from dialects.onnx.opsets import OLDEST
from dialects.support import shapes
from dialects.support.attributes import int_attribute
from dialects.support.diagnostics import violation
from dialects.support.dtypes import by_number, of_mlir
from gradc.importers.onnx import control, resizes, upgrade_steps
from gradc.importers.onnx.batched_scan import scan_over_samples
from gradc.importers.onnx.locations import at
from gradc.importers.onnx.source import Source
from gradc.importers.onnx.upgrade_steps import Upgrade


def upgrade(node: Source) -> None:
    """Upgrade a node to the newest version of its op, in place."""
    if node.since < LAST_CONSUMING:
        node.attributes.pop("consumed_inputs", None)
    for before, change in UPGRADES.get(node.op_type, ()):
        if node.since < before and not node.replaced:
            change(node)


def raise_form(node: Source, opset: int) -> int:
    """Upgrade a node of unknown types in place, to its form at an opset at most, and return the opset of the
    new form. Raises GradcError if a type is needed."""
    version, own = node.since, node.op_type
    for before, change in UPGRADES.get(own, ()):
        if node.since < before <= opset and not node.replaced:
            with at(own):
                change(node)
            version = before if node.op_type == own else OLDEST
    return version


ANY = 2**31
"""The opset of changes that apply to every version."""


def check_form(op_type: str, version: int) -> None:
    """Raise for a node of unknown types whose upgrade needs them."""
    if op_type == "Scan" and version < control.SCAN_WITHOUT_BATCH:
        raise upgrade_steps.unsupported("Scan of opset 8", "the types of its inputs have to be known")


def has_newer_form(op_type: str, since: int) -> bool:
    """Return whether a deprecated op has an upgrade here."""
    return any(since < before < ANY for before, _ in UPGRADES.get(op_type, ()))


LAST_CONSUMING = 6
"""Before this opset, ops had an attribute by which a runtime could reuse memory."""


# Attributes that have become operands


def _dropout(node: Source) -> None:
    """Remove the ratio: before training mode was an operand, inference passed everything on."""
    for name in ("ratio", "is_test"):
        node.attributes.pop(name, None)
    if len(node.declared) > 1:
        node.replaced = [node.apply(ops.IdentityOp, node.operand(0)), _mask(node)]


def _mask(node: Source) -> SSAValue:
    """Return the mask, all zeros as in onnxruntime although nothing is dropped; first of the data's dtype."""
    data = node.operand(0)
    dtype = np.bool_ if node.since >= 10 else upgrade_steps.dtype_of(data)
    zeros = np.zeros(1, np.float32 if dtype is None else dtype)
    mask = node.emit(ops.ConstantOfShapeOp(upgrade_steps.shape_of(node, data), value=zeros))
    return node.apply(ops.CastLikeOp, mask, data) if dtype is None else mask


def _clip_6(node: Source) -> None:
    """Clip to finite numbers, the old default bounds."""
    if not {"min", "max"} & {*node.attributes}:
        most = float(np.finfo(np.float32).max)
        node.attributes |= {name: FloatAttr(bound, f32) for name, bound in (("min", -most), ("max", most))}


def _slice(node: Source) -> None:
    starts, ends, axes = (node.attributes.pop(name, None) for name in ("starts", "ends", "axes"))
    for index, value in enumerate((starts, ends, axes), 1):
        if value is not None:
            node.set_operand(index, node.constant(np.array(to_python(value), np.int64)))


def _pad_1(node: Source) -> None:
    if "paddings" in node.attributes:
        node.attributes["pads"] = node.attributes.pop("paddings")


def _pad_2(node: Source) -> None:
    upgrade_steps.to_operand(1, "pads")(node)
    upgrade_steps.to_scalar_operand(2, "value")(node)


def _top_k_1(node: Source) -> None:
    value = node.attributes.pop("k", None)
    if value is not None:
        node.set_operand(1, node.constant(np.array([to_python(value)], np.int64)))


def _tile_1(node: Source) -> None:
    """Upgrade Tile with one number of copies along one axis, both tensors of the data's dtype."""
    copies, axis = (
        node.emit(ops.ReshapeOp(node.emit(ops.CastOp(node.operand(i), to=i64)), node.ints(1))) for i in (1, 2)
    )
    ones = node.emit(ops.ConstantOfShapeOp(upgrade_steps.rank_of(node, 0), value=np.ones(1, np.int64)))
    node.operands = [node.operand(0), node.emit(ops.ScatterElementsOp(ones, axis, copies, axis=0))]


# Attributes whose values have changed


def _cast_1(node: Source) -> None:
    """Convert the type from a word to a number."""
    word = str(to_python(node.attributes["to"])) if "to" in node.attributes else ""
    names = {dtype.onnx.upper(): dtype.number for dtype in map(by_number, range(1, 17)) if dtype}
    if word.upper() not in names:
        raise violation("to of Cast", given=word, expected=f"one of {', '.join(names)}")
    node.attributes["to"] = int_attribute(names[word.upper()])


def _cast_like(node: Source) -> None:
    """Turn CastLike into Cast if the type is known; more runtimes implement it."""
    dtype = of_mlir(shapes.element_type_of(node.operand(1)))
    if dtype is None or dtype.number is None:
        return
    node.op_type, node.operands = "Cast", [node.operand(0)]
    node.attributes["to"] = int_attribute(dtype.number)


# Broadcasting before opset 7: on request, from an axis on


def _broadcast(node: Source) -> None:
    """Align the second operand's axes with those of the first from `axis` on, by default the last ones."""
    axis, wanted = node.attributes.pop("axis", None), node.attributes.pop("broadcast", None)
    if wanted is None or not to_python(wanted) or axis is None:
        return
    start: Any = to_python(axis)
    if not all(isinstance(node.operand(i).type, TensorType) for i in (0, 1)):
        from_end = node.ints(-start) if start < 0 else node.subtract(upgrade_steps.rank_of(node, 0), start)
        trailing = node.emit(ops.SubOp(from_end, upgrade_steps.rank_of(node, 1)))
        node.operands[1] = upgrade_steps.append_unit_axes(node, 1, trailing)
        return
    rank, own = (len(shapes.shape_of(node.operand(i))) for i in (0, 1))
    trailing = rank - (start + rank if start < 0 else start) - own
    if trailing > 0:
        axes = node.ints(*range(own, own + trailing))
        node.operands[1] = node.emit(ops.UnsqueezeOp(node.operand(1), axes))


def _slope(node: Source) -> None:
    """Align a vector of slopes with the channels, axis 1."""
    slope, data = node.operand(1), node.operand(0)
    own = shapes.shape_of(slope) if isinstance(slope.type, TensorType) else ()
    if len(own) != 1 or own == (1,):
        return
    if not isinstance(data.type, TensorType):
        node.operands[1] = upgrade_steps.append_unit_axes(
            node, 1, node.subtract(upgrade_steps.rank_of(node, 0), 2)
        )
    elif len(shapes.shape_of(data)) > 2:
        axes = node.ints(*range(1, len(shapes.shape_of(data)) - 1))
        node.operands[1] = node.emit(ops.UnsqueezeOp(slope, axes))


# Softmax of a matrix, before opset 13


def _softmax(node: Source) -> None:
    """Normalize over all axes from `axis` (default 1) on, flattened to one."""
    data = node.operand(0)
    axis: Any = to_python(node.attributes.get("axis", int_attribute(1)))
    rank = len(shapes.shape_of(data)) if isinstance(data.type, TensorType) else None
    if axis == -1 or (rank is not None and axis == rank - 1):
        node.attributes["axis"] = int_attribute(-1)
        return
    flat = node.apply(ops.FlattenOp, data, axis=axis)
    made = node.apply(ops.op_class(node.op_type), flat, axis=-1)
    node.replaced = [node.apply(ops.ReshapeOp, made, upgrade_steps.shape_of(node, data))]


# Normalizations


def _one_source_of_pads(node: Source) -> None:
    """Remove zero pads next to `auto_pad`; others are an error, as in onnxruntime."""
    pads, word = node.attributes.get("pads"), node.attributes.get("auto_pad")
    if pads is None or word is None or to_python(word) == "NOTSET":
        return
    given: Any = to_python(pads)
    if any(given) and node.op_type not in _POOLS:
        what = f"pads of {node.op_type} with auto_pad {to_python(word)}"
        raise violation(what, given=list(given), expected="one of the two attributes")
    del node.attributes["pads"]


_POOLS = ("AveragePool", "LpPool", "MaxPool")
"""Ops whose pads onnxruntime ignores if `auto_pad` is given."""


_OF_TRAINING = 5


def _batch_norm(node: Source) -> None:
    """Derive the training mode: five results meant training. The last two were for the runtime's own
    gradient."""
    spatial = node.attributes.pop("spatial", None)
    if spatial is not None and not to_python(spatial):
        raise upgrade_steps.unsupported("BatchNormalization with spatial = 0", "no newer form computes it")
    node.attributes.pop("is_test", None)
    trains = len(node.declared) == _OF_TRAINING
    node.declared[3 if trains else 1 :] = []
    node.attributes["training_mode"] = int_attribute(int(trains))


def _group_norm(node: Source) -> None:
    """Repeat the scale and bias of each group for its channels."""
    data = node.operand(0)
    channels = shapes.shape_of(data)[1] if isinstance(data.type, TensorType) else None
    groups: Any = to_python(node.attributes["num_groups"]) if "num_groups" in node.attributes else 0
    if groups < 1 or (isinstance(channels, int) and channels % groups):
        what = f"GroupNormalization of opset 18 with num_groups {groups} and {channels} channels"
        raise upgrade_steps.unsupported(what, "its scale is that of a group")
    if isinstance(channels, int):
        sizes = node.ints(groups, channels // groups)
    else:
        count = node.emit(ops.GatherOp(upgrade_steps.shape_of(node, data), node.ints(1), axis=0))
        of_each = node.emit(ops.DivOp(count, node.ints(groups)))
        sizes = node.emit(ops.ConcatOp([node.ints(groups), of_each], axis=0))
    for index in (1, 2):
        column = node.apply(ops.UnsqueezeOp, node.operand(index), node.ints(1))
        spread = node.apply(ops.ExpandOp, column, sizes)
        node.operands[index] = node.apply(ops.ReshapeOp, spread, node.ints(-1))


def _scatter(node: Source) -> None:
    node.op_type = "ScatterElements"


def _split_18(node: Source) -> None:
    """Make the implicit equal parts explicit."""
    if node.optional(1) is None:
        node.attributes.setdefault("num_outputs", int_attribute(len(node.declared)))


def _split_1(node: Source) -> None:
    upgrade_steps.to_operand(1, "split")(node)


def _dft(node: Source) -> None:
    axis = node.attributes.pop("axis", int_attribute(1))
    node.set_operand(2, node.constant(np.array(to_python(axis), np.int64)))


_ARITHMETIC = ("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less")
_CONVOLUTIONS = ("Conv", "ConvInteger", "ConvTranspose", "DeformConv", "QLinearConv")
_REDUCTIONS = (
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
    "ReduceProd", "ReduceSumSquare",
)  # fmt: skip

UPGRADES: dict[str, tuple[tuple[int, Upgrade], ...]] = {
    **dict.fromkeys(_ARITHMETIC, ((7, _broadcast),)),
    **dict.fromkeys(_REDUCTIONS, ((18, upgrade_steps.to_operand(1, "axes")),)),
    **dict.fromkeys(("GRU", "LSTM", "RNN"), ((7, upgrade_steps.drop("output_sequence")),)),
    **dict.fromkeys((*_POOLS, *_CONVOLUTIONS), ((ANY, _one_source_of_pads),)),
    **dict.fromkeys(("Softmax", "LogSoftmax", "Hardmax"), ((13, _softmax),)),
    "BatchNormalization": ((14, _batch_norm),),
    "Cast": ((6, _cast_1),),
    "CastLike": ((ANY, _cast_like),),
    "Clip": (
        (11, _clip_6),
        (11, upgrade_steps.to_scalar_operand(1, "min")),
        (11, upgrade_steps.to_scalar_operand(2, "max")),
        (ANY, upgrade_steps.to_scalar(1, 2)),
    ),
    "Concat": ((4, upgrade_steps.set_default("axis", 1)),),
    "DFT": ((20, _dft),),
    "Dropout": ((12, _dropout),),
    "Expand": ((ANY, upgrade_steps.to_vector(1)),),
    "Gemm": ((7, upgrade_steps.drop("broadcast")),),
    "GlobalLpPool": ((2, upgrade_steps.to_int("p")),),
    "GridSample": ((20, upgrade_steps.rename_values("mode", {"bilinear": "linear", "bicubic": "cubic"})),),
    "GroupNormalization": ((21, _group_norm),),
    "LpPool": ((2, upgrade_steps.to_int("p")), (ANY, _one_source_of_pads)),
    "PRelu": ((7, _slope),),
    "Pad": ((2, _pad_1), (11, _pad_2)),
    "ReduceSum": ((13, upgrade_steps.to_operand(1, "axes")),),
    "Range": ((ANY, upgrade_steps.to_scalar(0, 1, 2)),),
    "Reshape": ((5, upgrade_steps.to_operand(1, "shape")),),
    "Resize": ((11, resizes.resize_10), (13, resizes.resize_11), (ANY, resizes.tf_half_pixel)),
    "RoiAlign": ((16, upgrade_steps.set_default("coordinate_transformation_mode", "output_half_pixel")),),
    "Scan": ((control.SCAN_WITHOUT_BATCH, scan_over_samples),),
    "Scatter": ((11, _scatter),),
    "Slice": ((10, _slice),),
    "Split": ((13, _split_1), (18, _split_18)),
    "Squeeze": ((13, upgrade_steps.to_operand(1, "axes")), (ANY, upgrade_steps.to_vector(1))),
    "Tile": ((6, _tile_1),),
    "TopK": ((10, _top_k_1),),
    "Unsqueeze": ((13, upgrade_steps.to_operand(1, "axes")), (ANY, upgrade_steps.to_vector(1))),
    "Upsample": ((10, resizes.upsample),),
}
"""Op -> (opset below which a change applies, the change), oldest first."""
