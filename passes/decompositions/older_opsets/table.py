"""Declarations of the decompositions of op variants that older opsets do not have."""

from __future__ import annotations

from passes.decompositions.registry import Decomposition, Reason

_FUNCTIONS = (
    ("Add", "reductions:arithmetic"),
    ("AveragePool", "pools:average_pool"),
    ("BatchNormalization", "normalizations:batch_normalization"),
    ("BitwiseAnd", "bitwise_col2im:bitwise"),
    ("BitwiseNot", "reductions:bitwise_not"),
    ("BitwiseOr", "bitwise_col2im:bitwise"),
    ("BitwiseXor", "bitwise_col2im:bitwise"),
    ("Col2Im", "bitwise_col2im:col2im"),
    ("CumProd", "transforms:cum_prod"),
    ("DFT", "transforms:dft"),
    ("DeformConv", "passes.decompositions.sampling.sampled_ops:deform_conv"),
    ("Div", "reductions:arithmetic"),
    ("GridSample", "passes.decompositions.missing_kernels.grid_sample:grid_sample"),
    ("LpPool", "pools:lp_pool"),
    ("Mod", "reductions:mod"),
    ("Mul", "reductions:arithmetic"),
    ("Pad", "shapes:pad"),
    ("ReduceMax", "reductions:extreme"),
    ("ReduceMean", "reductions:reduction"),
    ("ReduceMin", "reductions:extreme"),
    ("ReduceProd", "reductions:reduction"),
    ("Relu", "reductions:relu"),
    ("Reshape", "shapes:reshape"),
    ("Resize", "scatter_pad_resize:resize"),
    ("RoiAlign", "passes.decompositions.sampling.sampled_ops:roi_align"),
    ("STFT", "passes.decompositions.sampling.stft:stft"),
    ("ScatterElements", "scatter_pad_resize:scatter_elements"),
    ("ScatterND", "scatter_pad_resize:scatter_nd"),
    ("Shape", "shapes:shape"),
    ("SpaceToDepth", "shapes:space_to_depth"),
    ("Split", "shapes:split"),
    ("Sub", "reductions:arithmetic"),
    ("Trilu", "shapes:trilu"),
)

DECOMPOSITIONS = tuple(Decomposition(op, Reason.OLDER_OPSET, function) for op, function in _FUNCTIONS)
