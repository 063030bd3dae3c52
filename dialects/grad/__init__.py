"""The canonical gradient ops: no optional attributes, no auto_pad, one source per size."""

from xdsl.ir import Dialect

from dialects.grad.avg_pool import AvgPoolBackwardOp
from dialects.grad.conv import ConvBackwardDataOp, ConvTransposeBackwardDataOp, TakeWindowOp
from dialects.grad.conv_weights import ConvBackwardWeightsOp
from dialects.grad.max_pool import MaxPoolBackwardOp
from dialects.grad.resize import ResizeBackwardDynamicOp, ResizeBackwardOp
from dialects.grad.stop_gradient import StopGradientOp

GRAD = Dialect(
    "grad",
    [
        ConvBackwardDataOp,
        ConvTransposeBackwardDataOp,
        ConvBackwardWeightsOp,
        MaxPoolBackwardOp,
        AvgPoolBackwardOp,
        TakeWindowOp,
        ResizeBackwardOp,
        ResizeBackwardDynamicOp,
        StopGradientOp,
    ],
)
