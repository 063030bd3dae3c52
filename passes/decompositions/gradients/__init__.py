"""Decompositions of ONNX ops without a VJP rule, whose derivative is that of the decomposition."""
