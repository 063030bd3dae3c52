"""Target `portable`: what onnxruntime's CPU provider, OpenVINO, tract and others compute alike.

Small models were run on OpenVINO 2026.4, tract 0.23, TVM 0.27, IREE 3.13 and MNN 3.6. Ops and types that one
of them lacks are kept, except for those that gradients would be written with.
"""

from __future__ import annotations

from dialects.onnx.domains import MICROSOFT, NCHWC
from passes.onnxruntime.quirks import CPU_QUIRKS
from passes.targets import cpu, openvino, tract
from passes.targets.spec import TargetSpec, unite

TARGET = TargetSpec(
    name="portable",
    summary="the CPU provider and other runtimes",
    provider="cpu",
    restricts="cpu",
    excluded_ops={
        "Col2Im": "tract, TVM, IREE and MNN lack it",
        "ScatterND": "MNN adds up wrongly in it",
    },
    form_quirks=unite(unite(openvino.WRONG_FORMS, tract.WRONG_FORMS), cpu.WRONG_FORMS),
    kernel_quirks=CPU_QUIRKS,
    decomposed_domains=("", MICROSOFT, NCHWC),
    standard_ops_only=True,
    symmetric_pads="a ConvTranspose with asymmetric pads does not compile on IREE",
    narrow_integers=openvino.NARROW_INTEGERS,
    nchwc_kernels=True,
)
