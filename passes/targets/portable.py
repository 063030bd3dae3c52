"""Target `portable`: onnxruntime's CPU provider, and other runtimes.

Small models were run on OpenVINO 2026.4, tract 0.23, TVM 0.27, IREE 3.13 and MNN 3.6.
"""

from __future__ import annotations

from dialects.onnx import ops as onnx
from dialects.onnx.domains import MICROSOFT, NCHWC
from passes.decompositions.missing_kernels.explicit_pads import has_explicit_pads, with_pads
from passes.decompositions.missing_kernels.negative_pads import has_negative_pads, without_negative_pads
from passes.decompositions.missing_kernels.recurrent import recurrent
from passes.decompositions.missing_kernels.resize_by_matrix import by_matrix, is_by_matrix, needs_matrix
from passes.decompositions.older_opsets.table import OLDER_FORMS
from passes.decompositions.portable.ops import (
    can_use_axis_1,
    celu,
    dft_along_axis_1,
    empty_extreme,
    has_adaptive_samples,
    has_windows,
    is_along_another_axis,
    is_crd,
    is_scaled,
    lacks_thresholds,
    reads_mask,
    reduces_empty_axis,
    shifts_signed,
    with_thresholds,
    without_dropout,
)
from passes.decompositions.portable.pools import (
    average_pool,
    counts_beyond_the_pads,
    has_turned_indices,
    is_average_of_known,
    is_max_of_known,
    max_pool,
)
from passes.decompositions.portable.recurrent import (
    RECURRENT,
    forward,
    has_rare_attributes,
    is_rare,
    is_reversed,
)
from passes.decompositions.portable.scan_inputs import is_scanned_first, with_scanned_last
from passes.decompositions.portable.wrapping_int8 import ARITHMETIC, in_32_bits, is_8_bit
from passes.decompositions.quirks import CPU_QUIRKS
from passes.targets.spec import FormQuirk, FormQuirks, TargetSpec

AUTO_PAD = FormQuirk("auto_pad or output_shape", "OpenVINO computes other pads", has_explicit_pads, with_pads)
BYTES = FormQuirk("eight bits", "OpenVINO saturates where ONNX wraps", is_8_bit, in_32_bits)
SCANNED = FormQuirk(
    "an input of the Scan first", "OpenVINO overwrites it", is_scanned_first, with_scanned_last
)
COUNTS = "OpenVINO does not count the padding as ONNX does"
EXACT = "OpenVINO ignores or computes otherwise"
COLUMNS = "OpenVINO counts along the rows"
TURNED = "indices along the columns (storage_order 1)"
WHOLE_WINDOWS = "ceil_mode and count_include_pad"
RESIZED = "antialias, exclude_outside, a keep_aspect_ratio_policy or a rare coordinate_transformation_mode"

BACKWARD = FormQuirk("direction reverse", "tract goes forward", is_reversed, forward)
RARE = "clip, input_forget, peepholes or non-default activations"
RARE_FORMS = (
    FormQuirk(RARE, "tract ignores them, OpenVINO some", has_rare_attributes, recurrent),
    FormQuirk(f"{RARE}, and layout 1", "tract ignores them, OpenVINO some", is_rare),
    BACKWARD,
)
OTHER_AXIS = "onesided, or along an axis other than 1"
IGNORES_AXIS = "OpenVINO and tract take axis 1, OpenVINO gives another shape"
NOTHING = FormQuirk(
    "empty axes",
    "OpenVINO and tract give a finite number",
    reduces_empty_axis,
    empty_extreme,
)

FORM_QUIRKS: FormQuirks = {
    **dict.fromkeys((onnx.ConvOp, onnx.ConvTransposeOp, onnx.LpPoolOp), (AUTO_PAD,)),
    **dict.fromkeys(ARITHMETIC, (BYTES, SCANNED)),
    **dict.fromkeys(RECURRENT, RARE_FORMS),
    **dict.fromkeys((onnx.ReduceMaxOp, onnx.ReduceMinOp), (NOTHING,)),
    onnx.AttentionOp: (
        FormQuirk(
            "a window, or is_causal after a past", "OpenVINO and tract mask other positions", has_windows
        ),
    ),
    onnx.AveragePoolOp: (
        AUTO_PAD,
        FormQuirk(WHOLE_WINDOWS, COUNTS, is_average_of_known, average_pool),
        FormQuirk(f"{WHOLE_WINDOWS} of unknown sizes", COUNTS, counts_beyond_the_pads),
    ),
    onnx.BitShiftOp: (FormQuirk("signed integers", "OpenVINO and tract fill in other bits", shifts_signed),),
    onnx.CeluOp: (FormQuirk("alpha other than 1", "tract leaves out a factor", is_scaled, celu),),
    onnx.DFTOp: (
        FormQuirk(OTHER_AXIS, IGNORES_AXIS, can_use_axis_1, dft_along_axis_1),
        FormQuirk(f"{OTHER_AXIS}, an inverse or of unknown rank", IGNORES_AXIS, is_along_another_axis),
    ),
    onnx.DropoutOp: (
        FormQuirk("a mask that is read", "OpenVINO gives no data", reads_mask, without_dropout),
    ),
    onnx.MaxPoolOp: (
        AUTO_PAD,
        FormQuirk(TURNED, COLUMNS, is_max_of_known, max_pool),
        FormQuirk(f"{TURNED} of unknown sizes, or of volumes", COLUMNS, has_turned_indices),
    ),
    onnx.NonMaxSuppressionOp: (
        FormQuirk("no iou_threshold", "OpenVINO has another default", lacks_thresholds, with_thresholds),
    ),
    onnx.PadOp: (
        FormQuirk("negative pads", "tract ends the process", has_negative_pads, without_negative_pads),
    ),
    onnx.ResizeOp: (
        FormQuirk(RESIZED, f"which {EXACT}", is_by_matrix, by_matrix),
        FormQuirk(f"{RESIZED}, of unknown sizes", f"which {EXACT}", needs_matrix),
    ),
    onnx.RoiAlignOp: (
        FormQuirk("mode max or sampling_ratio 0", "OpenVINO takes other samples", has_adaptive_samples),
    ),
    onnx.SpaceToDepthOp: (
        FormQuirk("mode CRD", "OpenVINO and tract ignore it", is_crd, OLDER_FORMS[onnx.SpaceToDepthOp]),
    ),
}

TARGET = TargetSpec(
    name="portable",
    summary="the CPU provider and other runtimes",
    provider="cpu",
    restricts="cpu",
    excluded_ops={
        "Col2Im": "tract, TVM, IREE and MNN lack it",
        "ScatterND": "MNN adds up wrongly in it",
    },
    form_quirks=FORM_QUIRKS,
    kernel_quirks=CPU_QUIRKS,
    decomposed_domains=("", MICROSOFT, NCHWC),
    standard_ops_only=True,
    symmetric_pads="a ConvTranspose with asymmetric pads does not compile on IREE",
    narrow_integers="OpenVINO keeps 32 bits of an s64 and divides in f32",
    nchwc_kernels=True,
)
