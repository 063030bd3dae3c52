"""Op variants that a runtime of `portable` rejects or computes wrongly, and their replacements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.support.shapes import UnknownRank
from passes.builder.rewriting import Builder
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

Write = Callable[[Builder, OnnxOp], Sequence[SSAValue] | None]


@dataclass(frozen=True)
class PortableQuirk:
    """A variant of an op: `what` names it, `why` the runtime and its behavior, `holds` tests an op. `write`
    returns equivalent results; without it the op is rejected."""

    what: str
    why: str
    holds: Callable[[OnnxOp], bool]
    write: Write | None = None


AUTO_PAD = PortableQuirk(
    "auto_pad or output_shape", "OpenVINO computes other pads", has_explicit_pads, with_pads
)
BYTES = PortableQuirk("eight bits", "OpenVINO saturates where ONNX wraps", is_8_bit, in_32_bits)
SCANNED = PortableQuirk(
    "an input of the Scan first", "OpenVINO overwrites it", is_scanned_first, with_scanned_last
)
COUNTS = "OpenVINO does not count the padding as ONNX does"
EXACT = "OpenVINO ignores or computes otherwise"
COLUMNS = "OpenVINO counts along the rows"
TURNED = "indices along the columns (storage_order 1)"
WHOLE_WINDOWS = "ceil_mode and count_include_pad"
RESIZED = "antialias, exclude_outside, a keep_aspect_ratio_policy or a rare coordinate_transformation_mode"

BACKWARD = PortableQuirk("direction reverse", "tract goes forward", is_reversed, forward)
RARE = "clip, input_forget, peepholes or non-default activations"
RARE_FORMS = (
    PortableQuirk(RARE, "tract ignores them, OpenVINO some", has_rare_attributes, recurrent),
    PortableQuirk(f"{RARE}, and layout 1", "tract ignores them, OpenVINO some", is_rare),
    BACKWARD,
)
OTHER_AXIS = "onesided, or along an axis other than 1"
IGNORES_AXIS = "OpenVINO and tract take axis 1, OpenVINO gives another shape"
NOTHING = PortableQuirk(
    "empty axes",
    "OpenVINO and tract give a finite number",
    reduces_empty_axis,
    empty_extreme,
)

PORTABLE_QUIRKS: Mapping[type[OnnxOp], tuple[PortableQuirk, ...]] = {
    **dict.fromkeys((onnx.ConvOp, onnx.ConvTransposeOp, onnx.LpPoolOp), (AUTO_PAD,)),
    **dict.fromkeys(ARITHMETIC, (BYTES, SCANNED)),
    **dict.fromkeys(RECURRENT, RARE_FORMS),
    **dict.fromkeys((onnx.ReduceMaxOp, onnx.ReduceMinOp), (NOTHING,)),
    onnx.AttentionOp: (
        PortableQuirk(
            "a window, or is_causal after a past", "OpenVINO and tract mask other positions", has_windows
        ),
    ),
    onnx.AveragePoolOp: (
        AUTO_PAD,
        PortableQuirk(WHOLE_WINDOWS, COUNTS, is_average_of_known, average_pool),
        PortableQuirk(f"{WHOLE_WINDOWS} of unknown sizes", COUNTS, counts_beyond_the_pads),
    ),
    onnx.BitShiftOp: (
        PortableQuirk("signed integers", "OpenVINO and tract fill in other bits", shifts_signed),
    ),
    onnx.CeluOp: (PortableQuirk("alpha other than 1", "tract leaves out a factor", is_scaled, celu),),
    onnx.DFTOp: (
        PortableQuirk(OTHER_AXIS, IGNORES_AXIS, can_use_axis_1, dft_along_axis_1),
        PortableQuirk(f"{OTHER_AXIS}, an inverse or of unknown rank", IGNORES_AXIS, is_along_another_axis),
    ),
    onnx.DropoutOp: (
        PortableQuirk("a mask that is read", "OpenVINO gives no data", reads_mask, without_dropout),
    ),
    onnx.MaxPoolOp: (
        AUTO_PAD,
        PortableQuirk(TURNED, COLUMNS, is_max_of_known, max_pool),
        PortableQuirk(f"{TURNED} of unknown sizes, or of volumes", COLUMNS, has_turned_indices),
    ),
    onnx.NonMaxSuppressionOp: (
        PortableQuirk("no iou_threshold", "OpenVINO has another default", lacks_thresholds, with_thresholds),
    ),
    onnx.PadOp: (
        PortableQuirk("negative pads", "tract ends the process", has_negative_pads, without_negative_pads),
    ),
    onnx.ResizeOp: (
        PortableQuirk(RESIZED, f"which {EXACT}", is_by_matrix, by_matrix),
        PortableQuirk(f"{RESIZED}, of unknown sizes", f"which {EXACT}", needs_matrix),
    ),
    onnx.RoiAlignOp: (
        PortableQuirk("mode max or sampling_ratio 0", "OpenVINO takes other samples", has_adaptive_samples),
    ),
    onnx.SpaceToDepthOp: (
        PortableQuirk("mode CRD", "OpenVINO and tract ignore it", is_crd, OLDER_FORMS[onnx.SpaceToDepthOp]),
    ),
}
"""Op -> its variants; the first match counts."""


def portable_quirk_of(op: OnnxOp) -> PortableQuirk | None:
    """Return the variant of an op that a runtime computes wrongly, or None."""
    forms = PORTABLE_QUIRKS.get(type(op), ())
    try:
        return next((form for form in forms if form.holds(op)), None)
    except UnknownRank:
        return None
