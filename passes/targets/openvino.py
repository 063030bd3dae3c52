"""Target `openvino`: OpenVINO 2026.4 on a CPU.

OpenVINO computes f64 in f32 and integers in 32 bits, which no form avoids (docs/portability.md).
"""

from __future__ import annotations

from dialects.onnx import ops as onnx
from dialects.onnx.domains import MICROSOFT, NCHWC
from passes.decompositions.portable.recurrent import RECURRENT
from passes.decompositions.portable.wrapping_int8 import ARITHMETIC
from passes.onnxruntime.quirks import CPU_QUIRKS
from passes.targets import forms
from passes.targets.spec import FormQuirks, TargetSpec, unite

NARROW_INTEGERS = "OpenVINO keeps 32 bits of an s64 and divides in f32"

_OTHER_PADS = "OpenVINO computes other pads"
_SOME_IGNORED = "OpenVINO ignores some of them"
_OTHER_COUNT = "OpenVINO does not count the padding as ONNX does"
_OTHER_WINDOWS = "OpenVINO computes other norms of windows beyond the data"
_ALONG_ROWS = "OpenVINO counts along the rows"
_OTHER_RESIZE = "OpenVINO ignores them or computes otherwise"
_OTHER_DFT = "OpenVINO takes axis 1 or gives another shape"
_REJECTED = "OpenVINO does not load it"

WRONG_FORMS: FormQuirks = {
    onnx.ConvOp: (forms.AUTO_PAD.because(_OTHER_PADS),),
    onnx.ConvTransposeOp: (
        forms.AUTO_PAD.because(_OTHER_PADS),
        forms.DYNAMIC_OUTPUT.because(_OTHER_PADS),
    ),
    onnx.LpPoolOp: (
        forms.AUTO_PAD.because(_OTHER_PADS),
        forms.NORM_WINDOWS.because(_OTHER_WINDOWS),
        forms.DYNAMIC_NORM_WINDOWS.because(_OTHER_WINDOWS),
    ),
    **dict.fromkeys(
        ARITHMETIC,
        (
            forms.BYTES.because("OpenVINO saturates where ONNX wraps"),
            forms.SCANNED.because("OpenVINO overwrites it"),
        ),
    ),
    **dict.fromkeys(
        RECURRENT,
        (forms.RARE_RECURRENT.because(_SOME_IGNORED), forms.RARE_BATCH_FIRST.because(_SOME_IGNORED)),
    ),
    **dict.fromkeys(
        (onnx.ReduceMaxOp, onnx.ReduceMinOp),
        (
            forms.EMPTY_AXES.because("OpenVINO gives a finite number"),
            forms.INFINITE.because("OpenVINO gives a finite number"),
        ),
    ),
    onnx.AttentionOp: (forms.WINDOWS.because("OpenVINO masks other positions"),),
    onnx.AveragePoolOp: (
        forms.AUTO_PAD.because(_OTHER_PADS),
        forms.WHOLE_WINDOWS.because(_OTHER_COUNT),
        forms.DYNAMIC_WHOLE_WINDOWS.because(_OTHER_COUNT),
    ),
    onnx.BitShiftOp: (forms.SIGNED_SHIFT.because("OpenVINO fills in other bits"),),
    onnx.DFTOp: (forms.OTHER_DFT_AXIS.because(_OTHER_DFT), forms.DYNAMIC_DFT_AXIS.because(_OTHER_DFT)),
    onnx.DropoutOp: (forms.DROPOUT_MASK.because("OpenVINO gives no data"),),
    onnx.MaxPoolOp: (
        forms.AUTO_PAD.because(_OTHER_PADS),
        forms.COLUMN_INDICES.because(_ALONG_ROWS),
        forms.DYNAMIC_COLUMN_INDICES.because(_ALONG_ROWS),
    ),
    onnx.NonMaxSuppressionOp: (forms.NO_THRESHOLD.because("OpenVINO has another default"),),
    onnx.ResizeOp: (
        forms.RARE_RESIZE.because(_OTHER_RESIZE),
        forms.DYNAMIC_RARE_RESIZE.because(_OTHER_RESIZE),
    ),
    onnx.RoiAlignOp: (
        forms.ADAPTIVE_SAMPLES.because("OpenVINO takes other samples"),
        forms.MAXIMA.because("OpenVINO takes other samples"),
    ),
    onnx.SpaceToDepthOp: (forms.CRD.because("OpenVINO ignores it"),),
    onnx.TileOp: (forms.REPEATS.because("OpenVINO gives no data if all axes are repeated"),),
    onnx.UniqueOp: (forms.UNSORTED.because("OpenVINO gives other elements"),),
}
"""Forms with other results than ONNX's, which `portable` avoids too."""

REJECTED_FORMS: FormQuirks = {
    onnx.Col2ImOp: (forms.NO_IMAGE.because(_REJECTED),),
    onnx.DropoutOp: (forms.TRAINING.because(_REJECTED),),
    onnx.GridSampleOp: (forms.VOLUMES.because(_REJECTED),),
    onnx.ModOp: (forms.FLOAT_MOD.because(_REJECTED),),
    onnx.PadOp: (forms.WRAP.because(_REJECTED),),
}
"""Forms that do not load."""

TARGET = TargetSpec(
    name="openvino",
    summary="OpenVINO's CPU device",
    restricts="cpu",
    excluded_ops=dict.fromkeys(
        (
            "BitCast",
            "CausalConvWithState",
            "CumProd",
            "DeformConv",
            "Det",
            "LinearAttention",
            "MaxUnpool",
            "MelWeightMatrix",
            "RegexFullMatch",
            "StringConcat",
            "StringNormalizer",
            "StringSplit",
            "TensorScatter",
            "TfIdfVectorizer",
        ),
        "OpenVINO lacks it",
    ),
    excluded_dtypes=dict.fromkeys(
        ("c64", "c128", "f6_e2m3", "f6_e3m2", "f8_e4m3fnuz", "f8_e5m2fnuz", "s2", "u2"), "OpenVINO lacks it"
    ),
    form_quirks=unite(WRONG_FORMS, REJECTED_FORMS),
    kernel_quirks=CPU_QUIRKS,
    decomposed_domains=("", MICROSOFT, NCHWC),
    standard_ops_only=True,
    narrow_integers=NARROW_INTEGERS,
)
