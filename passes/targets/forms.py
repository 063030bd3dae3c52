"""Forms of ops that OpenVINO or tract compute wrongly or reject, with the forms that replace them.

Each target gives its own reason (`because`).
"""

from __future__ import annotations

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.values import constant_of
from dialects.support.dtypes import name_of
from dialects.support.shapes import element_type_of, has_rank, shape_of
from passes.decompositions.missing_kernels.explicit_pads import has_explicit_pads, with_pads
from passes.decompositions.missing_kernels.negative_pads import has_negative_pads, without_negative_pads
from passes.decompositions.missing_kernels.recurrent import recurrent
from passes.decompositions.missing_kernels.resize_by_matrix import by_matrix, is_by_matrix, needs_matrix
from passes.decompositions.older_opsets.shapes import space_to_depth
from passes.decompositions.older_opsets.transforms import dft
from passes.decompositions.portable.ops import (
    can_use_axis_1,
    celu,
    dft_along_axis_1,
    empty_extreme,
    has_adaptive_samples,
    has_windows,
    infinite_extreme,
    is_along_another_axis,
    is_crd,
    is_scaled,
    lacks_thresholds,
    may_be_infinite,
    reads_mask,
    reduces_empty_axis,
    repeats_variably,
    shifts_signed,
    takes_maxima,
    tile_by_expand,
    with_thresholds,
    without_dropout,
)
from passes.decompositions.portable.output_shapes import has_dynamic_pads, slice_of_full_result
from passes.decompositions.portable.pools import (
    average_pool,
    counts_beyond_the_pads,
    has_turned_indices,
    is_average_of_known,
    is_max_of_known,
    is_norm_of_known,
    lp_pool,
    max_pool,
    rounds_up,
)
from passes.decompositions.portable.recurrent import (
    forward,
    has_rare_attributes,
    is_rare,
    is_reversed,
)
from passes.decompositions.portable.scan_inputs import is_scanned_first, with_scanned_last
from passes.decompositions.portable.wrapping_int8 import in_32_bits, is_8_bit
from passes.decompositions.sampling.sampled_ops import roi_align
from passes.targets.spec import FormQuirk

AUTO_PAD = FormQuirk("auto_pad or output_shape", "", has_explicit_pads, with_pads)
DYNAMIC_OUTPUT = FormQuirk("output_shape of unknown sizes", "", has_dynamic_pads, slice_of_full_result)
BYTES = FormQuirk("eight bits", "", is_8_bit, in_32_bits)
SCANNED = FormQuirk("an input of the Scan first", "", is_scanned_first, with_scanned_last)

_WHOLE_WINDOWS = "ceil_mode and count_include_pad"
WHOLE_WINDOWS = FormQuirk(_WHOLE_WINDOWS, "", is_average_of_known, average_pool)
DYNAMIC_WHOLE_WINDOWS = FormQuirk(f"{_WHOLE_WINDOWS} of unknown sizes", "", counts_beyond_the_pads)

NORM_WINDOWS = FormQuirk("ceil_mode", "", is_norm_of_known, lp_pool)
DYNAMIC_NORM_WINDOWS = FormQuirk("ceil_mode of unknown sizes, and windows in the pads", "", rounds_up)

_COLUMNS = "indices along the columns (storage_order 1)"
COLUMN_INDICES = FormQuirk(_COLUMNS, "", is_max_of_known, max_pool)
DYNAMIC_COLUMN_INDICES = FormQuirk(f"{_COLUMNS} of unknown sizes, or of volumes", "", has_turned_indices)

_RESIZED = "antialias, exclude_outside, a keep_aspect_ratio_policy or a rare coordinate_transformation_mode"
RARE_RESIZE = FormQuirk(_RESIZED, "", is_by_matrix, by_matrix)
DYNAMIC_RARE_RESIZE = FormQuirk(f"{_RESIZED}, of unknown sizes", "", needs_matrix)

_RARE = "clip, input_forget, peepholes or non-default activations"
RARE_RECURRENT = FormQuirk(_RARE, "", has_rare_attributes, recurrent)
RARE_BATCH_FIRST = FormQuirk(f"{_RARE}, and layout 1", "", is_rare)
BACKWARD = FormQuirk("direction reverse", "", is_reversed, forward)

_OTHER_AXIS = "onesided, or along an axis other than 1"
OTHER_DFT_AXIS = FormQuirk(_OTHER_AXIS, "", can_use_axis_1, dft_along_axis_1)
DYNAMIC_DFT_AXIS = FormQuirk(f"{_OTHER_AXIS}, an inverse or of unknown rank", "", is_along_another_axis, dft)

EMPTY_AXES = FormQuirk("empty axes", "", reduces_empty_axis, empty_extreme)
INFINITE = FormQuirk("a result that is compared with an infinity", "", may_be_infinite, infinite_extreme)
_REPEATS = "repeats that are no constant"
REPEATS = FormQuirk(_REPEATS, "", repeats_variably, tile_by_expand)
WINDOWS = FormQuirk("a window, or is_causal after a past", "", has_windows)
SIGNED_SHIFT = FormQuirk("signed integers", "", shifts_signed)
SCALED_CELU = FormQuirk("alpha other than 1", "", is_scaled, celu)
DROPOUT_MASK = FormQuirk("a mask that is read", "", reads_mask, without_dropout)
NO_THRESHOLD = FormQuirk("no iou_threshold", "", lacks_thresholds, with_thresholds)
NEGATIVE_PADS = FormQuirk("negative pads", "", has_negative_pads, without_negative_pads)
ADAPTIVE_SAMPLES = FormQuirk("sampling_ratio 0", "", has_adaptive_samples)
MAXIMA = FormQuirk("mode max", "", takes_maxima, roi_align)
CRD = FormQuirk("mode CRD", "", is_crd, space_to_depth)


def _is_training(op: OnnxOp) -> bool:
    assert isinstance(op, onnx.DropoutOp)
    mode = None if op.training_mode is None else constant_of(op.training_mode)
    return op.training_mode is not None and (mode is None or bool(mode.any()))


def _is_volumetric(op: OnnxOp) -> bool:
    return has_rank(op.operands[0]) and len(shape_of(op.operands[0])) == 5


def _is_no_image(op: OnnxOp) -> bool:
    """Return whether the number of spatial axes of a Col2Im is not known to be two."""
    assert isinstance(op, onnx.Col2ImOp)
    return shape_of(op.image_shape)[0] != 2


def _wraps(op: OnnxOp) -> bool:
    return op.call().attribute("mode", "constant") == "wrap"


def _is_float_mod(op: OnnxOp) -> bool:
    is_float = name_of(element_type_of(op.operands[0]))[0] in "bf"
    return is_float and not op.call().attribute("fmod", 0)


def _has_rare_inputs(op: OnnxOp) -> bool:
    """Return whether an Attention has softcap, lengths, or the product of queries and keys as a result."""
    assert isinstance(op, onnx.AttentionOp)
    attribute = op.call().attribute
    gives_product = attribute("qk_matmul_output_mode", 0) or op.results[3].first_use is not None
    return bool(attribute("softcap", 0.0)) or op.nonpad_kv_seqlen is not None or bool(gives_product)


def _loses_inverse(op: OnnxOp) -> bool:
    """Return whether a Unique keeps the order of the data and nothing reads its inverse_indices."""
    return not op.call().attribute("sorted", 1) and op.results[2].first_use is None


def _has_variable_axes(op: OnnxOp) -> bool:
    """Return whether the second operand is no constant."""
    axes = op.onnx_inputs()[1:2]
    return bool(axes) and axes[0] is not None and constant_of(axes[0]) is None


REDUCTIONS = (
    onnx.CumSumOp,
    onnx.ReduceL1Op,
    onnx.ReduceL2Op,
    onnx.ReduceLogSumExpOp,
    onnx.ReduceLogSumOp,
    onnx.ReduceMaxOp,
    onnx.ReduceMeanOp,
    onnx.ReduceMinOp,
    onnx.ReduceProdOp,
    onnx.ReduceSumOp,
    onnx.ReduceSumSquareOp,
    onnx.SqueezeOp,
    onnx.UnsqueezeOp,
)
"""Ops whose second operand has axes."""

UNSORTED = FormQuirk("sorted 0, whose inverse_indices nothing reads", "", _loses_inverse)
VARIABLE_AXES = FormQuirk("axes that are no constant", "", _has_variable_axes)
VARIABLE_REPEATS = FormQuirk(_REPEATS, "", _has_variable_axes)
TRAINING = FormQuirk("training_mode", "", _is_training)
VOLUMES = FormQuirk("volumes", "", _is_volumetric)
NO_IMAGE = FormQuirk("other than two spatial axes", "", _is_no_image)
WRAP = FormQuirk("mode wrap", "", _wraps)
FLOAT_MOD = FormQuirk("floats and fmod 0", "", _is_float_mod)
RARE_ATTENTION = FormQuirk("softcap, nonpad_kv_seqlen or qk_matmul_output", "", _has_rare_inputs)
