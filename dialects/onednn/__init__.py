"""oneDNN Graph ops exactly as documented: what the user wrote, one class per kind."""

from xdsl.ir import Dialect

from dialects.onednn.conv_transpose import ConvTransposeBackwardDataOp
from dialects.onednn.convolution import ConvolutionBackwardDataOp
from dialects.onednn.interpolate import InterpolateBackwardOp

ONEDNN = Dialect(
    "onednn",
    [
        ConvolutionBackwardDataOp,
        ConvTransposeBackwardDataOp,
        InterpolateBackwardOp,
    ],
)
