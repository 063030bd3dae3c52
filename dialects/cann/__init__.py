"""Ascend CANN ops as registered."""

from xdsl.ir import Dialect

from dialects.cann.resize import ResizeBilinearV2GradOp, UpsampleBilinear2dBackwardOp

CANN = Dialect("cann", [ResizeBilinearV2GradOp, UpsampleBilinear2dBackwardOp])
