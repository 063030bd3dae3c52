"""Declarations of the decompositions for targets without a kernel.

A runtime registers a kernel for one schema version: after a revision of the op, newer models lose the kernel
until the runtime follows. Strategies emit the plain op, and `expand-ops` replaces it.
"""

from __future__ import annotations

from passes.decompositions.registry import Decomposition, Reason

_CASES = "Greater Mul Where"
_CLIPPED_LINE = "Mul Add Clip"
_DIFFERENCES = "ReduceMean Sub Mul Add Sqrt Div"
_TAPS = "Add Concat Floor Gather Greater GreaterOrEqual Less LessOrEqual Max Min Mul ReduceSum Sub Where"
_RECURRENT = "Add Concat Expand MatMul Mul Scan Sigmoid Split Squeeze Sub Tanh Transpose Unsqueeze Where"
_ROUND = "Floor Sub Add Mul Greater GreaterOrEqual Where"
_SCATTER = "MatMul Add Where Range:s64 Equal:s64 Mul:s64 Less:s64"


def _declare(
    op: str, function: str, kernels: str | None, data: str = "T", *, replaces_function: bool = False
) -> Decomposition:
    return Decomposition(
        op, Reason.MISSING_KERNEL, function, kernels=kernels, data=data, replaces_function=replaces_function
    )


DECOMPOSITIONS = (
    _declare(
        "AffineGrid",
        "affine_grid:affine_grid",
        "Add Cast Gather Mul Unsqueeze Range:s64",
        "T1",
        replaces_function=True,
    ),
    _declare("BatchNormalization", "normalizations:batch_normalization", f"{_DIFFERENCES} Squeeze"),
    _declare("Cast", "elementary:cast", "DequantizeLinear", "T1"),
    _declare("ConstantOfShape", "elementary:constant_of_shape", "Expand", "T2"),
    _declare("DFT", "inverse_dft:inverse_dft", "DFT Gather Div Pad", "T1"),
    _declare("DequantizeLinear", "pointwise:dequantize_linear", "Cast", "T1"),
    _declare("DynamicQuantizeLinear", "pointwise:dynamic_quantize_linear", None, replaces_function=True),
    _declare("Elu", "pointwise:elu", "Greater Where Mul Tanh Add Sub Div"),
    _declare("Equal", "elementary:equal", "GreaterOrEqual And:boolean"),
    _declare("Flatten", "elementary:flatten", "Reshape Mul:s64 Concat:s64"),
    _declare("GRU", "recurrent:recurrent", _RECURRENT),
    _declare("GridSample", "grid_sample:grid_sample", _TAPS, "T1"),
    _declare("GroupNormalization", "normalizations:group_normalization", None, replaces_function=True),
    _declare("HardSigmoid", "pointwise:hard_sigmoid", _CLIPPED_LINE),
    _declare("HardSwish", "pointwise:hard_swish", _CLIPPED_LINE),
    _declare("LRN", "lrn:lrn", "Add Div Mul Pad Pow Slice"),
    _declare("LSTM", "recurrent:recurrent", _RECURRENT),
    _declare(
        "LayerNormalization",
        "normalizations:layer_normalization",
        f"{_DIFFERENCES} Reciprocal",
        replaces_function=True,
    ),
    _declare("LeakyRelu", "pointwise:leaky_relu", _CASES),
    _declare("MaxPool", "max_pool:max_pool", "Concat Expand Slice Max"),
    _declare(
        "MeanVarianceNormalization",
        "normalizations:mean_variance_normalization",
        None,
        replaces_function=True,
    ),
    _declare(
        "NegativeLogLikelihoodLoss",
        "class_losses:negative_log_likelihood",
        None,
        replaces_function=True,
    ),
    _declare("Pad", "pad:pad", "Concat Expand Slice"),
    _declare("QuantizeLinear", "pointwise:quantize_linear", f"{_ROUND} Div Clip Cast", "T1"),
    _declare("RMSNormalization", "normalizations:rms_normalization", _DIFFERENCES, replaces_function=True),
    _declare("RNN", "recurrent:recurrent", _RECURRENT),
    _declare("ReduceLogSumExp", "reduce_log_sum_exp:reduce_log_sum_exp", None, replaces_function=True),
    _declare("ReduceMax", "reductions:reduce_extreme", "Slice Max Gather"),
    _declare("ReduceMin", "reductions:reduce_extreme", "Slice Min Gather"),
    _declare("ReduceProd", "reductions:reduce_prod", "Gather Mul"),
    _declare("RoiAlign", "passes.decompositions.sampling.sampled_ops:roi_align", _TAPS, "T1"),
    _declare("Round", "pointwise:round_", _ROUND),
    _declare("ScatterND", "scatter_nd_by_matrix:scatter_nd", _SCATTER),
    _declare(
        "SoftmaxCrossEntropyLoss",
        "class_losses:softmax_cross_entropy",
        None,
        replaces_function=True,
    ),
    _declare("Softplus", "pointwise:softplus", "Abs Neg Exp Log Add Sub Max"),
    _declare("Softsign", "pointwise:softsign", "Abs Add Div"),
    _declare("Swish", "pointwise:swish", "Mul Sigmoid"),
    _declare("ThresholdedRelu", "pointwise:thresholded_relu", _CASES),
)
