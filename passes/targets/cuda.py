"""Target `cuda`: onnxruntime's CUDA provider."""

from dialects.onnx import ops as onnx
from dialects.onnx.domains import NCHWC
from passes.onnxruntime.quirks import QUIRKS
from passes.targets.spec import TargetSpec

TARGET = TargetSpec(
    name="cuda",
    summary="onnxruntime's CUDA provider",
    provider="cuda",
    kernel_quirks={onnx.BatchNormalizationOp: (QUIRKS["batch-normalization-in-place"],)},
    decomposed_domains=(NCHWC,),
    symmetric_pads="asymmetric pads fall back to the CPU on cuda",
    spreads_nonfinite="cuDNN may choose an algorithm that adds up transformed tiles (Winograd, FFT)",
    f32_accumulating=("f16",),
    skips_excluded_windows=True,
)
