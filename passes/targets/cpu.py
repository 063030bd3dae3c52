"""Target `cpu`: onnxruntime's CPU provider."""

from passes.onnxruntime.quirks import CPU_QUIRKS
from passes.targets.spec import TargetSpec

TARGET = TargetSpec(
    name="cpu",
    summary="onnxruntime's CPU provider",
    provider="cpu",
    kernel_quirks=CPU_QUIRKS,
    crops_by_pad=True,
    empty_resize=True,
    skips_excluded_windows=True,
    nchwc_kernels=True,
    prefers_nchwc=True,
    peepholes=True,
)
