"""Target `tract`: tract 0.23."""

from __future__ import annotations

from dialects.onnx import ops as onnx
from dialects.onnx.domains import MICROSOFT, NCHWC
from passes.decompositions.portable.recurrent import RECURRENT
from passes.onnxruntime.quirks import CPU_QUIRKS
from passes.targets import forms
from passes.targets.spec import FormQuirks, TargetSpec, unite

_IGNORED = "tract ignores them"
_OTHER_DFT = "tract takes axis 1"
_REJECTED = "tract does not load it"

WRONG_FORMS: FormQuirks = {
    **dict.fromkeys(
        RECURRENT,
        (
            forms.RARE_RECURRENT.because(_IGNORED),
            forms.RARE_BATCH_FIRST.because(_IGNORED),
            forms.BACKWARD.because("tract goes forward"),
        ),
    ),
    **dict.fromkeys(
        (onnx.ReduceMaxOp, onnx.ReduceMinOp),
        (
            forms.EMPTY_AXES.because("tract gives a finite number"),
            forms.INFINITE.because("tract gives a finite number"),
        ),
    ),
    onnx.AttentionOp: (forms.WINDOWS.because("tract masks other positions"),),
    onnx.BitShiftOp: (forms.SIGNED_SHIFT.because("tract fills in other bits"),),
    onnx.ConvTransposeOp: (
        forms.AUTO_PAD.because("tract computes other pads"),
        forms.DYNAMIC_OUTPUT.because("tract computes other pads"),
    ),
    onnx.CeluOp: (forms.SCALED_CELU.because("tract leaves out a factor"),),
    onnx.DFTOp: (forms.OTHER_DFT_AXIS.because(_OTHER_DFT), forms.DYNAMIC_DFT_AXIS.because(_OTHER_DFT)),
    onnx.PadOp: (forms.NEGATIVE_PADS.because("tract ends the process"),),
    onnx.SpaceToDepthOp: (forms.CRD.because("tract ignores it"),),
}
"""Forms with other results than ONNX's, or that end the process; `portable` avoids them too."""

REJECTED_FORMS: FormQuirks = {
    **dict.fromkeys(forms.REDUCTIONS, (forms.VARIABLE_AXES.because(_REJECTED),)),
    onnx.AttentionOp: (forms.RARE_ATTENTION.because(_REJECTED),),
    onnx.ResizeOp: (forms.RARE_RESIZE.because(_REJECTED), forms.DYNAMIC_RARE_RESIZE.because(_REJECTED)),
    onnx.TileOp: (forms.VARIABLE_REPEATS.because(_REJECTED),),
}
"""Forms that do not load."""

TARGET = TargetSpec(
    name="tract",
    summary="tract",
    restricts="cpu",
    excluded_ops=dict.fromkeys(
        (
            "AffineGrid",
            "BitCast",
            "CausalConvWithState",
            "CenterCropPad",
            "Col2Im",
            "CumProd",
            "DeformConv",
            "Det",
            "LinearAttention",
            "LpPool",
            "MaxUnpool",
            "NegativeLogLikelihoodLoss",
            "RegexFullMatch",
            "ReverseSequence",
            "SoftmaxCrossEntropyLoss",
            "StringConcat",
            "StringNormalizer",
            "StringSplit",
            "TensorScatter",
            "TfIdfVectorizer",
            "Unique",
            "RoiAlign",
        ),
        "tract lacks it",
    ),
    excluded_dtypes=dict.fromkeys(
        (
            "bf16",
            "c64",
            "c128",
            "f4_e2m1",
            "f6_e2m3",
            "f6_e3m2",
            "f8_e4m3",
            "f8_e4m3fnuz",
            "f8_e5m2",
            "f8_e5m2fnuz",
            "f8_e8m0",
            "s2",
            "s4",
            "u2",
            "u4",
        ),
        "tract lacks it",
    ),
    form_quirks=unite(WRONG_FORMS, REJECTED_FORMS),
    kernel_quirks=CPU_QUIRKS,
    decomposed_domains=("", MICROSOFT, NCHWC),
    standard_ops_only=True,
)
