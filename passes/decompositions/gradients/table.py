"""Declarations of the ONNX ops whose derivative is that of their decomposition."""

from __future__ import annotations

from passes.decompositions.registry import Decomposition, Reason

_FUNCTIONS = (
    ("Attention", "passes.autodiff.rules.attention:attention"),
    ("CausalConvWithState", "passes.autodiff.rules.linear_attention:causal_conv"),
    ("DeformConv", "passes.decompositions.sampling.sampled_ops:deform_conv"),
    ("DequantizeLinear", "passes.autodiff.rules.quantize:dequantize"),
    ("DynamicQuantizeLinear", "passes.autodiff.rules.quantize:dynamic_quantize"),
    ("GridSample", "passes.decompositions.sampling.taps:grid_sample"),
    ("LinearAttention", "passes.autodiff.rules.linear_attention:linear_attention"),
    ("RoiAlign", "passes.decompositions.sampling.sampled_ops:roi_align"),
    ("RotaryEmbedding", "passes.autodiff.rules.attention:rotary_embedding"),
    ("STFT", "passes.decompositions.sampling.stft:stft"),
    ("SwiGLU", "passes.autodiff.rules.attention:swiglu"),
)

DECOMPOSITIONS = tuple(Decomposition(op, Reason.GRADIENT, function) for op, function in _FUNCTIONS)
