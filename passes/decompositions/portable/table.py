"""Op variants that a runtime of `portable` rejects or computes wrongly, and their replacements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.support.shapes import UnknownRank
from passes.builder.rewriting import Emitter
from passes.decompositions.missing_kernels.explicit_pads import has_explicit_pads, with_pads
from passes.decompositions.missing_kernels.negative_pads import has_negative_pads, without_negative_pads
from passes.decompositions.missing_kernels.recurrent import recurrent
from passes.decompositions.missing_kernels.resize_by_matrix import by_matrix, is_by_matrix, needs_matrix
from passes.decompositions.older_opsets.table import OLDER_FORMS
from passes.decompositions.portable.ops import (
    can_turn,
    celu,
    dft_along_axis_1,
    extreme_of_nothing,
    has_windows,
    is_along_another_axis,
    is_of_columns,
    is_over_nothing,
    is_scaled,
    lacks_thresholds,
    reads_mask,
    samples_otherwise,
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
from passes.decompositions.portable.wrapping_int8 import ARITHMETIC, in_32_bits, is_of_bytes

Write = Callable[[Emitter, OnnxOp], Sequence[SSAValue] | None]


@dataclass(frozen=True)
class PortableForm:
    """A variant of an op: `what` names it, `why` the runtime and its behavior, `holds` tests an op. `write`
    returns equivalent results; without it the op is rejected."""

    what: str
    why: str
    holds: Callable[[OnnxOp], bool]
    write: Write | None = None


AUTO_PAD = PortableForm(
    "auto_pad or output_shape", "OpenVINO computes other pads", has_explicit_pads, with_pads
)
BYTES = PortableForm("eight bits", "OpenVINO saturates where ONNX wraps", is_of_bytes, in_32_bits)
SCANNED = PortableForm(
    "an input of the Scan first", "OpenVINO overwrites it", is_scanned_first, with_scanned_last
)
COUNTS = "OpenVINO does not count the padding as ONNX does"
EXACT = "OpenVINO ignores or computes otherwise"
COLUMNS = "OpenVINO counts along the rows"
TURNED = "indices along the columns (storage_order 1)"
WHOLE_WINDOWS = "ceil_mode and count_include_pad"
RESIZED = "antialias, exclude_outside, a keep_aspect_ratio_policy or a rare coordinate_transformation_mode"

BACKWARD = PortableForm("direction reverse", "tract goes forward", is_reversed, forward)
RARE = "clip, input_forget, peepholes or non-default activations"
RARE_FORMS = (
    PortableForm(RARE, "tract ignores them, OpenVINO some", has_rare_attributes, recurrent),
    PortableForm(f"{RARE}, and layout 1", "tract ignores them, OpenVINO some", is_rare),
    BACKWARD,
)
OTHER_AXIS = "onesided, or along an axis other than 1"
IGNORES_AXIS = "OpenVINO and tract take axis 1, OpenVINO gives another shape"
NOTHING = PortableForm(
    "empty axes",
    "OpenVINO and tract give a finite number",
    is_over_nothing,
    extreme_of_nothing,
)

PORTABLE_FORMS: Mapping[type[OnnxOp], tuple[PortableForm, ...]] = {
    **dict.fromkeys((onnx.ConvOp, onnx.ConvTransposeOp, onnx.LpPoolOp), (AUTO_PAD,)),
    **dict.fromkeys(ARITHMETIC, (BYTES, SCANNED)),
    **dict.fromkeys(RECURRENT, RARE_FORMS),
    **dict.fromkeys((onnx.ReduceMaxOp, onnx.ReduceMinOp), (NOTHING,)),
    onnx.AttentionOp: (
        PortableForm(
            "a window, or is_causal after a past", "OpenVINO and tract mask other positions", has_windows
        ),
    ),
    onnx.AveragePoolOp: (
        AUTO_PAD,
        PortableForm(WHOLE_WINDOWS, COUNTS, is_average_of_known, average_pool),
        PortableForm(f"{WHOLE_WINDOWS} of unknown sizes", COUNTS, counts_beyond_the_pads),
    ),
    onnx.BitShiftOp: (
        PortableForm("signed integers", "OpenVINO and tract fill in other bits", shifts_signed),
    ),
    onnx.CeluOp: (PortableForm("alpha other than 1", "tract leaves out a factor", is_scaled, celu),),
    onnx.DFTOp: (
        PortableForm(OTHER_AXIS, IGNORES_AXIS, can_turn, dft_along_axis_1),
        PortableForm(f"{OTHER_AXIS}, an inverse or of unknown rank", IGNORES_AXIS, is_along_another_axis),
    ),
    onnx.DropoutOp: (
        PortableForm("a mask that is read", "OpenVINO gives no data", reads_mask, without_dropout),
    ),
    onnx.MaxPoolOp: (
        AUTO_PAD,
        PortableForm(TURNED, COLUMNS, is_max_of_known, max_pool),
        PortableForm(f"{TURNED} of unknown sizes, or of volumes", COLUMNS, has_turned_indices),
    ),
    onnx.NonMaxSuppressionOp: (
        PortableForm("no iou_threshold", "OpenVINO has another default", lacks_thresholds, with_thresholds),
    ),
    onnx.PadOp: (
        PortableForm("negative pads", "tract ends the process", has_negative_pads, without_negative_pads),
    ),
    onnx.ResizeOp: (
        PortableForm(RESIZED, f"which {EXACT}", is_by_matrix, by_matrix),
        PortableForm(f"{RESIZED}, of unknown sizes", f"which {EXACT}", needs_matrix),
    ),
    onnx.RoiAlignOp: (
        PortableForm("mode max or sampling_ratio 0", "OpenVINO takes other samples", samples_otherwise),
    ),
    onnx.SpaceToDepthOp: (
        PortableForm(
            "mode CRD", "OpenVINO and tract ignore it", is_of_columns, OLDER_FORMS[onnx.SpaceToDepthOp]
        ),
    ),
}
"""Op -> its variants; the first match counts."""


def portable_form(op: OnnxOp) -> PortableForm | None:
    """Return the variant of an op that a runtime computes wrongly, or None."""
    forms = PORTABLE_FORMS.get(type(op), ())
    try:
        return next((form for form in forms if form.holds(op)), None)
    except UnknownRank:
        return None
